//! Numbers of devices.

/// A device's major and minor number, as the C library packs them into one.
pub fn major_minor(device: u64) -> (u64, u64) {
    ((device >> 8 & 0xfff) | (device >> 32 & 0xffff_f000), (device & 0xff) | (device >> 12 & 0xffff_ff00))
}
