//! CRC-32C (Castagnoli), the polynomial 0x1EDC6F41 reflected: eight bytes a step by tables, as iSCSI's (RFC 3720,
//! appendix B.4) and every processor's own instruction have it.

const POLYNOMIAL: u32 = 0x82f6_3b78;
const TABLES: [[u32; 256]; 8] = tables();

/// The sum of `bytes`.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word) ^ u64::from(sum);
        sum = (0..8).fold(0, |sum, i| sum ^ TABLES[7 - i][(word >> (8 * i)) as usize & 0xff]);
    }
    for byte in rest {
        sum = sum >> 8 ^ TABLES[0][(sum as u8 ^ byte) as usize];
    }
    !sum
}

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut i = 0;
    while i < 256 {
        let (mut sum, mut bit) = (i as u32, 0);
        while bit < 8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 };
            bit += 1;
        }
        tables[0][i] = sum;
        i += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut i = 0;
        while i < 256 {
            let before: u32 = tables[table - 1][i];
            tables[table][i] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            i += 1;
        }
        table += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sums() {
        // RFC 3720, B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&rising), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(b""), 0);
    }
}
