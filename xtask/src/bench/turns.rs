//! Options on the number and the length of alternating runs: the same for every bench, with
//! different defaults.

/// Runs of some seconds that take turns; of how many seconds at least.
#[derive(clap::Args)]
pub struct Turns<const RUNS: u32, const SECONDS: u64, const SECONDS_LEAST: u64> {
    /// Runs of everything; those that are compared take turns
    #[arg(long, default_value = shown(RUNS.into()), value_parser = clap::value_parser!(u32).range(1..=99))]
    pub runs: u32,
    /// Seconds of each run
    #[arg(long, default_value = shown(SECONDS), value_parser = clap::value_parser!(u64).range(SECONDS_LEAST..=600))]
    pub seconds: u64,
}

/// A default as text, which lives as long as the program. `default_value_t` would keep one value
/// for all instances of [`Turns`].
fn shown(value: u64) -> &'static str {
    value.to_string().leak()
}

/// Data that cannot be compressed.
#[derive(clap::Args)]
pub struct Data {
    /// MiB of data that are read or served
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u64).range(16..=65_536))]
    pub mib: u64,
}
