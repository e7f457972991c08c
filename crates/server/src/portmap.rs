//! How NFS clients learn of our port: most ask the port mapper of the machine, at port 111, and so
//! does `showmount`. Where one runs (`rpcbind`) it is told; or we answer there ourselves.

use ::nfs::portmap::{self, Mapping, TCP};
use ::nfs::record::{self, Joiner};
use ::nfs::rpc::{self, CallHead, CallOutcome, Credential};
use ::nfs::{Reader, XdrError, mount};
use std::io::{Error, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// What is done for clients to learn of the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Portmap {
    /// Nothing: clients are told by people.
    #[default]
    Off,
    /// The port mapper of this machine is told, if one runs.
    Register,
    /// Port 111 is answered, too.
    Serve,
}

/// What we speak: NFS and MOUNT, both at one port.
const SPOKEN: [(u32, u32); 2] = [(::nfs::PROGRAM, ::nfs::VERSION), (mount::PROGRAM, mount::VERSION)];

/// How long the port mapper may take for anything.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a port mapper at our own port answers.
pub(crate) fn mappings(port: u16) -> impl Iterator<Item = Mapping> {
    let own = (portmap::PROGRAM, portmap::VERSION, portmap::PORT);
    let spoken = SPOKEN.map(|(program, version)| (program, version, port));
    std::iter::once(own).chain(spoken).map(|(program, version, port)| mapping(program, version, port))
}

fn mapping(program: u32, version: u32, port: u16) -> Mapping {
    Mapping { program, version, protocol: TCP, port: port.into() }
}

/// The port mapper of this machine knows of our port, until this is dropped.
#[derive(Debug)]
pub(crate) struct Registration {
    mapper: SocketAddr,
    port: u16,
}

impl Registration {
    /// Tells it, if one runs. What cannot be is warned of: whoever knows the port is served all the
    /// same.
    pub(crate) fn with_local(port: u16) -> Option<Registration> {
        Registration::at(SocketAddr::from((Ipv4Addr::LOCALHOST, portmap::PORT)), port)
    }

    fn at(mapper: SocketAddr, port: u16) -> Option<Registration> {
        let registration = Registration { mapper, port };
        match registration.register() {
            Ok(()) => {
                tracing::info!(port, "the port mapper knows where NFS is");
                Some(registration)
            }
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                tracing::debug!("no port mapper runs: clients have to be told the port of NFS");
                None
            }
            Err(error) => {
                let port_mapper = mapper;
                tracing::warn!(%port_mapper, %error, "the port mapper does not tell clients of our port");
                None
            }
        }
    }

    fn register(&self) -> std::io::Result<()> {
        let mut stream = self.connect()?;
        for (program, version) in SPOKEN {
            let known = self.ask(&mut stream, portmap::GET_PORT, &mapping(program, version, 0))?;
            let is_other = known != 0 && known != u32::from(self.port);
            if is_other && u16::try_from(known).is_ok_and(|port| self.answers(port)) {
                let text = format!("another server has port {known} registered for program {program}");
                return Err(Error::new(ErrorKind::AddrInUse, text));
            }
            // Of one that was killed.
            self.ask(&mut stream, portmap::UNSET, &mapping(program, version, 0))?;
            if self.ask(&mut stream, portmap::SET, &mapping(program, version, self.port))? != 1 {
                return Err(Error::new(ErrorKind::PermissionDenied, format!("it refuses program {program}")));
            }
        }
        Ok(())
    }

    /// Whether somebody listens at a port of this machine.
    fn answers(&self, port: u16) -> bool {
        TcpStream::connect_timeout(&SocketAddr::new(self.mapper.ip(), port), PATIENCE).is_ok()
    }

    fn connect(&self) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.mapper, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// Asks one thing; each answer is a number.
    fn ask(&self, stream: &mut TcpStream, procedure: u32, mapping: &Mapping) -> std::io::Result<u32> {
        let (program, version) = (portmap::PROGRAM, portmap::VERSION);
        let mut out = Vec::new();
        let start = record::begin(&mut out);
        rpc::put_call(
            &mut out,
            &CallHead { xid: procedure, program, version, procedure, credential: Credential::None },
        );
        mapping.put(&mut out);
        record::end(&mut out, start, 0);
        stream.write_all(&out)?;
        let invalid = |error: String| Error::new(ErrorKind::InvalidData, error);
        let (mut joiner, mut came) = (Joiner::new(), [0; 512]);
        loop {
            let got = stream.read(&mut came)?;
            if got == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if let Some(reply) = joiner.feed(&mut &came[..got]).map_err(|error| invalid(error.to_string()))? {
                return number(reply)
                    .map_err(|error| invalid(error.to_string()))?
                    .map_err(|told| invalid(told.to_string()));
            }
        }
    }
}

fn number(reply: &[u8]) -> Result<Result<u32, CallOutcome>, XdrError> {
    let mut reader = Reader::new(reply);
    match rpc::read_reply(&mut reader)? {
        (_, CallOutcome::Success) => reader.u32().map(Ok),
        (_, outcome) => Ok(Err(outcome)),
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let Ok(mut stream) = self.connect() else { return };
        for (program, version) in SPOKEN {
            let asked = mapping(program, version, 0);
            // What is not ours any more stays.
            if self.ask(&mut stream, portmap::GET_PORT, &asked).is_ok_and(|known| known == u32::from(self.port)) {
                let _ = self.ask(&mut stream, portmap::UNSET, &asked);
            }
        }
    }
}
