//! HTTPS: connections, requests and answers. One thread does all that waits; what a request asks for is done on another
//! one, under the lock that the control socket's lines are done under. The data path never waits for either.

use crate::caller::Caller;
use crate::certificate::{self, CertificateError};
use crate::dispatch::{Desk, Office, Reply, Request, answer};
use crate::exposition;
use crate::journal::JOBS_FILE;
use crate::login::Logins;
use crate::problem::{Problem, code};
use crate::resource::{Cluster, Jobs};
use crate::users::{USERS_FILE, UsersError};
use admin::{Administration, At};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ontap::Command;
use server::{Actor, Control, Tls, TlsError, TlsFiles};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio_rustls::TlsAcceptor;
use uring::Clock;

/// Connections at once; one more is closed at once.
const CONNECTIONS_MAX: usize = 64;
/// The longest body, in bytes: a collection of a thousand policies is a fifth of it.
const BODY_BYTES_MAX: usize = 1 << 20;
/// The longest head of a request, in bytes; hyper takes no less than 8 KiB.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// A longer one is read so far and thrown away, so that its sender gets the answer that says why: a connection that is closed
/// with bytes unread is reset, and the answer with it.
const BODY_BYTES_READ: usize = 16 << 20;
/// A client has so long for a TLS handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// And so long for a request's head, the time between two requests included.
const HEAD_TIME: Duration = Duration::from_secs(60);
/// And so long for a body.
const BODY_TIME: Duration = Duration::from_secs(30);
/// Requests under way have so long when the server stops.
const STOP_TIME: Duration = Duration::from_secs(10);
/// How long to wait before accepting again when no descriptor was left.
const BREATH: Duration = Duration::from_millis(100);
/// Bytes of a body that the audit trail has.
const TRAIL_BYTES_MAX: usize = 16 << 10;

/// What a server of REST is made of.
#[derive(Clone, Debug)]
pub struct RestSettings {
    /// `HOST:PORT`.
    pub listen: String,
    /// The certificate; without, one in `folder` is used, and made where there is none.
    pub certificate: Option<TlsFiles>,
    /// The pool's folder, which has the users.
    pub folder: PathBuf,
    /// What the server calls itself.
    pub cluster: Cluster,
}

/// Why there is no server of REST.
#[derive(Debug, thiserror::Error)]
pub enum RestError {
    /// The address cannot be listened at.
    #[error("--rest {0}: {1}")]
    Listen(String, std::io::Error),
    /// The certificate is missing or wrong.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The certificate is missing or wrong.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The jobs cannot be read or written.
    #[error("{JOBS_FILE} in the pool's folder: {0}")]
    Jobs(std::io::Error),
    /// The users cannot be read.
    #[error(transparent)]
    Users(#[from] UsersError),
}

/// The server. Dropping it ends it, after the requests that are under way.
pub struct Rest {
    address: SocketAddr,
    tls: Tls,
    has_users: bool,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What connections share.
struct Shared {
    tls: Tls,
    logins: Logins,
    clock: Clock,
    office: Mutex<Office>,
    control: Arc<Mutex<Control>>,
}

impl Rest {
    /// Listens, and answers on threads of its own from then on.
    ///
    /// # Errors
    /// The address is in use or none, or certificate or users are wrong.
    pub fn start(settings: RestSettings, control: Arc<Mutex<Control>>) -> Result<Rest, RestError> {
        let RestSettings { listen, certificate, folder, cluster } = settings;
        let error = |error| RestError::Listen(listen.clone(), error);
        let host = listen.rsplit_once(':').map_or("", |(host, _)| host).trim_matches(['[', ']']);
        let files = certificate.map_or_else(|| certificate::of_folder(&folder, host), Ok)?;
        let tls = Tls::load(files)?;
        let logins = Logins::new(&folder.join(USERS_FILE))?;
        let has_users = !logins.is_empty();
        let listener = std::net::TcpListener::bind(&listen).map_err(error)?;
        listener.set_nonblocking(true).map_err(error)?;
        let address = listener.local_addr().map_err(error)?;
        let generation = control.lock().unwrap_or_else(PoisonError::into_inner).generation();
        let jobs = Jobs::of_folder(&folder, generation).map_err(RestError::Jobs)?;
        let office = Mutex::new(Office { cluster, jobs });
        let shared = Arc::new(Shared { tls: tls.clone(), logins, clock: Clock::new(), office, control });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(4)
            .thread_name("rest-work")
            .build()
            .map_err(error)?;
        let (stop, stopped) = oneshot::channel();
        let serve = move || {
            runtime.block_on(async {
                match TcpListener::from_std(listener) {
                    Ok(listener) => drop(tokio::spawn(accept(listener, shared))),
                    Err(error) => tracing::error!(%error, "REST cannot listen"),
                }
                let _ = stopped.await;
            });
            runtime.shutdown_timeout(STOP_TIME);
        };
        let thread = std::thread::Builder::new().name("rest".into()).spawn(serve).map_err(error)?;
        Ok(Rest { address, tls, has_users, stop: Some(stop), thread: Some(thread) })
    }

    /// Whether an address is one to listen at.
    ///
    /// # Errors
    /// It is none.
    pub fn check(listen: &str) -> Result<(), RestError> {
        listen.to_socket_addrs().map(drop).map_err(|error| RestError::Listen(listen.into(), error))
    }

    /// Where it listens, with the port that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether there was anybody who could log in when it began.
    pub fn has_users(&self) -> bool {
        self.has_users
    }

    /// Its certificate, to read it again.
    pub fn tls(&self) -> Tls {
        self.tls.clone()
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "REST connection not accepted");
                tokio::time::sleep(BREATH).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
            tracing::warn!(limit = CONNECTIONS_MAX, "REST connection refused: too many are open");
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            converse(stream, from.ip().to_canonical(), &shared).await;
            drop(place);
        });
    }
}

/// One connection to its end.
async fn converse(stream: TcpStream, from: IpAddr, shared: &Arc<Shared>) {
    let Some(config) = shared.tls.certificates() else { return };
    let _ = stream.set_nodelay(true);
    let handshake = tokio::time::timeout(HANDSHAKE_TIME, TlsAcceptor::from(config).accept(stream));
    let Ok(Ok(stream)) = handshake.await else {
        tracing::debug!(%from, "REST: no TLS came about");
        return;
    };
    let service = service_fn(|request| async move { Ok::<_, Infallible>(sent(respond(request, from, shared).await)) });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD_BYTES_MAX);
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%from, %error, "REST connection ended");
    }
}

/// All of a body; `None` where it is too long.
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

async fn respond(request: hyper::Request<Incoming>, from: IpAddr, shared: &Arc<Shared>) -> Reply {
    let (head, body) = request.into_parts();
    let body = match tokio::time::timeout(BODY_TIME, whole(body)).await {
        Ok(Ok(Some(body))) => body,
        Ok(Ok(None)) => {
            let message = format!("the body is too long; it has {BODY_BYTES_MAX} bytes at most");
            return Problem::new(413, code::BAD_JSON, message).into();
        }
        Ok(Err(error)) => return Problem::new(400, code::BAD_JSON, format!("the body cannot be read: {error}")).into(),
        Err(_) => {
            let message = format!("the body did not come within {} s", BODY_TIME.as_secs());
            return Problem::new(408, code::BAD_JSON, message).into();
        }
    };
    let shared = Arc::clone(shared);
    let work = move || {
        let authorization = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let caller = match shared.logins.caller(authorization, from, shared.clock.now()) {
            Ok(caller) => caller,
            Err(problem) => return problem.into(),
        };
        let method = head.method.as_str();
        let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
        shared.done(&caller, from, Request { method, path, query, body: &body })
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        tracing::error!(%error, "REST request");
        Problem::new(500, code::INTERNAL, "the server failed; its log says of what").into()
    })
}

impl Shared {
    fn done(&self, caller: &Caller, from: IpAddr, request: Request<'_>) -> Reply {
        let Request { method, path, query, body } = request;
        let asked = match (query, String::from_utf8_lossy(&body[..body.len().min(TRAIL_BYTES_MAX)])) {
            ("", body) => format!("{method} {path} {body}"),
            (query, body) => format!("{method} {path}?{query} {body}"),
        };
        let who = Actor::User { user: caller.name.clone(), address: from };
        let mut office = self.office.lock().unwrap_or_else(PoisonError::into_inner);
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        let mut desk = ControlDesk { control: &mut control, who, asked: asked.trim_end() };
        answer(&mut office, &mut desk, caller, request)
    }
}

/// A pool's control, for one request of somebody's.
struct ControlDesk<'a> {
    control: &'a mut Control,
    who: Actor,
    asked: &'a str,
}

impl Desk for ControlDesk<'_> {
    fn look(&self, look: &mut dyn FnMut(&Administration, &At<'_>)) -> Result<(), Problem> {
        let gone = |error: server::ShardGone| Problem::new(500, code::INTERNAL, error.to_string());
        self.control.look(|administration, at| look(administration, at)).map_err(gone)
    }

    fn line(&mut self, line: &str) -> Result<String, Problem> {
        let answer = self.control.execute_for(Some(&self.who), line);
        answer.map(|answer| answer.text()).map_err(|error| Problem::from(&error))
    }

    fn generation(&self) -> u64 {
        self.control.generation()
    }

    fn run(&mut self, commands: Vec<Command>) -> Result<(), Problem> {
        self.control.run_for(&self.who, self.asked, commands).map(drop).map_err(|error| Problem::from(&error))
    }
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
