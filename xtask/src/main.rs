//! The developers commands.
fn main() {}
