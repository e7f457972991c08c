//! How clients connect: where to listen, how they identify themselves, and their bandwidth limits.

use crate::access::Access;
use crate::link_meter::LinkSettings;
use crate::listen::{Listen, ListenError, Listener};
use crate::portmap::Portmap;
use crate::starting::{Latency, StartError};
use crate::tls::Tls;
use block::Span;
use nbd::TlsMode;
use std::os::fd::OwnedFd;
use store::{CacheSettings, SecondFile, SecondPlace};
use uring::usage;

/// How clients connect and identify themselves.
#[derive(Debug, Default)]
pub struct Front {
    /// Where to listen.
    pub listen: Vec<Listen>,
    /// Listening sockets that were inherited from the parent process.
    pub inherited: Vec<OwnedFd>,
    /// Whether clients may or must encrypt. If not set, TLS is required on addresses other than
    /// loopback and Unix sockets, and is optional on these if there are certificates.
    pub tls_mode: Option<TlsMode>,
    /// The certificates.
    pub tls: Option<Tls>,
    /// The access rules.
    pub access: Access,
    /// The export for clients that name none.
    pub default_export: Option<String>,
    /// The processor that the data thread is bound to, if any.
    pub cpu: Option<u32>,
    /// Whether the data thread busy-polls for a client in ping-pong.
    pub latency: Latency,
    /// The cache of the pool's pages, if any.
    pub cache: Option<CacheSettings>,
    /// The second level of the cache, if any; without a cache it is not used.
    pub second_level: Option<SecondPlace>,
    /// Bandwidth limits of connections.
    pub link: LinkSettings,
    /// Where to listen for NFS, which is never encrypted.
    pub nfs: Vec<Listen>,
    /// How NFS clients learn of the port.
    pub portmap: Portmap,
    /// The present time since 1970, for dates and to distinguish this run of the server from
    /// others.
    pub since_1970: Span,
}

/// The sockets and settings of an open [`Front`].
pub(crate) struct Listeners {
    pub listeners: Vec<(Listener, TlsMode)>,
    pub nfs: Vec<Listener>,
    pub since_1970: Span,
    pub tls: Option<Tls>,
    pub access: Access,
    pub default_export: Option<String>,
    pub cache: Option<CacheSettings>,
    pub second_level: Option<SecondFile>,
    pub latency: Latency,
    pub link: LinkSettings,
}

impl Front {
    /// The addresses that it would listen on, and the TLS mode of each, without listening.
    /// Inherited sockets are left out.
    ///
    /// # Errors
    /// Clients could not be accepted somewhere, the process may not use the processor, or the
    /// second level of the cache cannot be used.
    pub fn check(&self) -> Result<Vec<String>, StartError> {
        self.check_cpu()?;
        self.second().map_or(Ok(()), SecondPlace::check)?;
        let told =
            |listen: &Listen| Ok(with_mode(&listen.to_string(), listen.tls_mode(self.tls_mode, self.tls.is_some())?));
        let nfs = |listen: &Listen| {
            listen.tls_mode(self.clear(), false).map_err(ListenError::of_nfs)?;
            Ok(format!("{listen} (NFS)"))
        };
        let all_nfs = self.all_nfs();
        Ok(self.listen.iter().map(told).chain(all_nfs.iter().map(nfs)).collect::<Result<_, ListenError>>()?)
    }

    /// The second level, if there is a cache.
    fn second(&self) -> Option<&SecondPlace> {
        self.second_level.as_ref().filter(|_| self.cache.is_some())
    }

    /// The addresses for NFS calls and, if it is asked for, the port mapper's.
    fn all_nfs(&self) -> Vec<Listen> {
        let mapper = |listen: &Listen| match listen {
            Listen::Tcp(address) if self.portmap == Portmap::Serve => {
                let host = address.rsplit_once(':').map_or("", |(host, _)| host);
                Some(Listen::Tcp(format!("{host}:{}", ::nfs::portmap::PORT)))
            }
            Listen::Tcp(_) | Listen::Unix(_) => None,
        };
        self.nfs.iter().cloned().chain(self.nfs.iter().filter_map(mapper)).collect()
    }

    /// Whether clear text was allowed explicitly: NFS is not encrypted, so it must be if others
    /// than this machine can connect.
    fn clear(&self) -> Option<TlsMode> {
        self.tls_mode.filter(|mode| *mode == TlsMode::Off)
    }

    pub(crate) fn check_cpu(&self) -> Result<(), StartError> {
        let Some(cpu) = self.cpu else { return Ok(()) };
        let allowed = usage::allowed()?;
        if allowed.contains(&cpu) {
            return Ok(());
        }
        let allowed = allowed.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        Err(StartError::Cpu { cpu, allowed })
    }

    /// Opens all listeners.
    pub(crate) fn open(mut self) -> Result<Listeners, StartError> {
        let inherited = std::mem::take(&mut self.inherited).into_iter().enumerate();
        let inherited = inherited.map(|(number, socket)| Listener::inherited(number + 3, socket));
        let listeners = inherited.chain(self.listen.iter().map(Listen::open)).map(|listener| {
            let listener = listener?;
            let mode = listener.tls_mode(self.tls_mode, self.tls.is_some())?;
            Ok((listener, mode))
        });
        let listeners = listeners.collect::<Result<Vec<_>, ListenError>>()?;
        let all_nfs = self.all_nfs();
        let nfs = all_nfs.iter().map(|listen| {
            let listener = listen.open().map_err(ListenError::of_nfs)?;
            listener.tls_mode(self.clear(), false).map_err(ListenError::of_nfs)?;
            Ok(listener)
        });
        let nfs = nfs.collect::<Result<Vec<_>, ListenError>>()?;
        let second_level = self.second().map(SecondPlace::open).transpose()?;
        let Front { tls, access, default_export, cache, since_1970, latency, link, .. } = self;
        Ok(Listeners { listeners, nfs, tls, access, default_export, cache, second_level, latency, link, since_1970 })
    }
}

pub(crate) fn with_mode(address: &str, mode: TlsMode) -> String {
    match mode {
        TlsMode::Off => address.into(),
        TlsMode::Optional => format!("{address} (TLS optional)"),
        TlsMode::Required => format!("{address} (TLS required)"),
    }
}

impl Listeners {
    /// The port of NFS.
    pub(crate) fn nfs_port(&self) -> Option<u16> {
        self.nfs.first().and_then(Listener::socket_address).map(|address| address.port())
    }

    /// Whether any connection may be encrypted.
    pub(crate) fn encrypts(&self) -> bool {
        self.listeners.iter().any(|(_, mode)| *mode != TlsMode::Off)
    }
}
