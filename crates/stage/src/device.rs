//! A plan's simulated device as the simulator builds it: the plan's keys laid over the usual
//! figures of its kind.

use anyhow::{Context as _, Result, bail};
use array::{
    Array, ArrayStage, CachePolicy, Change, CloudVolume, ControlGroup, Controller, DeviceError, DeviceSpec, Disk,
    Flash, Host, HostAdapters, Level, Link, Model, ParallelServers, Pause, Raid, ReadCache, WriteLog,
};
use block::{Bytes, ObjectId, Span, Target, Time};
use qos::CreditLimit;
use storage::{Joined, Member};
use workload::plan::{Device, DeviceFigure};

/// The device of a plan, `size` large.
///
/// # Errors
/// Two of its figures contradict each other.
pub fn spec_of(device: &Device, size: Bytes) -> Result<DeviceSpec> {
    let mut spec = DeviceSpec::named(device.kind).map_err(|error| located(device, error))?;
    spec.size = size;
    spec.queue_limit = device.figure("queue_limit").map(|limit| count(limit) as u32);
    let change = |&(at, percent): &(Span, u32)| Change { at: Time::ZERO + at, percent };
    spec.changes = device.changes.iter().map(change).collect();
    match &mut spec.model {
        Model::ParallelServers(model) => parallel_servers(model, device),
        Model::Disk(model) => disk(model, device),
        Model::Flash(model) => flash(model, device)?,
        Model::CloudVolume(model) => cloud_volume(model, device),
        Model::Host(model) => host(model, device),
        Model::Array(model) => array(model, device)?,
    }
    spec.check().map_err(|error| located(device, error))?;
    Ok(spec)
}

/// The error with its place in the file.
fn located(device: &Device, error: DeviceError) -> anyhow::Error {
    let place = at(device, &error.fields());
    anyhow::Error::new(error).context(place)
}

/// `file:line: [device]` of the first of these keys that the file gives, or of the table.
fn at(device: &Device, keys: &[&str]) -> String {
    let place = |key: &&str| device.places.iter().find(|(given, _)| given == key);
    let found = keys.iter().chain(&["kind"]).find_map(place);
    found.map_or("[device]".into(), |(_, place)| format!("{place}: [device]"))
}

/// The device of a plan, at least `size` large: one, or several alike that are joined.
///
/// # Errors
/// As [`spec_of`].
pub fn built(device: &Device, size: Bytes, seed: u64) -> Result<Box<dyn Target>> {
    built_for(device, size, 1, seed)
}

/// The device of a plan with so many objects of that size, each with a place of its own. If several
/// devices are joined, the objects lie over each other.
///
/// # Errors
/// As [`spec_of`].
pub fn built_for(device: &Device, size: Bytes, luns: u32, seed: u64) -> Result<Box<dyn Target>> {
    let members = device.figure("members").map_or(1, count);
    let stripe = device.figure("stripe").map(|figure| Bytes(count(figure)));
    if members == 1 {
        if let Some(stripe) = stripe {
            let place = at(device, &["stripe"]);
            bail!("{place}: stripe: needs several members, got one and {stripe}; say members = 4 or leave stripe out");
        }
        let spec = DeviceSpec { luns, ..spec_of(device, size)? };
        return spec.build(seed).map_err(|error| located(device, error));
    }
    // Each is a whole number of stripes, so that together they are large enough.
    let unit = stripe.map_or(UNIT, |stripe| stripe.0);
    let each = Bytes(size.0.div_ceil(members).next_multiple_of(unit));
    let spec = spec_of(device, each)?;
    let build = |member: u64| spec.build(seed ^ member << 40).map_err(|error| located(device, error));
    let targets = (0..members).map(build).collect::<Result<Vec<Box<dyn Target>>>>()?;
    let member = |target| Member { target, object: ObjectId(0), size: each, flushes: true };
    if let Some(stripe) = stripe {
        let align = targets.iter().map(|target| target.traits().align).max().unwrap_or(1);
        if !stripe.0.is_multiple_of(align.into()) {
            bail!("{}: stripe: must be a whole multiple of {align} B, got {stripe}", at(device, &["stripe"]));
        }
    }
    let all = (0..targets.len()).map(member).collect();
    Ok(Box::new(Joined::new(targets, all, stripe, None)))
}

/// The size of a device without stripes is a multiple of this.
const UNIT: u64 = 1 << 20;

fn parallel_servers(model: &mut ParallelServers, device: &Device) {
    set_count(device, "servers", &mut model.servers);
    set_time(device, "service", &mut model.service);
    model.size_unit = device.figure("size_unit").map(size);
    set_time(device, "flush", &mut model.flush);
    set_time(device, "trim", &mut model.trim);
}

fn disk(model: &mut Disk, device: &Device) {
    set_time(device, "seek_shortest", &mut model.seek_shortest);
    set_time(device, "seek_longest", &mut model.seek_longest);
    set_time(device, "rotation", &mut model.rotation);
    set_size(device, "track", &mut model.track);
    model.track_inner = device.figure("track_inner").map(size);
    set_count(device, "window", &mut model.window);
    set_count(device, "patience", &mut model.patience);
    set_time(device, "flush", &mut model.flush);
    set_time(device, "trim", &mut model.trim);
}

fn flash(model: &mut Flash, device: &Device) -> Result<()> {
    set_count(device, "channels", &mut model.channels);
    set_size(device, "page", &mut model.page);
    set_time(device, "read", &mut model.read);
    set_time(device, "program", &mut model.program);
    if let Some(collection) = &mut model.collection {
        set_size(device, "collect_every", &mut collection.every);
        set_time(device, "collect_stall", &mut collection.stall);
    }
    model.pause = match (device.figure("pause_every"), device.figure("pause_length")) {
        (Some(every), Some(length)) => Some(Pause { every: time(every), length: time(length) }),
        (None, None) => None,
        _ => {
            let place = at(device, &["pause_every", "pause_length"]);
            bail!("{place}: pause_every and pause_length belong together; give both or none")
        }
    };
    set_time(device, "flush", &mut model.flush);
    set_time(device, "trim", &mut model.trim);
    Ok(())
}

fn cloud_volume(model: &mut CloudVolume, device: &Device) {
    set_allowance(device, ["iops", "iops_peak", "iops_credit"], &mut model.operations);
    set_allowance(device, ["bytes", "bytes_peak", "bytes_credit"], &mut model.bytes);
    set_size(device, "io_unit", &mut model.io_unit);
    set_time(device, "latency", &mut model.latency);
    set_time(device, "jitter", &mut model.jitter);
    set_time(device, "flush", &mut model.flush);
    set_time(device, "trim", &mut model.trim);
}

fn host(model: &mut Host, device: &Device) {
    set_time(device, "turn", &mut model.turn);
    set_time(device, "request", &mut model.request);
    model.size_unit = device.figure("size_unit").map(size);
    if let Some(absence) = &mut model.absence {
        set_time(device, "absent_every", &mut absence.every);
        set_time(device, "absent_length", &mut absence.length);
    }
    model.absence = model.absence.filter(|absence| absence.length > Span::ZERO);
    set_time(device, "flush", &mut model.flush);
    set_time(device, "trim", &mut model.trim);
}

/// The stages of an array, the last of them its media.
fn array(model: &mut Array, device: &Device) -> Result<()> {
    let Some((media, before)) = device.stages.split_last() else {
        bail!("{}: an array needs at least its media", at(device, &[]));
    };
    *model.media = spec_of(media, Bytes(1))?.model;
    let checked = |said| {
        let stage = stage(said)?;
        stage.check().map_err(|error| located(said, error))?;
        Ok(stage)
    };
    model.stages = before.iter().map(checked).collect::<Result<_>>()?;
    Ok(())
}

fn stage(said: &Device) -> Result<ArrayStage> {
    Ok(match said.kind {
        "link" => {
            let mut link = Link { flow: said.figure("flow").map(size), ..Link::default() };
            set_size(said, "bandwidth", &mut link.bandwidth);
            set_time(said, "latency", &mut link.latency);
            set_count(said, "flows", &mut link.flows);
            ArrayStage::Link(link)
        }
        "hba" => ArrayStage::HostAdapters(host_adapters(said)),
        "controller" => {
            let mut controller = Controller { size_unit: said.figure("size_unit").map(size), ..Controller::default() };
            set_count(said, "cores", &mut controller.cores);
            set_time(said, "read", &mut controller.read);
            set_time(said, "write", &mut controller.write);
            set_time(said, "flush", &mut controller.flush);
            set_time(said, "trim", &mut controller.trim);
            controller.reads_first = matches!(said.figure("reads_first"), Some(DeviceFigure::Flag(true)));
            ArrayStage::Controller(controller)
        }
        "write-log" => {
            let mut log = WriteLog { bandwidth: said.figure("bandwidth").map(size), ..WriteLog::default() };
            set_size(said, "half", &mut log.half);
            set_time(said, "latency", &mut log.latency);
            set_time(said, "every", &mut log.every);
            set_count(said, "depth", &mut log.depth);
            set_size(said, "unit", &mut log.unit);
            log.anywhere = matches!(said.figure("anywhere"), Some(DeviceFigure::Flag(true)));
            ArrayStage::WriteLog(log)
        }
        "cache" => ArrayStage::Cache(read_cache(said)),
        "credits" => {
            // The way through takes no time here: a link models that.
            let mut limits = CloudVolume { latency: Span::ZERO, jitter: Span::ZERO, ..CloudVolume::default() };
            (limits.flush, limits.trim) = (Span::ZERO, Span::ZERO);
            cloud_volume(&mut limits, said);
            ArrayStage::Credits(limits)
        }
        "control-group" => {
            let mut group = ControlGroup::default();
            group.reads = said.figure("reads").map_or(group.reads, count);
            group.writes = said.figure("writes").map_or(group.writes, count);
            set_time(said, "slice", &mut group.slice);
            ArrayStage::ControlGroup(group)
        }
        _ => {
            let word = said.figure("level");
            let level = Level::NAMED.into_iter().find(|(name, _)| word == Some(DeviceFigure::Word(name)));
            let (_, level) = level.with_context(|| format!("{}: level: missing", at(said, &["level"])))?;
            let mut raid = Raid { level, members: 1, unit: Bytes::kib(64) };
            set_count(said, "members", &mut raid.members);
            set_size(said, "unit", &mut raid.unit);
            ArrayStage::Raid(raid)
        }
    })
}

fn host_adapters(said: &Device) -> HostAdapters {
    let mut adapters = HostAdapters::default();
    set_count(said, "hosts", &mut adapters.hosts);
    set_count(said, "luns", &mut adapters.luns);
    set_count(said, "queue", &mut adapters.queue);
    set_count(said, "adapter", &mut adapters.adapter);
    adapters
}

fn read_cache(said: &Device) -> ReadCache {
    let mut cache = ReadCache { memory: said.figure("memory").map(size), ..ReadCache::default() };
    set_size(said, "size", &mut cache.size);
    set_size(said, "page", &mut cache.page);
    set_time(said, "latency", &mut cache.latency);
    set_size(said, "second", &mut cache.second);
    set_time(said, "second_latency", &mut cache.second_latency);
    cache.warm = matches!(said.figure("warm"), Some(DeviceFigure::Flag(true)));
    cache.policy = match said.figure("policy") {
        Some(DeviceFigure::Word("2q")) => CachePolicy::TwoQ,
        Some(DeviceFigure::Word("sieve")) => CachePolicy::Sieve,
        Some(DeviceFigure::Word("lru")) => CachePolicy::Lru,
        _ => cache.policy,
    };
    cache
}

/// Sets a limit; a base alone is one without bursts.
fn set_allowance(device: &Device, [base, peak, credit]: [&str; 3], allowance: &mut CreditLimit) {
    if let Some(figure) = device.figure(base) {
        *allowance = CreditLimit { base: count(figure), peak: count(figure), credit: 0 };
    }
    allowance.peak = device.figure(peak).map_or(allowance.peak, count);
    allowance.credit = device.figure(credit).map_or(allowance.credit, count);
}

fn set_count(device: &Device, key: &str, into: &mut u32) {
    *into = device.figure(key).map_or(*into, |figure| count(figure) as u32);
}

fn set_time(device: &Device, key: &str, into: &mut Span) {
    *into = device.figure(key).map_or(*into, time);
}

fn set_size(device: &Device, key: &str, into: &mut Bytes) {
    *into = device.figure(key).map_or(*into, size);
}

fn count(figure: DeviceFigure) -> u64 {
    match figure {
        DeviceFigure::Count(number) | DeviceFigure::Size(Bytes(number)) | DeviceFigure::Rate(Bytes(number)) => number,
        DeviceFigure::Time(span) => span.as_nanos(),
        DeviceFigure::Flag(flag) => flag.into(),
        DeviceFigure::Word(_) => 0,
    }
}

fn time(figure: DeviceFigure) -> Span {
    Span::from_nanos(count(figure))
}

fn size(figure: DeviceFigure) -> Bytes {
    Bytes(count(figure))
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::Plan;

    fn device(lines: &str) -> Result<DeviceSpec, String> {
        let text = format!(
            "title = \"t\"\n[server]\nsvm = \"s\"\n[[volume]]\nname = \"v\"\n[[workload]]\nname = \"w\"\n\
             lun = \"/vol/v/lun1\"\ndepth = 1\n[[phase]]\nname = \"p\"\n[device]\n{lines}\n"
        );
        let plan = Plan::read(&text, "p.toml").map_err(|errors| errors.to_string())?;
        spec_of(plan.device.as_ref().expect("it was read"), Bytes::gib(1)).map_err(|error| format!("{error:#}"))
    }

    /// A device of any kind with no keys set is the simulator's own, except for its size, so the
    /// documented defaults are those.
    #[test]
    fn what_is_not_said_is_as_usual() {
        for kind in ["disk", "flash", "cloud-volume", "host"] {
            let usual = DeviceSpec { size: Bytes::gib(1), ..DeviceSpec::named(kind).unwrap() };
            assert_eq!(device(&format!("kind = \"{kind}\"")), Ok(usual));
        }
    }

    /// Every key of every kind reaches a field: setting it makes the device differ from the
    /// default.
    #[test]
    fn every_key_arrives() {
        let kinds = [
            (
                "parallel-servers",
                "servers = 3\nservice = \"7us\"",
                &["size_unit = 512", "flush = \"9us\"", "trim = \"9us\"", "queue_limit = 5"][..],
            ),
            (
                "disk",
                "",
                &[
                    "seek_shortest = \"1ms\"",
                    "seek_longest = \"9ms\"",
                    "rotation = \"9ms\"",
                    "track = 4096",
                    "track_inner = 4096",
                    "window = 7",
                    "patience = 7",
                    "flush = \"9us\"",
                    "trim = \"9us\"",
                ],
            ),
            (
                "flash",
                "",
                &[
                    "channels = 7",
                    "page = 512",
                    "read = \"9us\"",
                    "program = \"9us\"",
                    "collect_every = 7",
                    "collect_stall = \"9us\"",
                    "pause_every = \"9s\"\npause_length = \"1s\"",
                    "flush = \"9us\"",
                    "trim = \"9us\"",
                ],
            ),
            (
                "cloud-volume",
                "",
                &[
                    "iops = 7",
                    "iops_peak = 70000",
                    "iops_credit = 7",
                    "bytes = 7",
                    "bytes_peak = 700000000",
                    "bytes_credit = 7",
                    "io_unit = 7",
                    "latency = \"9us\"",
                    "jitter = \"9us\"",
                    "flush = \"9us\"",
                    "trim = \"9us\"",
                ],
            ),
            (
                "host",
                "",
                &[
                    "turn = \"9us\"",
                    "request = \"9us\"",
                    "size_unit = 7",
                    "absent_every = \"9us\"",
                    "absent_length = \"9us\"",
                    "flush = \"9us\"",
                    "trim = \"9us\"",
                ],
            ),
        ];
        for (kind, needed, keys) in kinds {
            let base = device(&format!("kind = \"{kind}\"\n{needed}")).unwrap();
            for key in keys {
                let changed = device(&format!("kind = \"{kind}\"\n{needed}\n{key}")).unwrap();
                assert_ne!(changed, base, "{kind}: {key}");
            }
            let changed = device(&format!(
                "kind = \"{kind}\"\n{needed}\nchanges = [{{ at = \"10s\", percent = 50 }}, {{ at = \"20s\", percent = 100 }}]"
            ));
            assert_eq!(changed.unwrap().changes[1], Change { at: Time::ZERO + Span::from_secs(20), percent: 100 });
        }
    }

    /// Every key of every stage reaches a field of the array.
    #[test]
    fn every_key_of_a_stage_arrives() {
        let array = |stage: &str| {
            device(&format!("kind = \"array\"\n[[device.stage]]\n{stage}\n[[device.stage]]\nkind = \"flash\""))
        };
        let stages = [
            ("link", "", &["bandwidth = 7", "latency = \"9us\"", "flow = 7", "flows = 7"][..]),
            (
                "controller",
                "",
                &[
                    "cores = 7",
                    "read = \"9us\"",
                    "write = \"9us\"",
                    "size_unit = 7",
                    "flush = \"9us\"",
                    "trim = \"9us\"",
                ],
            ),
            (
                "cache",
                "",
                &[
                    "size = 1048576",
                    "memory = 8589934592",
                    "page = 4096",
                    "latency = \"9us\"",
                    "second = 1048576",
                    "second_latency = \"9us\"",
                    "warm = true",
                ],
            ),
            (
                "write-log",
                "",
                &[
                    "half = 7",
                    "latency = \"9us\"",
                    "bandwidth = 7",
                    "every = \"9us\"",
                    "depth = 7",
                    "unit = 7",
                    "anywhere = true",
                ],
            ),
            ("credits", "", &["iops = 7", "bytes = 7", "io_unit = 7", "latency = \"9us\"", "jitter = \"9us\""]),
            ("hba", "", &["hosts = 7", "luns = 7", "queue = 7", "adapter = 7"]),
            ("control-group", "", &["reads = 7", "writes = 7", "slice = \"9us\""]),
            ("raid", "level = \"5\"\nmembers = 3", &["unit = 512"]),
        ];
        for (kind, needed, keys) in stages {
            let base = array(&format!("kind = \"{kind}\"\n{needed}")).unwrap();
            for key in keys {
                assert_ne!(array(&format!("kind = \"{kind}\"\n{needed}\n{key}")).unwrap(), base, "{kind}: {key}");
            }
        }
        for (stage, words) in [
            ("kind = \"raid\"\nlevel = \"5\"\nmembers = 2", "raid: members: level 5 needs at least 3, got 2"),
            ("kind = \"raid\"\nlevel = \"7\"\nmembers = 3", "level"),
            ("kind = \"disk\"", "kind"),
            ("kind = \"link\"\nflush = \"9us\"", "flush: no such key in [[device.stage]]"),
            ("kind = \"link\"\nsource = { flow = \"a guess\" }", "of a figure that stands beside it"),
        ] {
            let error = array(stage).unwrap_err();
            assert!(error.contains(words) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn figures_that_contradict_each_other_are_refused_in_one_line() {
        // The table is in line 12, its kind in line 13.
        let stages = "kind = \"array\"\n[[device.stage]]\nkind = \"raid\"\nlevel = \"5\"\nmembers = 2\n\
                      [[device.stage]]\nkind = \"flash\"";
        for (lines, line, words) in [
            ("kind = \"disk\"\nseek_shortest = \"20ms\"", 14, "seek_shortest must not be more than seek_longest"),
            ("kind = \"flash\"\npause_every = \"1s\"", 14, "belong together"),
            (
                "kind = \"cloud-volume\"\niops = 9\niops_peak = 8\niops_credit = 1",
                14,
                "iops must not be more than iops_peak",
            ),
            (stages, 17, "raid: members: level 5 needs at least 3, got 2"),
        ] {
            let error = device(lines).unwrap_err();
            let place = format!("p.toml:{line}: [device]: ");
            assert!(error.starts_with(&place) && error.contains(words) && !error.contains('\n'), "{error}");
        }
    }
}
