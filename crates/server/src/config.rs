//! The server's configuration file: `seawall serve --config FILE`.
//!
//! ```toml
//! listen = ["unix:/run/seawall/nbd.sock", "0.0.0.0:10809"]
//!
//! [pool]
//! folder = "/srv/pool"
//!
//! [tls]
//! folder = "/etc/seawall/tls"
//! client_certificates = "required"
//!
//! [[access]]
//! exports = ["svm01:/vol/db/*"]
//! addresses = ["10.1.0.0/16"]
//! certificates = ["CN=db1"]
//!
//! [limits]
//! connections = 4096
//! idle_time = "1h"
//! ```
//!
//! Everything is checked when the file is read. The settings of the pool itself (its layout, its
//! cache, how policies are read) are in the `seawall.toml` in its folder.

mod access;
mod cache;
mod link;
mod rest;
mod statistics;
mod unused;

pub use rest::RestConfig;

use crate::access::Access;
use crate::budget::MemoryBudget;
use crate::limits::{LimitsError, ServerLimits};
use crate::link_meter::LinkSettings;
use crate::listen::{Listen, ListenError};
use crate::portmap::Portmap;
use crate::starting::Latency;
use crate::tls::{TlsFiles, TlsSource};
use block::{Bytes, Span};
use history::HistorySettings;
use nbd::TlsMode;
use serde::{Deserialize, Deserializer, de::Error as _};
use std::path::{Path, PathBuf};
use store::SecondPlace;

/// The contents of a configuration file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServeConfig {
    /// The pool's folder.
    pub pool: Option<PathBuf>,
    /// Whether to make the pool if it does not exist.
    pub create: bool,
    /// Whether to use threads in place of io_uring.
    pub no_io_uring: bool,
    /// The processor that the data thread is bound to, if any.
    pub cpu: Option<u32>,
    /// Whether the data thread busy-polls for a client in ping-pong.
    pub latency: Latency,
    /// Bandwidth limits of connections.
    pub link: LinkSettings,
    /// The memory that the server may use; `None` if it is not known how much there is.
    pub memory: Option<Bytes>,
    /// The cache of the pool's pages, if any.
    pub cache: Option<store::CacheSettings>,
    /// The second level of the cache, if any.
    pub second_level: Option<SecondPlace>,
    /// Where to listen.
    pub listen: Vec<Listen>,
    /// Where to listen for NFS, if at all.
    pub nfs: Option<Listen>,
    /// How NFS clients learn of the port; `None` to register with a running port mapper.
    pub portmap: Option<Portmap>,
    /// Whether clients encrypt; `None` if the addresses decide.
    pub tls_mode: Option<TlsMode>,
    /// Certificates or keys.
    pub tls: Option<TlsSource>,
    /// The access rules.
    pub access: Access,
    /// The export for clients that name none.
    pub default_export: Option<String>,
    /// The limits on what clients may use.
    pub limits: ServerLimits,
    /// The log.
    pub log: LogSettings,
    /// The file of the audit trail; `None` for `audit.jsonl` in the pool's folder.
    pub audit: Option<PathBuf>,
    /// Administration by REST.
    pub rest: RestConfig,
    /// The memory for statistics.
    pub statistics: HistorySettings,
}

/// How the log is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogSettings {
    /// Lines for people or for programs.
    pub format: LogFormat,
    /// `error`, `warn`, `info`, `debug`, `trace`; `None` if the command line decides.
    pub level: Option<LogLevel>,
}

/// Lines for people or for programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// How much is logged; each level includes those above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Failures.
    Error,
    /// Refusals for lack of a resource.
    Warn,
    /// Commands, and clients that connect and disconnect.
    Info,
    /// Details.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    /// The word for the log's filter.
    pub fn word(self) -> &'static str {
        match self {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
            LogLevel::Trace => "trace",
        }
    }
}

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("{}: read the configuration: {reason}", .path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the system says.
        reason: std::io::Error,
    },
    /// It is not valid TOML, or a key or a value is invalid.
    #[error("{}: line {line}: {reason}", .path.display())]
    Wrong {
        /// Which.
        path: PathBuf,
        /// Where.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// Something in it breaks a rule.
    #[error("{}: {reason}", .path.display())]
    Rule {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl ServeConfig {
    /// Reads a file. Relative paths in it start at the file's folder.
    ///
    /// # Errors
    /// It is missing or invalid: the message names the file, the line and the rule.
    pub fn read(path: &Path) -> Result<ServeConfig, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|reason| ConfigError::Read { path: path.into(), reason })?;
        let file: File = toml::from_str(&text).map_err(|error| {
            let (line, reason) = nearest::toml::wrong(&text, error.span(), error.message());
            ConfigError::Wrong { path: path.into(), line, reason }
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        file.checked(folder).map_err(|reason| match nearest::toml::line_of(&text, &reason) {
            Some(line) => ConfigError::Wrong { path: path.into(), line, reason },
            None => ConfigError::Rule { path: path.into(), reason },
        })
    }

    /// The configuration when no file is given.
    ///
    /// # Errors
    /// The machine has too little memory.
    pub fn without_file() -> Result<ServeConfig, String> {
        File::default().checked(Path::new(""))
    }

    /// How its memory is divided.
    pub fn budget(&self) -> MemoryBudget {
        let second_level = self
            .second_level
            .as_ref()
            .zip(self.cache)
            .map(|(second, cache)| Bytes(SecondPlace::memory(second.size, cache.page).0 + SecondPlace::BUFFERS.0));
        MemoryBudget {
            whole: self.memory,
            cache: self.cache.map_or(Bytes(0), |cache| cache.memory),
            second_level: second_level.unwrap_or_default(),
            buffers: self.limits.memory,
            statistics: self.statistics.memory,
        }
    }

    /// The first access rule, counted from 1, that no client can meet, because it requires
    /// certificates or keys and the server does not ask for them. If TLS is switched off, that is
    /// taken to be intended.
    pub fn rule_nobody_meets(&self) -> Option<usize> {
        if self.tls_mode == Some(TlsMode::Off) {
            return None;
        }
        let asks = match &self.tls {
            Some(TlsSource::Certificates(files)) => [files.client_authorities.is_some(), false],
            Some(TlsSource::Keys(_)) => [false, true],
            None => [false, false],
        };
        let number = self.access.rules().iter().position(|rule| {
            let wants = [!rule.certificates.is_empty(), !rule.keys.is_empty()];
            wants != [false, false] && !(wants[0] && asks[0]) && !(wants[1] && asks[1])
        })?;
        Some(number + 1)
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    listen: Vec<String>,
    nfs: Option<String>,
    default_export: Option<String>,
    io_uring: Option<bool>,
    cpu: Option<u32>,
    server: link::ServerTable,
    pool: PoolTable,
    cache: cache::CacheTable,
    tls: Option<TlsTable>,
    access: Option<Vec<access::AccessTable>>,
    limits: LimitsTable,
    log: LogSettings,
    audit: AuditTable,
    rest: RestConfig,
    statistics: statistics::StatisticsTable,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PoolTable {
    folder: Option<PathBuf>,
    create: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AuditTable {
    file: Option<PathBuf>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TlsTable {
    mode: Option<ModeWord>,
    folder: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    client_authorities: Option<PathBuf>,
    client_certificates: Option<NeedWord>,
    revocation_lists: Option<PathBuf>,
    psk: Option<PathBuf>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ModeWord {
    Off,
    Optional,
    Required,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum NeedWord {
    Optional,
    Required,
}

/// Declares an optional field for each limit.
macro_rules! limits {
    ($($name:ident: $type:ty),+ $(,)?) => {
        #[derive(Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        struct LimitsTable { $($name: Option<$type>),+ }

        impl LimitsTable {
            fn over(self, mut limits: ServerLimits) -> ServerLimits {
                // If the number of connections is not set, it is as many as the memory allows.
                let are_said = self.connections.is_some();
                $(if let Some(value) = self.$name { limits.$name = value.into(); })+
                if are_said { limits } else { limits.with_connections_carried() }
            }
        }
    };
}

limits! {
    connections: u32,
    connections_per_address: u32,
    connection_in_flight: Size,
    connection_requests: u32,
    handshake_time: Length,
    handshake_options: u32,
    idle_time: Length,
    drain_time: Length,
    patience: Length,
    memory: Size,
    receive: Size,
}

impl File {
    fn checked(self, folder: &Path) -> Result<ServeConfig, String> {
        let from_here = |path: PathBuf| folder.join(path);
        let listen = |text: &String, key: &str| match text.parse() {
            Ok(Listen::Unix(path)) => Ok(Listen::Unix(from_here(path))),
            Ok(tcp) => Ok(tcp),
            Err(error) => Err(ListenError::to_string(&error).replacen("--listen", key, 1)),
        };
        let nfs = self.nfs.as_ref().map(|text| listen(text, "nfs:")).transpose()?;
        let listen = self.listen.iter().map(|text| listen(text, "listen:")).collect::<Result<_, _>>()?;
        let (tls_mode, tls) = match self.tls {
            Some(table) => table.checked(folder)?,
            None => (None, None),
        };
        let memory = self.server.memory()?;
        let limits = self.limits.over(ServerLimits::of_memory(memory));
        limits.check(tls.is_some()).map_err(|error: LimitsError| error.to_string())?;
        let (cache, second_level) = self.cache.checked(folder)?;
        let config = ServeConfig {
            memory,
            pool: self.pool.folder.map(from_here),
            create: self.pool.create,
            no_io_uring: self.io_uring == Some(false),
            cpu: self.cpu,
            latency: self.server.latency,
            link: self.server.link()?,
            cache,
            second_level,
            listen,
            nfs,
            portmap: self.server.portmap,
            tls_mode,
            tls,
            access: access::checked(self.access)?,
            default_export: self.default_export,
            limits,
            log: self.log,
            audit: self.audit.file.map(from_here),
            rest: self.rest.checked(folder)?,
            statistics: self.statistics.checked(memory)?,
        };
        config.budget().check()?;
        Ok(config)
    }
}

impl TlsTable {
    fn checked(self, folder: &Path) -> Result<(Option<TlsMode>, Option<TlsSource>), String> {
        let mode = self.mode.map(|word| match word {
            ModeWord::Off => TlsMode::Off,
            ModeWord::Optional => TlsMode::Optional,
            ModeWord::Required => TlsMode::Required,
        });
        let source = match &self.psk {
            Some(keys) if self.has_certificates() => {
                return Err(format!(
                    "tls.psk: {} cannot be used beside certificates: a server has keys or certificates",
                    keys.display()
                ));
            }
            Some(keys) => Some(TlsSource::Keys(folder.join(keys))),
            None => self.files(folder, mode)?.map(TlsSource::Certificates),
        };
        Ok((mode, source.filter(|_| mode != Some(TlsMode::Off))))
    }

    fn has_certificates(&self) -> bool {
        let paths = [&self.folder, &self.certificate, &self.key, &self.client_authorities, &self.revocation_lists];
        paths.into_iter().any(Option::is_some) || self.client_certificates.is_some()
    }

    fn files(self, folder: &Path, mode: Option<TlsMode>) -> Result<Option<TlsFiles>, String> {
        let verify = self.client_certificates.is_some();
        let in_folder = self.folder.map(|path| TlsFiles::in_folder(&folder.join(path), verify));
        let (certificate, key) = match (self.certificate, self.key, &in_folder) {
            (Some(certificate), Some(key), _) => (folder.join(certificate), folder.join(key)),
            (None, None, Some(files)) => (files.certificate.clone(), files.key.clone()),
            (None, None, None) if mode == Some(TlsMode::Off) => return Ok(None),
            (None, None, None) => return Err("tls: give folder, or certificate and key, or psk".into()),
            (Some(_), None, _) => return Err("tls.certificate: give tls.key too".into()),
            (None, Some(_), _) => return Err("tls.key: give tls.certificate too".into()),
        };
        if self.client_authorities.is_some() && !verify {
            return Err("tls.client_authorities: give tls.client_certificates, which they are for".into());
        }
        let authorities = self.client_authorities.map(|path| folder.join(path));
        let (in_folder, in_folder_lists) =
            in_folder.map_or((None, None), |files| (files.client_authorities, files.revocation_lists));
        let client_authorities = authorities.or(in_folder);
        if verify && client_authorities.is_none() {
            return Err("tls.client_certificates: give tls.client_authorities, whose certificates count".into());
        }
        let client_certificate_optional = self.client_certificates == Some(NeedWord::Optional);
        let revocation_lists = self.revocation_lists.map(|path| folder.join(path)).or(in_folder_lists);
        if revocation_lists.is_some() && !verify {
            return Err("tls.revocation_lists: give tls.client_certificates, which they are about".into());
        }
        Ok(Some(TlsFiles { certificate, key, client_authorities, client_certificate_optional, revocation_lists }))
    }
}

/// `"64MiB"`.
struct Size(Bytes);

impl From<Size> for Bytes {
    fn from(size: Size) -> Bytes {
        size.0
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Size).map_err(|error| D::Error::custom(format!("{text:?}: {error}")))
    }
}

/// `"10s"`.
struct Length(Span);

impl From<Length> for Span {
    fn from(length: Length) -> Span {
        length.0
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Length, D::Error> {
        let text = String::deserialize(deserializer)?;
        span(&text).map(Length).ok_or_else(|| D::Error::custom(format!("{text:?}: write 500ms, 10s, 5min or 1h")))
    }
}

fn span(text: &str) -> Option<Span> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let ms = match text[digits.len()..].trim() {
        "ms" => 1,
        "s" => 1000,
        "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    let number: u64 = digits.parse().ok()?;
    // No limit here needs more than a year.
    number.checked_mul(ms).filter(|ms| *ms <= 366 * 24 * 3_600_000).map(Span::from_millis)
}

#[cfg(test)]
mod tests;
