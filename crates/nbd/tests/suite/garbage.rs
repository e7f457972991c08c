//! Random bytes, and valid conversations with damage, for all four parsers; the invariants are
//! asserted in `nbd::fuzz`.

use crate::support;
use nbd::*;
use proptest::prelude::*;

/// Requests of every kind, with their data.
fn requests(framing: Framing) -> Vec<u8> {
    let mut bytes = Vec::new();
    let commands = [Command::Read, Command::Trim, Command::Cache, Command::WriteZeroes, Command::BlockStatus];
    for (i, command) in commands.into_iter().enumerate() {
        NbdRequest::new(i as u64, command, 4096, 8192).put(framing, &mut bytes).unwrap();
        NbdRequest::write(i as u64, 0, 16).put(framing, &mut bytes).unwrap();
        bytes.extend_from_slice(&[7; 16]);
    }
    bytes
}

/// `bytes` after a choice for the fuzz entry points, with some bytes changed and the end cut off.
fn damaged(choice: u8, bytes: &[u8], damage: &[(prop::sample::Index, u8)], cut: prop::sample::Index) -> Vec<u8> {
    let mut all = vec![choice];
    all.extend_from_slice(bytes);
    for (at, value) in damage {
        let at = at.index(all.len());
        all[at] = *value;
    }
    all.truncate(cut.index(all.len()) + 1);
    all
}

fn damage() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    let value = prop_oneof![any::<u8>(), Just(0), Just(1), Just(0xff)];
    prop::collection::vec((any::<prop::sample::Index>(), value), 0..4)
}

fn wishes() -> impl Strategy<Value = Wishes> {
    (0..3u8, any::<[bool; 4]>()).prop_map(|(purpose, [extended, structured, allocation, old_entry])| Wishes {
        purpose: [Purpose::Go, Purpose::Info, Purpose::List][usize::from(purpose)],
        extended,
        structured,
        allocation,
        old_entry,
        ..Wishes::all("a")
    })
}

proptest! {
    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for entry in [fuzz::server_handshake, fuzz::client_handshake, fuzz::requests, fuzz::replies] {
            prop_assert!(entry(&bytes) <= bytes.len());
        }
    }

    #[test]
    fn damaged_handshakes(
        choice: u8,
        wishes in wishes(),
        damage in damage(),
        cut: prop::sample::Index,
    ) {
        let (from_client, from_server) = fuzz::conversation(wishes);
        fuzz::server_handshake(&damaged(choice, &from_client, &damage, cut));
        fuzz::client_handshake(&damaged(choice, &from_server, &damage, cut));
    }

    #[test]
    fn damaged_transmissions(
        choice: u8,
        framing in prop_oneof![Just(Framing::Simple), Just(Framing::Structured), Just(Framing::Extended)],
        damage in damage(),
        cut: prop::sample::Index,
    ) {
        let choice = choice & !3 | framing as u8;
        fuzz::requests(&damaged(choice, &requests(framing), &damage, cut));
        fuzz::replies(&damaged(choice, &fuzz::seed_replies(framing), &damage, cut));
    }
}

#[test]
fn undamaged_conversations_are_consumed_whole() {
    for framing in [Framing::Simple, Framing::Structured, Framing::Extended] {
        let choice = framing as u8;
        for (entry, bytes) in
            [(fuzz::requests as fn(&[u8]) -> usize, requests(framing)), (fuzz::replies, fuzz::seed_replies(framing))]
        {
            let bytes = [&[choice], &bytes[..]].concat();
            assert_eq!(entry(&bytes), bytes.len(), "{framing:?}");
        }
    }
    let (from_client, _) = fuzz::conversation(Wishes::all("a"));
    let bytes = [&[0], &from_client[..]].concat();
    assert_eq!(fuzz::server_handshake(&bytes), bytes.len());
}

#[test]
fn every_cut_of_a_valid_conversation_only_asks_for_more() {
    for wishes in [Wishes::all("a"), Wishes::plain("a"), Wishes { old_entry: true, ..Wishes::all("a") }] {
        let (from_client, from_server) = fuzz::conversation(wishes.clone());
        for cut in 0..from_server.len() {
            let mut client = ClientHandshake::new(wishes.clone(), HandshakeLimits::CLIENT).unwrap();
            let step = support::feed_client(&mut client, &from_server[..cut]).1;
            assert!(matches!(step, Ok(ClientStep::NeedMore(_))), "{cut}: {step:?}");
        }
        for cut in 0..from_client.len() {
            let mut server = ServerHandshake::new(HandshakeLimits::SERVER, TlsMode::Off);
            server.start(&mut Vec::new());
            let mut input = &from_client[..cut];
            let step = loop {
                match server.receive(&mut input, &fuzz::Catalogue, &mut Vec::new()) {
                    Ok(ServerStep::Continue) => {}
                    other => break other,
                }
            };
            assert!(matches!(step, Ok(ServerStep::NeedMore(_))), "{cut}: {step:?}");
        }
    }
}
