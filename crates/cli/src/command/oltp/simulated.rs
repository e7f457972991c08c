//! Order entry in virtual time, on a simulated array.

use super::load::{Played, all_of};
use super::{Run, calibrate};
use crate::command::results;
use crate::interrupt::{self, Stop};
use crate::memory::{self, Memory};
use crate::play::now_unix_ms;
use crate::{Answer, catalogue, terminal};
use ::database::{Isolation, RECONNECT_S};
use ::oltp::{Evidence, Figures, Ledger, Limiter, LoadSettings, Mode, Shop, ShopPages, Sizes, add_point, load_run};
use anyhow::{Result, anyhow, bail};
use array::{Array, Model};
use block::{Bytes, Span};
use capacity::{Buffered, play_shop};
use report::text::{millis, thousands};
use stage::device::{built, spec_of};
use stats::run::{HostRecord, Identity, Run as Kept, State};
use workload::plan::Device;

/// Default size of the database's own cache.
const BUFFERS: Bytes = Bytes::gib(1);

pub fn run(run: &Run, array: &str, memory: &Memory) -> Result<Answer> {
    run.check_outputs()?;
    let shop = shop(run, array, memory)?;
    let device = catalogue::device("--array", array)?;
    let stop = interrupt::watch()?;
    let ledger = play(run, &shop, &device, &stop)?;
    let figures = Figures::of(&ledger, shop.users);
    let stopped = stop.is_asked();
    if stopped && figures.done == 0 {
        bail!("stopped before anything was measured");
    }
    let (seen, limiter) = evidence(&device, &shop, &figures)?;
    terminal::print(&text(&figures, &shop, &device.to_string()));
    terminal::line(&format!("limiter    {}; {}", limiter.name, limiter.grounds));
    let played = Played { figures, ledger, seen, host: HostRecord::default(), server: Vec::new(), limiter };
    let state = if stopped { State::CutShort } else { State::Ended };
    let kept = keep(run, (&shop, array), &played, state, memory);
    let window = report::text::seconds(played.figures.window);
    let cut = stopped.then(|| format!("{window} of {} s were measured", run.work.time));
    let written = run.write(&played, array, &facts(&shop, &device, &kept.identity.command), cut.as_deref());
    let told = match stopped {
        true => Err(anyhow!("stopped before the end; what was measured until then is kept")),
        false => Ok(()),
    };
    all_of([written, told])?;
    Ok(Answer::Yes)
}

/// Checks the options of a run on an array.
///
/// # Errors
/// An option needs a database, or names something that does not exist.
pub fn check(run: &Run, array: &str, memory: &Memory) -> Result<()> {
    shop(run, array, memory).map(drop)
}

/// What is asked, as a shop.
fn shop(run: &Run, array: &str, memory: &Memory) -> Result<Shop> {
    let work = &run.work;
    let not_here = [
        ("--rate", run.rate.is_some()),
        ("--transactions", run.transactions.is_some()),
        ("--columns", run.columns.is_some()),
        ("--think", work.think != (0, 0)),
        ("--skew", work.skew.is_some()),
        ("--reconnect", work.reconnect != RECONNECT_S),
        ("--memory", work.memory.is_some()),
        ("--calls", work.mode() != Mode::default()),
        ("--isolation", work.isolation() != Isolation::default()),
        ("--date", work.date.is_some()),
    ];
    if let Some((option, _)) = not_here.iter().find(|(_, given)| *given) {
        bail!("{option}: needs a database; leave it out with --array {array}");
    }
    let buffers = work.buffers.unwrap_or(BUFFERS);
    let (pages, database) = match &run.like {
        Some(name) => {
            let like = calibrate::point("--like", name, &results::open(memory)?)?;
            (like.pages(), like.database)
        }
        None => {
            let database = run.database_size.unwrap_or(Bytes(30_000_000_000));
            (ShopPages::of(&Sizes::of_bytes(database)), database)
        }
    };
    let (least, most, mix) = (work.think_between.0, work.think_between.1, work.mix()?);
    let asks = Buffered::new(pages, &mix, run.users, buffers).asks().times(run.cold);
    Ok(Shop {
        users: run.users,
        mix,
        think: Span::from_micros((least + most) as u64 * 500),
        host: run.host_time,
        processors: run.processors,
        asks,
        database,
        page: ShopPages::PAGE,
    })
}

fn play(run: &Run, shop: &Shop, device: &Device, stop: &Stop) -> Result<Ledger> {
    let (warm_up, window) = (Span::from_secs(run.work.warm_up), Span::from_secs(run.work.time));
    let target = built(device, shop.size(), run.work.seed)?;
    Ok(play_shop(shop, target, run.work.seed, [warm_up, window], &|| stop.is_asked()))
}

/// What host and array did, as mean values: processors by work done, the media, and the limiter.
fn evidence(device: &Device, shop: &Shop, figures: &Figures) -> Result<(Evidence, Limiter)> {
    let cpu = figures.avg_tps * shop.host.as_secs_f64() / f64::from(shop.processors);
    let mut seen = Evidence { cpu: Some(cpu.min(1.0)), cores: shop.processors, ..Evidence::default() };
    if device.figure("members").is_some() {
        let grounds = "of several devices that are joined no means are computed".into();
        return Ok((seen, Limiter { name: "cannot say", grounds }));
    }
    let array = match spec_of(device, shop.size())?.model {
        Model::Array(array) => array,
        media => Array { stages: Vec::new(), media: Box::new(media) },
    };
    let carried = capacity::carried(&array, shop);
    seen.device = Some(carried.media);
    let (name, used) = carried.limit;
    let busy =
        figures.worked.as_secs_f64() / (figures.window.as_secs_f64() * f64::from(shop.users)).max(f64::MIN_POSITIVE);
    Ok((seen, limiter(&name, used, (shop.think > Span::ZERO).then_some(busy))))
}

/// From this part on, the host and stages of an array are full.
const FULL: f64 = 0.9;

/// What limited: the host or a stage of the array, if it is full, and otherwise how long each
/// transaction takes. `busy` is the part of users' time in transactions where they think between
/// them.
fn limiter(fullest: &str, used: f64, busy: Option<f64>) -> Limiter {
    let used_by_means = format!("{fullest}, {:.0} % used (by means)", 100.0 * used);
    match busy.filter(|busy| *busy < 0.5) {
        Some(busy) => {
            let grounds = format!("they were thinking; transactions took {:.0} % of their time", 100.0 * busy);
            Limiter { name: "the users", grounds }
        }
        None if used < FULL => {
            let grounds = format!("nothing is full; the fullest is {used_by_means}");
            Limiter { name: "response times", grounds }
        }
        None if fullest == "host" => Limiter { name: "processor", grounds: used_by_means },
        None => Limiter { name: "storage", grounds: used_by_means },
    }
}

/// Keeps the run like those on real databases.
fn keep(run: &Run, (shop, array): (&Shop, &str), played: &Played, state: State, memory: &Memory) -> Kept {
    let (work, buffers) = (&run.work, run.work.buffers.unwrap_or(BUFFERS));
    let users = report::text::count(shop.users as usize, "user", "users");
    let identity = memory::identity("oltp", format!("order entry on {array}, {users}"), now_unix_ms());
    let identity = Identity { seed: work.seed, simulated: true, ..identity };
    let begun = load_run(&LoadSettings {
        database: array.into(),
        engine: "virtual time".into(),
        size: Some(shop.database.0),
        scale: None,
        products: None,
        mix: shop.mix,
        mode: work.mode(),
        think: work.think(),
        skew: None,
        rate: None,
        warm_up_s: work.warm_up,
        buffers: buffers.0,
    });
    let mut kept = Kept { identity, machine: memory::this_machine("virtual time"), ..begun };
    let Played { figures, ledger, seen, limiter, .. } = played;
    let labels = vec![("db_cache".into(), buffers.to_string()), ("vcpu".into(), shop.processors.to_string())];
    let begun = memory.labelled(labels).begin(kept.clone());
    add_point(&mut kept, Span::ZERO, ledger, figures, seen, limiter);
    kept.identity.state = state;
    begun.end(kept.clone());
    kept
}

fn facts(shop: &Shop, device: &Device, command: &str) -> Vec<(String, String)> {
    let fact = |name: &str, said: String| (name.to_owned(), said);
    vec![
        fact("Storage", device.about.clone().unwrap_or_else(|| device.to_string())),
        fact("Database", format!("{}, {:.2} pages read for a transaction", shop.database, shop.demand().pages)),
        fact("Host", format!("{} a transaction on {} processors", shop.host, shop.processors)),
        fact("Time", "virtual".into()),
        fact("Command", command.into()),
    ]
}

fn text(figures: &Figures, shop: &Shop, device: &str) -> String {
    let head = ["done", "mean ms", "p50", "p95", "p99", "max"];
    let mut lines = vec![format!("{:<6}{}", "", head.map(|head| format!("{head:>12}")).concat())];
    for line in &figures.lines {
        let at = |part| millis(line.response.quantile(part));
        let (mean, max) = (millis(line.response.mean()), millis(line.response.max()));
        let cells = [thousands(line.response.count()), mean, at(0.5), at(0.95), at(0.99), max];
        lines.push(format!("{:<6}{}", line.what.short(), cells.map(|cell| format!("{cell:>12}")).concat()));
    }
    let demand = shop.demand();
    let tpm = if figures.minute_was_full { "" } else { " (less than a minute: too few)" };
    lines.extend([
        String::new(),
        format!("users      {}, measured for {:.0} s of virtual time", figures.users, figures.window.as_secs_f64()),
        format!("avg TPS    {:.1}", figures.avg_tps),
        format!("max TPS    {}", thousands(figures.max_tps)),
        format!("max TPM    {}{tpm}", thousands(figures.max_tpm)),
        format!("avg resp   {} ms", millis(figures.response)),
        format!(
            "asks       {:.2} reads, {:.2} changed pages, {:.2} commits a transaction",
            demand.pages, demand.changed, demand.commits
        ),
    ]);
    let said = format!("{} of database on: {device}", shop.database);
    let wrapped = report::text::wrap(&said, 69);
    lines.extend(
        wrapped.iter().enumerate().map(|(at, line)| format!("{:<11}{line}", if at == 0 { "storage" } else { "" })),
    );
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A controller that is 11 % used limits nothing: users wait for each transaction in turn.
    #[test]
    fn what_is_nearly_idle_does_not_limit() {
        let told = |fullest, used, busy| {
            let Limiter { name, grounds } = limiter(fullest, used, busy);
            format!("{name}; {grounds}")
        };
        assert_eq!(
            told("controller", 0.11, None),
            "response times; nothing is full; the fullest is controller, 11 % used (by means)"
        );
        assert_eq!(told("disks", 0.95, Some(0.8)), "storage; disks, 95 % used (by means)");
        assert_eq!(told("host", 0.9, None), "processor; host, 90 % used (by means)");
        assert_eq!(told("host", 0.2, Some(0.1)), "the users; they were thinking; transactions took 10 % of their time");
    }
}
