//! The control socket: a Unix socket in the pool's folder, for its owner only, that takes the administrators' lines.
//!
//! ```text
//!   client:  the line, '\n'
//!   server:  "ok " or "no ", the answer's length in bytes, '\n', the answer
//! ```
//!
//! One thread accepts, one thread a connection; a line is short work, so they share the control behind a lock.

use crate::control::Control;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest line, in bytes: no command comes near it.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// Connections at once; one more is closed at once.
const CONNECTIONS_MAX: usize = 64;
/// A connection that says nothing for so long is closed.
const IDLE_TIME: Duration = Duration::from_secs(300);

/// The server's end. Dropping it removes the socket; connections end with their next line.
pub struct ControlSocket {
    path: PathBuf,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ControlSocket {
    /// Listens at `path`; a stale socket there is replaced. The pool's lock keeps a second server away.
    ///
    /// # Errors
    /// The socket cannot be made.
    pub fn open(path: &Path, control: Arc<Mutex<Control>>) -> std::io::Result<ControlSocket> {
        if path.exists() {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        let stopping = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stopping);
        let body = move || accept(&listener, &control, &seen);
        let thread = std::thread::Builder::new().name("control".into()).spawn(body)?;
        Ok(ControlSocket { path: path.into(), stopping, thread: Some(thread) })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Release);
        // Wakes the thread that accepts.
        let _ = UnixStream::connect(&self.path);
        let _ = std::fs::remove_file(&self.path);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &UnixListener, control: &Arc<Mutex<Control>>, stopping: &Arc<AtomicBool>) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if stopping.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if open.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS_MAX {
            open.fetch_sub(1, Ordering::AcqRel);
            tracing::warn!(limit = CONNECTIONS_MAX, "control connection refused: too many are open");
            continue;
        }
        let (control, stopping, count) = (Arc::clone(control), Arc::clone(stopping), Arc::clone(&open));
        let body = move || {
            let _ = converse(&stream, &control, &stopping);
            count.fetch_sub(1, Ordering::AcqRel);
        };
        if std::thread::Builder::new().name("control-line".into()).spawn(body).is_err() {
            open.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn converse(stream: &UnixStream, control: &Mutex<Control>, stopping: &AtomicBool) -> std::io::Result<()> {
    stream.set_read_timeout(Some(IDLE_TIME))?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let got = reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        if got == 0 || stopping.load(Ordering::Acquire) {
            return Ok(());
        }
        if line.pop() != Some(b'\n') {
            return answer(stream, Err(format!("a line has at most {LINE_BYTES_MAX} bytes and ends with a newline")));
        }
        let text = String::from_utf8_lossy(&line);
        let mut control = control.lock().unwrap_or_else(PoisonError::into_inner);
        let result = control.execute(&text).map_err(|error| error.to_string());
        drop(control);
        answer(stream, result)?;
    }
}

fn answer(mut stream: &UnixStream, result: Result<String, String>) -> std::io::Result<()> {
    let (word, text) = match result {
        Ok(text) => ("ok", text),
        Err(text) => ("no", text),
    };
    stream.write_all(format!("{word} {}\n{text}", text.len()).as_bytes())
}

/// The client's end of the control socket.
pub struct ControlClient {
    reader: BufReader<UnixStream>,
}

impl ControlClient {
    /// Connects to the server that has the pool.
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn connect(path: &Path) -> std::io::Result<ControlClient> {
        Ok(ControlClient { reader: BufReader::new(UnixStream::connect(path)?) })
    }

    /// Has the server run a line: its answer, or its refusal.
    ///
    /// # Errors
    /// The server went away.
    pub fn run(&mut self, line: &str) -> std::io::Result<Result<String, String>> {
        let one_line = line.replace(['\n', '\r'], " ");
        self.reader.get_mut().write_all(format!("{one_line}\n").as_bytes())?;
        let mut head = String::new();
        self.reader.read_line(&mut head)?;
        let broken = || std::io::Error::new(std::io::ErrorKind::InvalidData, "the server's answer makes no sense");
        let (word, length) = head.trim_end().split_once(' ').ok_or_else(broken)?;
        let length: u64 = length.parse().map_err(|_| broken())?;
        let mut text = String::new();
        self.reader.by_ref().take(length).read_to_string(&mut text)?;
        match word {
            "ok" => Ok(Ok(text)),
            "no" => Ok(Err(text)),
            _ => Err(broken()),
        }
    }
}
