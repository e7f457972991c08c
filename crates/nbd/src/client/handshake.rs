//! The client's state machine: which option comes next, and the effect of its replies.

use super::replies::{error_message, keep_context, keep_info, keep_listed};
use super::{Agreed, ClientStep, Listed, Purpose, TlsWish, Wishes};
use crate::contexts::{Context, Contexts};
use crate::error::HandshakeError;
use crate::export::TransmissionFlags;
use crate::limits::HandshakeLimits;
use crate::option::{InfoQuery, MetaQuery, REPLY_HEADER_BYTES, ReplyHead, option_name, put_option};
use crate::settings::{Framing, Settings};
use crate::text::text;
use crate::values::{
    EXPORT_NAME_ZEROES, FLAG_C_FIXED_NEWSTYLE, FLAG_C_NO_ZEROES, FLAG_FIXED_NEWSTYLE, FLAG_NO_ZEROES, INIT_PASSWD,
    OLDSTYLE_MAGIC, OPTION_MAGIC, OPTION_REPLY_MAGIC, info, opt, rep,
};
use crate::wire::{Cursor, Put};

const GREETING_BYTES: usize = 18;

/// The client's side of one connection's handshake. The server speaks first.
#[derive(Clone, Debug)]
pub struct ClientHandshake {
    wishes: Wishes,
    limits: HandshakeLimits,
    stage: Stage,
    no_zeroes: bool,
    encrypted: bool,
    framing: Framing,
    contexts: Contexts,
    bytes: u64,
    /// The contents of the replies to the present option so far.
    gathered: Gathered,
}

/// Filled by the replies to one option, and taken when that ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered {
    pub described: bool,
    pub agreed: Agreed,
    pub contexts: Contexts,
    pub listed: Vec<Listed>,
    pub listed_bytes: usize,
}

/// Which answer is awaited, in the order of the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Greeting,
    StartTls,
    AwaitTls,
    Extended,
    Structured,
    Meta,
    /// `LIST`, `INFO` or `GO`, depending on the purpose.
    Purpose,
    ExportName,
    Over,
}

impl ClientHandshake {
    /// A handshake that has not started. The export's name must be valid in the protocol.
    pub fn new(wishes: Wishes, limits: HandshakeLimits) -> Result<ClientHandshake, HandshakeError> {
        if let Err(why) = text(wishes.export.as_bytes()) {
            return Err(HandshakeError::BadName { name: wishes.export.chars().take(64).collect(), why });
        }
        Ok(ClientHandshake {
            wishes,
            limits,
            stage: Stage::Greeting,
            no_zeroes: false,
            encrypted: false,
            framing: Framing::Simple,
            contexts: Contexts::NONE,
            bytes: 0,
            gathered: Gathered::default(),
        })
    }

    /// The connection is encrypted now: appends the next option, which must be sent over TLS.
    pub fn tls_established(&mut self, out: &mut Vec<u8>) {
        assert_eq!(self.stage, Stage::AwaitTls, "TLS starts after the step StartTls");
        self.encrypted = true;
        self.ask(Stage::Extended, out);
    }

    /// Handles at most one message from the front of `input`, advances `input` past it, and appends
    /// the next option to `out`. After an error, send `out` (it may contain an ABORT), then close.
    pub fn receive(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<ClientStep, HandshakeError> {
        match self.stage {
            Stage::Greeting => self.greeting(input, out),
            Stage::ExportName => Ok(self.export_name(input)),
            Stage::AwaitTls | Stage::Over => panic!("receive called in stage {:?}", self.stage),
            _ => self.reply(input, out),
        }
    }

    fn greeting(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<ClientStep, HandshakeError> {
        let mut c = Cursor(input);
        let Some(first) = c.u64() else { return Ok(ClientStep::NeedMore(GREETING_BYTES)) };
        if first != INIT_PASSWD {
            return Err(HandshakeError::Magic { what: "the greeting", expected: INIT_PASSWD, got: first });
        }
        let Some(second) = c.u64() else { return Ok(ClientStep::NeedMore(GREETING_BYTES)) };
        if second == OLDSTYLE_MAGIC {
            return Err(HandshakeError::Oldstyle);
        }
        if second != OPTION_MAGIC {
            return Err(HandshakeError::Magic { what: "the greeting", expected: OPTION_MAGIC, got: second });
        }
        // Protocol text, "Newstyle negotiation": "The client SHOULD ignore any handshake flags it
        // does not recognize".
        let Some(flags) = c.u16() else { return Ok(ClientStep::NeedMore(GREETING_BYTES)) };
        *input = c.0;
        self.bytes += GREETING_BYTES as u64;
        self.no_zeroes = flags & FLAG_NO_ZEROES != 0;
        let fixed = flags & FLAG_FIXED_NEWSTYLE != 0;
        // "Client flags": NO_ZEROES "MUST NOT be set if the server did not set NBD_FLAG_NO_ZEROES".
        let answer = |offered, flag| if offered { flag } else { 0 };
        out.put_u32(answer(fixed, FLAG_C_FIXED_NEWSTYLE) | answer(self.no_zeroes, FLAG_C_NO_ZEROES));
        if fixed {
            self.ask(Stage::StartTls, out);
        } else {
            self.unfixed(out)?;
        }
        Ok(ClientStep::Continue)
    }

    /// A server with newstyle but not fixed newstyle: "only one option can be set
    /// (NBD_OPT_EXPORT_NAME)".
    fn unfixed(&mut self, out: &mut Vec<u8>) -> Result<(), HandshakeError> {
        if self.wishes.tls == TlsWish::Require {
            return Err(HandshakeError::NeedsFixed("TLS"));
        }
        match self.wishes.purpose {
            Purpose::Go => self.ask_export_name(out),
            Purpose::Info => return Err(HandshakeError::NeedsFixed("describing an export")),
            Purpose::List => return Err(HandshakeError::NeedsFixed("a list of exports")),
        }
        Ok(())
    }

    /// Sends the option of `stage`, or of the first later stage that is wanted.
    fn ask(&mut self, stage: Stage, out: &mut Vec<u8>) {
        // A list needs neither framing nor contexts.
        let framed = self.wishes.purpose != Purpose::List;
        let (next, wanted) = match stage {
            // Protocol text, "Client-side requirements": a client that prefers TLS "SHOULD send
            // NBD_OPT_STARTTLS as the first option"; "MUST NOT issue NBD_OPT_STARTTLS if TLS has
            // already been initiated".
            Stage::StartTls => (Stage::Extended, self.wishes.tls != TlsWish::Off),
            // Extended headers require GO, which the old entry excludes.
            Stage::Extended => (Stage::Structured, framed && self.wishes.extended && !self.wishes.old_entry),
            Stage::Structured => (Stage::Meta, framed && self.wishes.structured && self.framing != Framing::Extended),
            // "This option MUST NOT be requested unless structured replies have been negotiated
            // first".
            Stage::Meta => (Stage::Purpose, framed && !self.wished().is_empty() && self.framing != Framing::Simple),
            _ => (Stage::Over, true),
        };
        if !wanted {
            return self.ask(next, out);
        }
        self.stage = stage;
        match stage {
            Stage::StartTls => put_option(out, opt::STARTTLS, |_| ()),
            Stage::Extended => put_option(out, opt::EXTENDED_HEADERS, |_| ()),
            Stage::Structured => put_option(out, opt::STRUCTURED_REPLY, |_| ()),
            Stage::Meta => put_option(out, opt::SET_META_CONTEXT, |out| {
                MetaQuery::put(out, &self.wishes.export, &self.wished());
            }),
            Stage::Purpose => self.ask_purpose(out),
            _ => unreachable!("stage {stage:?} sends no option"),
        }
    }

    fn ask_purpose(&mut self, out: &mut Vec<u8>) {
        let option = self.awaited();
        match self.wishes.purpose {
            Purpose::List => put_option(out, option, |_| ()),
            Purpose::Go if self.wishes.old_entry => self.ask_export_name(out),
            Purpose::Go | Purpose::Info => {
                let all = [info::NAME, info::DESCRIPTION, info::BLOCK_SIZE];
                let wanted = if self.wishes.block_sizes { &all[..] } else { &all[..2] };
                put_option(out, option, |out| InfoQuery::put(out, &self.wishes.export, wanted));
            }
        }
    }

    fn ask_export_name(&mut self, out: &mut Vec<u8>) {
        self.stage = Stage::ExportName;
        put_option(out, opt::EXPORT_NAME, |out| out.extend_from_slice(self.wishes.export.as_bytes()));
    }

    /// The option whose reply is awaited.
    fn awaited(&self) -> u32 {
        match (self.stage, self.wishes.purpose) {
            (Stage::StartTls, _) => opt::STARTTLS,
            (Stage::Extended, _) => opt::EXTENDED_HEADERS,
            (Stage::Structured, _) => opt::STRUCTURED_REPLY,
            (Stage::Meta, _) => opt::SET_META_CONTEXT,
            (_, Purpose::List) => opt::LIST,
            (_, Purpose::Info) => opt::INFO,
            (_, Purpose::Go) => opt::GO,
        }
    }

    fn reply(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<ClientStep, HandshakeError> {
        let Some(head) = ReplyHead::parse(input) else { return Ok(ClientStep::NeedMore(REPLY_HEADER_BYTES)) };
        self.believe(head)?;
        let rest = &input[REPLY_HEADER_BYTES..];
        let Some((data, rest)) = rest.split_at_checked(head.len as usize) else {
            return Ok(ClientStep::NeedMore(REPLY_HEADER_BYTES + head.len as usize));
        };
        self.bytes += REPLY_HEADER_BYTES as u64 + u64::from(head.len);
        *input = rest;
        if head.kind == rep::ACK {
            return self.acknowledged(rest, out);
        }
        if head.kind & rep::ERROR_BIT != 0 {
            return self.refused(head.kind, data, out);
        }
        match (self.stage, self.wishes.purpose, head.kind) {
            (Stage::Meta, _, rep::META_CONTEXT) => keep_context(data, &mut self.gathered)?,
            (Stage::Purpose, Purpose::List, rep::SERVER) => {
                keep_listed(data, &mut self.gathered, self.limits.list_bytes)?;
            }
            (Stage::Purpose, Purpose::Go | Purpose::Info, rep::INFO) => {
                keep_info(head.option, data, &mut self.gathered)?;
            }
            _ => return Err(self.violation("the reply type does not belong to the option")),
        }
        Ok(ClientStep::Continue)
    }

    /// Checks a reply: the server must keep to the protocol and to the limits.
    fn believe(&self, head: ReplyHead) -> Result<(), HandshakeError> {
        if head.magic != OPTION_REPLY_MAGIC {
            let expected = OPTION_REPLY_MAGIC;
            return Err(HandshakeError::Magic { what: "an option reply", expected, got: head.magic });
        }
        if head.option != self.awaited() {
            return Err(self.violation("the reply names another option than the one sent"));
        }
        if head.len > self.limits.option_bytes {
            let limit = self.limits.option_bytes;
            return Err(HandshakeError::ReplyTooLong { option: head.option, len: head.len, limit });
        }
        if self.bytes + REPLY_HEADER_BYTES as u64 + u64::from(head.len) > self.limits.total_bytes {
            return Err(HandshakeError::TooManyBytes(self.limits.total_bytes));
        }
        Ok(())
    }

    fn acknowledged(&mut self, rest: &[u8], out: &mut Vec<u8>) -> Result<ClientStep, HandshakeError> {
        let gathered = std::mem::take(&mut self.gathered);
        match self.stage {
            Stage::StartTls if !rest.is_empty() => return Err(HandshakeError::PlaintextAfterStartTls(rest.len())),
            Stage::StartTls => {
                self.stage = Stage::AwaitTls;
                return Ok(ClientStep::StartTls);
            }
            Stage::Extended => {
                self.framing = Framing::Extended;
                self.ask(Stage::Structured, out);
            }
            Stage::Structured => {
                self.framing = Framing::Structured;
                self.ask(Stage::Meta, out);
            }
            Stage::Meta => {
                self.contexts = gathered.contexts;
                self.ask(Stage::Purpose, out);
            }
            _ => return self.concluded(gathered, out),
        }
        Ok(ClientStep::Continue)
    }

    /// `LIST`, `INFO` or `GO` succeeded.
    fn concluded(&mut self, gathered: Gathered, out: &mut Vec<u8>) -> Result<ClientStep, HandshakeError> {
        if self.wishes.purpose == Purpose::List {
            self.say_goodbye(out);
            return Ok(ClientStep::Listed(gathered.listed));
        }
        // Protocol text, NBD_REP_ACK: "the server MUST send at least one NBD_REP_INFO, with an
        // NBD_INFO_EXPORT".
        if !gathered.described {
            return Err(self.violation("INFO_EXPORT must come before the acknowledgement"));
        }
        let agreed = Box::new(Agreed { settings: self.settings(self.wishes.block_sizes), ..gathered.agreed });
        if self.wishes.purpose == Purpose::Info {
            self.say_goodbye(out);
            return Ok(ClientStep::Described(agreed));
        }
        self.stage = Stage::Over;
        Ok(ClientStep::Transmission(agreed))
    }

    fn refused(&mut self, code: u32, data: &[u8], out: &mut Vec<u8>) -> Result<ClientStep, HandshakeError> {
        self.gathered = Gathered::default();
        // "If the client receives NBD_REP_ERR_SHUTDOWN it MUST initiate a soft disconnect".
        // ERR_TLS_REQD for anything but INFO and GO: "no option will succeed unless a TLS upgrade
        // is performed".
        let hopeless = matches!(code, rep::ERR_SHUTDOWN | rep::ERR_TLS_REQD);
        let next = match self.stage {
            _ if hopeless => None,
            // "a client which only wishes to use TLS SHOULD terminate the session if the
            // NBD_OPT_STARTTLS replies with an error"; else it may "continue the session without
            // TLS".
            Stage::StartTls if self.wishes.tls == TlsWish::Prefer => Some(Stage::Extended),
            Stage::Extended => Some(Stage::Structured),
            Stage::Structured => Some(Stage::Meta),
            Stage::Meta => Some(Stage::Purpose),
            // "clients SHOULD be prepared to also handle NBD_REP_ERR_UNSUP by falling back to using
            // NBD_OPT_EXPORT_NAME"; not with extended headers, where "the server MUST NOT fail
            // NBD_OPT_GO with NBD_REP_ERR_UNSUP".
            Stage::Purpose if self.may_fall_back(code) => Some(Stage::ExportName),
            _ => None,
        };
        match next {
            Some(Stage::ExportName) => self.ask_export_name(out),
            Some(stage) => self.ask(stage, out),
            None => {
                let option = option_name(self.awaited());
                self.say_goodbye(out);
                return Err(HandshakeError::Refused { option, code, message: error_message(data) });
            }
        }
        Ok(ClientStep::Continue)
    }

    fn may_fall_back(&self, code: u32) -> bool {
        code == rep::ERR_UNSUP && self.wishes.purpose == Purpose::Go && self.framing != Framing::Extended
    }

    /// The answer to `EXPORT_NAME`, which has no header.
    fn export_name(&mut self, input: &mut &[u8]) -> ClientStep {
        let zeroes = if self.no_zeroes { 0 } else { EXPORT_NAME_ZEROES };
        let mut c = Cursor(input);
        let (Some(size), Some(flags), Some(_)) = (c.u64(), c.u16(), c.take(zeroes)) else {
            return ClientStep::NeedMore(10 + zeroes);
        };
        *input = c.0;
        self.stage = Stage::Over;
        let settings = self.settings(false);
        ClientStep::Transmission(Box::new(Agreed {
            size,
            flags: TransmissionFlags(flags),
            settings,
            ..Agreed::default()
        }))
    }

    /// The names of the wanted contexts.
    fn wished(&self) -> Vec<&'static str> {
        let wished = |context: &Context| match context {
            Context::Allocation => self.wishes.allocation,
            Context::Sharing => self.wishes.sharing,
        };
        Context::ALL.into_iter().filter(wished).map(Context::name).collect()
    }

    fn settings(&self, block_sizes: bool) -> Settings {
        Settings { framing: self.framing, contexts: self.contexts, block_sizes, encrypted: self.encrypted }
    }

    /// The soft disconnect: `ABORT`. It does not wait for the reply: "the client SHOULD gracefully
    /// handle the server closing the connection after receiving an NBD_OPT_ABORT without it sending
    /// a reply".
    fn say_goodbye(&mut self, out: &mut Vec<u8>) {
        put_option(out, opt::ABORT, |_| ());
        self.stage = Stage::Over;
    }

    fn violation(&self, rule: &'static str) -> HandshakeError {
        HandshakeError::Violation { option: self.awaited(), rule }
    }
}
