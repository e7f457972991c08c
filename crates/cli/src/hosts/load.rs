//! A plan's loads and policies, fitted to this machine.

use super::turns;
use anyhow::{Context as _, Result};
use block::Span;
use ontap::Word;
use ontap::value::AdaptiveRate;
use qos::RegistrySettings;
use ramp::{Accounting, BLOCK, Constants, HostLoad, Ladder, Layout, RampLoad, RampSettings, Steps, Window};
use stage::Rehearsal;
use workload::plan::{HostsPlan, PlanStep, PlanUnits, PlannedHost, line_of};

/// The factors for published figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// The factor for rates.
    pub rates: f64,
    /// The published used space divided by the space here. Rates per TB are multiplied by it, so
    /// that the floor of a host is the published one times `rates`.
    pub space: f64,
}

impl Scaling {
    /// The scaling for a factor of rates.
    pub fn of(plan: &HostsPlan, factor: f64) -> Scaling {
        let tb = match plan.units {
            PlanUnits::Decimal => 1e12,
            PlanUnits::Binary => (1u64 << 40) as f64,
        };
        let here = plan.hosts.iter().find(|host| host.protected).map_or(1, |host| host.volumes.len());
        let here = (here as u64 * plan.volume_size.0) as f64;
        Scaling { rates: factor, space: plan.used_milli_tb as f64 / 1000.0 * tb / here }
    }
}

/// A command with its limits scaled: fixed limits and absolute minima by the factor for rates,
/// rates per TB by the factor for space as well.
///
/// # Errors
/// The line is not a command, or a value is not a rate.
pub fn fitted(line: &str, scaling: Scaling) -> Result<String> {
    // Rates are scaled here as in other plans; only the factor for space is left.
    let line = crate::scale::line(line, scaling.rates)?;
    if scaling.rates == 1.0 && scaling.space == 1.0 {
        return Ok(line);
    }
    let within = || format!("command {line:?}");
    let mut words = Word::split(&line).with_context(within)?;
    let mut changed = false;
    for index in 1..words.len() {
        let Some(name) = words[index - 1].parameter().map(str::to_ascii_lowercase) else { continue };
        let text = words[index].text.clone();
        let times = |rate: u64, factor: f64| ((rate as f64 * factor).round() as u64).max(1);
        let is = |full: &str| full.starts_with(&name) && full != name.as_str() && name.len() > 1 || full == name;
        if is("expected-iops") || is("peak-iops") {
            let rate: AdaptiveRate = text.parse()?;
            let iops = times(rate.iops, scaling.space);
            words[index] = Word::plain(AdaptiveRate { iops, ..rate }.to_string());
            changed = true;
        }
    }
    // A line without rates stays exactly as written.
    let fitted = if changed { Word::join(&words) } else { line.clone() };
    ontap::parse(&fitted).with_context(|| format!("{}: scaled to this machine it is {fitted:?}", within()))?;
    Ok(fitted)
}

/// The constants of the test.
pub fn constants(plan: &HostsPlan) -> Constants {
    Constants { cycle: plan.cycle, writers: plan.writers, ..Constants::default() }
}

/// What the storage must carry in a run (from 0), with rates times `factor`.
pub fn window(plan: &HostsPlan, factor: f64, run: u32) -> Window {
    let target = |host: &PlannedHost| ladder(plan, host, factor).targets()[run as usize];
    let load = |host: &PlannedHost| HostLoad { target: target(host), protected: host.protected };
    let loads: Vec<HostLoad> = plan.hosts.iter().map(load).collect();
    Window::of(&loads, &constants(plan), plan.drain)
}

/// A host's targets, with rates times `factor`.
fn ladder(plan: &HostsPlan, host: &PlannedHost, factor: f64) -> Ladder {
    let (min, max) = (times(host.from, factor), times(host.to, factor));
    Ladder { min, max, runs: plan.runs, steps: Steps::AboveMinimum }
}

/// The ramp of each host, with rates times `factor`.
pub fn ramps(plan: &HostsPlan, factor: f64) -> Vec<RampSettings> {
    let ramp = |(number, host): (usize, &PlannedHost)| RampSettings {
        ladder: ladder(plan, host, factor),
        runtime: plan.run_length,
        wij_file: host.journal_path(),
        system: host.name.clone(),
        comment: plan.title.clone(),
        warm_up: false,
        accounting: Accounting::True,
        constants: constants(plan),
        seed: plan.seed.wrapping_add(number as u64),
    };
    plan.hosts.iter().enumerate().map(ramp).collect()
}

/// The last runs of these ramps alone.
pub fn last_runs(ramps: &[RampSettings]) -> Vec<RampSettings> {
    let last = |ramp: &RampSettings| RampSettings {
        ladder: Ladder { min: ramp.ladder.max, runs: 1, ..ramp.ladder },
        ..ramp.clone()
    };
    ramps.iter().map(last).collect()
}

/// The same with cycles `cycle` apart, long enough for one burst.
pub fn one_burst(ramps: &[RampSettings], cycle: Span) -> Vec<RampSettings> {
    let mut runs = last_runs(ramps);
    for ramp in &mut runs {
        // Reads go on for as long as the burst may last; the next cycle would begin just then.
        (ramp.constants.cycle, ramp.runtime) = (cycle, cycle * 2);
    }
    runs
}

/// The registry settings of the plan.
pub fn registry_settings(plan: &HostsPlan) -> RegistrySettings {
    let units = match plan.units {
        PlanUnits::Decimal => qos::Units::Decimal,
        PlanUnits::Binary => qos::Units::Binary,
    };
    RegistrySettings { units, ..RegistrySettings::default() }
}

/// The commands that create a plan's SVM, volumes and LUNs. Sizes are plain bytes, so that no unit
/// can be misread.
pub fn set_up(plan: &HostsPlan) -> Vec<String> {
    let (svm, data) = (&plan.svm, plan.volume_size.0);
    let mut lines = vec![format!("vserver create -vserver {svm}")];
    for name in plan.volumes() {
        let journals = plan.hosts.iter().filter(|host| host.journal == name).map(|host| journal_bytes(plan, host));
        let holds =
            if plan.hosts.iter().any(|host| host.volumes.iter().any(|volume| volume == name)) { data } else { 0 };
        let size = holds + journals.sum::<u64>();
        lines.push(format!("volume create -vserver {svm} -volume {name} -size {size}"));
    }
    for host in &plan.hosts {
        let luns = host.data_paths().into_iter().map(|path| (path, data));
        for (path, size) in luns.chain([(host.journal_path(), journal_bytes(plan, host))]) {
            lines.push(format!("lun create -vserver {svm} -path {path} -size {size}"));
        }
    }
    lines
}

/// Checks every command of a plan: its grammar, and whether it would be refused in any run.
///
/// # Errors
/// Commands are wrong; the message names the line of each that is refused.
pub fn rehearse(plan: &HostsPlan) -> Result<()> {
    let at = |key, line: &str| {
        let steps = [PlanStep::Key("floors"), PlanStep::Key(key), PlanStep::Text(line)];
        format!("{}:{}", plan.file, line_of(&plan.text, &steps))
    };
    let halves = [("on", &plan.floors_on), ("off", &plan.floors_off)];
    let all: Vec<_> =
        [("create", &plan.floors_create)].into_iter().chain(turns(plan).map(|turn| halves[turn.half])).collect();
    let lines = || all.iter().flat_map(|(key, lines)| lines.iter().map(move |line| (*key, line)));
    for (key, line) in lines() {
        fitted(line, Scaling { rates: 1.0, space: 1.0 }).with_context(|| at(key, line))?;
    }
    let mut rehearsal = Rehearsal::new(registry_settings(plan));
    for line in set_up(plan) {
        // If the volumes themselves are impossible, making them gives the better message.
        if rehearsal.play(&line).is_err() {
            return Ok(());
        }
    }
    for path in plan.hosts.iter().flat_map(PlannedHost::data_paths) {
        rehearsal.uses(&plan.svm, &path, plan.volume_size.0);
    }
    rehearsal.play_all(lines().map(|(key, line)| (at(key, line), line.as_str())))
}

/// Bytes of a host's journal: room for the largest burst that its data can hold.
pub fn journal_bytes(plan: &HostsPlan, host: &PlannedHost) -> u64 {
    // A burst never exceeds the data. Space is allocated only when it is written.
    let blocks = host.volumes.len() as u64 * plan.volume_size.0 / BLOCK;
    Layout::wij_need(blocks).next_multiple_of(1 << 20)
}

/// The largest factor at which every burst still has room.
pub fn factor_max(plan: &HostsPlan) -> f64 {
    let most = plan.hosts.iter().map(|host| {
        let burst = RampLoad::of(host.to, &constants(plan)).burst.max(1);
        // One block of each volume is its label.
        (host.volumes.len() as u64 * (plan.volume_size.0 / BLOCK - 1)) as f64 / burst as f64
    });
    most.fold(f64::INFINITY, f64::min)
}

fn times(rate: u64, factor: f64) -> u64 {
    ((rate as f64 * factor).round() as u64).max(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> HostsPlan {
        HostsPlan::read(include_str!("../../../../plans/protected-production.toml"), "p.toml").unwrap()
    }

    /// 15 000 IOPS/TB on 5 TB are 75 000. At a hundredth of the rates, on four volumes of 256 MiB
    /// (1.0737 GB, 4656.6 times less), 750 IOPS take 15 000 · 0.01 · 4656.6 = 698 492 IOPS/TB.
    #[test]
    fn floors_are_fitted_to_rates_and_space() {
        let scaling = Scaling::of(&plan(), 0.01);
        assert!((scaling.space - 4656.6).abs() < 0.1, "{}", scaling.space);
        let line = "qos adaptive-policy-group create -policy-group p -vserver epic -expected-iops 15000IOPS/TB \
                    -peak-iops 30000IOPS/TB -absolute-min-iops 7500IOPS -expected-iops-allocation used-space";
        let found = fitted(line, scaling).unwrap();
        assert!(
            found.contains("-expected-iops 698492IOPS/TB -peak-iops 1396984IOPS/TB -absolute-min-iops 75"),
            "{found}"
        );
        assert!(found.ends_with("-expected-iops-allocation used-space"), "{found}");
    }

    /// The published wildcard commands are run exactly as written.
    #[test]
    fn a_line_without_rates_stays_as_it_is_written() {
        let plan = plan();
        let published = "vol modify -vserver epic -volume epic_rhel1_* -qos-adaptive-policy-group AqosEpicProd";
        assert!(plan.floors_on.iter().any(|line| line == published), "{:?}", plan.floors_on);
        assert_eq!(fitted(published, Scaling::of(&plan, 0.0123)).unwrap(), published);
    }

    /// The two plans differ in the place of the journal and its policy.
    #[test]
    fn both_plans_have_the_published_hosts() {
        let one = plan();
        let text = include_str!("../../../../plans/protected-production-journal.toml");
        let other = HostsPlan::read(text, "p.toml").unwrap();
        for plan in [&one, &other] {
            let loads: Vec<_> = plan.hosts.iter().map(|host| (host.from, host.to, host.protected)).collect();
            assert_eq!(loads, [(75_000, 75_000, true), (75_000, 75_000, true), (75_000, 150_000, false)]);
            assert!(plan.hosts.iter().all(|host| host.volumes.len() >= 4));
        }
        assert!(one.hosts.iter().all(|host| host.volumes.contains(&host.journal)));
        assert!(other.hosts.iter().all(|host| !host.volumes.contains(&host.journal)));
        // The floor of the journals is added after the commands that both plans have.
        assert!(other.floors_create.starts_with(&one.floors_create) && other.floors_on.starts_with(&one.floors_on));
        assert!(other.floors_off.starts_with(&one.floors_off));
        assert_eq!((one.cycle, one.run_length, one.runs), (other.cycle, other.run_length, other.runs));
    }

    /// A command that no run could carry out is found before anything is made, with its line. `off`
    /// runs twice in a row when the halves change places.
    #[test]
    fn commands_of_floors_are_rehearsed() {
        let text = include_str!("../../../../plans/protected-production.toml");
        let refused = |from: &str, to: &str| {
            let text = text.replacen(from, to, 1);
            let line = text.lines().position(|line| line.contains(to)).expect(to) + 1;
            let plan = HostsPlan::read(&text, "p.toml").unwrap_or_else(|errors| panic!("{errors}"));
            (line, rehearse(&plan).err().map(|error| format!("{error:#}")).unwrap_or_default())
        };
        assert_eq!(refused("title", "title").1, "");
        for (from, to, why) in [
            (
                "epic_rhel1_* -qos-adaptive-policy-group AqosEpicProd",
                "epic_rhel1_* -qos-adaptive-policy-group Nope",
                "Nope",
            ),
            ("-vserver epic -volume epic_rhel2_*", "-vserver epi -volume epic_rhel2_*", "epi"),
        ] {
            let (line, error) = refused(from, to);
            assert!(error.starts_with(&format!("p.toml:{line}: ")) && error.contains(why), "{error}");
        }
    }

    /// Each refusal has its line, once however often the command is played.
    #[test]
    fn all_refused_commands_of_floors_are_named() {
        let text = include_str!("../../../../plans/protected-production.toml")
            .replace("epic_rhel1_* -qos-adaptive", "epic_none1_* -qos-adaptive")
            .replace("-volume epic_rhel2_*", "-volume epic_none2_*");
        let lines = text.lines().enumerate().filter(|(_, line)| line.contains("epic_none"));
        let wrong: Vec<String> = lines.map(|(number, _)| format!("p.toml:{}", number + 1)).collect();
        assert!(wrong.len() >= 2, "{text}");
        let error = rehearse(&HostsPlan::read(&text, "p.toml").unwrap()).unwrap_err().to_string();
        let mut told: Vec<&str> = error.lines().filter_map(|line| line.split(": ").next()).collect();
        told.sort_unstable();
        assert_eq!(told, wrong, "{error}");
    }

    /// A tenth: 7 500 and 15 000 IOPS; for the fit, one burst at the top rate.
    #[test]
    fn ramps_are_fitted() {
        let ramps = ramps(&plan(), 0.1);
        assert_eq!((ramps[0].ladder.min, ramps[2].ladder.min, ramps[2].ladder.max), (7500, 7500, 15_000));
        let burst = one_burst(&ramps, Span::from_secs(4));
        assert_eq!((burst[2].ladder.targets(), burst[2].runtime), (vec![15_000], Span::from_secs(8)));
        assert!(ramps.iter().chain(&burst).all(|ramp| ramp.check().is_ok()));
    }
}
