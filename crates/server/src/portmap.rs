//! How NFS clients learn of our port. Most ask the port mapper of the machine at port 111, and so
//! does `showmount`. If one runs (`rpcbind`), we register with it; or we answer at that port
//! ourselves.

use ::nfs::portmap::{self, Mapping, TCP};
use ::nfs::record::{self, Joiner};
use ::nfs::rpc::{self, CallHead, CallOutcome, Called, Credential};
use ::nfs::xdr::put_u32;
use ::nfs::{Reader, XdrError, mount};
use std::io::{Error, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How clients learn of the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Portmap {
    /// Not from us: people have to tell them.
    #[default]
    Off,
    /// Registers with the port mapper of this machine, if one runs.
    Register,
    /// Answers at port 111 as well.
    Serve,
}

/// The programs that we serve, NFS and MOUNT, both at one port.
const SPOKEN: [(u32, u32); 2] = [(::nfs::PROGRAM, ::nfs::VERSION), (mount::PROGRAM, mount::VERSION)];

/// Timeout of the port mapper.
const PATIENCE: Duration = Duration::from_secs(2);

/// Writes the result of a port mapper call after the head of its reply; `None` for a procedure that
/// is not supported.
///
/// # Errors
/// The arguments are invalid or incomplete.
pub(crate) fn put_result(
    procedure: u32,
    reader: &mut Reader<'_>,
    port: Option<u16>,
    out: &mut Vec<u8>,
) -> Result<Option<()>, XdrError> {
    let mut known = port.into_iter().flat_map(mappings);
    match procedure {
        0 => {}
        portmap::DUMP => portmap::put_all(out, known),
        portmap::GET_PORT => {
            let asked = Mapping::read(reader)?;
            // Any version matches: the program itself tells the caller which ones it supports.
            let is_it = |one: &Mapping| (one.program, one.protocol) == (asked.program, asked.protocol);
            put_u32(out, known.find(is_it).map_or(0, |one| one.port));
        }
        _ => return Ok(None),
    }
    Ok(Some(()))
}

fn mappings(port: u16) -> impl Iterator<Item = Mapping> {
    let own = (portmap::PROGRAM, portmap::VERSION, portmap::PORT);
    let spoken = SPOKEN.map(|(program, version)| (program, version, port));
    std::iter::once(own).chain(spoken).map(|(program, version, port)| mapping(program, version, port))
}

fn mapping(program: u32, version: u32, port: u16) -> Mapping {
    Mapping { program, version, protocol: TCP, port: port.into() }
}

/// A registration with the machine's port mapper, until it is dropped.
#[derive(Debug)]
pub(crate) struct Registration {
    mapper: SocketAddr,
    port: u16,
}

impl Registration {
    /// Registers, if a port mapper runs. Failures only cause a warning: clients that know the port
    /// are served all the same.
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
            // Removes the registration of a server that was killed.
            self.ask(&mut stream, portmap::UNSET, &mapping(program, version, 0))?;
            if self.ask(&mut stream, portmap::SET, &mapping(program, version, self.port))? != 1 {
                return Err(Error::new(ErrorKind::PermissionDenied, format!("it refuses program {program}")));
            }
        }
        Ok(())
    }

    /// Whether something listens at a port of this machine.
    fn answers(&self, port: u16) -> bool {
        TcpStream::connect_timeout(&SocketAddr::new(self.mapper.ip(), port), PATIENCE).is_ok()
    }

    fn connect(&self) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.mapper, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// Makes one call; every result is a number.
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
            // A registration that is not ours any more stays.
            if self.ask(&mut stream, portmap::GET_PORT, &asked).is_ok_and(|known| known == u32::from(self.port)) {
                let _ = self.ask(&mut stream, portmap::UNSET, &asked);
            }
        }
    }
}

/// A port mapper's UDP port, which many clients use exclusively. A thread of its own answers it
/// until this is dropped. The list of programs is not served there: a forged source address would
/// make us send more bytes than the attacker does.
pub(crate) struct Datagrams {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Datagrams {
    /// Answers at `address` that NFS is at `port`.
    ///
    /// # Errors
    /// The port mapper's port cannot be bound there.
    pub(crate) fn serve(address: IpAddr, port: u16) -> std::io::Result<Datagrams> {
        let socket = UdpSocket::bind((address, portmap::PORT))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let address = socket.local_addr()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let answer = move || {
            let (mut came, mut out) = ([0; 1024], Vec::new());
            while !seen.load(Ordering::Relaxed) {
                let Ok((got, from)) = socket.recv_from(&mut came) else { continue };
                out.clear();
                if answer_datagram(&came[..got], port, &mut out).is_ok() && !out.is_empty() {
                    let _ = socket.send_to(&out, from);
                }
            }
        };
        let thread = std::thread::Builder::new().name("portmap".into()).spawn(answer)?;
        Ok(Datagrams { address, is_over, thread: Some(thread) })
    }
}

/// Answers a call. Malformed calls and requests for the list are not answered.
fn answer_datagram(came: &[u8], port: u16, out: &mut Vec<u8>) -> Result<(), XdrError> {
    let mut reader = Reader::new(came);
    let Called::Call(head) = rpc::read_call(&mut reader)? else { return Ok(()) };
    match (head.program, head.version) {
        (portmap::PROGRAM, portmap::VERSION) if head.procedure == portmap::DUMP => {}
        (portmap::PROGRAM, portmap::VERSION) => {
            rpc::put_reply(out, head.xid, CallOutcome::Success);
            if put_result(head.procedure, &mut reader, Some(port), out)?.is_none() {
                out.clear();
                rpc::put_reply(out, head.xid, CallOutcome::ProcedureUnavailable);
            }
        }
        (portmap::PROGRAM, _) => rpc::put_reply(out, head.xid, CallOutcome::ProgramMismatch { low: 2, high: 2 }),
        _ => {}
    }
    Ok(())
}

impl Drop for Datagrams {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread if it waits for a call.
        let _ = UdpSocket::bind((self.address.ip(), 0)).and_then(|socket| socket.send_to(&[], self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call over UDP is answered with no more bytes than it has; the list is not served there.
    #[test]
    fn questions_by_udp_are_answered_and_lists_are_not() {
        let ask = |version, procedure, arguments: Option<Mapping>| {
            let (mut question, mut answer) = (Vec::new(), Vec::new());
            let (program, credential) = (portmap::PROGRAM, Credential::None);
            rpc::put_call(&mut question, &CallHead { xid: 7, program, version, procedure, credential });
            arguments.iter().for_each(|mapping| mapping.put(&mut question));
            let read = answer_datagram(&question, 2049, &mut answer);
            assert!(answer.len() <= question.len());
            read.map(|()| answer)
        };
        let port = |program, protocol| {
            let answer = ask(2, portmap::GET_PORT, Some(Mapping { program, version: 3, protocol, port: 0 })).unwrap();
            number(&answer).unwrap().unwrap()
        };
        assert_eq!((port(100_003, TCP), port(100_005, TCP), port(100_003, 17), port(100_021, TCP)), (2049, 2049, 0, 0));
        assert_eq!(ask(2, portmap::DUMP, None), Ok(Vec::new()));
        assert_eq!(ask(2, portmap::GET_PORT, None), Err(XdrError::Short));
        let outcome = |answer: Vec<u8>| rpc::read_reply(&mut Reader::new(&answer)).unwrap().1;
        assert_eq!(outcome(ask(4, 3, None).unwrap()), CallOutcome::ProgramMismatch { low: 2, high: 2 });
        assert_eq!(outcome(ask(2, 9, None).unwrap()), CallOutcome::ProcedureUnavailable);
    }
}
