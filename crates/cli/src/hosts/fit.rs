//! Finds the factor of the rates. All hosts write bursts at once, without floors, at rates adjusted
//! step by step until the storage writes the number of blocks a second that the experiment aims at,
//! or until its usual rate is known. Then a whole run at these rates shows what the storage
//! sustains: a disk that was idle before does more.

use super::Testbed;
use super::load::{factor_max, last_runs, one_burst, ramps, window};
use anyhow::{Context as _, Result, bail};
use block::Span;
use ramp::{Busy, RampSettings, TimelineSecond, Window, busy};
use workload::plan::HostsPlan;

/// Maximum number of bursts.
const TRIES: usize = 12;
/// The first burst is for storage that writes this many blocks a second, which any storage does.
const FIRST: f64 = 6_000.0;
/// If no host was busy for a whole second, the rates are multiplied by this.
const STEP: f64 = 2.0;
/// Accepted relative difference; the measurement itself varies by as much.
const NEAR: f64 = 0.04;
/// If no burst comes that near, this many bursts determine the usual rate. The speed of a disk that
/// varies by a tenth is hardly ever the same twice.
const ENOUGH: usize = 6;
/// Maximum ratio of the fastest to the slowest burst; beyond it there is no usual rate.
const SPREAD: f64 = 1.6;

/// The factor of the published rates that this storage can carry.
pub(super) fn fit(plan: &HostsPlan, testbed: &mut dyn Testbed, say: &mut dyn FnMut(&str)) -> Result<f64> {
    let published = window(plan, 1.0, plan.runs - 1);
    let most = factor_max(plan);
    // Half the period makes half the burst; rates and ratios stay the same. In three seconds at
    // least one whole second is busy.
    let cycle = (plan.cycle / 2).max(Span::from_secs(3).min(plan.cycle));
    let mut factor = published.factor(FIRST).min(most);
    let mut measured: Vec<f64> = Vec::new();
    for number in 1..=TRIES {
        let bursts = one_burst(&ramps(plan, factor), cycle);
        let Some(busy) = measured_by(testbed, &bursts)? else {
            say(&format!("fit {number}: {factor:.4} of the published rates is too little to keep the storage busy"));
            if factor >= most {
                bail!("the storage is too fast for volumes of {}; make volume_size larger", plan.volume_size);
            }
            factor = (factor * STEP).min(most);
            continue;
        };
        measured.push(busy.blocks_per_second);
        let fits = published.factor(busy.blocks_per_second);
        say(&format!(
            "fit {number}: at {factor:.4} of the published rates the storage moved {:.0} blocks/s, which fits {fits:.4}",
            busy.blocks_per_second
        ));
        if (fits / factor - 1.0).abs() <= NEAR && fits <= most {
            return whole_run(plan, testbed, &published, fits, say);
        }
        if measured.len() == ENOUGH {
            let usual = published.factor(usual(&measured)?).min(most);
            say(&format!("it is another in each burst; what is usual fits {usual:.4}"));
            return whole_run(plan, testbed, &published, usual, say);
        }
        // The median of the last three, so that a stall of the machine in one of them has no
        // effect.
        factor = published.factor(median(&measured[measured.len().saturating_sub(3)..]));
        if factor > most {
            bail!(
                "{factor:.4} of the published rates make bursts for which volumes of {} are too small; make volume_size \
                 larger",
                plan.volume_size
            );
        }
    }
    let times = report::text::count(measured.len(), "time", "times");
    bail!("cannot say: in {TRIES} bursts the storage was busy for long enough only {times}")
}

/// The usual rate of the storage, from bursts of which none came near the previous one.
fn usual(measured: &[f64]) -> Result<f64> {
    let (least, greatest) = measured.iter().fold((f64::MAX, 0.0_f64), |(a, b), &one| (a.min(one), b.max(one)));
    if greatest > least * SPREAD {
        bail!(
            "cannot say: what the storage does changes too much from burst to burst ({least:.0} to {greatest:.0} blocks/s \
             in {} bursts); is somebody else using this machine?",
            measured.len()
        );
    }
    Ok(median(measured))
}

/// The factor that holds for a whole run with every host at its maximum. It is measured at `factor`
/// and never larger.
fn whole_run(
    plan: &HostsPlan,
    testbed: &mut dyn Testbed,
    published: &Window,
    factor: f64,
    say: &mut dyn FnMut(&str),
) -> Result<f64> {
    let runs = last_runs(&ramps(plan, factor));
    let Some(busy) = measured_by(testbed, &runs)? else { return Ok(factor) };
    let fits = published.factor(busy.blocks_per_second).min(factor);
    say(&format!(
        "in a run of {} it moved {:.0} blocks/s, which fits {fits:.4}",
        plan.run_length, busy.blocks_per_second
    ));
    Ok(fits)
}

/// The rate of the storage while all hosts wrote in the single run of these ramps; `None` if that
/// time was too short.
fn measured_by(testbed: &mut dyn Testbed, ramps: &[RampSettings]) -> Result<Option<Busy>> {
    let runs = testbed.run(ramps, 0).context("while the storage was measured")?;
    let seconds: Vec<_> = runs.iter().map(|run| TimelineSecond::of(0, run)).collect();
    Ok(busy(&seconds, 0).filter(Busy::is_long))
}

fn median(measured: &[f64]) -> f64 {
    stats::Median::of(measured).map_or(0.0, |median| median.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_moves_nothing() {
        assert_eq!(median(&[100.0, 10.0, 101.0]), 100.0);
        assert_eq!(median(&[7.0]), 7.0);
    }

    /// Measured on a disk without other load. A disk that is twice as fast in one burst as in
    /// another has no usual rate.
    #[test]
    fn a_disk_that_varies_has_a_usual_rate() {
        let varying = [89_781.0, 94_007.0, 86_038.0, 95_849.0, 106_273.0, 100_906.0];
        // The mean of 94 007 and 95 849, the two in the middle.
        assert_eq!(usual(&varying).unwrap(), 94_928.0);
        let error = usual(&[50_000.0, 60_000.0, 100_000.0]).unwrap_err().to_string();
        assert!(error.contains("50000 to 100000 blocks/s in 3 bursts"), "{error}");
    }
}
