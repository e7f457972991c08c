//! Writes the seeds of the NBD targets, `seeds/nbd_*`: what our own server says to clients of every
//! wish, and replies of every kind under every framing. `cargo run --bin nbd_seeds`, in this
//! folder.

use nbd::{Framing, fuzz};
use std::path::Path;

fn main() -> std::io::Result<()> {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    let (handshakes, replies) = (seeds.join("nbd_client_handshake"), seeds.join("nbd_replies"));
    std::fs::create_dir_all(&handshakes)?;
    std::fs::create_dir_all(&replies)?;
    for choice in (0..=255).step_by(3).filter(|choice| choice & 4 == 0) {
        let (_, said) = fuzz::conversation(fuzz::wishes(choice));
        std::fs::write(handshakes.join(format!("wish-{choice:02x}")), [&[choice][..], &said].concat())?;
    }
    for (choice, framing) in [(0, Framing::Simple), (1, Framing::Structured), (2, Framing::Extended)] {
        std::fs::write(replies.join(format!("framing-{choice}")), [&[choice][..], &fuzz::seed_replies(framing)].concat())?;
    }
    Ok(())
}
