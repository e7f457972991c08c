//! A file of an NFS server as a URI, named as by libnfs and the mount command, with some additions.
//!
//! ```text
//!   nfs://HOST[:PORT]/EXPORT/…/FILE
//!      ?nconnect=N                           connections, as the option of a mount
//!      &nfsport=P &mountport=P &version=3    as libnfs has them; PORT stands for both ports
//!      &rsize=N &wsize=N                     bytes of a READ and of a WRITE at most
//!      &uid=N &gid=N                         who asks; the caller itself by default
//!      &size=SIZE                            makes the file, or makes it longer, where a load may write
//!      &reconnect=SECONDS
//! ```

use crate::uri::{RECONNECT_MAX, decoded, whole};
use block::{Bytes, Span};
use nfs::limits::{DATA_BYTES_MAX, NAME_BYTES_MAX, PATH_BYTES_MAX};

/// A file, how to reach it, and what to do when its server is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NfsFile {
    /// The server's name or address, without brackets.
    pub host: String,
    /// The port of NFS; by default that of the server's port mapper.
    pub port: Option<u16>,
    /// The port of MOUNT, likewise.
    pub mount_port: Option<u16>,
    /// The path of the file, which begins with that of the export.
    pub path: String,
    /// Number of connections, 1 to [`NfsFile::CONNECTIONS_MAX`].
    pub connections: u32,
    /// Limit on the bytes of a READ; by default that of the server.
    pub read_most: Option<u32>,
    /// Limit on the bytes of a WRITE, likewise.
    pub write_most: Option<u32>,
    /// User ID of the calls.
    pub uid: Option<u32>,
    /// Group ID of the calls.
    pub gid: Option<u32>,
    /// The length to which the file is created or extended, if it may be written.
    pub size: Option<Bytes>,
    /// How long to try to re-establish a lost connection; zero for not at all.
    pub reconnect: Span,
}

const PARAMETERS: &str = "nconnect, nfsport, mountport, version, rsize, wsize, uid, gid, size, reconnect";
const EXAMPLE: &str = "as in nfs://host/vol1/file?nconnect=16";

impl NfsFile {
    /// Limit on the connections, that of Linux' `nconnect`.
    pub const CONNECTIONS_MAX: u32 = 16;

    /// Parses a URI.
    ///
    /// # Errors
    /// One line, with the rule that it breaks.
    pub fn parse(uri: &str) -> Result<NfsFile, String> {
        read(uri).map_err(|rule| format!("{rule}, got {uri:?}; {EXAMPLE}"))
    }

    /// The names along the path, the file's own last.
    pub(crate) fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.path.split('/').filter(|name| !name.is_empty())
    }

    /// The host with a port.
    pub(crate) fn at(&self, port: u16) -> String {
        if self.host.contains(':') { format!("[{}]:{port}", self.host) } else { format!("{}:{port}", self.host) }
    }

    /// Whether both are the same file, no matter how it is reached.
    pub(crate) fn is_same(&self, other: &NfsFile) -> bool {
        (&self.host, self.port) == (&other.host, other.port) && self.names().eq(other.names())
    }
}

fn read(uri: &str) -> Result<NfsFile, String> {
    let rest = uri.strip_prefix("nfs://").ok_or("must begin with nfs://")?;
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = place.split_once('/').ok_or("must name a file behind its host")?;
    let (host, port) = host_and_port(host)?;
    let mut file = NfsFile {
        host,
        port,
        mount_port: port,
        path: format!("/{}", decoded(path)),
        connections: 1,
        read_most: None,
        write_most: None,
        uid: None,
        gid: None,
        size: None,
        reconnect: Span::ZERO,
    };
    if file.names().next().is_none() || file.path.ends_with('/') {
        return Err("must name a file behind its host".into());
    } else if file.path.len() > PATH_BYTES_MAX as usize {
        return Err(format!("its path must have at most {PATH_BYTES_MAX} bytes"));
    } else if file.names().any(|name| name.len() > NAME_BYTES_MAX as usize) {
        return Err(format!("names on its path must have at most {NAME_BYTES_MAX} bytes"));
    } else if let Some(name) = file.names().find(|name| matches!(*name, "." | "..")) {
        return Err(format!("its path must not have {name:?}"));
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        take(&mut file, name, &decoded(value))?;
    }
    Ok(file)
}

/// Splits off the port. An IPv6 address is in brackets and has colons of its own.
fn host_and_port(given: &str) -> Result<(String, Option<u16>), String> {
    let bare = |host: &str| host.trim_matches(['[', ']']).to_owned();
    let (host, port) = match given.rsplit_once(':') {
        Some((host, port)) if !given.ends_with(']') => {
            (bare(host), Some(whole("the port", port, 1..=u64::from(u16::MAX))? as u16))
        }
        _ => (bare(given), None),
    };
    if host.is_empty() { Err("must name its host".into()) } else { Ok((host, port)) }
}

fn take(file: &mut NfsFile, name: &str, value: &str) -> Result<(), String> {
    let number = |least: u64, most: u64| whole(name, value, least..=most);
    let id = || number(0, u32::MAX.into()).map(|id| Some(id as u32));
    let port = || number(1, u16::MAX.into()).map(|port| Some(port as u16));
    let most = || {
        let size: Bytes = value.parse().map_err(|error| format!("{name}: {error}"))?;
        let fits = (4096..=u64::from(DATA_BYTES_MAX)).contains(&size.0);
        let rule = || format!("{name} must be from 4 KiB to {}, not {value:?}", Bytes(DATA_BYTES_MAX.into()));
        if fits { Ok(Some(size.0 as u32)) } else { Err(rule()) }
    };
    match name {
        "nconnect" => file.connections = number(1, NfsFile::CONNECTIONS_MAX.into())? as u32,
        "nfsport" => file.port = port()?,
        "mountport" => file.mount_port = port()?,
        "version" | "vers" if value == "3" => {}
        "version" | "vers" => return Err(format!("{name} must be 3, which is what is spoken here, not {value:?}")),
        "rsize" => file.read_most = most()?,
        "wsize" => file.write_most = most()?,
        "uid" => file.uid = id()?,
        "gid" => file.gid = id()?,
        "size" => file.size = Some(value.parse().map_err(|error| format!("size: {error}"))?),
        "reconnect" => file.reconnect = Span::from_secs(number(0, RECONNECT_MAX)?),
        _ => return Err(format!("{name:?} is no parameter; there are {PARAMETERS}")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_taken_apart() {
        let bare = NfsFile::parse("nfs://filer/vol1/a%20b").unwrap();
        assert_eq!((bare.host.as_str(), bare.path.as_str(), bare.connections), ("filer", "/vol1/a b", 1));
        assert_eq!((bare.port, bare.mount_port, bare.at(2049)), (None, None, "filer:2049".into()));
        assert_eq!(bare.names().collect::<Vec<_>>(), ["vol1", "a b"]);
        let all = "nfs://[::1]:99/v/f?nconnect=16&rsize=64KiB&wsize=1MiB&uid=7&gid=8&size=1GiB&reconnect=30&version=3";
        let all = NfsFile::parse(all).unwrap();
        assert_eq!((all.at(1), all.port, all.mount_port), ("[::1]:1".into(), Some(99), Some(99)));
        assert_eq!((all.connections, all.read_most, all.write_most), (16, Some(65536), Some(1 << 20)));
        assert_eq!((all.uid, all.gid, all.size), (Some(7), Some(8), Some(Bytes::gib(1))));
        assert_eq!(all.reconnect, Span::from_secs(30));
        let ports = NfsFile::parse("nfs://h/v/f?nfsport=2050&mountport=20048").unwrap();
        assert_eq!((ports.port, ports.mount_port), (Some(2050), Some(20048)));
        assert!(ports.is_same(&NfsFile::parse("nfs://h:2050//v/f?nconnect=2").unwrap()) && !ports.is_same(&all));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (wrong, rule) in [
            ("nfs:/h/f", "must begin with nfs://"),
            ("nfs://h", "must name a file behind its host"),
            ("nfs://h/", "must name a file behind its host"),
            ("nfs://h/vol1/", "must name a file behind its host"),
            ("nfs:///vol1/f", "must name its host"),
            ("nfs://h:0/v/f", "the port must be a whole number from 1 to 65535, not \"0\""),
            ("nfs://h/v/../f", "its path must not have \"..\""),
            ("nfs://h/v/f?nconnect=17", "nconnect must be a whole number from 1 to 16, not \"17\""),
            ("nfs://h/v/f?version=4", "version must be 3"),
            ("nfs://h/v/f?rsize=2GiB", "rsize must be from 4 KiB to 1 MiB"),
            ("nfs://h/v/f?size=much", "size: "),
            ("nfs://h/v/f?speed=9", "\"speed\" is no parameter; there are nconnect,"),
        ] {
            let said = NfsFile::parse(wrong).unwrap_err();
            assert!(said.starts_with(rule) && said.contains(wrong), "{wrong}: {said}");
        }
        let long = format!("nfs://h/v/{}", "n".repeat(256));
        assert!(NfsFile::parse(&long).unwrap_err().starts_with("names on its path"));
    }
}
