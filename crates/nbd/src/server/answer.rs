//! The server's answers, with a function for each option.

use super::Admitted;
use super::handshake::{Answered, Described, ServerHandshake, export_name_error};
use crate::contexts::{Context, Contexts};
use crate::error::HandshakeError;
use crate::export::{ExportInfo, ExportRefusal, Exports, TransmissionFlags};
use crate::option::{
    InfoQuery, MetaQuery, option_name, put_ack, put_error, put_info_block_size, put_info_export, put_info_text,
    put_reply,
};
use crate::settings::Framing;
use crate::text::{cut, text};
use crate::values::{EXPORT_NAME_ZEROES, info, opt, rep};
use crate::wire::Put;

/// Options about each export that was listed: nbdinfo sends `INFO` and `LIST_META_CONTEXT` or
/// `SET_META_CONTEXT` for each on the same connection.
const ASKED_OF_EACH: u64 = 2;

/// A result, or an error reply: its code and a message.
type Answer<T> = Result<T, (u32, String)>;

impl ServerHandshake {
    /// Answers an option whose data is complete.
    pub(super) fn answer(
        &mut self,
        option: u32,
        data: &[u8],
        exports: &dyn Exports,
        out: &mut Vec<u8>,
    ) -> Result<Answered, HandshakeError> {
        let answer = match option {
            opt::EXPORT_NAME => return self.export_name(data, exports, out),
            opt::INFO => self.info(option, data, exports, out).map(|_| Answered::Next),
            opt::GO => self.info(option, data, exports, out).map(Answered::Enter),
            opt::LIST => self.list(data, exports, out).map(|()| Answered::Next),
            opt::STRUCTURED_REPLY => self.structured(data, out).map(|()| Answered::Next),
            opt::EXTENDED_HEADERS => self.extended(data, out).map(|()| Answered::Next),
            opt::LIST_META_CONTEXT => self.list_meta(data, exports, out).map(|()| Answered::Next),
            opt::SET_META_CONTEXT => self.set_meta(data, exports, out).map(|()| Answered::Next),
            _ => unreachable!("option {option} was refused early"),
        };
        Ok(answer.unwrap_or_else(|(code, message)| {
            put_error(out, option, code, &format!("{}: {message}", option_name(option)));
            Answered::Next
        }))
    }

    /// `EXPORT_NAME`: enters transmission, or ends the connection: "If the server is unwilling to
    /// allow the export, it MUST terminate the session".
    fn export_name(&self, data: &[u8], exports: &dyn Exports, out: &mut Vec<u8>) -> Result<Answered, HandshakeError> {
        // Extension text, NBD_OPT_EXTENDED_HEADERS: "Once extended headers are successfully
        // requested, a client MUST NOT use NBD_OPT_EXPORT_NAME".
        if self.state.framing == Framing::Extended {
            return Err(export_name_error(data, "not allowed once extended headers are agreed, use GO"));
        }
        let name = text(data).map_err(|why| export_name_error(data, format!("the name {why}")))?;
        let export = exports.find(name).map_err(|refusal| export_name_error(data, refusal.to_string()))?;
        let admitted = self.admitted(name, export, false);
        out.put_u64(admitted.export.size);
        out.put_u16(admitted.flags.0);
        // "124 bytes, zeroes (reserved) (unless NBD_FLAG_C_NO_ZEROES was negotiated by the
        // client)".
        if !self.no_zeroes {
            out.resize(out.len() + EXPORT_NAME_ZEROES, 0);
        }
        Ok(Answered::Enter(Box::new(admitted)))
    }

    /// `INFO` and `GO`: "identical formats for requests and replies".
    fn info(&self, option: u32, data: &[u8], exports: &dyn Exports, out: &mut Vec<u8>) -> Answer<Box<Admitted>> {
        let query = InfoQuery::parse(data).ok_or_else(malformed)?;
        let (name, export) = self.look_up(option, query.name, exports)?;
        let asked = query.wants(info::BLOCK_SIZE);
        let mut admitted = self.admitted(name, export, asked);
        // A client that only asks is told what it could have.
        if option == opt::INFO && admitted.settings.framing == Framing::Extended {
            admitted.flags = admitted.flags | TransmissionFlags::BLOCK_STATUS_PAYLOAD;
        }
        let export = &admitted.export;
        // "the server MUST send at least one NBD_REP_INFO, with an NBD_INFO_EXPORT information
        // type".
        put_info_export(out, option, export.size, admitted.flags.0);
        if query.wants(info::NAME) {
            put_info_text(out, option, info::NAME, export.name.as_deref().unwrap_or(name));
        }
        if let (true, Some(description)) = (query.wants(info::DESCRIPTION), &export.description) {
            put_info_text(out, option, info::DESCRIPTION, description);
        }
        // A client that did not ask for sizes may use any offset and is served, so it is told a
        // minimum of 1: "The server MAY send information requests back which are not explicitly
        // requested".
        let minimum = if asked { export.block.minimum } else { 1 };
        put_info_block_size(out, option, [minimum, export.block.preferred, export.block.payload_bytes()]);
        put_ack(out, option);
        Ok(Box::new(admitted))
    }

    /// `LIST`. Afterwards the client may ask about each export twice: its size, and its contexts.
    fn list(&mut self, data: &[u8], exports: &dyn Exports, out: &mut Vec<u8>) -> Answer<()> {
        nothing(data)?;
        let start = out.len();
        let end = start + self.list_bytes_max();
        let (mut full, mut listed) = (false, 0_u32);
        exports.list(&mut |name, description| {
            full |= out.len() > end;
            if full || text(name.as_bytes()).is_err() {
                return;
            }
            listed = listed.saturating_add(1);
            put_reply(out, opt::LIST, rep::SERVER, |out| {
                out.put_counted(name.as_bytes());
                out.extend_from_slice(cut(description.unwrap_or("")).as_bytes());
            });
        });
        if full || out.len() > end {
            out.truncate(start);
            return Err((rep::ERR_TOO_BIG, format!("the list takes more than {} bytes", self.list_bytes_max())));
        }
        // Such an option takes at most twice the bytes of the export's reply to LIST.
        let bytes = ASKED_OF_EACH * 2 * (out.len() - start) as u64;
        self.described = Described { options: listed.saturating_mul(ASKED_OF_EACH as u32), bytes };
        put_ack(out, opt::LIST);
        Ok(())
    }

    /// `STRUCTURED_REPLY`. A second one changes nothing and is acknowledged again.
    fn structured(&mut self, data: &[u8], out: &mut Vec<u8>) -> Answer<()> {
        nothing(data)?;
        // Extension text: ERR_EXT_HEADER_REQD if "the client has already successfully negotiated
        // extended headers, which takes precedence over this option".
        if self.state.framing == Framing::Extended {
            return Err((rep::ERR_EXT_HEADER_REQD, "extended headers are agreed already".into()));
        }
        self.state.framing = Framing::Structured;
        put_ack(out, opt::STRUCTURED_REPLY);
        Ok(())
    }

    /// `EXTENDED_HEADERS`. "a server SHOULD support this option even if structured replies are not
    /// negotiated".
    fn extended(&mut self, data: &[u8], out: &mut Vec<u8>) -> Answer<()> {
        nothing(data)?;
        self.state.framing = Framing::Extended;
        put_ack(out, opt::EXTENDED_HEADERS);
        Ok(())
    }

    /// `LIST_META_CONTEXT`.
    fn list_meta(&self, data: &[u8], exports: &dyn Exports, out: &mut Vec<u8>) -> Answer<()> {
        let query = self.meta_query(data)?;
        let (_, export) = self.look_up(opt::LIST_META_CONTEXT, query.name, exports)?;
        // "If zero queries are sent, then the server MUST return all the metadata contexts";
        // "base:" is a wildcard here. Other namespaces, and leaf names that are not known, are
        // ignored.
        for context in Context::ALL.into_iter().filter(|context| export.tells(*context)) {
            if query.count == 0 || query.queries().any(|q| context.is_named(q) || context.is_of_namespace(q)) {
                // "The metadata context ID in these replies is reserved and SHOULD be set to zero".
                put_context(out, opt::LIST_META_CONTEXT, 0, context);
            }
        }
        put_ack(out, opt::LIST_META_CONTEXT);
        Ok(())
    }

    /// `SET_META_CONTEXT`.
    fn set_meta(&mut self, data: &[u8], exports: &dyn Exports, out: &mut Vec<u8>) -> Answer<()> {
        // "Issuing this command replaces all previously-set metadata contexts (including when this
        // command fails)".
        self.state.selected = None;
        let query = self.meta_query(data)?;
        let (name, export) = self.look_up(opt::SET_META_CONTEXT, query.name, exports)?;
        let mut selected = Contexts::NONE;
        for context in Context::ALL.into_iter().filter(|context| export.tells(*context)) {
            // "base: - the server MUST ignore this form during NBD_OPT_SET_META_CONTEXT".
            if query.queries().any(|q| context.is_named(q)) {
                put_context(out, opt::SET_META_CONTEXT, context.id(), context);
                selected = selected.with(context, context.id());
            }
        }
        if !selected.is_empty() {
            self.state.selected = Some((name.to_owned(), selected));
        }
        put_ack(out, opt::SET_META_CONTEXT);
        Ok(())
    }

    fn meta_query<'a>(&self, data: &'a [u8]) -> Answer<MetaQuery<'a>> {
        // "This option MUST NOT be requested unless structured replies have been negotiated first.
        // If a client attempts to do so, a server SHOULD send NBD_REP_ERR_INVALID".
        if self.state.framing == Framing::Simple {
            return Err((rep::ERR_INVALID, "negotiate STRUCTURED_REPLY or EXTENDED_HEADERS first".into()));
        }
        let query = MetaQuery::parse(data).ok_or_else(malformed)?;
        match query.queries().find_map(|q| text(q).err()) {
            Some(why) => Err((rep::ERR_INVALID, format!("a query {why}"))),
            None => Ok(query),
        }
    }

    fn look_up<'a>(&self, option: u32, name: &'a [u8], exports: &dyn Exports) -> Answer<(&'a str, ExportInfo)> {
        // "SELECTIVETLS mode": "The server MUST NOT send NBD_REP_ERR_TLS_REQD in response to any
        // option other than NBD_OPT_INFO, NBD_OPT_GO and NBD_OPT_EXPORT_NAME", nor "in reply to any
        // option if TLS has already been negotiated".
        let may_ask_for_tls = matches!(option, opt::INFO | opt::GO) && !self.state.encrypted;
        let name = text(name).map_err(|why| (rep::ERR_INVALID, format!("the export name {why}")))?;
        let export = exports.find(name).map_err(|refusal| {
            let code = match refusal {
                ExportRefusal::Unknown => rep::ERR_UNKNOWN,
                ExportRefusal::Policy => rep::ERR_POLICY,
                ExportRefusal::TlsRequired if may_ask_for_tls => rep::ERR_TLS_REQD,
                // It exists and will be available again, so neither "unknown" nor "shutdown" would
                // be correct.
                ExportRefusal::TlsRequired | ExportRefusal::Offline => rep::ERR_POLICY,
                ExportRefusal::Shutdown => rep::ERR_SHUTDOWN,
            };
            (code, format!("export {name:?}: {refusal}"))
        })?;
        Ok((name, export))
    }

    fn admitted(&self, name: &str, export: ExportInfo, block_sizes: bool) -> Admitted {
        let settings = self.settings(name, block_sizes);
        // "Servers MUST NOT advertise this bit unless the client successfully negotiates extended
        // headers …, and SHOULD NOT advertise this bit … if the client does not negotiate
        // metacontexts".
        let filters = settings.framing == Framing::Extended && !settings.contexts.is_empty();
        let flags = export.flags(settings.framing).with(TransmissionFlags::BLOCK_STATUS_PAYLOAD, filters);
        Admitted { requested: name.to_owned(), flags, export, settings }
    }
}

fn put_context(out: &mut Vec<u8>, option: u32, id: u32, context: Context) {
    put_reply(out, option, rep::META_CONTEXT, |out| {
        out.put_u32(id);
        out.extend_from_slice(context.name().as_bytes());
    });
}

/// For the options that take no data: "the server SHOULD reject a request that includes data with
/// NBD_REP_ERR_INVALID".
fn nothing(data: &[u8]) -> Answer<()> {
    if data.is_empty() { Ok(()) } else { Err((rep::ERR_INVALID, format!("takes no data, got {} bytes", data.len()))) }
}

fn malformed() -> (u32, String) {
    (rep::ERR_INVALID, "the lengths inside the data contradict its length".into())
}
