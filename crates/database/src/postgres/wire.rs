//! PostgreSQL's protocol on one blocking socket: one call to send and one to receive for each
//! statement.
//!
//! Messages and authentication come from the library `postgres-protocol`; this module has the calls
//! of a thread ([decision 0502](../../../../docs/decisions/0502-postgresql.md)). Values are sent
//! and received as text.

use super::address::Address;
use super::stream::Stream;
use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use oltp::Value;
use postgres_protocol::IsNull;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{DataRowBody, ErrorResponseBody, Message};
use postgres_protocol::message::frontend;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// Why a statement failed.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// An error of the server.
    #[error("{message} ({code})")]
    Server {
        /// SQLSTATE.
        code: String,
        /// The message.
        message: String,
    },
    /// The connection was lost, or never established.
    #[error("{0}")]
    Gone(#[from] io::Error),
    /// The server asks for a password, and there is none.
    #[error("the server wants a password; set PGPASSWORD or write ~/.pgpass")]
    NoPassword,
}

impl WireError {
    /// The SQLSTATE of the server's error.
    pub fn code(&self) -> &str {
        match self {
            WireError::Server { code, .. } => code,
            WireError::Gone(_) | WireError::NoPassword => "",
        }
    }
}

type Result<T> = std::result::Result<T, WireError>;

/// Types whose text is an integer: `int2`, `int4`, `int8` and `numeric`, by their numbers in
/// `pg_type`.
const NUMBERS: [u32; 4] = [21, 23, 20, 1700];

/// Maximum number of bytes received at once.
const PORTION: usize = 8 << 10;

/// A connection.
pub struct Wire {
    stream: Stream,
    incoming: BytesMut,
    outgoing: BytesMut,
    portion: Box<[u8]>,
    /// Prepared statements by the address of their text.
    prepared: HashMap<(usize, usize), Prepared>,
    in_transaction: bool,
    version: String,
}

struct Prepared {
    name: String,
    /// Whether each column is a number.
    numbers: Arc<[bool]>,
}

impl Wire {
    /// Connects and logs in; `settings` are those of the session.
    ///
    /// # Errors
    /// The server refuses or cannot be reached.
    pub fn connect(address: &Address, settings: &[(&str, &str)]) -> Result<Wire> {
        let mut wire = Wire {
            stream: Stream::open(address)?,
            incoming: BytesMut::new(),
            outgoing: BytesMut::new(),
            portion: vec![0; PORTION].into(),
            prepared: HashMap::new(),
            in_transaction: false,
            version: String::new(),
        };
        let who = [("user", address.user.as_str()), ("database", &address.database), ("client_encoding", "UTF8")];
        frontend::startup_message(who.into_iter().chain(settings.iter().copied()), &mut wire.outgoing)?;
        wire.send()?;
        wire.log_in(address)?;
        Ok(wire)
    }

    /// The server's version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether a transaction is open, including one that has failed.
    pub fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    fn log_in(&mut self, address: &Address) -> Result<()> {
        let password = || address.password().ok_or(WireError::NoPassword);
        let mut scram = None;
        loop {
            match self.receive()? {
                Message::AuthenticationOk => {}
                Message::AuthenticationCleartextPassword => {
                    frontend::password_message(password()?.as_bytes(), &mut self.outgoing)?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let answer = md5_hash(address.user.as_bytes(), password()?.as_bytes(), body.salt());
                    frontend::password_message(answer.as_bytes(), &mut self.outgoing)?;
                }
                Message::AuthenticationSasl(body) => {
                    if !body.mechanisms().any(|one| Ok(one == SCRAM_SHA_256))? {
                        return Err(unexpected("a way to log in that is not SCRAM-SHA-256").into());
                    }
                    let ours = ScramSha256::new(password()?.as_bytes(), ChannelBinding::unsupported());
                    frontend::sasl_initial_response(SCRAM_SHA_256, ours.message(), &mut self.outgoing)?;
                    scram = Some(ours);
                }
                Message::AuthenticationSaslContinue(body) => {
                    let ours = scram.as_mut().ok_or_else(|| unexpected("SASL out of turn"))?;
                    ours.update(body.data())?;
                    frontend::sasl_response(ours.message(), &mut self.outgoing)?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    scram.as_mut().ok_or_else(|| unexpected("SASL out of turn"))?.finish(body.data())?;
                }
                Message::ParameterStatus(body) if body.name()? == "server_version" => {
                    body.value()?.clone_into(&mut self.version);
                }
                Message::ErrorResponse(body) => return Err(refusal(&body)?),
                Message::ReadyForQuery(_) => return Ok(()),
                Message::ParameterStatus(_) | Message::BackendKeyData(_) | Message::NoticeResponse(_) => {}
                _ => return Err(unexpected("another way to log in").into()),
            }
            self.send()?;
        }
    }

    /// Runs statements without arguments, one after the other, up to the first failure.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub fn batch(&mut self, sql: &str) -> Result<()> {
        frontend::query(sql, &mut self.outgoing)?;
        self.send()?;
        self.end(&mut |_, _| {}).map(drop)
    }

    /// Runs a statement, which is prepared once, and passes each row to `each`; returns the number
    /// of rows that it returned or changed.
    ///
    /// # Errors
    /// As [`Wire::batch`].
    pub fn run(&mut self, sql: &'static str, args: &[Value], each: &mut dyn FnMut(Vec<Value>)) -> Result<u64> {
        let key = (sql.as_ptr() as usize, sql.len());
        if !self.prepared.contains_key(&key) {
            let name = format!("s{}", self.prepared.len());
            let prepared = self.prepare(name, sql)?;
            self.prepared.insert(key, prepared);
        }
        let prepared = &self.prepared[&key];
        bind(&prepared.name, args, &mut self.outgoing)?;
        let numbers = Arc::clone(&prepared.numbers);
        self.send()?;
        self.end(&mut |row, body| each(decoded(row, body, &numbers)))
    }

    /// [`Wire::run`] for a statement that is not repeated.
    ///
    /// # Errors
    /// As [`Wire::batch`].
    pub fn once(&mut self, sql: &str, args: &[Value], each: &mut dyn FnMut(Vec<Value>)) -> Result<u64> {
        let prepared = self.prepare(String::new(), sql)?;
        bind(&prepared.name, args, &mut self.outgoing)?;
        self.send()?;
        self.end(&mut |row, body| each(decoded(row, body, &prepared.numbers)))
    }

    fn prepare(&mut self, name: String, sql: &str) -> Result<Prepared> {
        frontend::parse(&name, sql, [], &mut self.outgoing)?;
        frontend::describe(b'S', &name, &mut self.outgoing)?;
        frontend::sync(&mut self.outgoing);
        self.send()?;
        let mut numbers = Vec::new();
        let mut failure = None;
        loop {
            match self.receive()? {
                Message::RowDescription(body) => {
                    numbers = body.fields().map(|field| Ok(NUMBERS.contains(&field.type_oid()))).collect()?;
                }
                Message::ErrorResponse(body) => failure = Some(refusal(&body)?),
                Message::ReadyForQuery(body) => {
                    self.in_transaction = body.status() != b'I';
                    return failure.map_or_else(|| Ok(Prepared { name, numbers: numbers.into() }), Err);
                }
                _ => {}
            }
        }
    }

    /// Loads rows of text with COPY. Each call of `next` appends to the buffer, or appends nothing
    /// at the end.
    ///
    /// # Errors
    /// Those of [`Wire::batch`]. If `next` asks to stop, that is no error.
    pub fn copy(&mut self, sql: &str, next: &mut dyn FnMut(&mut Vec<u8>) -> bool) -> Result<bool> {
        frontend::query(sql, &mut self.outgoing)?;
        self.send()?;
        loop {
            match self.receive()? {
                Message::CopyInResponse(_) => break,
                Message::ErrorResponse(body) => {
                    let error = refusal(&body)?;
                    self.end(&mut |_, _| {})?;
                    return Err(error);
                }
                _ => {}
            }
        }
        let mut rows = Vec::new();
        let goes_on = loop {
            rows.clear();
            if !next(&mut rows) {
                break false;
            } else if rows.is_empty() {
                break true;
            }
            frontend::CopyData::new(rows.as_slice())?.write(&mut self.outgoing);
            self.send()?;
        };
        match goes_on {
            true => frontend::copy_done(&mut self.outgoing),
            false => frontend::copy_fail("stopped", &mut self.outgoing)?,
        }
        self.send()?;
        match self.end(&mut |_, _| {}) {
            Err(WireError::Server { .. }) if !goes_on => Ok(false),
            ended => ended.map(|_| true),
        }
    }

    /// Receives until the server is ready again; returns the number of rows that the last statement
    /// returned or changed.
    fn end(&mut self, each: &mut dyn FnMut(&[u8], &DataRowBody)) -> Result<u64> {
        let (mut rows, mut failure) = (0, None);
        loop {
            match self.receive()? {
                Message::DataRow(body) => each(body.buffer(), &body),
                Message::CommandComplete(body) => {
                    // The last word of `INSERT 0 1`, `UPDATE 3`, `COMMIT` is the count, if there is
                    // one.
                    rows = body.tag()?.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
                }
                Message::ErrorResponse(body) => failure = Some(refusal(&body)?),
                Message::ReadyForQuery(body) => {
                    self.in_transaction = body.status() != b'I';
                    return failure.map_or(Ok(rows), Err);
                }
                _ => {}
            }
        }
    }

    fn send(&mut self) -> io::Result<()> {
        if self.outgoing.is_empty() {
            return Ok(());
        }
        self.stream.write_all(&self.outgoing)?;
        self.outgoing.clear();
        Ok(())
    }

    fn receive(&mut self) -> io::Result<Message> {
        loop {
            if let Some(message) = Message::parse(&mut self.incoming)? {
                return Ok(message);
            }
            let received = self.stream.read(&mut self.portion)?;
            if received == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection"));
            }
            self.incoming.extend_from_slice(&self.portion[..received]);
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.outgoing.clear();
        frontend::terminate(&mut self.outgoing);
        // Only a courtesy: the server may be gone.
        let _ = self.send();
    }
}

fn bind(name: &str, args: &[Value], out: &mut BytesMut) -> io::Result<()> {
    let serialize = |value: &Value, out: &mut BytesMut| {
        match value {
            Value::Null => return Ok(IsNull::Yes),
            Value::Number(number) => {
                use std::fmt::Write as _;
                write!(out, "{number}")?;
            }
            Value::Text(text) => out.extend_from_slice(text.as_bytes()),
        }
        Ok(IsNull::No)
    };
    frontend::bind("", name, [], args, serialize, [], out).map_err(|error| match error {
        frontend::BindError::Conversion(error) => io::Error::other(error),
        frontend::BindError::Serialization(error) => error,
    })?;
    frontend::execute("", 0, out)?;
    frontend::sync(out);
    Ok(())
}

fn decoded(buffer: &[u8], body: &DataRowBody, numbers: &[bool]) -> Vec<Value> {
    let mut row = Vec::with_capacity(numbers.len());
    let mut ranges = body.ranges();
    while let Ok(Some(range)) = ranges.next() {
        let is_number = numbers.get(row.len()).copied().unwrap_or(false);
        row.push(range.map_or(Value::Null, |range| value(&buffer[range], is_number)));
    }
    row
}

fn value(text: &[u8], is_number: bool) -> Value {
    let text = String::from_utf8_lossy(text);
    match text.parse().ok().filter(|_| is_number) {
        Some(number) => Value::Number(number),
        None => Value::Text(text.into_owned()),
    }
}

/// Converts the server's error.
fn refusal(body: &ErrorResponseBody) -> io::Result<WireError> {
    let (mut code, mut message) = (String::new(), String::new());
    let mut fields = body.fields();
    while let Some(field) = fields.next()? {
        let text = || String::from_utf8_lossy(field.value_bytes()).replace('\n', " ");
        match field.type_() {
            b'C' => code = text(),
            b'M' => message = text(),
            _ => {}
        }
    }
    Ok(WireError::Server { code, message })
}

fn unexpected(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the server asks for {what}"))
}
