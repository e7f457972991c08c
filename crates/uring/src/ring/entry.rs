//! An operation as an entry of the submission queue.

use crate::operation::{Handle, Operation, SEND_FLAGS};
use io_uring::squeue::Entry;
use io_uring::{opcode, types};

/// Builds an entry for a registered file or for a plain descriptor.
macro_rules! entry_on {
    ($file:expr, |$fd:ident| $code:expr) => {
        match $file {
            Handle { fixed: Some(index), .. } => {
                let $fd = types::Fixed(index);
                $code.build()
            }
            Handle { fd, .. } => {
                let $fd = types::Fd(fd);
                $code.build()
            }
        }
    };
}

pub(super) fn entry(operation: &Operation) -> Entry {
    match *operation {
        Operation::Read { file, at, memory } => match memory.fixed {
            Some(index) => entry_on!(file, |fd| {
                opcode::ReadFixed::new(fd, memory.start.as_ptr(), memory.len, index).offset(at)
            }),
            None => entry_on!(file, |fd| opcode::Read::new(fd, memory.start.as_ptr(), memory.len).offset(at)),
        },
        Operation::Write { file, at, memory, durable } => {
            let flags = if durable { libc::RWF_DSYNC } else { 0 };
            match memory.fixed {
                Some(index) => entry_on!(file, |fd| {
                    opcode::WriteFixed::new(fd, memory.start.as_ptr(), memory.len, index).offset(at).rw_flags(flags)
                }),
                None => entry_on!(file, |fd| {
                    opcode::Write::new(fd, memory.start.as_ptr(), memory.len).offset(at).rw_flags(flags)
                }),
            }
        }
        Operation::Sync { file, data_only } => {
            let flags = if data_only { types::FsyncFlags::DATASYNC } else { types::FsyncFlags::empty() };
            entry_on!(file, |fd| opcode::Fsync::new(fd).flags(flags))
        }
        Operation::Allocate { file, mode, at, len } => {
            entry_on!(file, |fd| opcode::Fallocate::new(fd, len).offset(at).mode(mode))
        }
        Operation::Accept { file } => entry_on!(file, |fd| {
            opcode::Accept::new(fd, std::ptr::null_mut(), std::ptr::null_mut()).flags(libc::SOCK_CLOEXEC)
        }),
        Operation::Receive { file, memory } => {
            entry_on!(file, |fd| opcode::Recv::new(fd, memory.start.as_ptr(), memory.len))
        }
        // Nothing is written to the null address: for TCP that is what the flag means, and on any
        // other socket the kernel fails for want of memory there.
        Operation::Discard { file, len } => {
            entry_on!(file, |fd| opcode::Recv::new(fd, std::ptr::null_mut(), len).flags(libc::MSG_TRUNC))
        }
        Operation::Send { file, memory, attempt, stays } => {
            let flags = send_flags(attempt || stays);
            entry_on!(file, |fd| opcode::Send::new(fd, memory.start.as_ptr(), memory.len).flags(flags))
        }
        Operation::SendMany { file, header, attempt, stays, .. } => {
            let flags = send_flags(attempt || stays) as u32;
            entry_on!(file, |fd| opcode::SendMsg::new(fd, header.as_ptr()).flags(flags))
        }
        Operation::Shutdown { file, how } => entry_on!(file, |fd| opcode::Shutdown::new(fd, how)),
        Operation::PollIn { file } => entry_on!(file, |fd| opcode::PollAdd::new(fd, libc::POLLIN as u32)),
        Operation::PollOut { file } => entry_on!(file, |fd| opcode::PollAdd::new(fd, libc::POLLOUT as u32)),
    }
}

fn send_flags(at_once: bool) -> i32 {
    if at_once { SEND_FLAGS | libc::MSG_DONTWAIT } else { SEND_FLAGS }
}
