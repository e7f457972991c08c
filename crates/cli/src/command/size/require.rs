//! `seawall size --require`: a plan played on each array, at more and more of its load.

use super::{Offer, write};
use crate::{Answer, play, terminal};
use anyhow::{Context as _, Result, bail};
use capacity::cheapest;
use report::Page;
use report::section::{Group, Table, TableRow, Tables};
use report::text::{fit, thousands, wrap};
use stats::{Outcome, Verdict};
use std::path::Path;
use workload::plan::Device;

/// More than this times a plan's load is not looked for.
const TIMES_MAX: f64 = 8.0;

/// How much of the plan's load an array was seen to carry.
struct Held {
    name: String,
    price: Option<f64>,
    /// Times the load that still held; none where its own load did not.
    times: Option<f64>,
    /// What did not hold beyond it; none up to [`TIMES_MAX`].
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

/// Plays the plan on each array, at its load and at more of it; an array carries it where it holds
/// with a part of `free` to spare.
pub fn run(plan: &Path, arrays: &[Offer], free: f64, out: &Path) -> Result<Answer> {
    let text = std::fs::read_to_string(plan).with_context(|| format!("--require {}", plan.display()))?;
    let file = plan.display().to_string();
    let needed = 1.0 / (1.0 - free);
    if needed > TIMES_MAX {
        bail!(
            "--headroom: at most {:.0} with --require, which looks up to {TIMES_MAX} times the load",
            100.0 - 100.0 / TIMES_MAX
        );
    }
    let mut found = Vec::new();
    for (name, device, price) in arrays {
        let (times, why) = most(&text, &file, device, needed)?;
        let held = Held { name: name.clone(), price: *price, times, why };
        if found.is_empty() {
            terminal::line(&format!("{:<20} {:>10}  what does not hold beyond it", "array", "times load"));
        }
        let mut why = wrap(&held.why(), 46).into_iter();
        let first = why.next().unwrap_or_default();
        terminal::line(format!("{:<20} {:>10}  {first}", fit(name, 20), held.times()).trim_end());
        why.for_each(|more| terminal::line(&format!("{:33}{more}", "")));
        found.push(held);
    }
    let carry = found.iter().filter(|held| held.times.is_some_and(|times| times >= needed));
    let chosen = cheapest(carry, |held| held.price, |held| held.times.unwrap_or(0.0));
    let says = says(chosen, needed, free);
    terminal::line("");
    wrap(&says, 80).iter().for_each(|line| terminal::line(line));
    let page = write(out, page(&file, &says, &found, needed))?;
    terminal::line(&format!("\npage      {}", page.display()));
    Ok(if chosen.is_some() { Answer::Yes } else { Answer::No })
}

/// The most of its load at which the plan holds, to an eighth, and what does not beyond it.
fn most(text: &str, file: &str, device: &Device, needed: f64) -> Result<(Option<f64>, Option<Verdict>)> {
    let fails = |times: f64| -> Result<Option<Verdict>> {
        let recording = play::quietly(text, file, Some(device), times)?;
        if recording.verdicts.is_empty() {
            bail!("--require {file}: has no criteria; write [[criterion]] tables that say what must hold");
        }
        Ok(recording.verdicts.into_iter().find(|verdict| verdict.outcome != Outcome::Pass))
    };
    // What is needed is played itself, so that no step between says no for it.
    let mut ladder: Vec<f64> = [1.0, 2.0, 4.0, TIMES_MAX].into_iter().chain([needed]).collect();
    ladder.sort_by(f64::total_cmp);
    ladder.dedup();
    let (mut held, mut why, mut high) = (None, None, TIMES_MAX);
    for times in ladder {
        why = fails(times)?;
        if why.is_some() {
            high = times;
            break;
        }
        held = Some(times);
    }
    let (Some(mut low), true) = (held, why.is_some()) else { return Ok((held, why)) };
    while high / low > 1.125 {
        let middle = (low * high).sqrt();
        match fails(middle)? {
            Some(verdict) => (high, why) = (middle, Some(verdict)),
            None => low = middle,
        }
    }
    Ok((Some(low), why))
}

fn says(chosen: Option<&Held>, needed: f64, free: f64) -> String {
    let asked = format!("{needed:.2} times its load, which leaves {:.0} % free", 100.0 * free);
    match chosen {
        Some(held) => {
            let price = held.price.map_or(String::new(), |price| format!(" for {}", thousands(price.round() as u64)));
            format!("{} carries it{price}: it held at {asked}.", held.name)
        }
        None => format!("No array of these carries it: none held at {asked}."),
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
            held.price.map_or("–".into(), |price| thousands(price.round() as u64)).into(),
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
