//! One TLS session, from its first record to its last.
//!
//! The library's handshake and stream are futures over a [`Pipe`]. They are polled when records
//! have arrived, so nothing blocks and no runtime is needed.

use crate::key::config;
use crate::pipe::Pipe;
use crate::{Key, Keys, PskError};
use s2n_tls::connection::{Builder, Connection};
use s2n_tls::enums::Mode;
use s2n_tls::error::Error;
use s2n_tls_tokio::{TlsAcceptor, TlsStream};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

/// One end of a session.
pub struct Session {
    pipe: Pipe,
    state: State,
    /// The name of the key that both ends proved to know.
    name: String,
    parted: bool,
}

enum State {
    Handshake(Pin<Box<dyn Future<Output = Result<TlsStream<Pipe>, Error>> + Send>>),
    Open(Box<TlsStream<Pipe>>),
    Over,
}

/// The result of reading clear text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulled {
    /// This many bytes.
    Bytes(usize),
    /// More records are needed.
    Nothing,
    /// The other end sent its close notification.
    End,
}

impl Session {
    /// The end of a server with `keys`.
    pub fn accept(keys: &Keys) -> Session {
        Session::begin(Opening { keys: keys.clone(), mode: Mode::Server })
    }

    /// The end of a client with `key`.
    ///
    /// # Errors
    /// The library failed.
    pub fn connect(key: &Key) -> Result<Session, PskError> {
        let config = config().map_err(|error| PskError::Tls(error.to_string()))?;
        let keys = Keys { config, all: [key.clone()].into() };
        Ok(Session::begin(Opening { keys, mode: Mode::Client }))
    }

    fn begin(opening: Opening) -> Session {
        let pipe = Pipe::default();
        let end = pipe.clone();
        // The acceptor opens any connection that the builder makes, a client's too. A connector
        // would require a host name, which keys do not have.
        let handshake = Box::pin(async move { TlsAcceptor::new(opening).accept(end).await });
        Session { pipe, state: State::Handshake(handshake), name: String::new(), parted: false }
    }

    /// Feeds received records.
    pub fn feed(&mut self, records: &[u8]) {
        self.pipe.ways().came.extend(records);
    }

    /// Continues the handshake; true if it is over. Records may have to be sent either way.
    ///
    /// # Errors
    /// The ends have no key in common, or what was received is not TLS.
    pub fn shake_hands(&mut self) -> Result<bool, PskError> {
        let handshake = match &mut self.state {
            State::Handshake(handshake) => handshake,
            State::Open(_) => return Ok(true),
            State::Over => return Err(PskError::Over),
        };
        match handshake.as_mut().poll(&mut context()) {
            Poll::Pending => Ok(false),
            Poll::Ready(opened) => {
                let opened =
                    opened.map_err(PskError::from).and_then(|stream| Ok((negotiated(stream.as_ref())?, stream)));
                self.state = State::Over;
                let (name, stream) = opened?;
                self.name = name;
                self.state = State::Open(Box::new(stream));
                Ok(true)
            }
        }
    }

    /// Whether the handshake is in progress.
    pub fn is_handshaking(&self) -> bool {
        matches!(self.state, State::Handshake(_))
    }

    /// The name of the key; empty before the handshake is over.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The negotiated parameters, for the log.
    pub fn words(&self) -> String {
        let State::Open(stream) = &self.state else { return String::new() };
        let connection: &Connection = (**stream).as_ref();
        let (version, suite) = (connection.actual_protocol_version(), connection.cipher_suite());
        let version = version.map(|version| format!("{version:?}"));
        [version.ok(), suite.ok().map(str::to_owned)].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Reads clear text of the records that were fed, as far as it fits.
    ///
    /// # Errors
    /// They are damaged, or not from the other end of this session.
    pub fn read(&mut self, into: &mut [u8]) -> Result<Pulled, PskError> {
        debug_assert!(!into.is_empty(), "nothing read looks like the end");
        let State::Open(stream) = &mut self.state else { return Err(PskError::Over) };
        let mut into = ReadBuf::new(into);
        match Pin::new(&mut **stream).poll_read(&mut context(), &mut into) {
            Poll::Pending => Ok(Pulled::Nothing),
            Poll::Ready(Ok(())) if into.filled().is_empty() => Ok(Pulled::End),
            Poll::Ready(Ok(())) => Ok(Pulled::Bytes(into.filled().len())),
            Poll::Ready(Err(error)) => {
                self.state = State::Over;
                Err(PskError::Tls(error.to_string()))
            }
        }
    }

    /// Encrypts clear text into records, for [`Session::take_records`].
    ///
    /// # Errors
    /// The session is over.
    pub fn write(&mut self, mut clear: &[u8]) -> Result<(), PskError> {
        let State::Open(stream) = &mut self.state else { return Err(PskError::Over) };
        while !clear.is_empty() {
            match Pin::new(&mut **stream).poll_write(&mut context(), clear) {
                Poll::Ready(Ok(taken)) if taken > 0 => clear = &clear[taken..],
                // The pipe accepts everything, so the session itself has failed.
                _ => {
                    self.state = State::Over;
                    return Err(PskError::Over);
                }
            }
        }
        Ok(())
    }

    /// Whether there are records to be sent.
    pub fn has_records(&self) -> bool {
        !self.pipe.ways().go.is_empty()
    }

    /// Appends the records that are to be sent to `out`.
    pub fn take_records(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.pipe.ways().go);
    }

    /// Sends the close notification, once.
    pub fn part(&mut self) {
        if let (State::Open(stream), false) = (&mut self.state, self.parted) {
            self.parted = true;
            // The pipe accepts the alert at once. If the session is broken, there is nobody to send
            // it to.
            let _ = Pin::new(&mut **stream).poll_shutdown(&mut context());
        }
    }
}

fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// The name of the key that the handshake used. Without one it used certificates, which are not
/// verified here.
fn negotiated(connection: &Connection) -> Result<String, PskError> {
    let length = connection.negotiated_psk_identity_length()?;
    if length == 0 {
        return Err(PskError::NotTaken);
    }
    let mut name = vec![0; length];
    connection.negotiated_psk_identity(&mut name)?;
    String::from_utf8(name).map_err(|_| PskError::Unknown)
}

/// Makes connections with the keys, for one end.
#[derive(Clone)]
struct Opening {
    keys: Keys,
    mode: Mode,
}

impl Builder for Opening {
    type Output = Connection;

    fn build_connection(&self, _: Mode) -> Result<Connection, Error> {
        let mut connection = self.keys.config.build_connection(self.mode)?;
        for key in self.keys.all.iter() {
            connection.append_psk(key.secret())?;
        }
        Ok(connection)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("name", &self.name).field("words", &self.words()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Keys {
        Keys::parse(text).unwrap()
    }

    fn line(name: &str, byte: &str) -> String {
        format!("{name}:{}\n", byte.repeat(32))
    }

    /// Moves records between both ends until neither has any; returns the result of each handshake.
    fn carry(client: &mut Session, server: &mut Session) -> (Result<bool, PskError>, Result<bool, PskError>) {
        loop {
            let (one, two) = (client.shake_hands(), server.shake_hands());
            if !client.has_records() && !server.has_records() {
                return (one, two);
            }
            move_records(client, server);
            move_records(server, client);
            if one.is_err() || two.is_err() {
                return (one, two);
            }
        }
    }

    fn move_records(from: &mut Session, to: &mut Session) {
        let mut records = Vec::new();
        from.take_records(&mut records);
        // Records may arrive in arbitrary pieces.
        records.chunks(97).for_each(|piece| to.feed(piece));
    }

    fn pair() -> (Session, Session) {
        let server = keys(&(line("alice", "a1") + &line("bob", "b2")));
        let key = Key::find(&line("bob", "b2"), "bob").unwrap();
        let (mut client, mut server) = (Session::connect(&key).unwrap(), Session::accept(&server));
        let ended = carry(&mut client, &mut server);
        assert!(matches!(ended, (Ok(true), Ok(true))), "{ended:?}");
        (client, server)
    }

    fn all(session: &mut Session) -> (Vec<u8>, Pulled) {
        let (mut bytes, mut room) = (Vec::new(), [0; 5000]);
        loop {
            match session.read(&mut room).unwrap() {
                Pulled::Bytes(got) => bytes.extend_from_slice(&room[..got]),
                end => return (bytes, end),
            }
        }
    }

    #[test]
    fn both_ends_know_the_key_and_carry_bytes_and_goodbyes() {
        let (mut client, mut server) = pair();
        assert_eq!((client.name(), server.name()), ("bob", "bob"));
        assert!(server.words().starts_with("TLS13 TLS_"), "{}", server.words());
        // Far more than a record's 16 KiB, and nothing of it is sent in clear text.
        let sent: Vec<u8> = (0..200_000u32).map(|n| (n * 31 % 251) as u8).collect();
        client.write(&sent).unwrap();
        move_records(&mut client, &mut server);
        assert_eq!(all(&mut server), (sent.clone(), Pulled::Nothing));
        server.write(&sent).unwrap();
        server.part();
        server.part();
        let mut records = Vec::new();
        server.take_records(&mut records);
        assert!(!records.windows(64).any(|piece| piece == &sent[..64]));
        client.feed(&records);
        assert_eq!(all(&mut client), (sent, Pulled::End));
    }

    #[test]
    fn who_does_not_know_the_key_stays_out() {
        for (name, byte, wrong) in [("carol", "b2", "names no key"), ("bob", "b3", "binder")] {
            let key = Key::find(&line(name, byte), name).unwrap();
            let mut client = Session::connect(&key).unwrap();
            let mut server = Session::accept(&keys(&line("bob", "b2")));
            let (_, said) = carry(&mut client, &mut server);
            let said = said.unwrap_err().to_string();
            assert!(said.contains(wrong), "{said}");
            // The alert ends the client's session, and neither end can be used any more.
            assert!(client.shake_hands().is_err());
            assert!(matches!(server.shake_hands(), Err(PskError::Over)));
            assert!(client.write(b"x").is_err() && client.read(&mut [0; 9]).is_err());
        }
    }

    /// Each byte of the client's first flight, changed: the server never panics and never accepts
    /// it.
    #[test]
    fn damaged_handshakes_are_refused() {
        let server = keys(&line("bob", "b2"));
        let key = Key::find(&line("bob", "b2"), "bob").unwrap();
        let mut client = Session::connect(&key).unwrap();
        assert!(matches!(client.shake_hands(), Ok(false)));
        let mut hello = Vec::new();
        client.take_records(&mut hello);
        assert!(hello.len() > 100);
        for at in 0..hello.len() {
            let mut damaged = hello.clone();
            damaged[at] ^= 0x55;
            let mut session = Session::accept(&server);
            session.feed(&damaged);
            assert!(!matches!(session.shake_hands(), Ok(true)), "byte {at}");
        }
    }

    #[test]
    fn damaged_records_end_the_session() {
        let (mut client, mut server) = pair();
        client.write(b"hello").unwrap();
        let mut records = Vec::new();
        client.take_records(&mut records);
        *records.last_mut().unwrap() ^= 1;
        server.feed(&records);
        assert!(server.read(&mut [0; 100]).is_err());
        assert!(matches!(server.read(&mut [0; 100]), Err(PskError::Over)));
    }
}
