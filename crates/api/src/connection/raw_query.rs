//! Queries as curl sends them: `?size=>=1GB`, with the `>` that ONTAP's filters need and that RFC
//! 3986 wants percent-encoded. The HTTP library refuses it, so it is encoded on the way there.
//!
//! Only request lines are changed. One begins with the connection, and after each answer; a client
//! that sends its next request before it has the answer has to encode the query itself. What comes
//! in such a place and is no request line, such as the body after a `100 Continue`, stays as it is.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are read at once where a request line may be.
const CHUNK_BYTES: usize = 1024;

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// The method, or the empty lines before it.
    #[default]
    Method,
    /// The blank between method and path has passed.
    Target,
    Path,
    Query,
    /// Anything that is no request line.
    Elsewhere,
}

impl Place {
    /// The place of the byte after `byte`.
    fn after(self, byte: u8) -> Place {
        match (self, byte) {
            (Place::Method, b'A'..=b'Z' | b'\r' | b'\n') => Place::Method,
            (Place::Method, b' ') => Place::Target,
            (Place::Target, b'/') => Place::Path,
            (Place::Path | Place::Query, b' ' | b'\r' | b'\n') => Place::Elsewhere,
            (Place::Path, b'?') => Place::Query,
            (Place::Path | Place::Query, _) => self,
            _ => Place::Elsewhere,
        }
    }

    /// How a byte at this place reaches the library, if not as it is.
    fn encoded(self, byte: u8) -> Option<&'static [u8]> {
        match byte {
            b'"' if self == Place::Query => Some(b"%22"),
            b'<' if self == Place::Query => Some(b"%3C"),
            b'>' if self == Place::Query => Some(b"%3E"),
            _ => None,
        }
    }
}

/// A stream of requests whose queries are encoded as they are read.
pub(crate) struct RawQueries<S> {
    stream: S,
    place: Place,
    /// Bytes that were read and are not handed over yet.
    held: Vec<u8>,
}

impl<S> RawQueries<S> {
    pub(crate) fn new(stream: S) -> RawQueries<S> {
        RawQueries { stream, place: Place::default(), held: Vec::new() }
    }

    fn hold(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.held.extend_from_slice(self.place.encoded(*byte).unwrap_or(&[*byte]));
            self.place = self.place.after(*byte);
        }
    }

    fn hand_over(&mut self, into: &mut ReadBuf<'_>) {
        let most = self.held.len().min(into.remaining());
        into.put_slice(&self.held[..most]);
        self.held.drain(..most);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for RawQueries<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.held.is_empty() {
            if this.place == Place::Elsewhere {
                return Pin::new(&mut this.stream).poll_read(context, into);
            }
            let mut chunk = [0; CHUNK_BYTES];
            let mut chunk = ReadBuf::new(&mut chunk);
            match Pin::new(&mut this.stream).poll_read(context, &mut chunk) {
                Poll::Ready(Ok(())) => this.hold(chunk.filled()),
                other => return other,
            }
        }
        this.hand_over(into);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for RawQueries<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        // What is read after an answer is the next request.
        this.place = Place::default();
        Pin::new(&mut this.stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only the query of a request line is changed; not its path, what follows, or a body.
    #[test]
    fn queries_of_request_lines_are_encoded() {
        let passed = |text: &str| {
            let mut lines = RawQueries::new(());
            lines.hold(text.as_bytes());
            String::from_utf8(lines.held).unwrap()
        };
        let text = "GET /a?size=>=1&name=\"x\"|<y HTTP/1.1\r\nX: /a?<\">\r\n\r\n";
        assert_eq!(passed(text), "GET /a?size=%3E=1&name=%22x%22|%3Cy HTTP/1.1\r\nX: /a?<\">\r\n\r\n");
        assert_eq!(passed("\r\nGET /?a=>"), "\r\nGET /?a=%3E");
        for text in ["{\"a\": \"/b?>\"}", "GET <\"> HTTP/1.1", "GET /<\"> HTTP/1.1", "get /?a=> HTTP/1.1"] {
            assert_eq!(passed(text), text);
        }
    }
}
