//! `seawall size --require`: a plan simulated on each array with an increasing load.

use super::{Offer, Shown, write};
use crate::{Answer, play, terminal};
use anyhow::{Context as _, Result, bail};
use capacity::{cheapest, money};
use report::Page;
use report::section::{Group, Table, TableRow, Tables};
use report::text::{fit, wrap};
use stats::{Outcome, Verdict};
use std::path::Path;
use workload::plan::{DatabasePlan, Device, HostsPlan};

/// The steps of the load, as the percentage that stays free at the plan's own load: up to 8 times
/// that load. They do not depend on the required headroom, so that a plan and an array have one
/// limit.
const STEPS: [f64; 10] = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 87.5];

/// The factor of a plan's load that corresponds to `free` percent of headroom at the load itself.
fn times_of(free: f64) -> f64 {
    100.0 / (100.0 - free)
}

/// How much of the plan's load an array carries.
struct Held {
    name: String,
    price: Option<f64>,
    /// The factor of the load up to which every step held; `None` if the plan's own load did not
    /// hold.
    times: Option<f64>,
    /// What did not hold at the next of [`STEPS`]; none where all that were played held.
    why: Option<Verdict>,
}

impl Held {
    fn times(&self) -> String {
        let most = if self.why.is_none() { "≥" } else { "" };
        self.times.map_or("none".into(), |times| format!("{most}{times:.2}"))
    }

    fn why(&self) -> String {
        self.why.as_ref().map_or(String::new(), |verdict| format!("{}: {}", verdict.question, verdict.because))
    }
}

/// Simulates the plan on each array at its load and above. An array carries the plan if it holds
/// with `free` percent to spare: at each of [`STEPS`] up to the first one that leaves as much.
pub fn run(plan: &Path, arrays: &[Offer], free: u32, out: &Path) -> Result<Answer> {
    let text = std::fs::read_to_string(plan).with_context(|| format!("--require {}", plan.display()))?;
    must_be_of_workloads(&text, plan)?;
    let file = plan.display().to_string();
    let Some(step) = STEPS.into_iter().find(|step| *step >= f64::from(free)) else {
        let most = STEPS[STEPS.len() - 1];
        bail!(
            "--headroom: at most {:.0} with --require, which looks up to {:.0} times the load",
            most.floor(),
            times_of(most)
        );
    };
    let needed = times_of(step);
    // The cheapest of those that carry it is chosen, however much more each would carry.
    let all_priced = arrays.iter().all(|(_, _, price)| price.is_some());
    let limits = limits(arrays.len(), step, !all_priced, |index, times| {
        let (name, device, _) = &arrays[index];
        let _shown = Shown::new(&format!("{name}: playing {times:.2} times the load"));
        broken(&text, &file, device, times)
    })?;
    let held = |((name, _, price), (times, why)): (&Offer, _)| Held { name: name.clone(), price: *price, times, why };
    let found: Vec<Held> = arrays.iter().zip(limits).map(held).collect();
    terminal::line(&format!("{:<20} {:>10}  what does not hold beyond it", "array", "times load"));
    for held in &found {
        let mut why = wrap(&held.why(), 46).into_iter();
        let first = why.next().unwrap_or_default();
        terminal::line(format!("{:<20} {:>10}  {first}", fit(&held.name, 20), held.times()).trim_end());
        why.for_each(|more| terminal::line(&format!("{:33}{more}", "")));
    }
    let carry = found.iter().filter(|held| held.times.is_some_and(|times| times >= needed));
    let chosen = cheapest(carry, |held| held.price, |held| held.times.unwrap_or(0.0));
    let says = says(chosen, step);
    terminal::line("");
    wrap(&says, 80).iter().for_each(|line| terminal::line(line));
    let page = write(out, page(&file, &says, &found, needed))?;
    terminal::line(&format!("\npage      {}", page.display()));
    Ok(if chosen.is_some() { Answer::Yes } else { Answer::No })
}

/// Refuses in one line what has a load of another kind.
fn must_be_of_workloads(text: &str, plan: &Path) -> Result<()> {
    let kinds = [
        (HostsPlan::is_meant(text), "a plan of hosts"),
        (DatabasePlan::is_meant(text), "a plan of a database"),
        (tiers::List::is_meant(text), "a list of storage tiers"),
    ];
    match kinds.into_iter().find(|(is_meant, _)| *is_meant) {
        Some((_, kind)) => {
            bail!("--require {}: is {kind}; name a plan with [[workload]] and [[criterion]] tables", plan.display())
        }
        None => Ok(()),
    }
}

/// The first criterion of the plan that does not hold at so many times its load.
fn broken(text: &str, file: &str, device: &Device, times: f64) -> Result<Option<Verdict>> {
    let recording = play::quietly(text, file, Some(device), times)?;
    if recording.verdicts.is_empty() {
        bail!("--require {file}: has no criteria; write [[criterion]] tables that say what must hold");
    }
    Ok(recording.verdicts.into_iter().find(|verdict| verdict.outcome != Outcome::Pass))
}

/// The load up to which a plan holds at each of [`STEPS`], and what does not hold at the next.
type Limit<T> = (Option<f64>, Option<T>);

/// The limits of so many arrays, all of which are played up to `step`. If the one with least to
/// spare is sought, those that hold go on side by side until the first of them fails: how much more
/// the others would carry decides nothing, and their largest loads take longest to play. What
/// happens beyond a load that failed is not asked: a larger one may hold by chance.
fn limits<T>(
    arrays: usize,
    step: f64,
    seeks_least: bool,
    mut broken: impl FnMut(usize, f64) -> Result<Option<T>>,
) -> Result<Vec<Limit<T>>> {
    let mut found: Vec<Limit<T>> = (0..arrays).map(|_| (None, None)).collect();
    for free in STEPS {
        let carried = |times: &Option<f64>| times.is_some_and(|times| times >= times_of(step));
        let is_decided = !seeks_least || found.iter().any(|(times, why)| why.is_some() && carried(times));
        if free > step && is_decided {
            break;
        }
        for (index, (held, why)) in found.iter_mut().enumerate().filter(|(_, (_, why))| why.is_none()) {
            *why = broken(index, times_of(free))?;
            if why.is_none() {
                *held = Some(times_of(free));
            }
        }
    }
    Ok(found)
}

fn says(chosen: Option<&Held>, step: f64) -> String {
    let asked = format!("{:.2} times its load, which leaves {step} % free", times_of(step));
    match chosen {
        Some(held) => {
            let price = held.price.map_or(String::new(), |price| format!(" for {}", money(price)));
            format!("{} carries it{price}: it held at each step up to {asked}.", held.name)
        }
        None => format!("No array of these carries it: none held at each step up to {asked}."),
    }
}

fn page(file: &str, says: &str, found: &[Held], needed: f64) -> Page {
    let mut page = Page::new("What carries this plan", "");
    page.about = format!("{file}: {says}");
    page.banners
        .push("Simulated on models of arrays, many of whose figures are assumed: no statement about a product.".into());
    let row = |held: &Held| TableRow {
        name: held.name.clone(),
        remarks: held.why.iter().map(|_| format!("beyond it: {}", held.why())).collect(),
        cells: vec![
            held.times().into(),
            if held.times.is_some_and(|times| times >= needed) { "yes" } else { "no" }.into(),
            held.price.map_or("–".into(), money).into(),
        ],
    };
    page.add(Tables {
        heading: "The arrays".into(),
        tables: vec![Table {
            columns: ["array", "times the load that held", "carries it", "price"].map(String::from).to_vec(),
            groups: vec![Group { rows: found.iter().map(row).collect(), ..Group::default() }],
            ..Table::default()
        }],
        ..Tables::default()
    });
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan that holds at 2 times its load but not at 1.11 times is carried at 1: loads beyond a
    /// failed one do not count.
    #[test]
    fn the_first_step_that_fails_is_the_limit() {
        let of = |fails: fn(f64) -> bool| {
            limits(1, 30.0, true, |_, times| Ok(fails(times).then_some(times))).unwrap().remove(0)
        };
        let (held, why) = of(|times| (1.05..1.2).contains(&times));
        assert_eq!((held, why.map(|times| (100.0 * times).round())), (Some(1.0), Some(111.0)));
        assert_eq!(of(|_| true), (None, Some(1.0)));
        assert_eq!(of(|_| false), (Some(8.0), None));
    }

    /// Arrays that hold up to 1.11, 2 and 8 times the load, of which 1.43 times is asked, in four
    /// steps. Without a price the second is chosen, once it fails at 2.5, in the seventh. The third
    /// is not played beyond that, and none beyond 1.43 with prices.
    #[test]
    fn arrays_are_played_until_the_choice_is_known() {
        let played = |seeks_least| {
            let mut steps = [0; 3];
            let found = limits(3, 30.0, seeks_least, |index, times| {
                steps[index] += 1;
                Ok((times > [1.2, 2.1, 9.0][index]).then_some(()))
            });
            let held = found.unwrap().into_iter().map(|(times, why)| ((100.0 * times.unwrap()).round(), why.is_some()));
            (held.collect::<Vec<_>>(), steps)
        };
        assert_eq!(played(true), (vec![(111.0, true), (200.0, true), (250.0, false)], [3, 7, 7]));
        assert_eq!(played(false), (vec![(111.0, true), (143.0, false), (143.0, false)], [3, 4, 4]));
    }
}
