//! CRC-32C (Castagnoli), eight bytes a step: what tells a torn or damaged piece of the map from a whole one.
//!
//! Polynomial 0x1EDC6F41, reflected, as in RFC 3720 appendix B.4, whose values the test uses.

const POLYNOMIAL: u32 = 0x82f6_3b78;

const TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0u32; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut value, mut bit) = (byte as u32, 0);
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ POLYNOMIAL } else { value >> 1 };
            bit += 1;
        }
        tables[0][byte] = value;
        byte += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

/// The checksum of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    let (eights, rest) = bytes.as_chunks::<8>();
    for eight in eights {
        let value = u64::from_le_bytes(*eight) ^ u64::from(crc);
        crc = (0..8).fold(0, |crc, at| crc ^ TABLES[7 - at][(value >> (8 * at) & 0xff) as usize]);
    }
    for byte in rest {
        crc = crc >> 8 ^ TABLES[0][((crc ^ u32::from(*byte)) & 0xff) as usize];
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3720, appendix B.4.
    #[test]
    fn the_published_examples() {
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&rising), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283, "the usual check value, with a rest of one byte");
    }
}
