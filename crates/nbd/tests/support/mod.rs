//! What several tests share: bytes written as hexadecimal text, and a server or client that is
//! driven until it waits.
#![allow(dead_code, reason = "each test uses a part")]

use nbd::*;

/// The bytes of hexadecimal digits; blanks are ignored, and `'text'` stands for its ASCII bytes.
pub fn hex(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (i, part) in text.split('\'').enumerate() {
        if i % 2 == 1 {
            bytes.extend_from_slice(part.as_bytes());
            continue;
        }
        let digits: String = part.split_whitespace().collect();
        assert!(digits.len().is_multiple_of(2), "odd number of digits in {part:?}");
        bytes.extend((0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()));
    }
    bytes
}

/// Bytes as hexadecimal text, so that a failed comparison can be read.
pub fn show(bytes: &[u8]) -> String {
    bytes.chunks(4).map(|c| c.iter().map(|b| format!("{b:02x}")).collect::<String>()).collect::<Vec<_>>().join(" ")
}

/// Asserts that `bytes` are those of `text`.
#[track_caller]
pub fn assert_bytes(bytes: &[u8], text: &str) {
    assert_eq!(show(bytes), show(&hex(text)));
}

/// One export of 1 MiB called `disk`, and one that needs TLS.
pub struct OneDisk;

impl Exports for OneDisk {
    fn list(&self, each: &mut dyn FnMut(&str, Option<&str>)) {
        each("bad\0name", None);
        each("disk", Some("the disk"));
    }

    fn find(&self, name: &str) -> Result<ExportInfo, ExportRefusal> {
        use TransmissionFlags as T;
        match name {
            "disk" => Ok(ExportInfo {
                id: 1,
                name: None,
                description: Some("the disk".into()),
                size: 1 << 20,
                features: T::SEND_FLUSH | T::SEND_FUA,
                block: BlockSizes::new(512, 4096, 1 << 25).unwrap(),
                sharing: false,
            }),
            "secret" => Err(ExportRefusal::TlsRequired),
            "private" => Err(ExportRefusal::Policy),
            _ => Err(ExportRefusal::Unknown),
        }
    }
}

/// A server that has seen a client's flags.
pub fn server(tls: TlsMode, flags: &str) -> ServerHandshake {
    server_with(HandshakeLimits::SERVER, tls, flags)
}

/// A server with `limits` that has seen a client's flags.
pub fn server_with(limits: HandshakeLimits, tls: TlsMode, flags: &str) -> ServerHandshake {
    let mut server = ServerHandshake::new(limits, tls);
    server.start(&mut Vec::new());
    assert_eq!(feed(&mut server, &hex(flags)).1, Ok(ServerStep::NeedMore(16)));
    server
}

/// Feeds `bytes` to the server until it needs more or ends; returns its answers and its last step.
pub fn feed(server: &mut ServerHandshake, bytes: &[u8]) -> (Vec<u8>, Result<ServerStep, HandshakeError>) {
    let (mut input, mut out) = (bytes, Vec::new());
    loop {
        match server.receive(&mut input, &OneDisk, &mut out) {
            Ok(ServerStep::Continue) => {}
            other => return (out, other),
        }
    }
}

/// Feeds `bytes` to the client until it needs more or ends; returns its options and its last step.
pub fn feed_client(client: &mut ClientHandshake, bytes: &[u8]) -> (Vec<u8>, Result<ClientStep, HandshakeError>) {
    let (mut input, mut out) = (bytes, Vec::new());
    loop {
        match client.receive(&mut input, &mut out) {
            Ok(ClientStep::Continue) => {}
            other => return (out, other),
        }
    }
}
