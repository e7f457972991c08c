//! The client's handshake, byte by byte, against the protocol text, and its fallbacks for servers
//! that lack features.

use crate::support::*;
use nbd::*;

/// A greeting with both handshake flags.
const GREETING: &str = "'NBDMAGIC' 'IHAVEOPT' 0003";
/// `INFO_EXPORT` of 1 MiB with HAS_FLAGS | SEND_FLUSH, as a reply to GO.
const EXPORT: &str = "0003e889045565a9 00000007 00000003 0000000c 0000 0000000000100000 0005";

fn client(wishes: Wishes) -> ClientHandshake {
    ClientHandshake::new(wishes, HandshakeLimits::CLIENT).unwrap()
}

/// A client after the greeting, and what it sent.
fn greeted(wishes: Wishes) -> (ClientHandshake, Vec<u8>) {
    let mut client = client(wishes);
    let (out, step) = feed_client(&mut client, &hex(GREETING));
    assert_eq!(step, Ok(ClientStep::NeedMore(20)));
    (client, out)
}

/// An option reply without data.
fn reply(option: u32, kind: u32) -> Vec<u8> {
    hex(&format!("0003e889045565a9 {option:08x} {kind:08x} 00000000"))
}

const ACK: u32 = 1;
const UNSUP: u32 = 0x8000_0001;

fn transmission(step: Result<ClientStep, HandshakeError>) -> Agreed {
    match step {
        Ok(ClientStep::Transmission(agreed)) => *agreed,
        other => panic!("no transmission but {other:?}"),
    }
}

#[test]
fn all_wishes_in_order() {
    let (mut client, out) = greeted(Wishes::all("disk"));
    // Client flags, then EXTENDED_HEADERS without data.
    assert_bytes(&out, "00000003 'IHAVEOPT' 0000000b 00000000");
    // Agreed, so no STRUCTURED_REPLY: SET_META_CONTEXT for 'disk', one query of 15 bytes;
    // 4+4+4+4+15 = 31 bytes.
    let (out, _) = feed_client(&mut client, &reply(11, ACK));
    assert_bytes(&out, "'IHAVEOPT' 0000000a 0000001f 00000004 'disk' 00000001 0000000f 'base:allocation'");
    // Context 5. Then GO with NAME, DESCRIPTION and BLOCK_SIZE; 4+4+2+6 = 16 bytes.
    let context = hex("0003e889045565a9 0000000a 00000004 00000013 00000005 'base:allocation'");
    let (out, _) = feed_client(&mut client, &[context, reply(10, ACK)].concat());
    assert_bytes(&out, "'IHAVEOPT' 00000007 00000010 00000004 'disk' 0003 0001 0002 0003");
    // Information of an unknown type (0x4242) is ignored.
    let answer = [
        hex(EXPORT),
        hex("0003e889045565a9 00000007 00000003 00000006 0001 'DISK'"),
        hex("0003e889045565a9 00000007 00000003 00000005 4242 'abc'"),
        hex("0003e889045565a9 00000007 00000003 0000000b 0002 'the disk!'"),
        hex("0003e889045565a9 00000007 00000003 0000000e 0003 00000200 00001000 02000000"),
        reply(7, ACK),
    ]
    .concat();
    let (out, step) = feed_client(&mut client, &answer);
    assert!(out.is_empty());
    let contexts = Contexts::NONE.with(Context::Allocation, 5);
    assert_eq!(
        transmission(step),
        Agreed {
            size: 1 << 20,
            flags: TransmissionFlags::HAS_FLAGS | TransmissionFlags::SEND_FLUSH,
            block: BlockSizes::new(512, 4096, 1 << 25).ok(),
            name: Some("DISK".into()),
            description: Some("the disk!".into()),
            settings: Settings { framing: Framing::Extended, contexts, block_sizes: true, encrypted: false },
        }
    );
}

#[test]
fn a_server_that_knows_no_option_is_entered_the_old_way() {
    let (mut client, _) = greeted(Wishes::all("disk"));
    assert_bytes(&feed_client(&mut client, &reply(11, UNSUP)).0, "'IHAVEOPT' 00000008 00000000");
    // No structured replies, so no contexts either: GO is next.
    let (out, _) = feed_client(&mut client, &reply(8, UNSUP));
    assert_bytes(&out[8..12], "00000007");
    let (out, step) = feed_client(&mut client, &reply(7, UNSUP));
    assert_bytes(&out, "'IHAVEOPT' 00000001 00000004 'disk'");
    // NO_ZEROES was agreed: 10 bytes.
    assert_eq!(step, Ok(ClientStep::NeedMore(10)));
    let agreed = transmission(feed_client(&mut client, &hex("0000000000100000 0005")).1);
    assert_eq!((agreed.size, agreed.settings), (1 << 20, Settings::default()));
}

#[test]
fn refused_contexts_and_extended_headers_cost_nothing_else() {
    let (mut client, _) = greeted(Wishes::all("disk"));
    // 2^31 + 3, invalid: any error but "shut down" and "TLS first" means "go on without".
    feed_ok(&mut client, &reply(11, 0x8000_0003));
    feed_ok(&mut client, &reply(8, ACK));
    let context = hex("0003e889045565a9 0000000a 00000004 00000013 00000005 'base:allocation'");
    // "If an error is returned, the client MUST disregard any context replies that may have been
    // sent".
    feed_ok(&mut client, &[context, reply(10, 0x8000_0009)].concat());
    let agreed = transmission(feed_client(&mut client, &[hex(EXPORT), reply(7, ACK)].concat()).1);
    assert_eq!(agreed.settings.framing, Framing::Structured);
    assert_eq!(agreed.settings.contexts, Contexts::NONE);
}

#[test]
fn with_extended_headers_go_is_the_only_entry() {
    let (mut client, _) = greeted(Wishes { allocation: false, ..Wishes::all("disk") });
    feed_ok(&mut client, &reply(11, ACK));
    let (out, step) = feed_client(&mut client, &reply(7, UNSUP));
    assert!(matches!(step, Err(HandshakeError::Refused { option: "GO", code: UNSUP, .. })));
    assert_bytes(&out, "'IHAVEOPT' 00000002 00000000");
}

#[test]
fn a_newstyle_server_without_fixed_knows_only_export_name() {
    let greeting = hex("'NBDMAGIC' 'IHAVEOPT' 0000");
    let mut go = client(Wishes::all("disk"));
    let (out, step) = feed_client(&mut go, &greeting);
    // No flags are offered and none answered; 124 zeroes follow.
    assert_bytes(&out, "00000000 'IHAVEOPT' 00000001 00000004 'disk'");
    assert_eq!(step, Ok(ClientStep::NeedMore(134)));
    let mut answer = hex("0000000000100000 0001");
    answer.resize(134, 0);
    assert_eq!(feed_client(&mut go.clone(), &answer[..133]).1, Ok(ClientStep::NeedMore(134)));
    assert_eq!(transmission(feed_client(&mut go, &answer).1).size, 1 << 20);
    for (wishes, what) in [
        (Wishes { purpose: Purpose::List, ..Wishes::all("") }, "a list of exports"),
        (Wishes { purpose: Purpose::Info, ..Wishes::all("") }, "describing an export"),
        (Wishes { tls: TlsWish::Require, ..Wishes::all("") }, "TLS"),
    ] {
        assert_eq!(feed_client(&mut client(wishes), &greeting).1, Err(HandshakeError::NeedsFixed(what)));
    }
}

#[test]
fn what_is_no_newstyle_server_is_refused() {
    // 64 bits NBDMAGIC, then the oldstyle magic.
    let step = feed_client(&mut client(Wishes::all("")), &hex("'NBDMAGIC' 0000420281861253")).1;
    assert_eq!(step, Err(HandshakeError::Oldstyle));
    let step = feed_client(&mut client(Wishes::all("")), b"SSH-2.0-OpenSSH_9").1;
    assert!(matches!(step, Err(HandshakeError::Magic { what: "the greeting", .. })));
    let step = feed_client(&mut client(Wishes::all("")), &hex("'NBDMAGIC' 'IHAVEOPQ'")).1;
    assert!(matches!(step, Err(HandshakeError::Magic { what: "the greeting", .. })));
}

#[test]
fn lists_and_says_goodbye() {
    let (mut client, out) = greeted(Wishes { purpose: Purpose::List, ..Wishes::all("") });
    assert_bytes(&out, "00000003 'IHAVEOPT' 00000003 00000000");
    let entries = hex("0003e889045565a9 00000003 00000002 00000005 00000001 'a'
         0003e889045565a9 00000003 00000002 0000000a 00000001 'b' 'words'");
    let (out, step) = feed_client(&mut client, &[entries, reply(3, ACK)].concat());
    assert_bytes(&out, "'IHAVEOPT' 00000002 00000000");
    let listed = |name: &str, description: &str| Listed { name: name.into(), description: description.into() };
    assert_eq!(step, Ok(ClientStep::Listed(vec![listed("a", ""), listed("b", "words")])));
}

#[test]
fn describes_and_says_goodbye() {
    let wishes = Wishes { purpose: Purpose::Info, ..Wishes::plain("disk") };
    let (mut client, out) = greeted(wishes);
    assert_bytes(&out, "00000003 'IHAVEOPT' 00000006 0000000e 00000004 'disk' 0002 0001 0002");
    let export = hex(&EXPORT.replace("00000007 00000003", "00000006 00000003"));
    let (out, step) = feed_client(&mut client, &[export, reply(6, ACK)].concat());
    assert_bytes(&out, "'IHAVEOPT' 00000002 00000000");
    assert!(matches!(step, Ok(ClientStep::Described(agreed)) if agreed.size == 1 << 20));
}

#[test]
fn refusals_are_told_with_the_servers_words_and_a_goodbye() {
    let (mut client, _) = greeted(Wishes::plain("disk"));
    let refusal = hex("0003e889045565a9 00000007 80000006 00000007 'no such'");
    let (out, step) = feed_client(&mut client, &refusal);
    assert_bytes(&out, "'IHAVEOPT' 00000002 00000000");
    let message = step.unwrap_err().to_string();
    assert_eq!(message, "the server refused GO: it has no such export (it says \"no such\")");
    // "If the client receives NBD_REP_ERR_SHUTDOWN it MUST initiate a soft disconnect", whatever it
    // asked.
    let (mut client, _) = greeted(Wishes::all("disk"));
    let (out, step) = feed_client(&mut client, &reply(11, 0x8000_0007));
    assert_bytes(&out, "'IHAVEOPT' 00000002 00000000");
    assert!(matches!(step, Err(HandshakeError::Refused { .. })));
}

#[test]
fn tls_comes_first_and_forgets_nothing_it_should_not() {
    let wishes = Wishes { tls: TlsWish::Require, ..Wishes::plain("disk") };
    let (mut client, out) = greeted(wishes.clone());
    assert_bytes(&out, "00000003 'IHAVEOPT' 00000005 00000000");
    // Bytes after the acknowledgement are not from the TLS session.
    let step = feed_client(&mut client.clone(), &[reply(5, ACK), reply(7, ACK)].concat()).1;
    assert_eq!(step, Err(HandshakeError::PlaintextAfterStartTls(20)));
    assert_eq!(feed_client(&mut client, &reply(5, ACK)).1, Ok(ClientStep::StartTls));
    let mut out = Vec::new();
    client.tls_established(&mut out);
    assert_bytes(&out[8..12], "00000007");
    assert!(transmission(feed_client(&mut client, &[hex(EXPORT), reply(7, ACK)].concat()).1).settings.encrypted);
    // If it is refused: the end if TLS is required, clear text if it is only preferred.
    let (mut client, _) = greeted(wishes.clone());
    assert!(matches!(feed_client(&mut client, &reply(5, UNSUP)).1, Err(HandshakeError::Refused { .. })));
    let (mut client, _) = greeted(Wishes { tls: TlsWish::Prefer, ..wishes });
    assert_bytes(&feed_client(&mut client, &reply(5, UNSUP)).0[8..12], "00000007");
}

#[test]
fn a_server_that_breaks_the_rules_is_left() {
    let rule_broken = |bytes: &[u8]| {
        let (mut client, _) = greeted(Wishes { block_sizes: true, ..Wishes::plain("disk") });
        feed_client(&mut client, bytes).1.unwrap_err()
    };
    let violation = |rule| HandshakeError::Violation { option: 7, rule };
    assert_eq!(rule_broken(&reply(8, ACK)), violation("the reply names another option than the one sent"));
    assert_eq!(rule_broken(&reply(7, 2)), violation("the reply type does not belong to the option"));
    assert_eq!(rule_broken(&reply(7, ACK)), violation("INFO_EXPORT must come before the acknowledgement"));
    assert!(matches!(rule_broken(&[0; 20]), HandshakeError::Magic { what: "an option reply", .. }));
    let short = hex("0003e889045565a9 00000007 00000003 0000000b 0000 0000000000100000 00");
    assert_eq!(rule_broken(&short), violation("INFO_EXPORT must have 12 bytes"));
    let sizes = hex("0003e889045565a9 00000007 00000003 0000000e 0003 00000003 00001000 02000000");
    assert_eq!(rule_broken(&sizes), HandshakeError::BlockSizes(BlockSizesError::Minimum(3)));
}

#[test]
fn a_server_cannot_make_the_client_wait_or_keep_without_end() {
    let limits = HandshakeLimits { options: 64, option_bytes: 100, total_bytes: 300, list_bytes: 200 };
    let fresh = || {
        let wishes = Wishes { purpose: Purpose::List, ..Wishes::all("") };
        let mut client = ClientHandshake::new(wishes, limits).unwrap();
        assert!(feed_client(&mut client, &hex(GREETING)).1.is_ok());
        client
    };
    // 100 bytes are waited for; 101 are refused before they arrive.
    let head = |len: u32| hex(&format!("0003e889045565a9 00000003 00000002 {len:08x}"));
    assert_eq!(feed_client(&mut fresh(), &head(100)).1, Ok(ClientStep::NeedMore(120)));
    let step = feed_client(&mut fresh(), &head(101)).1;
    assert_eq!(step, Err(HandshakeError::ReplyTooLong { option: 3, len: 101, limit: 100 }));
    // Each entry is 20 + 5 bytes on the wire and 5 + 48 in memory (two strings): the fourth exceeds
    // 200.
    let entry = hex("0003e889045565a9 00000003 00000002 00000005 00000001 'a'");
    assert!(feed_client(&mut fresh(), &entry.repeat(3)).1.is_ok());
    assert_eq!(feed_client(&mut fresh(), &entry.repeat(4)).1, Err(HandshakeError::ListTooLong(200)));
    // 18 of greeting and 11 times 25 make 293; the twelfth exceeds 300. The limit on the list would
    // be reached first, so raise that.
    let limits = HandshakeLimits { list_bytes: 10_000, ..limits };
    let wishes = Wishes { purpose: Purpose::List, ..Wishes::all("") };
    let mut client = ClientHandshake::new(wishes, limits).unwrap();
    let step = feed_client(&mut client, &[hex(GREETING), entry.repeat(12)].concat()).1;
    assert_eq!(step, Err(HandshakeError::TooManyBytes(300)));
}

#[test]
fn a_name_that_the_protocol_cannot_carry_is_refused_before_anything_is_sent() {
    for (name, why) in [("a\0b".to_owned(), "contains a NUL"), ("x".repeat(4097), "is longer than 4096 bytes")] {
        let error = ClientHandshake::new(Wishes::all(&name), HandshakeLimits::CLIENT).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    assert!(ClientHandshake::new(Wishes::all(&"x".repeat(4096)), HandshakeLimits::CLIENT).is_ok());
}

/// Gives the client replies after which the handshake continues.
fn feed_ok(client: &mut ClientHandshake, bytes: &[u8]) {
    assert_eq!(feed_client(client, bytes).1, Ok(ClientStep::NeedMore(20)));
}
