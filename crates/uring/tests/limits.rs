//! What happens if the machine allows less. Each test restricts a thread of its own.

mod backends;

use backends::{reap, settings};
use block::Bytes;
use uring::{Backend, Choice, Io, IoSettings, Job};

/// Makes `io_uring_setup` fail with EPERM for the calling thread, as containers do.
fn forbid_io_uring() {
    // Load the number of the call; answer EPERM if it is io_uring_setup (425), otherwise allow it.
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut filter = [
        step(load, 0, 0, 0),
        step(equal, 0, 1, libc::SYS_io_uring_setup as u32),
        step(answer, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program and its filter are valid during the calls; both concern the calling
    // thread alone.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program), 0);
    }
}

#[test]
fn where_io_uring_is_forbidden_threads_do_it_and_say_why() {
    std::thread::spawn(|| {
        forbid_io_uring();
        let io = Io::open(&settings()).unwrap();
        let Backend::Threads { why } = io.backend() else { panic!("opened a ring all the same") };
        assert_eq!(why, "io_uring_setup: Operation not permitted");
        let refused = Io::open(&IoSettings { backend: Choice::Uring, ..settings() }).err().expect("it was asked for");
        assert_eq!(refused.to_string(), "io_uring_setup: Operation not permitted");
    })
    .join()
    .unwrap();
}

/// Drops all capabilities of the calling thread, including CAP_IPC_LOCK, and limits locked memory.
fn limit_locked_memory(limit: u64) {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    // _LINUX_CAPABILITY_VERSION_3: two sets of effective, permitted, inheritable.
    let header = Header { version: 0x2008_0522, pid: 0 };
    let none = [[0u32; 3]; 2];
    let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
    // SAFETY: all arguments are valid during the calls. The limit is the process's: no other test
    // here minds.
    unsafe {
        assert_eq!(libc::setrlimit(libc::RLIMIT_MEMLOCK, &limit), 0);
        assert_eq!(libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()), 0);
    }
}

#[test]
fn what_may_not_be_pinned_works_unregistered() {
    std::thread::spawn(|| {
        limit_locked_memory(8 << 20);
        let mut io = Io::open(&IoSettings { slab: Bytes::mib(32), ..settings() }).unwrap();
        if let Backend::Uring { registered, .. } = io.backend() {
            // 7/8 of the limit, or less where other rings of this user have used some of it.
            assert!(*registered <= Bytes::mib(7), "{registered}");
        }
        let port = io.port();
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        let file = io.register(file);
        // 60 × 256 KiB do not fit into the registered part.
        for token in 0..60 {
            let buf = io.take(256 << 10).unwrap();
            port.push(token, Job::Read { file, at: 0, buf }).unwrap();
        }
        for done in reap(&mut io, &port, 60) {
            assert_eq!(done.result, Ok(256 << 10));
            io.give(done.buf.unwrap());
        }
    })
    .join()
    .unwrap();
}

#[test]
fn settings_out_of_range_are_named() {
    let error = |settings: IoSettings| Io::open(&settings).err().expect("out of range").to_string();
    assert_eq!(error(IoSettings { entries: 0, ..settings() }), "entries: must be between 1 and 32768, got 0");
    assert_eq!(error(IoSettings { slab: Bytes(1), ..settings() }), "slab: must be between 4096 and 68719476736, got 1");
}
