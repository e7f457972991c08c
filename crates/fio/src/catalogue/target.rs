//! Options of a job's target: files, devices, engines, sizes.

use super::{Definition, Form, option};
use crate::naming;
use crate::options::{Engine, Options};
use crate::trace::Skip;
use crate::value::{Rule, Value};
use workload::job::{Amount, FileLock, FileOrder, Provision, Turns, WriteSync};

pub(super) const OPTIONS: &[Definition] = &[
    option(
        "name",
        Form::Text("reader"),
        "the job's name in reports and for wait_for; on the command line the start of a job",
        |o, v| {
            o.name = Some(v.text().to_owned());
            Ok(())
        },
    ),
    option("description", Form::Text("nightly"), "a text that is repeated in the report", |o, v| {
        o.description = Some(v.text().to_owned());
        Ok(())
    }),
    option("filename", Form::Text("/data/a:/data/b"), "files or devices, shared by all clones", |o, v| {
        o.target.filename = Some(v.text().to_owned());
        // As in fio, this uses all names and overrides an earlier nrfiles.
        o.target.nrfiles = naming::split(v.text()).len() as u32;
        Ok(())
    }),
    option("directory", Form::Text("/data"), "folders of the files; clones take turns", |o, v| {
        o.target.directory = Some(v.text().to_owned());
        Ok(())
    }),
    option(
        "filename_format",
        Form::Text("$jobname.$jobnum.$filenum"),
        "how files without a name are named; $jobname is the section",
        |o, v| {
            if v.text().contains("$clientuid") {
                return Err("$clientuid belongs to fio's client mode, which seawall does not have".into());
            }
            o.target.filename_format = v.text().to_owned();
            Ok(())
        },
    ),
    option("nrfiles", Form::Whole, "files of each clone; after filename, how many of its names are used", |o, v| {
        o.target.nrfiles = v.whole(1, crate::options::FILES_MAX)? as u32;
        Ok(())
    })
    .also(&["nr_files"]),
    option("openfiles", Form::Whole, "files open at a time; seawall opens all", |o, v| {
        v.count(0)?;
        o.note("openfiles has no effect: all files of a job stay open");
        Ok(())
    }),
    option("file_service_type", Form::Text("roundrobin:4"), "which file is next, and for how many requests", order),
    option("ioengine", Form::Text("io_uring"), "how requests are made", engine),
    option(
        "uri",
        Form::Text("nbd+unix:///disk?socket=s"),
        "the export of ioengine=nbd, or the places of joined",
        |o, v| {
            o.target.uri = Some(v.text().to_owned());
            Ok(())
        },
    ),
    option(
        "nfs_url",
        Form::Text("nfs://host/vol1?nconnect=16"),
        "the folder of ioengine=nfs, with the options of an NFS URI; a missing file is created",
        |o, v| {
            o.target.nfs_url = Some(v.text().to_owned());
            Ok(())
        },
    ),
    option(
        "read_iolog",
        Form::Text("trace.log"),
        "replays a recording: fio's iolog or blktrace's dump; with a:b clones take turns",
        |o, v| {
            o.target.read_iolog = Some(v.text().to_owned());
            Ok(())
        },
    ),
    option("read_iolog_chunked", Form::Bool, "reads the recording in chunks", |o, v| {
        if v.flag()? {
            o.note("read_iolog_chunked has no effect: a recording is read as a whole, 32 bytes per request");
        }
        Ok(())
    }),
    option("write_iolog", Form::Text("trace.log"), "records the job's requests, for read_iolog", |o, v| {
        o.target.write_iolog = Some(v.text().to_owned());
        Ok(())
    }),
    option("replay_skip", Form::Text("write,trim"), "kinds that are left out: read, write, trim, sync", |o, v| {
        let words = [("read", Skip::Read), ("write", Skip::Write), ("trim", Skip::Trim), ("sync", Skip::Flush)];
        for word in v.text().split([',', ':']) {
            let word = if word.trim() == "flush" { "sync" } else { word.trim() };
            o.target.replay.skip = o.target.replay.skip.with(v.part(word).choice(&words)?);
        }
        Ok(())
    }),
    option("replay_no_stall", Form::Bool, "ignores the recording's times", |o, v| {
        o.target.replay.no_stall = v.flag()?;
        Ok(())
    }),
    option("replay_time_scale", Form::Whole, "speed of the recording in percent: 200 is twice as fast", |o, v| {
        o.target.replay.speed_percent = v.whole(1, 1_000_000)? as u32;
        Ok(())
    }),
    option("replay_redirect", Form::Text("/dev/sdx"), "all of the recording goes to this file or device", |o, v| {
        o.target.replay_redirect = Some(v.text().to_owned());
        Ok(())
    }),
    option("replay_scale", Form::Whole, "the recording's offsets are divided by this", |o, v| {
        o.target.replay.scale = v.whole(1, u64::MAX)?;
        Ok(())
    }),
    option("replay_align", Form::Size, "the recording's offsets are rounded down to a multiple of this", |o, v| {
        o.target.replay.align = v.size()?;
        Ok(())
    }),
    option("direct", Form::Bool, "bypasses the page cache (O_DIRECT)", |o, v| {
        o.target.direct = v.flag()?;
        Ok(())
    }),
    option("buffered", Form::Bool, "through the page cache, the opposite of direct", |o, v| {
        o.target.direct = !v.flag()?;
        Ok(())
    }),
    option("sync", Form::Text("dsync"), "each write is durable before it completes", |o, v| {
        let words = [
            ("none", WriteSync::None),
            ("0", WriteSync::None),
            ("sync", WriteSync::All),
            ("1", WriteSync::All),
            ("dsync", WriteSync::Data),
        ];
        o.target.write_sync = v.choice(&words)?;
        Ok(())
    }),
    option("size", Form::Size, "bytes of a job's region in all its files, transferred once", |o, v| {
        o.target.size = Some(without_sign(o, v, "size")?);
        Ok(())
    }),
    option("io_size", Form::Size, "bytes to transfer, if not the size of the region", |o, v| {
        let amount = without_sign(o, v, "io_size")?;
        // As in fio, 0 means that it was not given.
        o.course.ending.amount = (amount != Amount::default()).then_some(amount);
        Ok(())
    })
    .also(&["io_limit"]),
    option("filesize", Form::Text("4m-16m"), "bytes of each file, or a range to draw them from", |o, v| {
        o.target.filesize = Some(v.range(Value::size)?);
        Ok(())
    }),
    option("offset", Form::Size, "where the region starts in each file", |o, v| {
        o.target.offset = v.amount()?;
        Ok(())
    })
    .also(&["fileoffset"]),
    option("offset_increment", Form::Size, "distance between the starts of successive clones' regions", |o, v| {
        o.target.offset_increment = v.amount()?;
        Ok(())
    }),
    option("offset_align", Form::Size, "an offset in percent is rounded up to this", |o, v| {
        o.target.offset_align = v.size()?;
        Ok(())
    }),
    option("file_append", Form::Bool, "the region begins at the end of an existing file", |o, v| {
        o.target.layout.append = v.flag()?;
        Ok(())
    }),
    option("fill_device", Form::Bool, "writes until no space is left, which is then not a failure", |o, v| {
        o.target.layout.until_full = v.flag()?;
        Ok(())
    })
    .also(&["fill_fs"]),
    option(
        "fallocate",
        Form::Text("native"),
        "what a new file is given in advance: space (native), length (truncate), none, keep",
        |o, v| {
            o.target.layout.provision = v.choice(&[
                ("none", Provision::Nothing),
                ("0", Provision::Nothing),
                ("truncate", Provision::Length),
                ("native", Provision::Space),
                ("posix", Provision::Space),
                ("1", Provision::Space),
                ("keep", Provision::SpaceAlone),
            ])?;
            Ok(())
        },
    ),
    option("overwrite", Form::Bool, "files for writing are filled before the run", |o, v| {
        o.target.layout.overwrite = v.flag()?;
        Ok(())
    }),
    option("create_only", Form::Bool, "lays files out and runs nothing", |o, v| {
        o.target.layout.only = v.flag()?;
        Ok(())
    }),
    option("allow_file_create", Form::Bool, "creates missing files", |o, v| {
        o.target.layout.create = v.flag()?;
        Ok(())
    }),
    option("create_on_open", Form::Bool, "creates files when they are opened; here always before the run", |o, v| {
        if v.flag()? {
            o.note("create_on_open has no effect: all files are made and opened before the run, outside of what is measured");
        }
        Ok(())
    }),
    option("create_serialize", Form::Bool, "lays files out one after the other", |o, v| {
        v.flag()?;
        o.note("create_serialize has no effect: files are laid out one after the other");
        Ok(())
    }),
    option("create_fsync", Form::Bool, "flushes a file after it was laid out; here always", |o, v| {
        if !v.flag()? {
            o.note("create_fsync=0 has no effect: a laid-out file is flushed, so that its write-back is not measured");
        }
        Ok(())
    }),
    option("allow_mounted_write", Form::Bool, "fio's permission to write to mounted devices", |o, v| {
        match v.flag()? {
            false => Ok(()),
            true => {
                o.note("allow_mounted_write=1 has no effect: name what may be destroyed with --destroy-data=NAME");
                Ok(())
            }
        }
    }),
    option("invalidate", Form::Bool, "drops the page cache of the files at the start", |o, v| {
        o.target.layout.invalidate = v.flag()?;
        Ok(())
    }),
    option("pre_read", Form::Bool, "reads all files into the page cache before the run", |o, v| {
        o.target.layout.read_ahead = v.flag()?;
        Ok(())
    }),
    option("unlink", Form::Bool, "removes the files at the end", |o, v| {
        o.target.layout.unlink = v.flag()?;
        Ok(())
    }),
    option("unlink_each_loop", Form::Bool, "removes the files after each loop and creates them again", |o, v| {
        o.target.layout.renew = v.flag()?;
        Ok(())
    }),
    option("lockfile", Form::Text("exclusive"), "system calls on a file wait for those of other jobs on it", |o, v| {
        let words =
            [("none", FileLock::None), ("exclusive", FileLock::Exclusive), ("readwrite", FileLock::SharedByReads)];
        o.target.lock = v.choice(&words)?;
        Ok(())
    }),
    option("unique_filename", Form::Bool, "gives fio's network clients different files", |_, v| v.flag().map(drop)),
    option("fadvise_hint", Form::Text("1"), "tells the kernel the access pattern", |o, v| {
        v.choice(&[("0", ()), ("1", ()), ("random", ()), ("sequential", ())])?;
        o.note("fadvise_hint has no effect: seawall does not advise the kernel on read-ahead");
        Ok(())
    }),
];

/// fio ignores the sign of a negative size.
fn without_sign(o: &mut Options, v: Value<'_>, option: &str) -> Result<Amount, Rule> {
    match v.text().strip_prefix('-') {
        Some(rest) => {
            o.note(format!("{option}={}: the sign has no effect, as in fio", v.text()));
            v.part(rest).amount()
        }
        None => v.amount(),
    }
}

fn order(o: &mut Options, v: Value<'_>) -> Result<(), Rule> {
    let mut parts = v.text().split(':');
    let rule = parts.next().unwrap_or_default();
    // zipf, pareto and normal have a parameter of their own before the number of requests.
    let skewed = matches!(rule, "zipf" | "pareto" | "normal" | "gauss");
    let parameter = if skewed { parts.next() } else { None };
    let parameter = parameter.map(|text| v.part(text).fraction()).transpose()?;
    let requests_each = parts.next().map(|text| v.part(text).count(1)).transpose()?.unwrap_or(1);
    let turns = match rule {
        "roundrobin" => Turns::RoundRobin,
        "sequential" => Turns::Sequential,
        "random" => Turns::Random,
        "zipf" => Turns::Zipf { theta: super::pattern::theta(parameter.unwrap_or(1.1))? },
        "pareto" => Turns::Pareto { h: super::pattern::share(parameter.unwrap_or(0.2))? },
        "normal" | "gauss" => Turns::Normal { width_percent: super::pattern::deviation(parameter.unwrap_or(0.0))? },
        _ => return Err("must be one of roundrobin, sequential, random, zipf:T, pareto:H, normal:D".into()),
    };
    o.target.order = FileOrder { turns, requests_each };
    Ok(())
}

/// fio's engines, the engine that each becomes here, and a note for the user.
pub(super) const ENGINES: [(&str, Engine, &str); 15] = [
    ("psync", Engine::Sync, ""),
    ("sync", Engine::Sync, ""),
    ("pvsync", Engine::Sync, "one system call a request, without a vector"),
    ("pvsync2", Engine::Sync, "one system call a request, without a vector"),
    ("vsync", Engine::Sync, "one system call a request; neighbouring requests are not joined"),
    ("mmap", Engine::Sync, "system calls on the page cache in its place; a mapping's page faults are not measured"),
    ("falloc", Engine::Space, ""),
    ("io_uring", Engine::Uring, ""),
    ("libaio", Engine::Uring, "io_uring in its place, with the same depth"),
    ("posixaio", Engine::Uring, "io_uring in its place, with the same depth"),
    ("aio", Engine::Uring, "io_uring in its place, with the same depth"),
    ("null", Engine::Null, ""),
    ("nbd", Engine::Nbd, ""),
    ("nfs", Engine::Nfs, ""),
    ("joined", Engine::Joined, ""),
];

/// Options that only one engine has.
pub(super) const ENGINE_OPTIONS: &[(Engine, &[&str])] = &[
    (Engine::Uring, &["fixedbufs", "registerfiles", "sqthread_poll", "sqthread_poll_cpu", "nonvectored"]),
    (Engine::Nbd, &["uri"]),
    (Engine::Joined, &["uri"]),
    (Engine::Nfs, &["nfs_url"]),
];

/// fio's engines that seawall lacks, and the nearest replacement of each.
pub(super) const MISSING_ENGINES: &[(&[&str], &str)] = &[
    (&["splice", "ftruncate", "e4defrag", "cpp_null"], "the nearest is psync"),
    (
        &["rbd", "rados", "http", "libiscsi", "libhdfs", "gfapi", "gfapi_async", "ime_psync", "ime_psyncv", "ime_aio"],
        "the nearest is nbd, on an export of it",
    ),
    (
        &["sg", "io_uring_cmd", "libblkio", "libzbc", "xnvme"],
        "the nearest is io_uring with direct=1 on the block device",
    ),
    (&["pmemblk", "dev-dax", "libpmem", "mtd"], "the nearest is psync with direct=1"),
    (
        &["filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete"],
        "operations on names are not measured",
    ),
    (&["cpuio", "net", "netsplice", "rdma", "exec", "cuda"], "it does not measure storage"),
    (&["external"], "engines cannot be loaded"),
];

fn engine(o: &mut Options, v: Value<'_>) -> Result<(), Rule> {
    let words: Vec<(&str, (Engine, &str))> =
        ENGINES.iter().map(|(name, engine, note)| (*name, (*engine, *note))).collect();
    if let Some(instead) = super::engine_replacement(v.text()) {
        return Err(format!("fio has this engine and seawall does not; {instead}").into());
    }
    let (engine, note) = v.choice(&words)?;
    o.notes.retain(|note| !note.starts_with("ioengine="));
    if !note.is_empty() {
        o.note(format!("ioengine={}: {note}", v.text()));
    }
    (o.target.engine, o.target.engine_name) = (engine, v.text().to_owned());
    Ok(())
}
