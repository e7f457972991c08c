//! What threads and the process have used: CPU time, memory, context switches.

use block::{Bytes, Span};

use crate::clock::read;

/// CPU time of the calling thread so far, user and system together, to the nanosecond.
pub fn thread_cpu() -> Span {
    Span::from_nanos(read(libc::CLOCK_THREAD_CPUTIME_ID))
}

/// CPU time of the calling thread so far, plus the time for which it waited for a CPU if the kernel
/// reports that: all the time in which it had work.
pub fn thread_busy() -> Span {
    // The second number is the waiting time in nanoseconds; see sched-stats in the kernel's
    // documentation.
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let waited = told.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0);
    thread_cpu() + Span::from_nanos(waited)
}

/// CPU time of all threads of the process so far, including those that ended.
pub fn process_cpu() -> Span {
    Span::from_nanos(read(libc::CLOCK_PROCESS_CPUTIME_ID))
}

/// Whose usage is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The calling thread's.
    Thread,
    /// The whole process's.
    Process,
}

/// Resources used so far, as `getrusage` counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in the program, to the microsecond.
    pub user: Span,
    /// CPU time in the kernel, to the microsecond.
    pub system: Span,
    /// The most memory that was ever resident; always that of the process.
    pub resident_most: Bytes,
    /// Voluntary context switches: it had to wait.
    pub waits: u64,
    /// Involuntary context switches: it had work to do.
    pub preemptions: u64,
    /// Page faults that needed I/O.
    pub faults_major: u64,
    /// Page faults that needed none.
    pub faults_minor: u64,
}

/// Resources used so far.
pub fn usage(who: Who) -> Usage {
    let who = match who {
        Who::Thread => libc::RUSAGE_THREAD,
        Who::Process => libc::RUSAGE_SELF,
    };
    // SAFETY: all-zero is a valid rusage: numbers only.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `used` is a valid place for the answer.
    let outcome = unsafe { libc::getrusage(who, &mut used) };
    assert_eq!(outcome, 0, "getrusage knows both kinds");
    // The kernel counts up from zero, so nothing is negative; resident memory is in KiB.
    let span = |time: libc::timeval| Span::from_secs(time.tv_sec as u64) + Span::from_micros(time.tv_usec as u64);
    Usage {
        user: span(used.ru_utime),
        system: span(used.ru_stime),
        resident_most: Bytes::kib(used.ru_maxrss as u64),
        waits: used.ru_nvcsw as u64,
        preemptions: used.ru_nivcsw as u64,
        faults_major: used.ru_majflt as u64,
        faults_minor: used.ru_minflt as u64,
    }
}

/// Restricts the calling thread to these processors.
pub fn pin(processors: &[u32]) -> std::io::Result<()> {
    // SAFETY: all-zero is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &processor in processors.iter().filter(|&&processor| processor < libc::CPU_SETSIZE as u32) {
        // SAFETY: the number is within the set.
        unsafe { libc::CPU_SET(processor as usize, &mut set) };
    }
    // SAFETY: `set` is valid for reading and its size is given; 0 is the calling thread.
    let outcome = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) };
    if outcome == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// The processors that the calling thread may run on, in order.
pub fn allowed() -> std::io::Result<Vec<u32>> {
    // SAFETY: all-zero is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a valid place for a set and its size is given; 0 is the calling thread.
    if unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the number is within the set.
    let is_in = |processor: &u32| unsafe { libc::CPU_ISSET(*processor as usize, &set) };
    Ok((0..libc::CPU_SETSIZE as u32).filter(is_in).collect())
}

/// Moves the calling thread to a processor without restricting it: the system leaves it there as
/// long as nobody else wants that processor.
pub fn visit(processor: u32) -> std::io::Result<()> {
    // SAFETY: all-zero is an empty set.
    let mut before: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `before` is a valid place for a set and its size is given; 0 is the calling thread.
    if unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut before) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    pin(&[processor])?;
    // SAFETY: `before` is the set that the kernel gave.
    let outcome = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &before) };
    if outcome == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Where the calling thread's memory comes from, as in set_mempolicy(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// From the node of the processor that touches it first.
    Default,
    /// From one node while that has free memory.
    Prefer,
    /// From these nodes only.
    Bind,
    /// From these nodes in turn.
    Interleave,
    /// From the node that the thread runs on.
    Local,
}

/// Sets where the calling thread's memory comes from. `nodes` is empty for [`Memory::Default`] and
/// [`Memory::Local`].
pub fn take_memory(from: Memory, nodes: &[u32]) -> std::io::Result<()> {
    const WORD: u32 = u64::BITS;
    /// Nodes that a mask has room for: as many as the largest kernels support.
    const NODES: u32 = 1024;
    let mode = match from {
        Memory::Default => 0,
        Memory::Prefer => 1,
        Memory::Bind => 2,
        Memory::Interleave => 3,
        Memory::Local => 4,
    };
    let mut mask = [0u64; (NODES / WORD) as usize];
    for node in nodes {
        let word = mask.get_mut((node / WORD) as usize).ok_or(std::io::ErrorKind::InvalidInput)?;
        *word |= 1 << (node % WORD);
    }
    // The kernel takes one bit less than it is given.
    let (address, bits) = if nodes.is_empty() { (std::ptr::null(), 0) } else { (mask.as_ptr(), u64::from(NODES) + 1) };
    // SAFETY: `mask` has as many bits as the kernel reads; it concerns this thread alone.
    let outcome = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode as libc::c_int, address, bits) };
    if outcome == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Sets the calling thread's priority: its nice value (−20 to 19), and the class and level of its
/// I/O as ioprio_set(2) has them, `class << 13 | level`.
pub fn prioritise(nice: Option<i32>, io: Option<u16>) -> std::io::Result<()> {
    /// `IOPRIO_WHO_PROCESS`, which means one thread; number 0 is the calling one.
    const ONE_THREAD: libc::c_int = 1;
    if let Some(nice) = nice {
        // SAFETY: numbers only; 0 is the calling thread.
        if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    if let Some(io) = io {
        // SAFETY: numbers only.
        if unsafe { libc::syscall(libc::SYS_ioprio_set, ONE_THREAD, 0, libc::c_int::from(io)) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Raises the limit on open files to the maximum allowed, and returns it. The soft limit is often
/// 1024, which is fewer than the connections that a server is meant to hold.
pub fn raise_file_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place to write to, and then to read from. If the second call fails
    // nothing changes.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 {
            return 0;
        }
        let most = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
        if libc::setrlimit(libc::RLIMIT_NOFILE, &most) == 0 { most.rlim_cur } else { limit.rlim_cur }
    }
}

/// Bytes that an unprivileged process may lock in memory.
pub(crate) fn memory_lock_limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place to write to.
    let outcome = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) };
    if outcome == 0 { usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pinned to one of its processors, a thread may run only there; pinned to all of them again,
    /// as before.
    #[test]
    fn a_thread_is_where_it_was_bound_to() {
        let before = allowed().unwrap();
        pin(&before[..1]).unwrap();
        assert_eq!(allowed().unwrap(), before[..1]);
        pin(&before).unwrap();
        assert_eq!(allowed().unwrap(), before);
    }

    #[test]
    fn work_uses_cpu_time_of_the_thread_and_the_process() {
        let (thread, process) = (thread_cpu(), process_cpu());
        let mut sum = 0u64;
        while thread_cpu() == thread {
            sum = std::hint::black_box(sum + 1);
        }
        let used = thread_cpu().saturating_sub(thread);
        assert!(used > Span::ZERO);
        assert!(process_cpu() > process);
        assert!(usage(Who::Process).resident_most > Bytes::kib(100));
        // The kernel splits the total into user and system by sampling, so only the sums are
        // comparable.
        let (mine, all) = (usage(Who::Thread), usage(Who::Process));
        assert!(mine.user + mine.system <= all.user + all.system);
    }
}
