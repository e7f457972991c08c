//! The server's state machine: takes one message of the client at a time and answers it.

use super::{Admitted, ServerStep, TlsMode};
use crate::contexts::Contexts;
use crate::error::HandshakeError;
use crate::export::Exports;
use crate::limits::HandshakeLimits;
use crate::option::{OPTION_HEADER_BYTES, OptionHead, option_name, put_ack, put_error};
use crate::settings::{Framing, Settings};
use crate::text::lossy;
use crate::values::{
    FLAG_C_FIXED_NEWSTYLE, FLAG_C_NO_ZEROES, FLAG_FIXED_NEWSTYLE, FLAG_NO_ZEROES, INIT_PASSWD, OPTION_MAGIC, opt, rep,
};
use crate::wire::{Cursor, Put};

/// The server's side of one connection's handshake.
#[derive(Clone, Debug)]
pub struct ServerHandshake {
    phase: Phase,
    limits: HandshakeLimits,
    tls: TlsMode,
    draining: bool,
    /// Why the client is disconnected.
    refused: Option<String>,
    /// The client also supports `FIXED_NEWSTYLE`.
    fixed: bool,
    pub(super) no_zeroes: bool,
    options: u32,
    bytes: u64,
    /// What a client may send beyond the limits since it was told of so many exports.
    pub(super) described: Described,
    pub(super) state: Negotiation,
}

/// What it takes to ask about every export of a list.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Described {
    pub options: u32,
    pub bytes: u64,
}

/// What options have agreed so far; dropped when TLS starts.
#[derive(Clone, Debug, Default)]
pub(super) struct Negotiation {
    pub encrypted: bool,
    pub framing: Framing,
    /// The export for which metadata contexts were selected, and those contexts.
    pub selected: Option<(String, Contexts)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    ClientFlags,
    Options,
    /// This many bytes of a refused option's data are still to be skipped.
    Skip(u32),
    AwaitTls,
    Over,
}

/// The result of answering an option.
pub(super) enum Answered {
    /// The next option.
    Next,
    /// Transmission.
    Enter(Box<Admitted>),
}

impl ServerHandshake {
    /// A handshake that has not started.
    pub fn new(limits: HandshakeLimits, tls: TlsMode) -> ServerHandshake {
        ServerHandshake {
            phase: Phase::New,
            limits,
            tls,
            draining: false,
            refused: None,
            fixed: false,
            no_zeroes: false,
            options: 0,
            bytes: 0,
            described: Described::default(),
            state: Negotiation::default(),
        }
    }

    /// Appends the greeting. Call it once, before anything else.
    pub fn start(&mut self, out: &mut Vec<u8>) {
        assert_eq!(self.phase, Phase::New, "the greeting is sent once");
        out.put_u64(INIT_PASSWD);
        out.put_u64(OPTION_MAGIC);
        // Protocol text, "Handshake flags": FIXED_NEWSTYLE "MUST be set by servers that support the
        // fixed newstyle".
        out.put_u16(FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES);
        self.phase = Phase::ClientFlags;
    }

    /// From now on, every option but `ABORT` is answered with `ERR_SHUTDOWN`.
    pub fn shut_down(&mut self) {
        self.draining = true;
    }

    /// From now on, every option but `ABORT` is answered with `ERR_POLICY` and this message, for
    /// example by a full server.
    pub fn refuse(&mut self, why: String) {
        self.refused = Some(why);
    }

    /// The connection is encrypted now; from here on, `input` is what came over TLS.
    pub fn tls_established(&mut self) {
        assert_eq!(self.phase, Phase::AwaitTls, "TLS starts after the step StartTls");
        // Protocol text, NBD_OPT_STARTTLS: "the server MUST NOT preserve any negotiation state …
        // issued before".
        self.state = Negotiation { encrypted: true, ..Negotiation::default() };
        self.phase = Phase::Options;
    }

    /// Handles at most one message from the front of `input`, advances `input` past it, and appends
    /// the answer to `out`. After an error, send `out`, then close.
    pub fn receive(
        &mut self,
        input: &mut &[u8],
        exports: &dyn Exports,
        out: &mut Vec<u8>,
    ) -> Result<ServerStep, HandshakeError> {
        match self.phase {
            Phase::ClientFlags => self.client_flags(input),
            Phase::Options => self.option(input, exports, out),
            Phase::Skip(len) => Ok(self.skip(input, len)),
            Phase::New | Phase::AwaitTls | Phase::Over => panic!("receive called in phase {:?}", self.phase),
        }
    }

    pub(super) fn list_bytes_max(&self) -> usize {
        self.limits.list_bytes
    }

    /// The settings for transmission if `block_sizes` were asked for and the export is called
    /// `name`.
    pub(super) fn settings(&self, name: &str, block_sizes: bool) -> Settings {
        // Protocol text, NBD_OPT_SET_META_CONTEXT: only where "it referred to the same export name
        // that was ultimately selected for transmission phase".
        let selected = self.state.selected.as_ref().filter(|(export, _)| export == name);
        Settings {
            framing: self.state.framing,
            contexts: selected.map_or(Contexts::NONE, |(_, contexts)| *contexts),
            block_sizes,
            encrypted: self.state.encrypted,
        }
    }

    fn client_flags(&mut self, input: &mut &[u8]) -> Result<ServerStep, HandshakeError> {
        let mut c = Cursor(input);
        let Some(flags) = c.u32() else { return Ok(ServerStep::NeedMore(4)) };
        // Protocol text, "Client flags": "the server MUST drop the TCP connection if the client
        // sets an unknown flag, or a flag that does not match something advertised by the server".
        if flags & !(FLAG_C_FIXED_NEWSTYLE | FLAG_C_NO_ZEROES) != 0 {
            return Err(HandshakeError::ClientFlags(flags));
        }
        self.fixed = flags & FLAG_C_FIXED_NEWSTYLE != 0;
        self.no_zeroes = flags & FLAG_C_NO_ZEROES != 0;
        self.bytes += 4;
        self.phase = Phase::Options;
        *input = c.0;
        Ok(ServerStep::Continue)
    }

    fn option(
        &mut self,
        input: &mut &[u8],
        exports: &dyn Exports,
        out: &mut Vec<u8>,
    ) -> Result<ServerStep, HandshakeError> {
        let Some(head) = OptionHead::parse(input) else { return Ok(ServerStep::NeedMore(OPTION_HEADER_BYTES)) };
        self.admit(head)?;
        let rest = &input[OPTION_HEADER_BYTES..];
        // Wait only for data that is needed; anything else is answered immediately, and its data
        // skipped.
        if let Some(refusal) = self.refuse_early(head)? {
            self.charge(head);
            *input = rest;
            if head.option == opt::SET_META_CONTEXT {
                // It "replaces all previously-set metadata contexts (including when this command
                // fails)".
                self.state.selected = None;
            }
            put_error(out, head.option, refusal.0, &refusal.1);
            return Ok(self.skip(input, head.len));
        }
        if head.option == opt::ABORT {
            // Protocol text, NBD_OPT_ABORT: "The server MUST reply with NBD_REP_ACK"; "a server
            // SHOULD ignore any data".
            self.phase = Phase::Over;
            *input = &[];
            put_ack(out, opt::ABORT);
            return Ok(ServerStep::Aborted);
        }
        let Some((data, rest)) = rest.split_at_checked(head.len as usize) else {
            return Ok(ServerStep::NeedMore(OPTION_HEADER_BYTES + head.len as usize));
        };
        self.charge(head);
        *input = rest;
        if head.option == opt::STARTTLS {
            return self.start_tls(data, rest, out);
        }
        Ok(match self.answer(head.option, data, exports, out)? {
            Answered::Next => ServerStep::Continue,
            Answered::Enter(admitted) => {
                self.phase = Phase::Over;
                ServerStep::Transmission(admitted)
            }
        })
    }

    /// Checks an option: the client must keep to the protocol and to the limits.
    fn admit(&self, head: OptionHead) -> Result<(), HandshakeError> {
        if head.magic != OPTION_MAGIC {
            return Err(HandshakeError::Magic { what: "an option", expected: OPTION_MAGIC, got: head.magic });
        }
        // Protocol text, NBD_OPT_EXPORT_NAME: "This is the only valid option in nonfixed newstyle
        // negotiation".
        if !self.fixed && head.option != opt::EXPORT_NAME {
            return Err(HandshakeError::NotFixed(head.option));
        }
        // "if a server believes a client's behaviour constitutes a denial of service, it MAY
        // initiate a hard disconnect".
        let options = self.limits.options.saturating_add(self.described.options);
        if self.options >= options {
            return Err(HandshakeError::TooManyOptions(options));
        }
        let bytes = self.limits.total_bytes.saturating_add(self.described.bytes);
        if self.bytes + OPTION_HEADER_BYTES as u64 + u64::from(head.len) > bytes {
            return Err(HandshakeError::TooManyBytes(bytes));
        }
        Ok(())
    }

    /// The error for an option that is refused regardless of its data.
    fn refuse_early(&self, head: OptionHead) -> Result<Option<(u32, String)>, HandshakeError> {
        let name = option_name(head.option);
        let refusal = if head.option == opt::ABORT {
            None
        } else if self.draining {
            // "SHOULD error further options received (other than an NBD_OPT_ABORT) with
            // NBD_REP_ERR_SHUTDOWN".
            Some((rep::ERR_SHUTDOWN, "the server is shutting down".to_owned()))
        } else if let Some(why) = &self.refused {
            // "NBD_REP_ERR_POLICY": "The option sent by the client is understood by this server,
            // and is syntactically valid, but is not allowed by server policy".
            Some((rep::ERR_POLICY, why.clone()))
        } else if self.tls == TlsMode::Required && !self.state.encrypted && head.option != opt::STARTTLS {
            // "FORCEDTLS mode": "If the server receives any other option, including NBD_OPT_INFO
            // and unsupported options, it MUST reply with NBD_REP_ERR_TLS_REQD if TLS has not been
            // initiated".
            Some((rep::ERR_TLS_REQD, format!("{name}: this server requires TLS, send STARTTLS first")))
        } else if !known(head.option) {
            // "Baseline": "Servers that receive messages which they do not implement MUST reply to
            // them with NBD_REP_ERR_UNSUP, and MUST NOT fail to parse the next message received".
            Some((rep::ERR_UNSUP, format!("option {} is not known to this server", head.option)))
        } else if head.len > self.limits.option_bytes {
            let limit = self.limits.option_bytes;
            Some((rep::ERR_TOO_BIG, format!("{name}: {} bytes of data, the limit is {limit}", head.len)))
        } else {
            None
        };
        match refusal {
            // "FORCEDTLS mode": as EXPORT_NAME "cannot error, it MUST terminate the session".
            Some((_, why)) if head.option == opt::EXPORT_NAME => Err(HandshakeError::ExportName { name: None, why }),
            other => Ok(other),
        }
    }

    fn start_tls(&mut self, data: &[u8], rest: &[u8], out: &mut Vec<u8>) -> Result<ServerStep, HandshakeError> {
        let refusal = if self.state.encrypted {
            // "If the server receives NBD_OPT_STARTTLS when TLS has already been negotiated, it
            // MUST reply with NBD_REP_ERR_INVALID".
            Some((rep::ERR_INVALID, "STARTTLS: the connection is encrypted already"))
        } else if self.tls == TlsMode::Off {
            // "NOTLS mode": "it MUST respond with NBD_REP_ERR_POLICY (if it does not support TLS
            // for policy reasons)".
            Some((rep::ERR_POLICY, "STARTTLS: TLS is turned off on this server"))
        } else if !data.is_empty() {
            Some((rep::ERR_INVALID, "STARTTLS: takes no data"))
        } else {
            None
        };
        if let Some((code, message)) = refusal {
            put_error(out, opt::STARTTLS, code, message);
            return Ok(ServerStep::Continue);
        }
        // The client "MUST NOT send any option until it has received a final reply". So bytes that
        // are here already were sent in clear text, by the client or by an attacker in between;
        // they must not be taken for encrypted ones.
        if !rest.is_empty() {
            return Err(HandshakeError::PlaintextAfterStartTls(rest.len()));
        }
        put_ack(out, opt::STARTTLS);
        self.phase = Phase::AwaitTls;
        Ok(ServerStep::StartTls)
    }

    fn charge(&mut self, head: OptionHead) {
        self.options += 1;
        self.bytes += OPTION_HEADER_BYTES as u64 + u64::from(head.len);
    }

    fn skip(&mut self, input: &mut &[u8], len: u32) -> ServerStep {
        let here = input.len().min(len as usize);
        *input = &input[here..];
        // `here` is at most `len`.
        let left = len - here as u32;
        self.phase = if left == 0 { Phase::Options } else { Phase::Skip(left) };
        if left == 0 { ServerStep::Continue } else { ServerStep::NeedMore(1) }
    }
}

/// The error for a failed `EXPORT_NAME`, which ends the connection.
pub(super) fn export_name_error(name: &[u8], why: impl Into<String>) -> HandshakeError {
    HandshakeError::ExportName { name: Some(lossy(name)), why: why.into() }
}

fn known(option: u32) -> bool {
    matches!(
        option,
        opt::EXPORT_NAME
            | opt::ABORT
            | opt::LIST
            | opt::STARTTLS
            | opt::INFO
            | opt::GO
            | opt::STRUCTURED_REPLY
            | opt::LIST_META_CONTEXT
            | opt::SET_META_CONTEXT
            | opt::EXTENDED_HEADERS
    )
}
