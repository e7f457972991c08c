//! Checksums over the data of a verified block, under fio's names.
//!
//! A header has eight bytes for a checksum. Of a longer digest it holds the first eight: damage
//! goes undetected once in 2^64 blocks, as with any 64-bit sum.

use crc::{CRC_7_MMC, CRC_16_ARC, CRC_32_ISO_HDLC, CRC_64_XZ, Crc, Table};
use crc32c::crc32c;
use md5::Md5;
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use sha3::digest::Digest;
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};
use workload::job::Hash;
use xxhash_rust::xxh64::xxh64;

/// The checksum of `data`; 0 for methods without one.
pub(crate) fn sum_of(data: &[u8], hash: &Hash) -> u64 {
    match hash {
        Hash::Header | Hash::Pattern(_) | Hash::HeaderPattern(_) => 0,
        Hash::Crc32c => crc32c(data).into(),
        Hash::Xxhash64 => xxh64(data, 0),
        Hash::Crc7 => CRC7.checksum(data).into(),
        Hash::Crc16 => CRC16.checksum(data).into(),
        Hash::Crc32 => CRC32.checksum(data).into(),
        Hash::Crc64 => CRC64.checksum(data),
        Hash::Md5 => first_of::<Md5>(data),
        Hash::Sha1 => first_of::<Sha1>(data),
        Hash::Sha256 => first_of::<Sha256>(data),
        Hash::Sha512 => first_of::<Sha512>(data),
        Hash::Sha3L224 => first_of::<Sha3_224>(data),
        Hash::Sha3L256 => first_of::<Sha3_256>(data),
        Hash::Sha3L384 => first_of::<Sha3_384>(data),
        Hash::Sha3L512 => first_of::<Sha3_512>(data),
    }
}

/// The first eight bytes of a digest, in the order in which it is printed.
fn first_of<D: Digest>(data: &[u8]) -> u64 {
    let digest = D::digest(data);
    digest.iter().take(8).fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

/// CRC tables that process sixteen bytes a step.
type Stepped = Table<16>;

static CRC7: Crc<u8, Stepped> = Crc::<u8, Stepped>::new(&CRC_7_MMC);
static CRC16: Crc<u16, Stepped> = Crc::<u16, Stepped>::new(&CRC_16_ARC);
static CRC32: Crc<u32, Stepped> = Crc::<u32, Stepped>::new(&CRC_32_ISO_HDLC);
static CRC64: Crc<u64, Stepped> = Crc::<u64, Stepped>::new(&CRC_64_XZ);

#[cfg(test)]
mod tests {
    use super::*;

    /// Of "123456789": the check values of the catalogue of parametrised CRC algorithms (CRC-7/MMC,
    /// CRC-16/ARC, CRC-32/ISO-HDLC, CRC-64/XZ).
    #[test]
    fn the_published_sums() {
        let sum = |hash| sum_of(b"123456789", &hash);
        assert_eq!(sum(Hash::Crc7), 0x75);
        assert_eq!(sum(Hash::Crc16), 0xbb3d);
        assert_eq!(sum(Hash::Crc32), 0xcbf4_3926);
        assert_eq!(sum(Hash::Crc64), 0x995d_c9bb_df19_39fa);
        assert_eq!(sum(Hash::Header), 0);
    }

    /// RFC 3720, appendix B.4, and the usual check value, which leaves a rest of one byte.
    #[test]
    fn the_published_sums_of_crc32c() {
        let sum = |data: &[u8]| sum_of(data, &Hash::Crc32c);
        assert_eq!(sum(&[0; 32]), 0x8a91_36aa);
        assert_eq!(sum(&[0xff; 32]), 0x62a8_ab43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(sum(&rising), 0x46dd_794e);
        assert_eq!(sum(b"123456789"), 0xe306_9283);
        assert_eq!(sum(b""), 0);
    }

    /// Digests of "abc": examples of RFC 1321, FIPS 180-4 and FIPS 202.
    #[test]
    fn the_published_digests() {
        let sum = |hash| sum_of(b"abc", &hash);
        assert_eq!(sum(Hash::Md5), 0x9001_5098_3cd2_4fb0);
        assert_eq!(sum(Hash::Sha1), 0xa999_3e36_4706_816a);
        assert_eq!(sum(Hash::Sha256), 0xba78_16bf_8f01_cfea);
        assert_eq!(sum(Hash::Sha512), 0xddaf_35a1_9361_7aba);
        assert_eq!(sum(Hash::Sha3L224), 0xe642_824c_3f8c_f24a);
        assert_eq!(sum(Hash::Sha3L256), 0x3a98_5da7_4fe2_25b2);
        assert_eq!(sum(Hash::Sha3L384), 0xec01_4982_8851_6fc9);
        assert_eq!(sum(Hash::Sha3L512), 0xb751_850b_1a57_168a);
    }
}
