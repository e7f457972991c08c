//! Writes the seeds of the NBD targets, `seeds/nbd_*`: what our own server says to clients of every wish, and replies
//! of every kind under every framing. `cargo run --bin nbd_seeds`, in this folder.

use nbd::{
    ClientHandshake, ClientStep, Errno, Extent, Framing, HandshakeLimits, Last, ReplyTo, ServerHandshake, ServerStep,
    TlsMode, fuzz,
};
use std::path::Path;

fn main() -> std::io::Result<()> {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    let (handshakes, replies) = (seeds.join("nbd_client_handshake"), seeds.join("nbd_replies"));
    std::fs::create_dir_all(&handshakes)?;
    std::fs::create_dir_all(&replies)?;
    for choice in (0..=255).step_by(3).filter(|choice| choice & 4 == 0) {
        std::fs::write(handshakes.join(format!("wish-{choice:02x}")), said_to(choice))?;
    }
    for (choice, framing) in [(0, Framing::Simple), (1, Framing::Structured), (2, Framing::Extended)] {
        std::fs::write(replies.join(format!("framing-{choice}")), [&[choice][..], &all_replies(framing)].concat())?;
    }
    Ok(())
}

/// The choice, and all that a server says to a client with those wishes.
fn said_to(choice: u8) -> Vec<u8> {
    let mut server = ServerHandshake::new(HandshakeLimits::SERVER, TlsMode::Off);
    let mut client = ClientHandshake::new(fuzz::wishes(choice), HandshakeLimits::CLIENT).expect("the name is good");
    let (mut asked, mut said) = (Vec::new(), Vec::new());
    server.start(&mut said);
    let (mut heard, mut answered) = (0, 0);
    loop {
        let mut input = &said[heard..];
        let step = client.receive(&mut input, &mut asked);
        heard = said.len() - input.len();
        match step {
            Ok(ClientStep::Continue) => continue,
            Ok(ClientStep::NeedMore(_)) if answered < asked.len() => {}
            _ => return [&[choice][..], &said].concat(),
        }
        let mut input = &asked[answered..];
        while let Ok(ServerStep::Continue) = server.receive(&mut input, &fuzz::Catalogue, &mut said) {}
        answered = asked.len() - input.len();
    }
}

/// Replies of every kind to a read at 4096, with their data.
fn all_replies(framing: Framing) -> Vec<u8> {
    let (mut bytes, to) = (Vec::new(), ReplyTo { cookie: 1, offset: 4096 });
    framing.ok(&mut bytes, to);
    framing.error(&mut bytes, to, Errno::Io, "worn out");
    if let Some(chunks) = framing.chunks() {
        chunks.data(&mut bytes, to, 4096, 16, Last::No);
        bytes.extend_from_slice(&[7; 16]);
        chunks.hole(&mut bytes, to, 8192, 4096, Last::No);
        chunks.error_at(&mut bytes, to, Errno::Io, "here", 5000, Last::No);
        chunks.status(&mut bytes, to, 1, &[Extent::allocation(4096, true, false); 3], Last::No);
        chunks.done(&mut bytes, to);
    }
    bytes
}
