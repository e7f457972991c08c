//! A client and a server perform a handshake and exchange requests over a wire that delivers bytes
//! in pieces of random sizes. Whatever the pieces, both sides agree on the same settings, which are
//! those that the wishes and the server allow.

use nbd::fuzz::Catalogue;
use nbd::*;
use proptest::prelude::*;

/// Bytes in transit, delivered in pieces whose sizes `cuts` gives, repeatedly.
struct Wire {
    sent: Vec<u8>,
    arrived: Vec<u8>,
}

impl Wire {
    fn new() -> Wire {
        Wire { sent: Vec::new(), arrived: Vec::new() }
    }

    fn deliver(&mut self, at_most: usize) {
        let n = at_most.min(self.sent.len());
        self.arrived.extend(self.sent.drain(..n));
    }
}

#[derive(Debug, PartialEq)]
enum End {
    Transmission(Box<Admitted>, Box<Agreed>),
    Described(Box<Agreed>),
    Listed(Vec<Listed>),
    Refused(HandshakeError, Option<HandshakeError>),
}

/// Runs one handshake to its end.
fn shake_hands(wishes: Wishes, tls: TlsMode, cuts: &[usize]) -> End {
    let mut server = ServerHandshake::new(HandshakeLimits::SERVER, tls);
    let mut client = ClientHandshake::new(wishes, HandshakeLimits::CLIENT).unwrap();
    let (mut to_client, mut to_server) = (Wire::new(), Wire::new());
    let (mut admitted, mut agreed, mut server_error, mut tls_waits) = (None, None, None, false);
    server.start(&mut to_client.sent);
    // 1 byte per round is the slowest; no handshake here has 4 000 bytes in one direction.
    for round in 0..10_000 {
        let cut = cuts[round % cuts.len()];
        to_server.deliver(cut);
        while admitted.is_none() && server_error.is_none() && !tls_waits {
            let mut input = &to_server.arrived[..];
            let step = server.receive(&mut input, &Catalogue, &mut to_client.sent);
            let left = input.len();
            to_server.arrived.drain(..to_server.arrived.len() - left);
            match step {
                Ok(ServerStep::Continue) => {}
                Ok(ServerStep::NeedMore(n)) => {
                    assert!(n > left);
                    break;
                }
                Ok(ServerStep::StartTls) => tls_waits = true,
                Ok(ServerStep::Transmission(a)) => admitted = Some(a),
                Ok(ServerStep::Aborted) => break,
                Err(e) => server_error = Some(e),
            }
        }
        to_client.deliver(cut);
        while agreed.is_none() {
            let mut input = &to_client.arrived[..];
            let step = client.receive(&mut input, &mut to_server.sent);
            let left = input.len();
            to_client.arrived.drain(..to_client.arrived.len() - left);
            match step {
                Ok(ClientStep::Continue) => {}
                Ok(ClientStep::NeedMore(n)) => {
                    assert!(n > left);
                    break;
                }
                Ok(ClientStep::StartTls) => {
                    assert!(tls_waits, "the server agreed to start TLS");
                    server.tls_established();
                    client.tls_established(&mut to_server.sent);
                    tls_waits = false;
                }
                Ok(ClientStep::Transmission(a)) => agreed = Some(a),
                Ok(ClientStep::Described(a)) => return End::Described(a),
                Ok(ClientStep::Listed(list)) => return End::Listed(list),
                Err(e) => return End::Refused(e, server_error),
            }
        }
        if let (Some(admitted), Some(agreed)) = (admitted.as_ref(), agreed.as_ref()) {
            assert!(to_client.sent.is_empty() && to_client.arrived.is_empty() && to_server.arrived.is_empty());
            return End::Transmission(admitted.clone(), agreed.clone());
        }
        if let (Some(e), true) = (&server_error, to_client.sent.is_empty()) {
            return End::Refused(e.clone(), None);
        }
    }
    panic!("the handshake did not end");
}

fn any_wishes() -> impl Strategy<Value = Wishes> {
    let name = prop_oneof![Just("a"), Just(""), Just("missing"), Just("policy"), Just("tls"), Just("late")];
    let purpose = prop_oneof![Just(Purpose::Go), Just(Purpose::Info), Just(Purpose::List)];
    let tls = prop_oneof![Just(TlsWish::Off), Just(TlsWish::Prefer), Just(TlsWish::Require)];
    (name, purpose, tls, any::<[bool; 5]>()).prop_map(|(name, purpose, tls, [x, s, a, b, o])| Wishes {
        purpose,
        tls,
        extended: x,
        structured: s,
        allocation: a,
        block_sizes: b,
        old_entry: o,
        ..Wishes::plain(name)
    })
}

/// What the two must agree on, derived from the protocol's rules rather than from the code.
fn expected(wishes: &Wishes, tls: TlsMode) -> Settings {
    let framing = if wishes.extended && !wishes.old_entry {
        Framing::Extended
    } else if wishes.structured {
        Framing::Structured
    } else {
        Framing::Simple
    };
    let allocation = Contexts::NONE.with(Context::Allocation, 1);
    Settings {
        framing,
        contexts: if wishes.allocation && framing != Framing::Simple { allocation } else { Contexts::NONE },
        block_sizes: wishes.block_sizes && !wishes.old_entry,
        encrypted: wishes.tls != TlsWish::Off && tls != TlsMode::Off,
    }
}

proptest! {
    #[test]
    fn both_sides_agree_whatever_the_pieces(
        wishes in any_wishes(),
        tls in prop_oneof![Just(TlsMode::Off), Just(TlsMode::Optional), Just(TlsMode::Required)],
        cuts in prop::collection::vec(1usize..200, 1..20),
    ) {
        let settings = expected(&wishes, tls);
        let impossible = (wishes.tls == TlsWish::Require && tls == TlsMode::Off)
            || (wishes.tls == TlsWish::Off && tls == TlsMode::Required);
        let served = matches!(wishes.export.as_str(), "a" | "");
        match shake_hands(wishes.clone(), tls, &cuts) {
            End::Transmission(admitted, agreed) => {
                prop_assert!(!impossible && served && wishes.purpose == Purpose::Go);
                prop_assert_eq!(admitted.settings, settings);
                prop_assert_eq!(agreed.settings, settings);
                prop_assert_eq!(admitted.flags, agreed.flags);
                prop_assert_eq!(admitted.export.size, agreed.size);
                prop_assert_eq!(&admitted.requested, &wishes.export);
                prop_assert_eq!(agreed.flags.contains(TransmissionFlags::SEND_DF), settings.framing != Framing::Simple);
                let (ours, theirs) = (Rules::of_server(&admitted), Rules::of_client(&agreed));
                prop_assert_eq!(ours, theirs);
            }
            End::Described(agreed) => {
                prop_assert!(!impossible && served && wishes.purpose == Purpose::Info);
                prop_assert_eq!(agreed.description.as_deref(), Some("first"));
            }
            End::Listed(list) => {
                prop_assert!(!impossible && wishes.purpose == Purpose::List);
                let names: Vec<&str> = list.iter().map(|e| e.name.as_str()).collect();
                prop_assert_eq!(names, ["", "a"]);
            }
            End::Refused(error, _) => {
                prop_assert!(impossible || (!served && wishes.purpose != Purpose::List), "{}", error);
            }
        }
    }
}
