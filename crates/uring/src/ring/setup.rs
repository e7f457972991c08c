//! Creating a ring with the best options that the settings and the kernel allow, and registering it
//! with its thread.

use crate::{IoError, IoSettings, TaskWork};
use io_uring::IoUring;
use std::io;
use std::os::fd::RawFd;

/// Creates a ring with the best task work that the settings and the kernel allow.
pub(super) fn setup(settings: &IoSettings) -> Result<(IoUring, TaskWork), IoError> {
    // One completion per request, plus the wake-up and at most one cancellation per request. The
    // queue can then never overflow, which would cost the kernel an allocation for each.
    let completions = (2 * settings.in_flight + 2).max(2 * settings.entries);
    let mut refused = None;
    for (task_work, no_array) in [
        (TaskWork::Deferred, true),
        (TaskWork::Deferred, false),
        (TaskWork::Cooperative, false),
        (TaskWork::Plain, false),
    ] {
        if task_work < settings.task_work || settings.kernel_polls.is_some() && task_work != TaskWork::Plain {
            continue;
        }
        let mut builder = IoUring::builder();
        builder.setup_cqsize(completions).setup_clamp().dontfork();
        match task_work {
            TaskWork::Deferred => {
                builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().setup_submit_all()
            }
            TaskWork::Cooperative => builder.setup_coop_taskrun().setup_taskrun_flag().setup_submit_all(),
            TaskWork::Plain => &mut builder,
        };
        if let Some(polling) = settings.kernel_polls {
            builder.setup_sqpoll(POLLING_MS);
            polling.processor.into_iter().for_each(|processor| _ = builder.setup_sqpoll_cpu(processor));
        }
        if no_array {
            builder.setup_no_sqarray();
        }
        match builder.build(settings.entries) {
            Ok(ring) => return Ok((ring, task_work)),
            // The kernel does not know a flag.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refused = Some(error),
            Err(cause) => return Err(IoError::Os { call: "io_uring_setup", cause }),
        }
    }
    let cause = refused.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EINVAL));
    Err(IoError::Os { call: "io_uring_setup", cause })
}

/// `struct io_uring_rsrc_update`.
#[repr(C)]
struct RingUpdate {
    offset: u32,
    resv: u32,
    data: u64,
}

const REGISTER_RING_FDS: u32 = 20;

const UNREGISTER_RING_FDS: u32 = 21;

/// Registers the ring with the thread (Linux ≥ 5.18).
pub(super) fn register_ring(fd: RawFd) -> Option<u32> {
    let mut update = RingUpdate { offset: u32::MAX, resv: 0, data: fd as u64 };
    // SAFETY: `update` is one valid element, which the kernel may write to during the call.
    let done = unsafe { libc::syscall(libc::SYS_io_uring_register, fd, REGISTER_RING_FDS, &raw mut update, 1) };
    (done == 1).then_some(update.offset)
}

/// Without this, the thread would keep the ring and all memory that it pins until the thread ends.
pub(super) fn unregister_ring(fd: RawFd, index: u32) {
    let mut update = RingUpdate { offset: index, resv: 0, data: 0 };
    // SAFETY: as in `register_ring`.
    unsafe { libc::syscall(libc::SYS_io_uring_register, fd, UNREGISTER_RING_FDS, &raw mut update, 1) };
}

/// Milliseconds without a request after which the kernel's polling thread falls asleep.
const POLLING_MS: u32 = 1000;
