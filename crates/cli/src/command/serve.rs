//! `seawall serve`: the storage server.

use crate::fresh_pool::FreshPool;
use crate::{Answer, date, interrupt, service_manager, terminal};
use admin::{EventKind, Noticed};
use anyhow::{Context as _, Result, anyhow, bail};
use api::{Cluster, Rest, RestSettings, USERS_FILE, UsersFile};
use block::Span;
use server::{
    Audit, Control, ControlSocket, EVENTS_FILE, Events, Front, Housekeeping, HousekeepingSettings, Listen, LogFormat,
    LogSettings, MemorySigns, Portmap, ServeConfig, Shard, Tls, TlsFiles, TlsMode, TlsSource, io_settings,
    registry_settings,
};
use std::io::IsTerminal as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use storage::{Consent, Intent, OpenError, Permit, Place, Refusal};
use store::{Named, Pool, StoreError};
use uring::{Hangup, IoSettings};

/// Serve a pool's LUNs over NBD until interrupted
///
/// A LUN's export is called /vol/VOLUME/LUN, and always also SVM:/vol/VOLUME/LUN. Administrators'
/// commands go to the control socket in the pool's folder: see `seawall shell`. On SIGHUP it reads
/// its certificates again.
#[derive(clap::Args)]
pub struct Serve {
    /// Read the configuration from this file; options on the command line take precedence
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Check the configuration and serve nothing
    #[arg(long)]
    check_config: bool,
    /// The pool's folder
    #[arg(long, value_name = "DIR", required_unless_present = "config")]
    pool: Option<PathBuf>,
    /// Where to listen: HOST:PORT, or unix:PATH for its owner only; may be given several times
    /// [default: 127.0.0.1:10809]
    #[arg(long, value_name = "ADDR")]
    listen: Vec<String>,
    /// Where to listen for NFS (version 3, with MOUNT on the same port): HOST:PORT
    /// [default: nowhere]
    #[arg(long, value_name = "ADDR")]
    nfs: Option<String>,
    /// The export for clients that name none
    #[arg(long, value_name = "EXPORT")]
    default_export: Option<String>,
    /// Create the pool if the folder is empty or missing
    #[arg(long)]
    create: bool,
    /// Whether clients encrypt: off, optional, required
    /// [default: required where not loopback or a Unix socket]
    #[arg(long, value_name = "MODE")]
    tls: Option<Mode>,
    /// The folder with server-cert.pem, server-key.pem and, to verify clients, ca-cert.pem
    #[arg(long, value_name = "DIR")]
    tls_certificates: Option<PathBuf>,
    /// Accept only clients with a certificate signed by ca-cert.pem
    #[arg(long, requires = "tls_certificates")]
    tls_verify_clients: bool,
    /// Encrypt with pre-shared keys instead of certificates: a file of lines NAME:HEX, as psktool
    /// writes it
    #[arg(long, value_name = "FILE", conflicts_with = "tls_certificates")]
    tls_psk: Option<PathBuf>,
    /// Where to listen for administrators' REST requests over HTTPS: HOST:PORT [default: nowhere]
    #[arg(long, value_name = "ADDR")]
    rest: Option<String>,
    /// Use threads for I/O and not io_uring
    #[arg(long)]
    no_io_uring: bool,
    /// Log more: -v for each command and refused requests of clients, -vv for everything
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
}

/// How the server tells what it does: on standard output, or on standard error where it was handed
/// its sockets, since the output then belongs to the program that did so.
type Tell = fn(&str);

#[derive(Clone, Copy, clap::ValueEnum)]
enum Mode {
    Off,
    Optional,
    Required,
}

impl Serve {
    pub fn run(self) -> Result<Answer> {
        // This comes first, while no other descriptor is open.
        let inherited = uring::inherited::listeners()?;
        let tell: Tell = if inherited.is_empty() { terminal::line } else { terminal::aside_line };
        let config = self.config(!inherited.is_empty())?;
        let tls = config.tls.clone().map(Tls::load).transpose()?;
        if self.check_config {
            return check(&config, tls);
        }
        let hangup = Hangup::watch().context("watch for SIGHUP")?;
        let stop = interrupt::watch()?;
        log(self.verbose, &config.log);
        let dir = config.pool.as_deref().context(NO_POOL)?;
        let (mut pool, mut fresh) = open_pool(dir, config.create, tell)?;
        if let Some(most) = config.budget().maps() {
            pool.bound_maps(most).map_err(pool_error)?;
        }
        let doubt = pool.take_doubt().map_err(pool_error)?;
        let (control, serving) = self.start(&config, pool, inherited, tls.clone())?;
        let events = control.lock().unwrap_or_else(PoisonError::into_inner).events();
        note_start(&events, dir, doubt);
        let socket = dir.join(store::CONTROL_SOCKET);
        let _commands = ControlSocket::open(&socket, Arc::clone(&control))
            .with_context(|| format!("{}: control socket", socket.display()))?;
        let _housekeeping = Housekeeping::start(Arc::clone(&control), HousekeepingSettings::default())
            .context("start the housekeeping thread")?;
        if let Some(fresh) = &mut fresh {
            fresh.keep();
        }
        let rest = config.rest.listen.clone().map(|listen| rest(listen, &config, dir, &control)).transpose()?;
        let renewed: Vec<Tls> = tls.into_iter().chain(rest.as_ref().map(Rest::tls)).collect();
        warn_of_outdated(&renewed);
        control.lock().unwrap_or_else(PoisonError::into_inner).show_certificates(renewed.clone());
        renew_on_hangup(hangup, renewed, Arc::downgrade(&control), tell)?;
        // Everything is ready when these lines appear.
        serving.iter().for_each(|line| tell(line));
        rest.iter().for_each(|rest| tell_of_rest(rest, dir, tell));
        tell(&format!("commands: seawall shell --pool {}", dir.display()));
        service_manager::ready();
        stop.wait();
        service_manager::stopping();
        events.note(Noticed::once(EventKind::Stopped, "", "the server was asked to stop"));
        tell("stopping: requests under way are answered first");
        Ok(Answer::Yes)
    }

    /// The configuration file, overridden by the command line.
    fn config(&self, inherited: bool) -> Result<ServeConfig> {
        let mut config = match &self.config {
            Some(path) => ServeConfig::read(path)?,
            None => ServeConfig::without_file().map_err(anyhow::Error::msg)?,
        };
        config.pool = self.pool.clone().or(config.pool);
        config.create |= self.create;
        config.default_export = self.default_export.clone().or(config.default_export);
        config.no_io_uring |= self.no_io_uring;
        if !self.listen.is_empty() {
            config.listen = self.listen.iter().map(|text| text.parse()).collect::<Result<Vec<Listen>, _>>()?;
        }
        if config.listen.is_empty() && !inherited {
            config.listen = vec![Listen::Tcp("127.0.0.1:10809".into())];
        }
        if let Some(text) = &self.nfs {
            let nfs = text.parse().map_err(|error: server::ListenError| {
                anyhow::anyhow!("{}", error.to_string().replacen("--listen", "--nfs", 1))
            })?;
            config.nfs = Some(nfs);
        }
        if let Some(folder) = &self.tls_certificates {
            config.tls = Some(TlsFiles::in_folder(folder, self.tls_verify_clients).into());
        }
        if let Some(file) = &self.tls_psk {
            config.tls = Some(TlsSource::Keys(file.clone()));
        }
        config.tls_mode = self.tls.map(TlsMode::from).or(config.tls_mode);
        if config.tls_mode == Some(TlsMode::Off) {
            config.tls = None;
        }
        config.rest.listen = self.rest.clone().or(config.rest.listen);
        config.check_unused_settings().map_err(anyhow::Error::msg)?;
        config.limits.check(config.tls.is_some())?;
        if let Some(number) = config.rule_nobody_meets() {
            bail!(
                "access: rule {number}: no client can meet it, as none is asked for a certificate or a key; set \
                 tls.client_certificates or tls.psk, or leave both out of the rule"
            );
        }
        Ok(config)
    }

    /// Listens and opens the contents of the pool. Also returns the lines with the addresses.
    fn start(
        &self,
        config: &ServeConfig,
        pool: Pool,
        inherited: Vec<OwnedFd>,
        tls: Option<Tls>,
    ) -> Result<(Arc<Mutex<Control>>, Vec<String>)> {
        let (registry, dir) = (registry_settings(&pool)?, pool.dir().to_owned());
        let limits = config.limits;
        let trail = config.audit.clone().unwrap_or_else(|| pool.dir().join("audit.jsonl"));
        let trail = Audit::open(&trail)?;
        let settings = IoSettings { in_flight: limits.in_flight(), ..io_settings(config.no_io_uring, limits.memory) };
        let front = Front { inherited, ..front(config, tls) };
        let shard = Shard::start_behind(front, limits, settings)?;
        let listening = shard.listening().iter().map(|address| format!("listening on {address}"));
        let serving = listening.chain([format!("I/O: {}", shard.backend())]).collect();
        let control = Control::open(pool, shard, registry)?.with_date(|| date::since_1970().as_secs());
        let users = UsersFile(dir.join(USERS_FILE));
        let mut control = control.with_budget(config.budget()).with_logins(users);
        control.keep_trail(trail);
        control.watch_memory(MemorySigns::of_this_process());
        Ok((Arc::new(Mutex::new(control)), serving))
    }
}

/// Starts to keep events in the pool's folder, beginning with that of the start.
fn note_start(events: &Events, dir: &Path, doubt: bool) {
    if let Err(error) = events.keep_in(&dir.join(EVENTS_FILE)) {
        tracing::warn!(%error, "{EVENTS_FILE}: events are kept in memory only");
    }
    events.note(Noticed::once(EventKind::Started, "", concat!("version ", env!("CARGO_PKG_VERSION"))));
    if doubt {
        let text = "when the pool was served last a flush failed: writes since the last one that did not may be lost";
        tracing::warn!("{text}");
        events.note(Noticed::once(EventKind::FlushFailed, "", text));
    }
}

/// Serves REST.
fn rest(listen: String, config: &ServeConfig, dir: &Path, control: &Arc<Mutex<Control>>) -> Result<Rest> {
    let (name, uuid) = {
        let control = control.lock().unwrap_or_else(PoisonError::into_inner);
        (control.pool_name(), control.pool_uuid())
    };
    let settings =
        RestSettings { listen, certificate: config.rest.files(), folder: dir.into(), cluster: Cluster { name, uuid } };
    Ok(Rest::start(settings, Arc::clone(control))?)
}

fn tell_of_rest(rest: &Rest, dir: &Path, tell: Tell) {
    tell(&format!("REST: https://{}/api", rest.address()));
    if !rest.has_users() {
        tell(&format!("REST: nobody can log in yet: seawall user add NAME --pool {}", dir.display()));
    }
}

fn front(config: &ServeConfig, tls: Option<Tls>) -> Front {
    Front {
        listen: config.listen.clone(),
        nfs: config.nfs.iter().cloned().collect(),
        portmap: config.portmap.unwrap_or(Portmap::Register),
        since_1970: Span::from_nanos(date::since_1970().as_nanos() as u64),
        inherited: Vec::new(),
        tls_mode: config.tls_mode,
        tls,
        access: config.access.clone(),
        default_export: config.default_export.clone(),
        cpu: config.cpu,
        latency: config.latency,
        link: config.link,
        cache: config.cache,
        second_level: config.second_level.clone(),
    }
}

/// Prints what would be served.
fn check(config: &ServeConfig, tls: Option<Tls>) -> Result<Answer> {
    let mut certificates: Vec<Tls> = tls.clone().into_iter().collect();
    let front = front(config, tls);
    let listens = front.check()?;
    let dir = config.pool.as_deref().context(NO_POOL)?;
    must_not_be_a_file(dir)?;
    if !config.create && !dir.exists() {
        return Err(pool_error(StoreError::Missing(dir.into())));
    }
    if let Some(most) = config.budget().maps() {
        store::maps_within(dir, most).map_err(pool_error)?;
    }
    if let Some(trail) = &config.audit {
        let folder = trail.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if trail.is_dir() || !folder.is_dir() {
            bail!("audit.file: {}: must be a file in a folder that is there", trail.display());
        }
    }
    if let Some(listen) = &config.rest.listen {
        Rest::check(listen)?;
        certificates.extend(config.rest.files().map(Tls::load).transpose()?);
        terminal::line(&format!("would serve REST on {listen}"));
    }
    for outdated in certificates.iter().flat_map(|tls| tls.outdated(date::since_1970().as_secs())) {
        terminal::complain(&format!("warning: {outdated}"));
    }
    listens.iter().for_each(|line| terminal::line(&format!("would listen on {line}")));
    terminal::line(&format!("pool {}", dir.display()));
    terminal::line("the configuration is in order");
    Ok(Answer::Yes)
}

/// On each SIGHUP, reads certificates or keys again and reopens the audit trail.
fn renew_on_hangup(hangup: Hangup, tls: Vec<Tls>, control: Weak<Mutex<Control>>, tell: Tell) -> Result<()> {
    let renew = move || {
        while hangup.wait().is_ok() {
            match tls.iter().try_for_each(Tls::renew) {
                Ok(()) => {
                    tell("SIGHUP: certificates are read again");
                    warn_of_outdated(&tls);
                }
                Err(error) => tracing::error!(%error, "SIGHUP: the certificates in force stay"),
            }
            let Some(control) = control.upgrade() else { return };
            let reopened = control.lock().unwrap_or_else(PoisonError::into_inner).reopen_trail();
            if let Err(error) = reopened {
                tracing::error!(%error, "SIGHUP: the file that is open stays in use");
            }
        }
    };
    std::thread::Builder::new().name("hangup".into()).spawn(renew).context("start the thread for SIGHUP")?;
    Ok(())
}

fn warn_of_outdated(tls: &[Tls]) {
    for outdated in tls.iter().flat_map(|tls| tls.outdated(date::since_1970().as_secs())) {
        tracing::warn!("{outdated}");
    }
}

/// The pool, and how its place was before where it was made just now.
fn open_pool(dir: &Path, create: bool, tell: Tell) -> Result<(Pool, Option<FreshPool>)> {
    must_not_be_a_file(dir)?;
    match Pool::open(dir) {
        // A folder with only settings is not a pool yet, and may become one.
        Err(StoreError::Missing(_) | StoreError::NotAPool(_) | StoreError::Unfinished(_)) if create => {
            make_pool(dir, tell)
        }
        opened => Ok((opened.map_err(pool_error)?, None)),
    }
}

const NO_POOL: &str = "--pool DIR, or folder in [pool] of the configuration: missing";

fn must_not_be_a_file(dir: &Path) -> Result<()> {
    if dir.exists() && !dir.is_dir() {
        bail!("--pool {}: must be a folder, and this is a file; name another place", dir.display());
    }
    Ok(())
}

fn make_pool(dir: &Path, tell: Tell) -> Result<(Pool, Option<FreshPool>)> {
    if store::clear_unfinished(dir).map_err(pool_error)? {
        tell(&format!("{}: a pool was begun here and not finished; it is made anew", dir.display()));
    }
    must_be_free(&store::named(dir)?)?;
    let mut fresh = FreshPool::before(dir);
    let pool = Pool::create(dir).inspect_err(|error| {
        // An existing folder: nothing was created in it, so nothing must be removed.
        if matches!(error, StoreError::NotAPool(_)) {
            fresh.keep();
        }
    });
    let pool = pool.map_err(pool_error)?;
    fresh.made(&pool);
    Ok((pool, Some(fresh)))
}

/// Refuses to create a pool on something that is in use or looks like data.
fn must_be_free(named: &Named) -> Result<()> {
    for path in named.paths() {
        match Permit::ask(&Place::Path(path.clone()), Intent::Write(&Consent::default())) {
            Ok(_) => {}
            Err(OpenError::Refused(Refusal { place, found, .. })) => {
                bail!("[pool] {place}: {}; nothing was changed", found.join(", "));
            }
            Err(error) => bail!("[pool] {error}; nothing was changed"),
        }
    }
    Ok(())
}

/// Names the option if the error is about the folder that it gave.
fn pool_error(error: StoreError) -> anyhow::Error {
    use StoreError::{File, InUse, Missing, NotAPool, Unfinished};
    match error {
        Missing(_) | NotAPool(_) | Unfinished(_) | InUse(_) | File { .. } => anyhow!("--pool {error}"),
        other => other.into(),
    }
}

impl From<Mode> for TlsMode {
    fn from(mode: Mode) -> TlsMode {
        match mode {
            Mode::Off => TlsMode::Off,
            Mode::Optional => TlsMode::Optional,
            Mode::Required => TlsMode::Required,
        }
    }
}

/// The command line raises the level of the file; `SEAWALL_LOG` sets it exactly.
fn log(verbose: u8, settings: &LogSettings) {
    let level = match verbose {
        0 => settings.level.map_or("warn", server::LogLevel::word),
        1 => "info",
        _ => "trace",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_env("SEAWALL_LOG").unwrap_or_else(|_| level.into());
    // Colours only on a terminal; a file or a pipe gets plain lines.
    let colours = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours);
    // A log whose reader is gone must not report that to itself: the attempt would end the thread.
    let log = log.log_internal_errors(false);
    match settings.format {
        LogFormat::Text => log.with_target(false).init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}
