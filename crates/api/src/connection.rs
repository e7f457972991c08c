//! One HTTPS connection, with limits on time and bytes: whatever a client does or fails to do, its
//! connection ends within a named time, and no other client waits for it.
//!
//! ```text
//!   connected ─ HANDSHAKE_TIME ─► TLS ─ HEAD_TIME ─► head ─ BODY_TIME ─► body ─► answer ─ ANSWER_TIME ─► taken
//!                                       ▲                                                                 │
//!                                       └─────────────────────────────────────────────────────────────────┘
//! ```

mod raw_query;

use crate::dispatch::Reply;
use crate::exposition;
use crate::problem::{Problem, code};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use raw_query::RawQueries;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// The longest body, in bytes: five times a collection of a thousand policies.
const BODY_BYTES_MAX: usize = 1 << 20;
/// The longest head of a request, in bytes; hyper accepts at least 8 KiB.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// A longer body is read and discarded up to this, in bytes, so that the sender receives the
/// answer: closing a connection with unread bytes resets it, and the answer is lost.
const BODY_BYTES_READ: usize = 16 << 20;
/// Deadline for the TLS handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// Deadline for a request's head, including the idle time before it.
const HEAD_TIME: Duration = Duration::from_secs(60);
/// Deadline for a body.
const BODY_TIME: Duration = Duration::from_secs(30);
/// How long a client may take to read an answer, counted from when the socket has no more room. The
/// largest answers have some 20 MB, which needs less than 2 Mbit/s.
const ANSWER_TIME: Duration = Duration::from_secs(120);
/// Deadline for all of a connection that is refused.
const REFUSAL_TIME: Duration = Duration::from_secs(5);

/// Serves one connection; an error says why it ended early.
///
/// # Errors
/// TLS, a head or the reading of an answer was too slow or failed, or the input is not HTTP.
pub(crate) async fn converse<S, R, F>(stream: S, tls: Arc<ServerConfig>, respond: R) -> Result<(), String>
where
    S: AsyncRead + AsyncWrite + Unpin,
    R: Fn(hyper::Request<Incoming>) -> F,
    F: Future<Output = Reply>,
{
    let handshake = tokio::time::timeout(HANDSHAKE_TIME, TlsAcceptor::from(tls).accept(stream));
    let stream = handshake.await.map_err(|_| "no TLS in time".to_owned())?.map_err(|error| error.to_string())?;
    let service = service_fn(|request| {
        let reply = respond(request);
        async move { Ok::<_, Infallible>(sent(reply.await)) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD_BYTES_MAX);
    let stream = TokioIo::new(WriteDeadline { stream: RawQueries::new(stream), waits: None });
    builder.serve_connection(stream, service).await.map_err(|error| error.to_string())
}

/// Answers the first request of a connection with a problem, and closes the connection.
pub(crate) async fn refuse<S>(stream: S, tls: Arc<ServerConfig>, problem: &impl Fn() -> Problem)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let service = service_fn(|request: hyper::Request<Incoming>| async {
        // Unread, it would reset the connection, and the answer would be lost.
        let _ = body(request.into_body()).await;
        Ok::<_, Infallible>(sent(problem().into()))
    });
    let answered = async {
        let stream = TlsAcceptor::from(tls).accept(stream).await.map_err(|error| error.to_string())?;
        let mut builder = http1::Builder::new();
        builder.keep_alive(false).max_buf_size(HEAD_BYTES_MAX);
        builder
            .serve_connection(TokioIo::new(RawQueries::new(stream)), service)
            .await
            .map_err(|error| error.to_string())
    };
    let answered = tokio::time::timeout(REFUSAL_TIME, answered).await;
    if let Err(error) = answered.unwrap_or_else(|_| Err("not in time".to_owned())) {
        tracing::debug!(error, "refused REST connection closed without an answer");
    }
}

/// Reads a whole body.
///
/// # Errors
/// It is too long, too slow, or incomplete.
pub(crate) async fn body(body: Incoming) -> Result<Vec<u8>, Problem> {
    match tokio::time::timeout(BODY_TIME, whole(body)).await {
        Ok(Ok(Some(body))) => Ok(body),
        Ok(Ok(None)) => {
            let message = format!("the body is too long; it has {BODY_BYTES_MAX} bytes at most");
            Err(Problem::new(413, code::BAD_JSON, message))
        }
        Ok(Err(error)) => Err(Problem::new(400, code::BAD_JSON, format!("the body cannot be read: {error}"))),
        Err(_) => {
            let message = format!("the body did not come within {} s", BODY_TIME.as_secs());
            Err(Problem::new(408, code::BAD_JSON, message))
        }
    }
}

/// `None` if it is too long.
async fn whole(mut body: Incoming) -> hyper::Result<Option<Vec<u8>>> {
    let (mut whole, mut read) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        read += data.len();
        if read <= BODY_BYTES_MAX {
            whole.extend_from_slice(&data);
        } else if read > BODY_BYTES_READ {
            break;
        }
    }
    Ok((read <= BODY_BYTES_MAX).then_some(whole))
}

fn sent(reply: Reply) -> hyper::Response<Full<Bytes>> {
    let (kind, body) = match reply.text {
        Some(text) => (exposition::CONTENT_TYPE, text),
        None => ("application/hal+json", reply.body.to_string()),
    };
    let mut response = hyper::Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = hyper::StatusCode::from_u16(reply.status).unwrap_or_default();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if reply.status == 401 {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"seawall\""));
    }
    if let Some(allow) = reply.allow.and_then(|allow| HeaderValue::try_from(allow).ok()) {
        headers.insert(ALLOW, allow);
    }
    if let Some(wait) = reply.wait {
        headers.insert(RETRY_AFTER, wait.as_nanos().div_ceil(1_000_000_000).into());
    }
    if let Some(location) = reply.location.and_then(|location| HeaderValue::try_from(location).ok()) {
        headers.insert(LOCATION, location);
    }
    response
}

/// A stream whose peer must read what it is sent within [`ANSWER_TIME`]. Otherwise it could hold
/// the connection, and the answer's memory, for as long as it likes. The time begins when the
/// socket has no room, and ends when everything has been written: a byte a minute is not enough.
struct WriteDeadline<S> {
    stream: S,
    waits: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteDeadline<S> {
    fn judged<T>(&mut self, context: &mut Context<'_>, sent: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if sent.is_ready() {
            return sent;
        }
        let waits = self.waits.get_or_insert_with(|| Box::pin(tokio::time::sleep(ANSWER_TIME)));
        let late = || Err(io::Error::new(io::ErrorKind::TimedOut, "the answer was not taken in time"));
        waits.as_mut().poll(context).map(|()| late())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteDeadline<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteDeadline<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let sent = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.judged(context, sent)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let sent = Pin::new(&mut this.stream).poll_flush(context);
        if sent.is_ready() {
            this.waits = None;
        }
        this.judged(context, sent)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let sent = Pin::new(&mut this.stream).poll_shutdown(context);
        this.judged(context, sent)
    }
}

#[cfg(test)]
mod tests;
