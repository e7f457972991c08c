//! The server's handshake, byte by byte, against the protocol text.

use crate::support;
use crate::support::*;
use nbd::*;

/// Client flags FIXED_NEWSTYLE | NO_ZEROES.
const FIXED: &str = "00000003";
/// 'IHAVEOPT'
const OPT: &str = "49484156454f5054";
/// Option reply magic.
const REP: &str = "0003e889045565a9";

/// An option: number, data.
fn option(number: u32, data: &str) -> Vec<u8> {
    let data = hex(data);
    let mut bytes = hex(OPT);
    bytes.extend(number.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

/// The option and type of every reply in `bytes`.
fn replies(mut bytes: &[u8]) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        assert_eq!(bytes[..8], hex(REP)[..]);
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        found.push((number(8), number(12)));
        bytes = &bytes[20 + number(16) as usize..];
    }
    found
}

/// Gives the server options after which the handshake continues.
fn give(server: &mut ServerHandshake, bytes: &[u8]) {
    assert_eq!(feed(server, bytes).1, Ok(ServerStep::NeedMore(16)));
}

fn transmission(step: Result<ServerStep, HandshakeError>) -> Admitted {
    match step {
        Ok(ServerStep::Transmission(admitted)) => *admitted,
        other => panic!("no transmission but {other:?}"),
    }
}

#[test]
fn the_greeting_is_fixed_newstyle_without_zeroes() {
    let mut out = Vec::new();
    ServerHandshake::new(HandshakeLimits::SERVER, TlsMode::Off).start(&mut out);
    // 64 bits NBDMAGIC, 64 bits IHAVEOPT, 16 bits flags: bit 0 FIXED_NEWSTYLE, bit 1 NO_ZEROES.
    assert_bytes(&out, "'NBDMAGIC' 'IHAVEOPT' 0003");
}

#[test]
fn go_describes_the_export_and_enters_transmission() {
    let mut server = server(TlsMode::Off, FIXED);
    // 32 bits name length 4, 'disk', 16 bits 2 requests: 1 NAME, 3 BLOCK_SIZE.
    let (out, step) = feed(&mut server, &option(7, "00000004 'disk' 0002 0001 0003"));
    assert_bytes(
        &out,
        // INFO_EXPORT, 12 bytes: type 0, size 2^20, flags HAS_FLAGS 1 | SEND_FLUSH 4 | SEND_FUA 8 =
        // 13.
        "0003e889045565a9 00000007 00000003 0000000c  0000 0000000000100000 000d
         0003e889045565a9 00000007 00000003 00000006  0001 'disk'
         0003e889045565a9 00000007 00000003 0000000e  0003 00000200 00001000 02000000
         0003e889045565a9 00000007 00000001 00000000",
    );
    let admitted = transmission(step);
    let settings = Settings { block_sizes: true, ..Settings::default() };
    assert_eq!((admitted.requested.as_str(), admitted.export.id, admitted.settings), ("disk", 1, settings));
    assert_eq!(Rules::of_server(&admitted).minimum, 512);
}

#[test]
fn a_client_that_does_not_ask_for_block_sizes_may_send_any_alignment() {
    let mut server = server(TlsMode::Off, FIXED);
    let (out, step) = feed(&mut server, &option(7, "00000004 'disk' 0001 0002"));
    assert_bytes(
        &out,
        "0003e889045565a9 00000007 00000003 0000000c  0000 0000000000100000 000d
         0003e889045565a9 00000007 00000003 0000000a  0002 'the disk'
         0003e889045565a9 00000007 00000003 0000000e  0003 00000001 00001000 02000000
         0003e889045565a9 00000007 00000001 00000000",
    );
    let admitted = transmission(step);
    assert!(!admitted.settings.block_sizes);
    assert_eq!(Rules::of_server(&admitted).minimum, 1);
}

#[test]
fn info_describes_and_stays_in_the_handshake() {
    let mut server = server(TlsMode::Off, FIXED);
    let (out, step) = feed(&mut server, &option(6, "00000004 'disk' 0000"));
    assert_eq!(replies(&out), [(6, 3), (6, 3), (6, 1)]);
    assert_eq!(step, Ok(ServerStep::NeedMore(16)));
}

#[test]
fn export_name_sends_124_zeroes_unless_they_were_waived() {
    // 64 bits size, 16 bits flags; FIXED_NEWSTYLE only, so 124 zero bytes follow.
    let (out, step) = feed(&mut server(TlsMode::Off, "00000001"), &option(1, "'disk'"));
    assert_bytes(&out[..10], "0000000000100000 000d");
    assert_eq!((out.len(), out[10..].iter().all(|b| *b == 0)), (134, true));
    transmission(step);
    let (out, step) = feed(&mut server(TlsMode::Off, FIXED), &option(1, "'disk'"));
    assert_bytes(&out, "0000000000100000 000d");
    transmission(step);
    // A client without fixed newstyle may only send this option.
    transmission(feed(&mut server(TlsMode::Off, "00000000"), &option(1, "'disk'")).1);
    let step = feed(&mut server(TlsMode::Off, "00000000"), &option(3, "")).1;
    assert_eq!(step, Err(HandshakeError::NotFixed(3)));
}

#[test]
fn export_name_of_a_missing_export_ends_the_connection_without_an_answer() {
    let (out, step) = feed(&mut server(TlsMode::Off, FIXED), &option(1, "'nope'"));
    assert!(out.is_empty());
    let message = step.unwrap_err().to_string();
    assert!(message.contains("\"nope\": there is no such export"), "{message}");
}

#[test]
fn list_names_what_the_protocol_can_carry() {
    let (out, step) = feed(&mut server(TlsMode::Off, FIXED), &option(3, ""));
    // 32 bits name length 4, the name, the description. The name with a NUL is left out.
    assert_bytes(
        &out,
        "0003e889045565a9 00000003 00000002 00000010  00000004 'disk' 'the disk'
         0003e889045565a9 00000003 00000001 00000000",
    );
    assert_eq!(step, Ok(ServerStep::NeedMore(16)));
    let (out, _) = feed(&mut server(TlsMode::Off, FIXED), &option(3, "00"));
    assert_eq!(replies(&out), [(3, 0x8000_0003)]);
}

#[test]
fn abort_is_acknowledged_and_its_data_ignored() {
    let (out, step) = feed(&mut server(TlsMode::Off, FIXED), &option(2, "'bye'"));
    assert_bytes(&out, "0003e889045565a9 00000002 00000001 00000000");
    assert_eq!(step, Ok(ServerStep::Aborted));
}

#[test]
fn an_unknown_option_is_refused_and_its_data_skipped_as_it_comes() {
    let mut server = server(TlsMode::Off, FIXED);
    let unknown = option(77, "0102030405060708");
    // The header alone is answered; the data arrives in two pieces, the second one with the next
    // option behind it.
    let (out, step) = feed(&mut server, &unknown[..16]);
    assert_eq!((replies(&out), step), (vec![(77, 0x8000_0001)], Ok(ServerStep::NeedMore(1))));
    assert_eq!(feed(&mut server, &unknown[16..21]), (vec![], Ok(ServerStep::NeedMore(1))));
    let rest = [&unknown[21..], &option(8, "")].concat();
    let (out, step) = feed(&mut server, &rest);
    assert_eq!((replies(&out), step), (vec![(8, 1)], Ok(ServerStep::NeedMore(16))));
}

#[test]
fn refusals_say_why() {
    let mut server = server(TlsMode::Off, FIXED);
    for (name, code) in [("nope", 6), ("private", 2), ("secret", 5)] {
        let query = format!("{:08x} '{name}' 0000", name.len());
        let (out, _) = feed(&mut server, &option(7, &query));
        assert_eq!(replies(&out), [(7, 0x8000_0000 + code)], "{name}");
        assert!(String::from_utf8_lossy(&out).contains(name));
    }
    // Inconsistent lengths, a name that is not UTF-8, one with a NUL, one of 4097 bytes.
    let long = format!("00001001 {} 0000", "61".repeat(4097));
    for data in ["00000005 'disk' 0000", "00000004 'disk' 0001", "00000001 ff 0000", "00000001 00 0000", &long] {
        let (out, _) = feed(&mut server, &option(7, data));
        assert_eq!(replies(&out), [(7, 0x8000_0003)], "{data}");
    }
}

#[test]
fn structured_replies_bring_the_df_flag() {
    let mut server = server(TlsMode::Off, FIXED);
    assert_eq!(replies(&feed(&mut server, &option(8, "00")).0), [(8, 0x8000_0003)]);
    let (out, _) = feed(&mut server, &option(8, ""));
    assert_bytes(&out, "0003e889045565a9 00000008 00000001 00000000");
    let (out, step) = feed(&mut server, &option(7, "00000004 'disk' 0000"));
    // 13 and bit 7, SEND_DF.
    assert_bytes(&out[20..32], "0000 0000000000100000 008d");
    assert_eq!(transmission(step).settings.framing, Framing::Structured);
}

#[test]
fn extended_headers_take_precedence_and_rule_out_export_name() {
    let mut server = server(TlsMode::Off, FIXED);
    let (out, _) = feed(&mut server, &[option(8, ""), option(11, ""), option(8, "")].concat());
    // ERR_EXT_HEADER_REQD, 2^31 + 10.
    assert_eq!(replies(&out), [(8, 1), (11, 1), (8, 0x8000_000a)]);
    let step = feed(&mut server.clone(), &option(1, "'disk'")).1;
    assert!(matches!(step, Err(HandshakeError::ExportName { .. })));
    let step = feed(&mut server, &option(7, "00000004 'disk' 0000")).1;
    assert_eq!(transmission(step).settings.framing, Framing::Extended);
}

#[test]
fn contexts_are_listed_and_selected() {
    let mut server = server(TlsMode::Off, FIXED);
    let all = "00000004 'disk' 00000000";
    // Not before structured replies.
    assert_eq!(replies(&feed(&mut server, &option(9, all)).0), [(9, 0x8000_0003)]);
    assert_eq!(replies(&feed(&mut server, &option(10, all)).0), [(10, 0x8000_0003)]);
    give(&mut server, &option(8, ""));
    // Zero queries list all, with id 0; "base:" is a wildcard; unknown namespaces and leaves
    // are ignored.
    let listed = "0003e889045565a9 00000009 00000004 00000013  00000000 'base:allocation'
                  0003e889045565a9 00000009 00000001 00000000";
    assert_bytes(&feed(&mut server, &option(9, all)).0, listed);
    assert_bytes(&feed(&mut server, &option(9, "00000004 'disk' 00000001 00000005 'base:'")).0, listed);
    let (out, _) = feed(&mut server, &option(9, "00000004 'disk' 00000002 00000003 'x:y' 00000006 'base:z'"));
    assert_eq!(replies(&out), [(9, 1)]);
    // "base:" selects nothing.
    let (out, _) = feed(&mut server, &option(10, "00000004 'disk' 00000001 00000005 'base:'"));
    assert_eq!(replies(&out), [(10, 1)]);
    let (out, _) = feed(&mut server, &option(10, "00000004 'disk' 00000001 0000000f 'base:allocation'"));
    assert_bytes(
        &out,
        "0003e889045565a9 0000000a 00000004 00000013  00000001 'base:allocation'
         0003e889045565a9 0000000a 00000001 00000000",
    );
    let step = feed(&mut server.clone(), &option(7, "00000004 'disk' 0000")).1;
    assert_eq!(transmission(step).settings.contexts, Contexts::NONE.with(Context::Allocation, 1));
    // A later one replaces the selection, even if it fails or is not read at all.
    for failing in ["00000004 'disk' 00000000", "00000004 'nope' 00000000", "00000004 'disk' 00000001 00000009 'x'"] {
        let mut server = server.clone();
        give(&mut server, &option(10, failing));
        let step = feed(&mut server, &option(7, "00000004 'disk' 0000")).1;
        assert_eq!(transmission(step).settings.contexts, Contexts::NONE, "{failing}");
    }
}

/// An export that shares blocks has a second context with its own id. With extended headers, the
/// flag for filters is then set (bit 12). A client that only asks (`INFO`) sees the flag even
/// without a context.
#[test]
fn two_contexts_can_be_selected_and_filtered() {
    struct Shares;
    impl Exports for Shares {
        fn list(&self, _: &mut dyn FnMut(&str, Option<&str>)) {}
        fn find(&self, _: &str) -> Result<ExportInfo, ExportRefusal> {
            Ok(ExportInfo { sharing: true, features: TransmissionFlags(0xffff), ..ExportInfo::default() })
        }
    }
    let said = |messages: &[Vec<u8>]| {
        let mut server = server(TlsMode::Off, FIXED);
        let (bytes, mut out) = (messages.concat(), Vec::new());
        let mut input = &bytes[..];
        loop {
            match server.receive(&mut input, &Shares, &mut out) {
                Ok(ServerStep::Continue) if !input.is_empty() => {}
                step => break (out, step),
            }
        }
    };
    let allocation = "0000000f 'base:allocation'";
    let sharing = "0000000f 'seawall:sharing'";
    let (out, _) = said(&[option(11, ""), option(9, "00000001 'a' 00000001 00000008 'seawall:'")]);
    let listed = "0003e889045565a9 0000000b 00000001 00000000
                  0003e889045565a9 00000009 00000004 00000013  00000000 'seawall:sharing'
                  0003e889045565a9 00000009 00000001 00000000";
    assert_bytes(&out, listed);
    let both = format!("00000001 'a' 00000002 {sharing} {allocation}");
    let filter = TransmissionFlags::BLOCK_STATUS_PAYLOAD;
    let go = option(7, "00000001 'a' 0000");
    for (framing, contexts, has_filter) in
        [(11, &both, true), (8, &both, false), (11, &"00000001 'a' 00000000".into(), false)]
    {
        let (_, step) = said(&[option(framing, ""), option(10, contexts), go.clone()]);
        let admitted = transmission(step);
        assert_eq!(admitted.flags.contains(filter), has_filter, "{framing} {contexts}");
        let expected = if contexts == &both { (Some(1), Some(2)) } else { (None, None) };
        let found = admitted.settings.contexts;
        assert_eq!((found.id(Context::Allocation), found.id(Context::Sharing)), expected);
    }
    for (framing, has_filter) in [(11, true), (8, false)] {
        let (out, _) = said(&[option(framing, ""), option(6, "00000001 'a' 0000")]);
        // The acknowledgement of the framing has 20 bytes, then comes INFO_EXPORT: 20, kind 2, size
        // 8, flags 2.
        let flags = u16::from_be_bytes([out[50], out[51]]);
        assert_eq!(TransmissionFlags(flags).contains(filter), has_filter, "{framing}");
    }
}

#[test]
fn contexts_count_only_for_the_export_that_they_were_selected_for() {
    struct Any;
    impl Exports for Any {
        fn list(&self, _: &mut dyn FnMut(&str, Option<&str>)) {}
        fn find(&self, _: &str) -> Result<ExportInfo, ExportRefusal> {
            Ok(ExportInfo::default())
        }
    }
    let mut server = server(TlsMode::Off, FIXED);
    let bytes =
        [option(8, ""), option(10, "00000001 'a' 00000001 0000000f 'base:allocation'"), option(7, "00000001 'b' 0000")]
            .concat();
    let mut input = &bytes[..];
    let step = loop {
        match server.receive(&mut input, &Any, &mut Vec::new()) {
            Ok(ServerStep::Continue) => {}
            other => break other,
        }
    };
    assert_eq!(transmission(step).settings.contexts, Contexts::NONE);
}

#[test]
fn tls_off_refuses_starttls() {
    let (out, step) = feed(&mut server(TlsMode::Off, FIXED), &option(5, ""));
    assert_eq!((replies(&out), step), (vec![(5, 0x8000_0002)], Ok(ServerStep::NeedMore(16))));
}

#[test]
fn tls_required_refuses_everything_else_first() {
    let mut server = server(TlsMode::Required, FIXED);
    for number in [3, 6, 7, 8, 9, 10, 11, 77] {
        assert_eq!(replies(&feed(&mut server, &option(number, "00")).0), [(number, 0x8000_0005)]);
    }
    let step = feed(&mut server.clone(), &option(1, "'disk'")).1;
    assert!(matches!(step, Err(HandshakeError::ExportName { .. })));
    assert_eq!(feed(&mut server.clone(), &option(2, "")).1, Ok(ServerStep::Aborted));
    let (out, step) = feed(&mut server, &option(5, ""));
    assert_eq!((replies(&out), step), (vec![(5, 1)], Ok(ServerStep::StartTls)));
    server.tls_established();
    // A second STARTTLS is invalid; TLS_REQD is not sent any more, not even for an export that
    // requires TLS.
    assert_eq!(replies(&feed(&mut server, &option(5, "")).0), [(5, 0x8000_0003)]);
    assert_eq!(replies(&feed(&mut server, &option(7, "00000006 'secret' 0000")).0), [(7, 0x8000_0002)]);
    assert!(transmission(feed(&mut server, &option(7, "00000004 'disk' 0000")).1).settings.encrypted);
}

#[test]
fn tls_drops_what_was_agreed_in_clear_text() {
    let mut server = server(TlsMode::Optional, FIXED);
    give(&mut server, &[option(8, ""), option(10, "00000004 'disk' 00000001 0000000f 'base:allocation'")].concat());
    assert_eq!(feed(&mut server, &option(5, "")).1, Ok(ServerStep::StartTls));
    server.tls_established();
    let admitted = transmission(feed(&mut server, &option(7, "00000004 'disk' 0000")).1);
    assert_eq!(admitted.settings, Settings { encrypted: true, ..Settings::default() });
}

#[test]
fn bytes_behind_starttls_are_not_taken_for_encrypted_ones() {
    let mut server = server(TlsMode::Optional, FIXED);
    let (out, step) = feed(&mut server, &[option(5, ""), option(7, "00000004 'disk' 0000")].concat());
    // The second option: 16 bytes of header, 4 + 4 + 2 of data.
    assert_eq!((out, step), (vec![], Err(HandshakeError::PlaintextAfterStartTls(26))));
}

#[test]
fn a_draining_server_accepts_only_goodbye() {
    let mut server = server(TlsMode::Off, FIXED);
    server.shut_down();
    assert_eq!(replies(&feed(&mut server, &option(7, "00000004 'disk' 0000")).0), [(7, 0x8000_0007)]);
    assert!(feed(&mut server.clone(), &option(1, "'disk'")).1.is_err());
    assert_eq!(feed(&mut server, &option(2, "")).1, Ok(ServerStep::Aborted));
}

#[test]
fn a_stranger_is_shown_the_door() {
    let mut server = ServerHandshake::new(HandshakeLimits::SERVER, TlsMode::Off);
    server.start(&mut Vec::new());
    // An HTTP client: 'GET ' is no set of client flags.
    assert_eq!(feed(&mut server, b"GET / HTTP/1.1\r\n\r\n").1, Err(HandshakeError::ClientFlags(0x4745_5420)));
    let mut server = support::server(TlsMode::Off, FIXED);
    let step = feed(&mut server, &[0; 16]).1;
    assert!(matches!(step, Err(HandshakeError::Magic { got: 0, .. })));
}

/// A client that was told of an export may ask about it twice, however often it is told: of 2
/// options and 100 bytes it comes to 4 options with one export.
#[test]
fn each_export_that_is_listed_may_be_asked_about() {
    let limits = HandshakeLimits { options: 2, option_bytes: 32, total_bytes: 100, list_bytes: 1000 };
    let after = |asked: usize| {
        let asked = option(6, "00000004 'disk' 0000").repeat(asked);
        feed(&mut server_with(limits, TlsMode::Off, FIXED), &[option(3, "").repeat(2), asked].concat()).1
    };
    assert_eq!(after(2), Ok(ServerStep::NeedMore(16)));
    assert_eq!(after(3), Err(HandshakeError::TooManyOptions(4)));
}

#[test]
fn every_limit_is_met_with_its_name() {
    let limits = HandshakeLimits { options: 2, option_bytes: 32, total_bytes: 100, list_bytes: 10 };
    let fresh = || server_with(limits, TlsMode::Off, FIXED);
    // The third option exceeds the limit.
    let step = feed(&mut fresh(), &[option(8, ""), option(8, ""), option(8, "")].concat()).1;
    assert_eq!(step, Err(HandshakeError::TooManyOptions(2)));
    // 4 bytes of flags, 16 of header: 80 of data make 100, 81 are too many.
    assert!(feed(&mut fresh(), &option(77, &"00".repeat(80))).1.is_ok());
    let step = feed(&mut fresh(), &option(77, &"00".repeat(81))[..16]).1;
    assert_eq!(step, Err(HandshakeError::TooManyBytes(100)));
    // 33 bytes of data for a known option: refused immediately with ERR_TOO_BIG, 2^31 + 9, and
    // skipped.
    let (out, step) = feed(&mut fresh(), &option(7, &"00".repeat(33))[..16]);
    assert_eq!((replies(&out), step), (vec![(7, 0x8000_0009)], Ok(ServerStep::NeedMore(1))));
    // The single entry of the list takes 36 bytes, more than 10: the list is refused rather than
    // cut.
    assert_eq!(replies(&feed(&mut fresh(), &option(3, "")).0), [(3, 0x8000_0009)]);
}
