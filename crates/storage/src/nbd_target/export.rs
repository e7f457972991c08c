//! An NBD export as a URI, by the NBD URI specification and libnbd, with some additions.
//!
//! ```text
//!   nbd://HOST[:PORT]/NAME    nbd+unix:///NAME?socket=PATH    nbds://[USER@]…    nbds+unix://[USER@]…
//!      ?tls-certificates=DIR  &tls-hostname=HOST              as libnbd has them
//!      ?tls-psk-file=FILE                                     the same: the key of USER in it
//!      &connections=N  &replies=KIND  &reconnect=SECONDS  &repeat-writes=true
//! ```

use super::Address;
use super::tls::TlsChoice;
use crate::uri::{RECONNECT_MAX, decoded, truth, whole};
use block::Span;
use nbd::{Framing, TlsWish, Wishes};

/// An export, how to reach it, and what to do when it is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Where the server listens.
    pub address: Address,
    /// The export's name; empty for the default one.
    pub name: String,
    /// Encryption; `None` means clear text.
    pub tls: Option<TlsChoice>,
    /// Number of connections, 1 to [`Export::CONNECTIONS_MAX`].
    pub connections: u32,
    /// The best framing to ask for; the server may agree to less.
    pub replies: Framing,
    /// How long to try to re-establish a lost connection; zero for not at all.
    pub reconnect: Span,
    /// Also send writes, trims and zeroes of unknown outcome again. This may undo a later write of
    /// another client to the same place, so it must be asked for.
    pub repeat_writes: bool,
}

/// The parameters of the query part.
const PARAMETERS: &str =
    "socket, tls-certificates, tls-hostname, tls-psk-file, connections, replies, reconnect, repeat-writes";

impl Export {
    /// Limit on the connections to one export: more than a client has processors are of no use.
    pub const CONNECTIONS_MAX: u32 = 64;

    /// The export `name` at `address` over one connection in clear text, with simple replies; it is
    /// given up when it is lost.
    pub fn new(address: Address, name: &str) -> Export {
        Export {
            address,
            name: name.into(),
            tls: None,
            connections: 1,
            replies: Framing::Simple,
            reconnect: Span::ZERO,
            repeat_writes: false,
        }
    }

    /// Parses a URI.
    ///
    /// # Errors
    /// One line, with the rule that it breaks.
    pub fn parse(uri: &str) -> Result<Export, String> {
        read(uri).map_err(|rule| {
            format!("uri: {rule}, got {uri:?}; as in nbd+unix:///name?socket=/run/nbd.sock or nbd://host:10809/name")
        })
    }

    /// What the client asks for in its handshake.
    pub(super) fn wishes(&self) -> Wishes {
        Wishes {
            tls: if self.tls.is_some() { TlsWish::Require } else { TlsWish::Off },
            structured: self.replies >= Framing::Structured,
            extended: self.replies == Framing::Extended,
            block_sizes: true,
            ..Wishes::plain(&self.name)
        }
    }
}

fn read(uri: &str) -> Result<Export, String> {
    const SCHEMES: &str = "must begin with nbd://, nbds://, nbd+unix:// or nbds+unix://";
    let (scheme, rest) = uri.split_once("://").ok_or(SCHEMES)?;
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, name) = place.split_once('/').unwrap_or((place, ""));
    let (encrypted, local) = match scheme {
        "nbd" => (false, false),
        "nbds" => (true, false),
        "nbd+unix" => (false, true),
        "nbds+unix" => (true, true),
        _ => return Err(SCHEMES.into()),
    };
    let (user, host) = match host.rsplit_once('@') {
        Some((user, host)) => (Some(decoded(user)), host),
        None => (None, host),
    };
    let mut said = Said::default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        said.take(pair)?;
    }
    let address = if local {
        let socket = said.socket.take().filter(|socket| !socket.is_empty()).ok_or("must name its socket")?;
        Address::Unix(socket.into())
    } else if host.is_empty() {
        return Err("must name its host".into());
    } else {
        Address::Tcp(with_port(host))
    };
    let tls = choice(encrypted, user, &mut said)?;
    Ok(Export {
        tls,
        connections: said.connections.unwrap_or(1),
        replies: said.replies.unwrap_or(Framing::Extended),
        reconnect: said.reconnect.unwrap_or(Span::ZERO),
        repeat_writes: said.repeat_writes,
        ..Export::new(address, &decoded(name))
    })
}

/// The encryption that follows from the parameters.
fn choice(encrypted: bool, user: Option<String>, said: &mut Said) -> Result<Option<TlsChoice>, String> {
    let (certificates, keys) = (said.certificates.take(), said.keys.take());
    if !encrypted {
        let parameter = certificates.map(|_| "tls-certificates").or(keys.map(|_| "tls-psk-file"));
        let parameter = parameter.or(user.map(|_| "a user"));
        return parameter.map_or(Ok(None), |it| Err(format!("has {it} but no encryption: begin it with nbds")));
    }
    match (certificates, keys, user) {
        (Some(_), Some(_), _) => Err("has both tls-certificates and tls-psk-file: leave one of them out".into()),
        (Some(folder), None, _) => {
            Ok(Some(TlsChoice::Certificates { folder: folder.into(), hostname: said.hostname.take() }))
        }
        (None, Some(file), Some(name)) => Ok(Some(TlsChoice::Key { file: file.into(), name })),
        (None, Some(_), None) => Err("needs the name of the key in tls-psk-file, as in nbds://NAME@host/".into()),
        (None, None, _) => Err("needs tls-certificates=DIR, the folder with ca-cert.pem, or tls-psk-file=FILE".into()),
    }
}

/// The parameters of a URI.
#[derive(Default)]
struct Said {
    socket: Option<String>,
    certificates: Option<String>,
    hostname: Option<String>,
    keys: Option<String>,
    connections: Option<u32>,
    replies: Option<Framing>,
    reconnect: Option<Span>,
    repeat_writes: bool,
}

impl Said {
    fn take(&mut self, pair: &str) -> Result<(), String> {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decoded(value);
        let whole = |least: u64, most: u64| whole(name, &value, least..=most);
        match name {
            "socket" => self.socket = Some(value),
            "tls-certificates" => self.certificates = Some(value),
            "tls-hostname" => self.hostname = Some(value),
            "connections" => self.connections = Some(whole(1, Export::CONNECTIONS_MAX.into())? as u32),
            "reconnect" => self.reconnect = Some(Span::from_secs(whole(0, RECONNECT_MAX)?)),
            "replies" => self.replies = Some(framing(&value)?),
            "repeat-writes" => self.repeat_writes = truth(name, &value)?,
            "tls-psk-file" => self.keys = Some(value),
            _ => return Err(format!("{name:?} is no parameter; there are {PARAMETERS}")),
        }
        Ok(())
    }
}

fn framing(word: &str) -> Result<Framing, String> {
    match word {
        "simple" => Ok(Framing::Simple),
        "structured" => Ok(Framing::Structured),
        "extended" => Ok(Framing::Extended),
        _ => Err(format!("replies must be simple, structured or extended, not {word:?}")),
    }
}

/// Adds the protocol's port if there is none. An IPv6 address is in brackets and has colons of its
/// own.
fn with_port(host: &str) -> String {
    let has_port = !host.ends_with(']') && host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { host.to_owned() } else { format!("{host}:10809") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(uri: &str) -> (Address, String) {
        let export = Export::parse(uri).unwrap();
        (export.address, export.name)
    }

    #[test]
    fn addresses_are_taken_apart() {
        let unix = |path: &str, name: &str| (Address::Unix(path.into()), name.to_owned());
        assert_eq!(place("nbd+unix:///vol%201?socket=/run/a.sock"), unix("/run/a.sock", "vol 1"));
        assert_eq!(place("nbd+unix://?socket=a"), unix("a", ""));
        let tcp = |host: &str, name: &str| (Address::Tcp(host.into()), name.to_owned());
        assert_eq!(place("nbd://localhost/x"), tcp("localhost:10809", "x"));
        assert_eq!(place("nbd://localhost:99"), tcp("localhost:99", ""));
        assert_eq!(place("nbd://[::1]/x"), tcp("[::1]:10809", "x"));
        assert_eq!(place("nbd://[::1]:99/x"), tcp("[::1]:99", "x"));
    }

    #[test]
    fn parameters_are_read_and_have_defaults() {
        let bare = Export::parse("nbd://h/x").unwrap();
        assert_eq!((bare.connections, bare.replies, bare.reconnect), (1, Framing::Extended, Span::ZERO));
        assert!(bare.tls.is_none() && !bare.repeat_writes);
        let all = "nbds+unix:///x?socket=s&tls-certificates=/etc/a%20b&tls-hostname=h&connections=4&replies=simple\
                   &reconnect=30&repeat-writes=true";
        let tls = TlsChoice::Certificates { folder: "/etc/a b".into(), hostname: Some("h".into()) };
        let expected = Export {
            tls: Some(tls),
            connections: 4,
            reconnect: Span::from_secs(30),
            repeat_writes: true,
            ..Export::new(Address::Unix("s".into()), "x")
        };
        assert_eq!(Export::parse(all), Ok(expected));
        let key = |name: &str| Some(TlsChoice::Key { file: "/k".into(), name: name.into() });
        let parsed = |uri: &str| Export::parse(uri).map(|export| (export.address, export.tls));
        let host = Address::Tcp("h:10809".into());
        assert_eq!(parsed("nbds://alice@h/x?tls-psk-file=/k"), Ok((host, key("alice"))));
        let socket = Address::Unix("s".into());
        assert_eq!(parsed("nbds+unix://a%40b@/x?socket=s&tls-psk-file=/k"), Ok((socket, key("a@b"))));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (wrong, rule) in [
            ("", "must begin with nbd://"),
            ("http://a", "must begin with nbd://"),
            ("nbd:///x", "must name its host"),
            ("nbd+unix:///x", "must name its socket"),
            ("nbd://h/?connections=0", "connections must be a whole number from 1 to 64, not \"0\""),
            ("nbd://h/?connections=65", "from 1 to 64"),
            ("nbd://h/?reconnect=soon", "reconnect must be a whole number"),
            ("nbd://h/?replies=short", "replies must be simple, structured or extended"),
            ("nbd://h/?repeat-writes=maybe", "repeat-writes must be true or false"),
            ("nbds://h/x", "needs tls-certificates=DIR"),
            ("nbd://h/x?tls-certificates=d", "begin it with nbds"),
            ("nbds://h/x?tls-psk-file=f", "needs the name of the key"),
            ("nbds://a@h/x?tls-psk-file=f&tls-certificates=d", "has both"),
            ("nbd://a@h/x?tls-psk-file=f", "tls-psk-file but no encryption"),
            ("nbd://a@h/x", "a user but no encryption"),
            ("nbd://h/x?speed=9", "\"speed\" is no parameter; there are socket,"),
        ] {
            let said = Export::parse(wrong).unwrap_err();
            assert!(said.starts_with("uri: ") && said.contains(rule), "{wrong}: {said}");
        }
    }
}
