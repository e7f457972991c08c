//! The address of an NBD export in one line, as the NBD URI specification has it.

use crate::Address;

/// Takes `nbd+unix:///NAME?socket=PATH`, `nbd://HOST[:PORT]/NAME` apart: where the server listens, and the export's name.
///
/// # Errors
/// It is no such address; one line, which begins with `uri: `.
pub fn parse(uri: &str) -> Result<(Address, String), String> {
    let wrong = |rule: &str| {
        Err(format!("uri: {rule}, got {uri:?}; as in nbd+unix:///name?socket=/run/nbd.sock or nbd://host:10809/name"))
    };
    let Some((scheme, rest)) = uri.split_once("://") else { return wrong("must begin with nbd:// or nbd+unix://") };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, name) = place.split_once('/').unwrap_or((place, ""));
    match scheme {
        "nbd+unix" => {
            let socket = query.split('&').find_map(|pair| pair.strip_prefix("socket="));
            match socket.filter(|socket| !socket.is_empty()) {
                Some(socket) => Ok((Address::Unix(decoded(socket).into()), decoded(name))),
                None => wrong("must name its socket"),
            }
        }
        "nbd" if host.is_empty() => wrong("must name its host"),
        "nbd" => {
            let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            let host = if has_port { host.to_owned() } else { format!("{host}:10809") };
            Ok((Address::Tcp(host), decoded(name)))
        }
        _ => wrong("must begin with nbd:// or nbd+unix://"),
    }
}

/// Without `%41` and the like; what is no such escape stays.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = (first == b'%').then(|| behind.get(..2)).flatten();
        let code =
            code.and_then(|code| std::str::from_utf8(code).ok()).and_then(|code| u8::from_str_radix(code, 16).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let unix = |path: &str, name: &str| Ok((Address::Unix(path.into()), name.to_owned()));
        assert_eq!(parse("nbd+unix:///vol%201?socket=/run/a.sock"), unix("/run/a.sock", "vol 1"));
        assert_eq!(parse("nbd+unix://?socket=a"), unix("a", ""));
        let tcp = |host: &str, name: &str| Ok((Address::Tcp(host.into()), name.to_owned()));
        assert_eq!(parse("nbd://localhost/x"), tcp("localhost:10809", "x"));
        assert_eq!(parse("nbd://localhost:99"), tcp("localhost:99", ""));
        for wrong in ["", "http://a", "nbd:///x", "nbd+unix:///x"] {
            assert!(parse(wrong).unwrap_err().starts_with("uri: must"), "{wrong}");
        }
    }
}
