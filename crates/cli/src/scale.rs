//! Multiplies the limits in a plan's commands by the plan's factors.

use anyhow::{Context as _, Result};
use ontap::catalogue::{AdaptiveCommand, PolicyGroupCommand};
use ontap::value::{
    AbsoluteMinimum, AdaptiveRate, Count, ExpectedLatency, MinThroughput, Throughput, ThroughputLimits, ValueError,
};
use ontap::{Command, Word};
use workload::plan::unfold;

/// The factors for limits in commands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    /// For operations and bytes a second.
    pub rates: f64,
    /// For latencies.
    pub latencies: f64,
}

impl From<f64> for Factors {
    /// A device with half the rate has twice the latency.
    fn from(rates: f64) -> Factors {
        Factors { rates, latencies: 1.0 / rates }
    }
}

/// Multiplies the text of a limit by a factor.
type Times = fn(&str, f64) -> Result<String, ValueError>;

const LATENCY: &str = "expected-latency";

/// The limits of a fixed policy group.
const FIXED: [(&str, Times); 4] =
    [("max-throughput", ceiling), ("min-throughput", floor), ("burst-iops", burst), (LATENCY, latency)];

/// The limits of an adaptive policy group: objects keep their sizes, so their rates carry the
/// factor.
const ADAPTIVE: [(&str, Times); 5] = [
    ("expected-iops", rate),
    ("peak-iops", rate),
    ("absolute-min-iops", minimum),
    ("burst-iops", burst),
    (LATENCY, latency),
];

/// The command, which may unfold to several, with every limit multiplied by its factor, rounded,
/// and at least 1; latencies are in whole microseconds. With factors of 1 the line stays as
/// written.
///
/// # Errors
/// The line is not a command.
pub fn line(line: &str, factors: impl Into<Factors>) -> Result<String> {
    let factors = factors.into();
    let mut commands = Vec::new();
    for line in unfold(line) {
        commands.push(ontap::parse(&line).with_context(|| format!("command {line:?}"))?);
    }
    // The unfolded commands differ only in a number, such as in names.
    let command = commands.swap_remove(0);
    let limits: &[(&str, Times)] = match command {
        _ if factors == 1.0.into() => return Ok(line.into()),
        Command::PolicyGroup(PolicyGroupCommand::Create(_) | PolicyGroupCommand::Modify(_)) => &FIXED,
        Command::Adaptive(AdaptiveCommand::Create(_) | AdaptiveCommand::Modify(_)) => &ADAPTIVE,
        _ => return Ok(line.into()),
    };
    let mut words = Word::split(line).with_context(|| format!("command {line:?}"))?;
    for index in 1..words.len() {
        let Some(name) = words[index - 1].parameter().map(str::to_ascii_lowercase) else { continue };
        // Parameters may be abbreviated if they stay unambiguous, which is given here because the
        // line was parsed.
        if let Some((limit, times)) = limits.iter().find(|(limit, _)| limit.starts_with(&name)) {
            let factor = if *limit == LATENCY { factors.latencies } else { factors.rates };
            words[index] = Word::plain(times(&words[index].text, factor)?);
        }
    }
    Ok(Word::join(&words))
}

fn ceiling(given: &str, factor: f64) -> Result<String, ValueError> {
    let given: Throughput = given.parse()?;
    let scaled = |limits| Throughput::Limits(scaled(limits, factor));
    Ok(given.limits().map_or(given, scaled).to_string())
}

fn floor(given: &str, factor: f64) -> Result<String, ValueError> {
    let given: MinThroughput = given.parse()?;
    let limits = given.limits().map(|limits| scaled(limits, factor));
    Ok(MinThroughput::new(limits.unwrap_or_default()).to_string())
}

fn rate(given: &str, factor: f64) -> Result<String, ValueError> {
    let AdaptiveRate { iops, per } = given.parse()?;
    Ok(AdaptiveRate { iops: times(iops, factor), per }.to_string())
}

fn minimum(given: &str, factor: f64) -> Result<String, ValueError> {
    let AbsoluteMinimum(iops) = given.parse()?;
    Ok(AbsoluteMinimum(times(iops, factor)).to_string())
}

/// Zero stays zero: it switches the burst off.
fn burst(given: &str, factor: f64) -> Result<String, ValueError> {
    let Count(iops) = given.parse()?;
    Ok(if iops == 0 { given.into() } else { times(iops.into(), factor).to_string() })
}

/// Zero stays zero.
fn latency(given: &str, factor: f64) -> Result<String, ValueError> {
    let ExpectedLatency(nanos) = given.parse()?;
    let micros = (nanos as f64 * factor / 1000.0).round().max(1.0);
    Ok(if nanos == 0 { given.into() } else { ExpectedLatency(micros as u64 * 1000).to_string() })
}

fn scaled(limits: ThroughputLimits, factor: f64) -> ThroughputLimits {
    // Bytes are in whole kilobytes, so that the line stays readable.
    let bytes = |rate: u64| (times(rate, factor) / 1000).max(1) * 1000;
    ThroughputLimits {
        iops: limits.iops.map(|rate| times(rate, factor)),
        bytes_per_second: limits.bytes_per_second.map(bytes),
    }
}

fn times(rate: u64, factor: f64) -> u64 {
    ((rate as f64 * factor).round() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_multiplied_and_the_rest_of_the_line_stays() {
        let create =
            "qos policy-group create policy1 -vserver svm01 -max-throughput 10000IOPS,300MB/s -is-shared false";
        assert_eq!(
            line(create, 2.5).unwrap(),
            "qos policy-group create policy1 -vserver svm01 -max-throughput 25000IOPS,750MB/s -is-shared false"
        );
        assert_eq!(line(create, 1.0).unwrap(), create);
        let modify = "qos policy-group modify policy1 -max-throughput 1000IOPS -min-throughput 100IOPS";
        assert_eq!(
            line(modify, 0.5).unwrap(),
            "qos policy-group modify policy1 -max-throughput 500IOPS -min-throughput 50IOPS"
        );
        assert_eq!(
            line("qos policy-group create l -vserver svm01 -expected-latency 120us -is-shared false", 0.25).unwrap(),
            "qos policy-group create l -vserver svm01 -expected-latency 480us -is-shared false"
        );
        let factors = Factors { rates: 1.0, latencies: 1.9 };
        assert_eq!(
            line("qos policy-group create l -vserver svm01 -max-throughput 500IOPS -expected-latency 120us", factors)
                .unwrap(),
            "qos policy-group create l -vserver svm01 -max-throughput 500IOPS -expected-latency 228us"
        );
        for same in [
            "volume modify -volume vol1 -vserver svm01 -qos-policy-group policy1",
            "volume create v -vserver svm01 -aggregate 12",
            "qos policy-group show -max-throughput 100IOPS",
        ] {
            assert_eq!(line(same, 3.0).unwrap(), same);
        }
    }

    #[test]
    fn bursts_and_adaptive_rates_are_limits_too() {
        assert_eq!(
            line("qos policy-group modify p -burst-iops 300 -burst-duration 5", 2.0).unwrap(),
            "qos policy-group modify p -burst-iops 600 -burst-duration 5"
        );
        let off = "qos policy-group modify p -burst-percent 0 -burst-iops 0";
        assert_eq!(line(off, 2.0).unwrap(), off);
        // 1000 × 4.2 = 4200; the counted space and the block size are not limits.
        let create = "qos adaptive-policy-group create a -vserver s -expected-iops 1000 -peak-iops 3iops/gb \
                      -peak-iops-allocation allocated-space -absolute-min 75 -block-size 4K -peak-mode credits";
        assert_eq!(
            line(create, 4.2).unwrap(),
            "qos adaptive-policy-group create a -vserver s -expected-iops 4200IOPS/TB -peak-iops 13IOPS/GB \
             -peak-iops-allocation allocated-space -absolute-min 315IOPS -block-size 4K -peak-mode credits"
        );
    }

    #[test]
    fn what_is_no_command_is_refused_before_anything_runs() {
        assert!(line("qos policy-grup create p", 1.0).is_err());
        assert!(line("qos policy-group create p -vserver s -max-throughput 10parsecs", 2.0).is_err());
    }
}
