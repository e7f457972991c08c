//! HTTPS: connections, requests and answers. One thread does everything that waits. Requests are
//! executed on another one, under the lock that the control socket's lines use. The data path never
//! waits for either.

use crate::caller::Caller;
use crate::certificate::{self, CertificateError};
use crate::connection;
use crate::dispatch::{PoolAccess, Reply, Request, RestState, answer};
use crate::journal::JOBS_FILE;
use crate::login::Logins;
use crate::problem::{Problem, code};
use crate::resource::{Cluster, Jobs};
use crate::users::{USERS_FILE, UsersError};
use admin::{Administration, At};
use block::Span;
use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use ontap::Command;
use server::{Actor, Control, Tls, TlsError, TlsFiles};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use uring::Clock;

/// Connections at once; the first request of a further one is answered with 503.
const CONNECTIONS_MAX: usize = 64;
/// Connections at once that are refused with an answer. Those beyond are closed immediately: each
/// costs a TLS handshake, and a flood must not use the processor up.
const REFUSALS_MAX: usize = 8;
/// How long requests in progress may take when the server stops.
const STOP_TIME: Duration = Duration::from_secs(10);
/// Delay before accepting again if no descriptor was left.
const BREATH: Duration = Duration::from_millis(100);
/// Most bytes of a body that are written to the audit trail.
const TRAIL_BYTES_MAX: usize = 16 << 10;

/// Settings of a REST server.
#[derive(Clone, Debug)]
pub struct RestSettings {
    /// `HOST:PORT`.
    pub listen: String,
    /// The certificate; if not set, the one in `folder` is used, and made if there is none.
    pub certificate: Option<TlsFiles>,
    /// The pool's folder, which contains the users.
    pub folder: PathBuf,
    /// The name and identifier of the server.
    pub cluster: Cluster,
}

/// Why the REST server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum RestError {
    /// The address cannot be listened on.
    #[error("--rest {0}: {1}")]
    Listen(String, std::io::Error),
    /// The certificate is missing or invalid.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The certificate is missing or invalid.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The jobs cannot be read or written.
    #[error("{JOBS_FILE} in the pool's folder: {0}")]
    Jobs(std::io::Error),
    /// The users cannot be read.
    #[error(transparent)]
    Users(#[from] UsersError),
}

/// The REST server. Dropping it stops it, after the requests in progress.
pub struct Rest {
    address: SocketAddr,
    tls: Tls,
    has_users: bool,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// State that all connections share.
struct Shared {
    tls: Tls,
    logins: Logins,
    clock: Clock,
    state: Mutex<RestState>,
    control: Arc<Mutex<Control>>,
}

impl Rest {
    /// Listens, and serves requests on threads of its own.
    ///
    /// # Errors
    /// The address is invalid or in use, or the certificate or the users are invalid.
    pub fn start(settings: RestSettings, control: Arc<Mutex<Control>>) -> Result<Rest, RestError> {
        let RestSettings { listen, certificate, folder, cluster } = settings;
        let error = |error| RestError::Listen(listen.clone(), error);
        let host = listen.rsplit_once(':').map_or("", |(host, _)| host).trim_matches(['[', ']']);
        let files = certificate.map_or_else(|| certificate::of_folder(&folder, host), Ok)?;
        let tls = Tls::load(files)?;
        let events = control.lock().unwrap_or_else(PoisonError::into_inner).events();
        let logins = Logins::new(&folder.join(USERS_FILE), events)?;
        let has_users = !logins.is_empty();
        let listener = std::net::TcpListener::bind(&listen).map_err(error)?;
        listener.set_nonblocking(true).map_err(error)?;
        let address = listener.local_addr().map_err(error)?;
        let generation = control.lock().unwrap_or_else(PoisonError::into_inner).generation();
        let jobs = Jobs::of_folder(&folder, generation).map_err(RestError::Jobs)?;
        let state = Mutex::new(RestState { cluster, jobs });
        let shared = Arc::new(Shared { tls: tls.clone(), logins, clock: Clock::new(), state, control });
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

    /// Checks that an address can be resolved.
    ///
    /// # Errors
    /// It cannot.
    pub fn check(listen: &str) -> Result<(), RestError> {
        listen.to_socket_addrs().map(drop).map_err(|error| RestError::Listen(listen.into(), error))
    }

    /// The address it listens on, with the port that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether any user existed at the start.
    pub fn has_users(&self) -> bool {
        self.has_users
    }

    /// Its certificate, so that it can be renewed.
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
    let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
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
            if let (Ok(place), Some(tls)) = (Arc::clone(&refusals).try_acquire_owned(), shared.tls.certificates()) {
                tokio::spawn(async move {
                    connection::refuse(stream, tls, &too_many).await;
                    drop(place);
                });
            }
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            converse(stream, from.ip().to_canonical(), &shared).await;
            drop(place);
        });
    }
}

fn too_many() -> Problem {
    let message = format!("the server has its {CONNECTIONS_MAX} REST connections; close one, or try again later");
    Problem { wait: Some(Span::SECOND), ..Problem::new(503, code::INTERNAL, message) }
}

/// Serves one connection.
async fn converse(stream: TcpStream, from: IpAddr, shared: &Arc<Shared>) {
    let Some(config) = shared.tls.certificates() else { return };
    let _ = stream.set_nodelay(true);
    if let Err(error) = connection::converse(stream, config, |request| respond(request, from, shared)).await {
        tracing::debug!(%from, error, "REST connection ended");
    }
}

async fn respond(request: hyper::Request<Incoming>, from: IpAddr, shared: &Arc<Shared>) -> Reply {
    let (head, body) = request.into_parts();
    let body = match connection::body(body).await {
        Ok(body) => body,
        Err(problem) => return problem.into(),
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
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pool = ControlAccess { control: &mut control, who, asked: asked.trim_end(), has_run: false };
        let reply = answer(&mut state, &mut pool, caller, request);
        let is_change = !matches!(method, "GET" | "HEAD" | "OPTIONS");
        if is_change && reply.status == 403 && !pool.has_run {
            // Without the body: nobody has looked yet whether it has a password.
            let reason = reply.body["error"]["message"].as_str().unwrap_or_default();
            pool.control.denied(&pool.who, &format!("{method} {path}"), reason);
        }
        reply
    }
}

/// A pool's control, for one request of a user.
struct ControlAccess<'a> {
    control: &'a mut Control,
    who: Actor,
    asked: &'a str,
    /// A command was run, which is in the audit trail.
    has_run: bool,
}

impl PoolAccess for ControlAccess<'_> {
    fn look(&self, look: &mut dyn FnMut(&Administration, &At<'_>)) -> Result<(), Problem> {
        let gone = |error: server::ShardGone| Problem::new(500, code::INTERNAL, error.to_string());
        self.control.look(|administration, at| look(administration, at)).map_err(gone)
    }

    fn line(&mut self, line: &str, secret: Option<&str>) -> Result<String, Problem> {
        self.has_run = true;
        let answer = self.control.execute_with(Some(&self.who), line, secret);
        answer.map(|answer| answer.text()).map_err(|error| Problem::from(&error))
    }

    fn generation(&self) -> u64 {
        self.control.generation()
    }

    fn run(&mut self, commands: Vec<Command>) -> Result<(), Problem> {
        self.has_run = true;
        self.control.run_for(&self.who, self.asked, commands).map(drop).map_err(|error| Problem::from(&error))
    }
}
