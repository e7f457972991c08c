//! The control socket: a Unix socket in the pool's folder, for its owner only, that accepts
//! administrators' commands.
//!
//! ```text
//!   client:  the line, '\n'; behind a line that needs a password NUL and the password before the '\n'
//!   server:  "ok " or "no ", the answer's length in bytes, '\n', the answer
//!            "more " in place of "ok " where another answer follows: `qos statistics` once a second
//!            "bye " where the server closes the connection, and why; no line was executed since
//!            the previous answer
//! ```
//!
//! One thread accepts, and each connection has a thread. A command is short work, so the threads
//! share the control behind a lock. The data path has a thread of its own and never waits for them.

use crate::audit::Actor;
use crate::control::Control;
use crate::monitor::Monitor;
use ontap::Command;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use uring::socket::{SocketFile, listen_unix};

/// The longest line, in bytes; no command comes near it.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// Connections at once. For a further one the connection that has been idle longest is closed; if
/// none is idle, the further one is refused.
const CONNECTIONS_MAX: usize = 64;
/// A connection that sends nothing for this long is closed.
const IDLE_TIME: Duration = Duration::from_secs(300);
/// A connection that reads nothing of its answer for this long is closed.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// How long statistics wait for a new sample before they request an account themselves.
const SAMPLE_TIME: Duration = Duration::from_millis(1500);
/// Delay before accepting again if no descriptor was left.
const BREATH: Duration = Duration::from_millis(100);

/// The server's end. Dropping it closes every connection after its current line, and removes the
/// socket.
pub struct ControlSocket {
    shared: Arc<Shared>,
    /// A handle of the listening socket, to wake the accepting thread.
    listener: UnixStream,
    thread: Option<JoinHandle<()>>,
    _file: SocketFile,
}

/// State that the threads share.
struct Shared {
    control: Arc<Mutex<Control>>,
    monitor: Arc<Monitor>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    stopping: bool,
    connections: HashMap<u64, Connection>,
    accepted: u64,
    /// Grows each time a connection becomes idle, to order them without a clock.
    pauses: u64,
}

struct Connection {
    /// A handle of its socket, to close it.
    stream: UnixStream,
    /// While it waits for a line: the number of this pause.
    idle: Option<u64>,
}

impl ControlSocket {
    /// Listens at `path`; a stale socket there is replaced. The pool's lock ensures that there is
    /// no other server.
    ///
    /// # Errors
    /// The socket cannot be made.
    pub fn open(path: &Path, control: Arc<Mutex<Control>>) -> std::io::Result<ControlSocket> {
        if std::fs::symlink_metadata(path).is_ok() {
            std::fs::remove_file(path)?;
        }
        let socket = listen_unix(path, 0o600)?;
        let file = SocketFile::of(path)?;
        // The standard library can shut down a stream, but not a listener.
        let listener = UnixStream::from(OwnedFd::from(socket.try_clone()?));
        let monitor = lock(&control).monitor();
        let shared = Arc::new(Shared { control, monitor, open: Mutex::default() });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("control".into()).spawn(move || accept(&socket, &of_thread))?;
        Ok(ControlSocket { shared, listener, thread: Some(thread), _file: file })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.shared.open().stopping = true;
        let _ = self.listener.shutdown(Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a connection; `None` if it is refused.
    fn admit(&self, stream: &UnixStream) -> Option<u64> {
        let mut open = self.open();
        if open.connections.len() >= CONNECTIONS_MAX && !open.close_longest_idle() {
            tracing::warn!(limit = CONNECTIONS_MAX, "control connection refused: too many are open, and none is idle");
            let why = format!(
                "all {CONNECTIONS_MAX} control connections of the server are busy; end what one of them runs and try \
                 again"
            );
            close(stream, &why);
            return None;
        }
        open.accepted += 1;
        open.pauses += 1;
        let (number, idle) = (open.accepted, Some(open.pauses));
        open.connections.insert(number, Connection { stream: stream.try_clone().ok()?, idle });
        Some(number)
    }

    fn converse(&self, number: u64, stream: &UnixStream) {
        let _ = self.answer_lines(number, stream);
        // The copy is closed too, so that the peer sees the end.
        self.open().connections.remove(&number);
    }

    /// Marks a connection as idle.
    fn pause(&self, number: u64) {
        let mut open = self.open();
        open.pauses += 1;
        let pauses = open.pauses;
        if let Some(connection) = open.connections.get_mut(&number) {
            connection.idle = Some(pauses);
        }
    }

    /// Marks a connection as busy with a line; false if it must not execute the line, because it
    /// was closed or the server stops.
    fn resume(&self, number: u64) -> bool {
        let mut open = self.open();
        let is_stopping = open.stopping;
        match open.connections.get_mut(&number) {
            Some(connection) if !is_stopping => {
                connection.idle = None;
                true
            }
            _ => false,
        }
    }

    fn answer_lines(&self, number: u64, stream: &UnixStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(IDLE_TIME))?;
        stream.set_write_timeout(Some(ANSWER_TIME))?;
        let who = uring::socket::peer(stream).ok().map(Actor::peer);
        let mut reader = BufReader::new(stream);
        loop {
            let mut line = Vec::new();
            let got = reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
            if !self.resume(number) {
                return Ok(());
            }
            match got {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) => {
                    if error.kind() == std::io::ErrorKind::WouldBlock {
                        close(stream, &format!("the connection was idle for {} s", IDLE_TIME.as_secs()));
                    }
                    return Err(error);
                }
            }
            if line.pop() != Some(b'\n') {
                let rule = format!("a line has at most {LINE_BYTES_MAX} bytes and ends with a newline");
                return answer(stream, Err(rule));
            }
            let whole = String::from_utf8_lossy(&line);
            let (text, secret) = whole.split_once('\0').map_or((&*whole, None), |(text, secret)| (text, Some(secret)));
            match ontap::parse(text) {
                Ok(Command::Statistics(show)) => self.iterate(stream, text, show.iterations.map(|count| count.0))?,
                _ => answer(stream, self.run(who.as_ref(), text, secret))?,
            }
            self.pause(number);
        }
    }

    fn run(&self, who: Option<&Actor>, line: &str, secret: Option<&str>) -> Result<String, String> {
        let answer = lock(&self.control).execute_with(who, line, secret);
        answer.map(|answer| answer.text()).map_err(|error| error.text(ontap::output_of(line)))
    }

    /// Repeats a statistics command for each new second, as often as it asks or until the client
    /// disconnects.
    fn iterate(&self, stream: &UnixStream, line: &str, iterations: Option<u32>) -> std::io::Result<()> {
        let (mut seen, mut iteration) = (0, 0);
        while !self.open().stopping {
            let Some(sample) = self.monitor.wait_after(seen, SAMPLE_TIME) else {
                // Nobody else collects accounts. A second one, some time after the first, makes a
                // sample.
                if let Err(error) = lock(&self.control).account() {
                    return answer(stream, Err(error.to_string()));
                }
                continue;
            };
            (seen, iteration) = (sample.number, iteration + 1);
            let result = self.run(None, line, None);
            if result.is_err() || iterations.is_some_and(|count| iteration >= count) {
                return answer(stream, result);
            }
            send(stream, "more", &result.unwrap_or_default())?;
        }
        Ok(())
    }
}

impl Open {
    /// Closes the connection that has been idle longest; false if none is idle.
    fn close_longest_idle(&mut self) -> bool {
        let idle = self.connections.iter().filter_map(|(&number, connection)| Some((connection.idle?, number)));
        let Some((_, number)) = idle.min() else { return false };
        let Some(Connection { stream, .. }) = self.connections.remove(&number) else { return false };
        tracing::warn!(
            limit = CONNECTIONS_MAX,
            "control connection closed: it was idle longest, and too many are open"
        );
        close(
            &stream,
            &format!("the server has at most {CONNECTIONS_MAX} control connections, and this one was idle longest"),
        );
        true
    }
}

/// Closes a connection and tells why, if there is room for that: nobody waits for its peer to read.
fn close(stream: &UnixStream, why: &str) {
    let told = stream.set_nonblocking(true).and_then(|()| send(stream, "bye", why));
    if let Err(error) = told {
        tracing::debug!(%error, "control connection closed without a word");
    }
    let _ = stream.shutdown(Shutdown::Both);
}

fn lock(control: &Mutex<Control>) -> MutexGuard<'_, Control> {
    control.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &UnixListener, shared: &Arc<Shared>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    loop {
        let accepted = listener.accept();
        if shared.open().stopping {
            break;
        }
        threads.retain(|thread| !thread.is_finished());
        let Ok((stream, _)) = accepted else {
            // Most likely no descriptor is left; trying again at once would fail again.
            std::thread::park_timeout(BREATH);
            continue;
        };
        let Some(number) = shared.admit(&stream) else { continue };
        let of_thread = Arc::clone(shared);
        let body = move || of_thread.converse(number, &stream);
        match std::thread::Builder::new().name("control-line".into()).spawn(body) {
            Ok(thread) => threads.push(thread),
            Err(_) => drop(shared.open().connections.remove(&number)),
        }
    }
    for connection in shared.open().connections.values() {
        let _ = connection.stream.shutdown(Shutdown::Both);
    }
    for thread in threads {
        let _ = thread.join();
    }
}

fn answer(stream: &UnixStream, result: Result<String, String>) -> std::io::Result<()> {
    match result {
        Ok(text) => send(stream, "ok", &text),
        Err(text) => send(stream, "no", &text),
    }
}

fn send(mut stream: &UnixStream, word: &str, text: &str) -> std::io::Result<()> {
    stream.write_all(format!("{word} {}\n{text}", text.len()).as_bytes())
}

/// The client's end of the control socket.
pub struct ControlClient {
    reader: BufReader<UnixStream>,
}

impl ControlClient {
    /// Connects to the server of the pool.
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn connect(path: &Path) -> std::io::Result<ControlClient> {
        Ok(ControlClient { reader: BufReader::new(UnixStream::connect(path)?) })
    }

    /// Another handle of the connection. Shutting it down ends the wait for an answer.
    /// # Errors
    /// No descriptor is left.
    pub fn connection(&self) -> std::io::Result<UnixStream> {
        self.reader.get_ref().try_clone()
    }

    /// Runs a line on the server; returns its answer or its refusal. Several answers are joined.
    ///
    /// # Errors
    /// The server has gone.
    pub fn run(&mut self, line: &str) -> std::io::Result<Result<String, String>> {
        let mut whole = String::new();
        let result = self.run_each(line, |answer| {
            whole.push_str(answer);
            true
        })?;
        Ok(result.map(|()| whole))
    }

    /// Runs a line on the server and passes each of its answers to `each` as it arrives; returns a
    /// refusal. If `each` returns false, the remaining answers are left unread and the connection
    /// cannot be used any more.
    ///
    /// # Errors
    /// The server has gone.
    pub fn run_each(&mut self, line: &str, each: impl FnMut(&str) -> bool) -> std::io::Result<Result<(), String>> {
        self.run_with(line, None, each)
    }

    /// The same for a line that needs a password.
    ///
    /// # Errors
    /// The server has gone, or it has closed the connection and told why: `ConnectionAborted`. The
    /// line was not executed then, and another connection can repeat it.
    pub fn run_with(
        &mut self,
        line: &str,
        secret: Option<&str>,
        mut each: impl FnMut(&str) -> bool,
    ) -> std::io::Result<Result<(), String>> {
        let mut one_line = line.replace('\0', " ");
        one_line.extend(secret.into_iter().flat_map(|secret| ["\0", secret]));
        let one_line = one_line.replace(['\n', '\r'], " ");
        let mut sent = self.reader.get_mut().write_all(format!("{one_line}\n").as_bytes());
        loop {
            // What could not be sent may have been answered all the same: with a goodbye.
            let (word, text) =
                self.answer().map_err(|error| std::mem::replace(&mut sent, Ok(())).err().unwrap_or(error))?;
            match word.as_str() {
                "more" if each(&text) => {}
                "more" => return Ok(Ok(())),
                "ok" => {
                    each(&text);
                    return Ok(Ok(()));
                }
                "no" => return Ok(Err(text)),
                "bye" => return Err(std::io::Error::new(std::io::ErrorKind::ConnectionAborted, text)),
                _ => return Err(broken()),
            }
        }
    }

    fn answer(&mut self) -> std::io::Result<(String, String)> {
        let mut head = String::new();
        if self.reader.by_ref().take(HEAD_BYTES_MAX).read_line(&mut head)? == 0 {
            return Err(gone());
        }
        let (word, length) = head.trim_end().split_once(' ').ok_or_else(broken)?;
        let length: u64 = length.parse().map_err(|_| broken())?;
        let mut text = String::new();
        if (self.reader.by_ref().take(length).read_to_string(&mut text)? as u64) < length {
            return Err(gone());
        }
        Ok((word.to_owned(), text))
    }
}

fn gone() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::UnexpectedEof, "the server closed the connection")
}

fn broken() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, "the server's answer makes no sense")
}

/// The longest head of an answer, in bytes: a word and a number.
const HEAD_BYTES_MAX: u64 = 32;
