//! HTTPS: connections, requests and answers. One thread does all that waits; what a request asks
//! for is done on another one, under the lock that the control socket's lines are done under. The
//! data path never waits for either.

use crate::caller::Caller;
use crate::certificate::{self, CertificateError};
use crate::connection;
use crate::dispatch::{Desk, Office, Reply, Request, answer};
use crate::journal::JOBS_FILE;
use crate::login::Logins;
use crate::problem::{Problem, code};
use crate::resource::{Cluster, Jobs};
use crate::users::{USERS_FILE, UsersError};
use admin::{Administration, At};
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

/// Connections at once; one more is closed at once.
const CONNECTIONS_MAX: usize = 64;
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
        let events = control.lock().unwrap_or_else(PoisonError::into_inner).events();
        let logins = Logins::new(&folder.join(USERS_FILE), events)?;
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

    fn line(&mut self, line: &str, secret: Option<&str>) -> Result<String, Problem> {
        let answer = self.control.execute_with(Some(&self.who), line, secret);
        answer.map(|answer| answer.text()).map_err(|error| Problem::from(&error))
    }

    fn generation(&self) -> u64 {
        self.control.generation()
    }

    fn run(&mut self, commands: Vec<Command>) -> Result<(), Problem> {
        self.control.run_for(&self.who, self.asked, commands).map(drop).map_err(|error| Problem::from(&error))
    }
}
