//! How much there may be of anything, and where a volume's tree has what.
//!
//! ```text
//!   0      64 KiB   1 MiB      4 MiB   12 MiB    16 GiB    32 GiB       64 GiB            128 TiB
//!   ├ head 0 ┼ head 1 ┼ nothing, ever ┼ log 0 ┼ log 1 ┼ … ┼ image 0 ┼ image 1 ┼ … ┼ data of files ┤
//! ```
//! Heads and images are written by turns, and so are the two logs.

/// Bytes of a name in a folder: what Linux file systems take.
pub const NAME_BYTES_MAX: usize = 255;
/// Bytes of what a symbolic link says: what Linux file systems take.
pub const TARGET_BYTES_MAX: usize = 4095;
/// Files, folders and symbolic links of a volume: some 300 bytes of memory each.
pub const NODES_MAX: usize = 1 << 20;
/// Names of one file, and folders in one folder.
pub const LINKS_MAX: u32 = 1 << 20;
/// Folders in each other: what is walked up when a folder is moved.
pub const DEPTH_MAX: usize = 1024;
/// Bytes of a file.
pub const FILE_BYTES_MAX: u64 = 16 << 40;
/// Bytes of changes that wait for a record at most. With more, changes are put off.
pub const PENDING_BYTES_MAX: usize = 192 << 10;
/// Bytes of one record, its head and filling included: what is pending, and the largest change
/// beside it.
pub const RECORD_BYTES_MAX: usize = 256 << 10;

/// What data is given out by, in bytes.
pub const PAGE_BYTES: u64 = 4096;
/// Bytes of a volume's tree in the maps: as many as a tree there may have.
pub const TREE_BYTES: u64 = 128 << 40;

/// Where the two heads are.
pub(crate) const HEADS: [u64; 2] = [0, 64 << 10];
/// A place that reads as zeroes: nothing is ever written there. At least as long as the longest
/// read, rounded up to pages.
pub(crate) const HOLE_AT: u64 = 1 << 20;
/// Its length in bytes.
pub(crate) const HOLE_BYTES: u64 = 2 << 20;
/// Where the two logs are.
pub(crate) const LOGS: [u64; 2] = [4 << 20, 12 << 20];
/// Bytes of one.
pub(crate) const LOG_BYTES: u64 = 8 << 20;
/// Where the two images are.
pub(crate) const IMAGES: [u64; 2] = [16 << 30, 32 << 30];
/// Bytes of one at most.
pub(crate) const IMAGE_BYTES_MAX: u64 = 16 << 30;
/// The first and one past the last page of the files' data.
pub(crate) const DATA_PAGES: (u64, u64) = ((64 << 30) / PAGE_BYTES, TREE_BYTES / PAGE_BYTES);

/// The number of the folder at the top.
pub(crate) const ROOT: u32 = 1;
