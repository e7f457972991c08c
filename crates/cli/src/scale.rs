//! The administrators' lines of a plan, with their limits multiplied by the plan's factor.

use anyhow::{Context as _, Result};
use ontap::Word;
use ontap::value::{Limits, MinThroughput, Throughput};

/// The same line with every value of -max-throughput and -min-throughput multiplied by `factor`, rounded, at least 1.
/// With factor 1 the line stays as it is written.
///
/// # Errors
/// The line is no command, or a value no throughput.
pub fn line(line: &str, factor: f64) -> Result<String> {
    ontap::parse(line).with_context(|| format!("command {line:?}"))?;
    if factor == 1.0 {
        return Ok(line.into());
    }
    let mut words = Word::split(line).with_context(|| format!("command {line:?}"))?;
    for index in 1..words.len() {
        let Some(name) = words[index - 1].parameter().map(str::to_ascii_lowercase) else { continue };
        // Parameters may be cut short as long as they stay unambiguous: `-max` is enough, `-m` is not.
        if name.len() >= 2 && "max-throughput".starts_with(&name) {
            words[index] = Word::plain(scaled(words[index].text.parse()?, factor).to_string());
        } else if name.len() >= 2 && "min-throughput".starts_with(&name) {
            let given: MinThroughput = words[index].text.parse()?;
            let limits = given.limits().map(|limits| scaled_limits(limits, factor));
            words[index] = Word::plain(MinThroughput::new(limits.unwrap_or_default()).to_string());
        }
    }
    Ok(Word::join(&words))
}

fn scaled(given: Throughput, factor: f64) -> Throughput {
    given.limits().map_or(given, |limits| Throughput::Limits(scaled_limits(limits, factor)))
}

fn scaled_limits(limits: Limits, factor: f64) -> Limits {
    let times = |rate: u64| ((rate as f64 * factor).round() as u64).max(1);
    // Bytes in whole kilobytes, so that the line stays readable.
    let bytes = |rate: u64| (times(rate) / 1000).max(1) * 1000;
    Limits { iops: limits.iops.map(times), bytes_per_second: limits.bytes_per_second.map(bytes) }
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
        let attach = "volume modify -volume vol1 -vserver svm01 -qos-policy-group policy1";
        assert_eq!(line(attach, 3.0).unwrap(), attach);
    }

    #[test]
    fn what_is_no_command_is_refused_before_anything_runs() {
        assert!(line("qos policy-grup create p", 1.0).is_err());
        assert!(line("qos policy-group create p -vserver s -max-throughput 10parsecs", 2.0).is_err());
    }
}
