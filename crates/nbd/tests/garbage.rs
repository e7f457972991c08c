//! Any bytes, and valid conversations with damage, into all four parsers: what must hold is asserted in `nbd::fuzz`.

mod support;

use nbd::*;
use proptest::prelude::*;

/// The bytes that a client with `wishes` sends and the bytes that it gets from a server, in order.
fn conversation(wishes: Wishes) -> (Vec<u8>, Vec<u8>) {
    let mut server = ServerHandshake::new(HandshakeLimits::SERVER, TlsMode::Off);
    let mut client = ClientHandshake::new(wishes, HandshakeLimits::CLIENT).unwrap();
    let (mut from_client, mut from_server) = (Vec::new(), Vec::new());
    server.start(&mut from_server);
    let (mut heard_by_client, mut heard_by_server) = (0, 0);
    loop {
        let mut input = &from_server[heard_by_client..];
        let step = client.receive(&mut input, &mut from_client);
        heard_by_client = from_server.len() - input.len();
        if matches!(step, Ok(ClientStep::Continue)) {
            continue;
        }
        if !matches!(step, Ok(ClientStep::NeedMore(_))) {
            return (from_client, from_server);
        }
        let mut input = &from_client[heard_by_server..];
        let mut steps = 0;
        while let Ok(ServerStep::Continue) = server.receive(&mut input, &fuzz::Catalogue, &mut from_server) {
            steps += 1;
        }
        heard_by_server = from_client.len() - input.len();
        assert!(steps > 0 || from_server.len() > heard_by_client, "nobody speaks");
    }
}

/// Requests of every kind, with their data.
fn requests(framing: Framing) -> Vec<u8> {
    let mut bytes = Vec::new();
    let commands = [Command::Read, Command::Trim, Command::Cache, Command::WriteZeroes, Command::BlockStatus];
    for (i, command) in commands.into_iter().enumerate() {
        Request::new(i as u64, command, 4096, 8192).put(framing, &mut bytes).unwrap();
        Request::write(i as u64, 0, 16).put(framing, &mut bytes).unwrap();
        bytes.extend_from_slice(&[7; 16]);
    }
    bytes
}

/// Replies of every kind to a read at 4096, with their data.
fn replies(framing: Framing) -> Vec<u8> {
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

/// `bytes` behind a choice for the fuzz entry points, with some bytes changed and the end cut off.
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
        let (from_client, from_server) = conversation(wishes);
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
        fuzz::replies(&damaged(choice, &replies(framing), &damage, cut));
    }
}

#[test]
fn undamaged_conversations_are_consumed_whole() {
    for framing in [Framing::Simple, Framing::Structured, Framing::Extended] {
        let choice = framing as u8;
        for (entry, bytes) in
            [(fuzz::requests as fn(&[u8]) -> usize, requests(framing)), (fuzz::replies, replies(framing))]
        {
            let bytes = [&[choice], &bytes[..]].concat();
            assert_eq!(entry(&bytes), bytes.len(), "{framing:?}");
        }
    }
    let (from_client, _) = conversation(Wishes::all("a"));
    let bytes = [&[0], &from_client[..]].concat();
    assert_eq!(fuzz::server_handshake(&bytes), bytes.len());
}

#[test]
fn every_cut_of_a_valid_conversation_only_asks_for_more() {
    for wishes in [Wishes::all("a"), Wishes::plain("a"), Wishes { old_entry: true, ..Wishes::all("a") }] {
        let (from_client, from_server) = conversation(wishes.clone());
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
