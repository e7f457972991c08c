//! The stand-in for the library's socket: records that were received and not read yet, and records
//! that are to be sent.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Both directions. Only the session and the library's stream use it, on one thread, so the lock is
/// never contended.
#[derive(Clone, Default)]
pub(crate) struct Pipe(Arc<Mutex<Ways>>);

#[derive(Default)]
pub(crate) struct Ways {
    pub came: VecDeque<u8>,
    pub go: Vec<u8>,
    /// The waker of the last read. It is never called (the session polls again when there are
    /// records), but a future that is pending has to keep one.
    waker: Option<Waker>,
}

impl Pipe {
    pub fn ways(&self) -> MutexGuard<'_, Ways> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncRead for Pipe {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        let mut ways = self.ways();
        if ways.came.is_empty() {
            ways.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        let (first, second) = ways.came.as_slices();
        let one = first.len().min(into.remaining());
        into.put_slice(&first[..one]);
        let two = second.len().min(into.remaining());
        into.put_slice(&second[..two]);
        ways.came.drain(..one + two);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        self.ways().go.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
