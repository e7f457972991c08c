//! Limits, and the layout of a volume's tree.
//!
//! ```text
//!   0      64 KiB   1 MiB      4 MiB   12 MiB    16 GiB    32 GiB       64 GiB            128 TiB
//!   ├ head 0 ┼ head 1 ┼ nothing, ever ┼ log 0 ┼ log 1 ┼ … ┼ image 0 ┼ image 1 ┼ … ┼ data of files ┤
//! ```
//! The two heads are used in turn, and so are the two images and the two logs.

/// Bytes in a name in a folder, as in Linux file systems.
pub const NAME_BYTES_MAX: usize = 255;
/// Bytes in the target of a symbolic link, as in Linux file systems.
pub const TARGET_BYTES_MAX: usize = 4095;
/// Files, folders and symbolic links of a volume, which take some 300 bytes of memory each.
pub const NODES_MAX: usize = 1 << 20;
/// Names of one file, and subfolders of one folder.
pub const LINKS_MAX: u32 = 1 << 20;
/// Nesting of folders, which is walked when a folder is moved.
pub const DEPTH_MAX: usize = 1024;
/// Bytes in a file.
pub const FILE_BYTES_MAX: u64 = 16 << 40;
/// Bytes of changes that wait for a record. Beyond it, changes are postponed.
pub const PENDING_BYTES_MAX: usize = 192 << 10;
/// Bytes of the changes of one call: three nodes, one of them with a target, and two names.
pub(crate) const CALL_BYTES_MAX: usize = 8 << 10;
/// Bytes in one record, including its head and padding: pending changes, and the largest change on
/// top.
pub const RECORD_BYTES_MAX: usize = 256 << 10;

/// Bytes in a page, the unit of allocation.
pub const PAGE_BYTES: u64 = 4096;
/// Bytes in a volume's tree: the maximum of a tree in the maps.
pub const TREE_BYTES: u64 = 128 << 40;

/// Offsets of the two heads.
pub(crate) const HEADS: [u64; 2] = [0, 64 << 10];
/// Offset of a range that reads as zeroes and is never written. It is at least as long as the
/// longest read, rounded up to pages.
pub(crate) const HOLE_AT: u64 = 1 << 20;
/// Its length in bytes.
pub(crate) const HOLE_BYTES: u64 = 2 << 20;
/// Offsets of the two logs.
pub(crate) const LOGS: [u64; 2] = [4 << 20, 12 << 20];
/// Bytes in each log.
pub(crate) const LOG_BYTES: u64 = 8 << 20;
/// Offsets of the two images.
pub(crate) const IMAGES: [u64; 2] = [16 << 30, 32 << 30];
/// Limit on the bytes in each image.
pub(crate) const IMAGE_BYTES_MAX: u64 = 16 << 30;
/// The first page of the files' data, and its end.
pub(crate) const DATA_PAGES: (u64, u64) = ((64 << 30) / PAGE_BYTES, TREE_BYTES / PAGE_BYTES);

/// The number of the root folder.
pub(crate) const ROOT: u32 = 1;
