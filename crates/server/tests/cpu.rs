//! Where the data thread runs. This is a process of its own, because the thread is found by its
//! name.

mod support;

use server::{Front, Listen, Shard, StartError};
use std::path::Path;
use support::{BACKENDS, limits, settings};
use uring::{Backend, usage};

fn front(folder: &Path, cpu: u32) -> Front {
    Front { listen: vec![Listen::Unix(folder.join("s.sock"))], cpu: Some(cpu), ..Front::default() }
}

/// The processors that this process's data thread may use, as the kernel lists them.
fn of_shard() -> String {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().map(|thread| thread.unwrap().path());
    let read = |path: &Path, name: &str| std::fs::read_to_string(path.join(name)).unwrap();
    let shard = threads.into_iter().find(|thread| read(thread, "comm").trim() == "shard").expect("a data thread");
    let status = read(&shard, "status");
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    allowed.expect("a line of /proc").trim().to_owned()
}

/// With io_uring the thread is bound. Without it, the I/O threads would be bound too, so the data
/// thread stays unbound.
#[test]
fn the_data_thread_is_bound_where_the_setting_says() {
    let dir = tempfile::tempdir().unwrap();
    let last = *usage::allowed().unwrap().last().unwrap();
    for backend in BACKENDS {
        let before = usage::allowed().unwrap();
        let shard = Shard::start_behind(front(dir.path(), last), limits(), settings(backend, &limits())).unwrap();
        let bound = matches!(shard.backend(), Backend::Uring { .. });
        assert_eq!(of_shard() == last.to_string(), bound || before.len() == 1, "{:?}", shard.backend());
        assert_eq!(usage::allowed().unwrap(), before, "the others go on where they were");
    }
}

#[test]
fn a_processor_that_is_not_there_is_refused_before_anything_listens() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |result: Result<(), StartError>| result.unwrap_err().to_string();
    let front = || front(dir.path(), 4_000);
    let started = Shard::start_behind(front(), limits(), settings(BACKENDS[0], &limits())).map(drop);
    for said in [refused(started), refused(front().check().map(drop))] {
        assert!(said.starts_with("cpu = 4000: is none of the processors that this process may use ("), "{said}");
    }
    assert!(!dir.path().join("s.sock").exists());
}
