//! Slow and greedy clients in virtual time: an in-memory stream, and a clock that advances when
//! everything waits.

use super::*;
use crate::certificate;
use crate::client::trusting;
use server::Tls;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

/// Bytes that the system buffers of an answer that is not read.
const ROOM: usize = 4096;

/// How the server's side of a connection ended, and after how many seconds.
type Ending = tokio::task::JoinHandle<(Result<(), String>, u64)>;

/// A server that answers each request with its query and the number of bytes in its body, and then
/// as many blanks as `/BYTES` in its path says.
fn serve() -> (DuplexStream, TlsConnector, Ending) {
    let folder = tempfile::tempdir().unwrap();
    let files = certificate::of_folder(folder.path(), "localhost").unwrap();
    let trusts = trusting(&folder.path().join("rest-cert.pem")).unwrap();
    let tls = Tls::load(files).unwrap().certificates().unwrap();
    let (near, far) = tokio::io::duplex(ROOM);
    let respond = |request: hyper::Request<Incoming>| async move {
        let length = request.uri().path().trim_start_matches('/').parse().unwrap_or(0);
        let query = request.uri().query().unwrap_or_default().to_owned();
        match body(request.into_body()).await {
            Ok(body) => Reply {
                status: 200,
                text: Some(format!("{query}{}{}", body.len(), " ".repeat(length))),
                ..Reply::default()
            },
            Err(problem) => problem.into(),
        }
    };
    let began = Instant::now();
    let ending = tokio::spawn(async move { (converse(far, tls, respond).await, began.elapsed().as_secs()) });
    (near, TlsConnector::from(Arc::new(trusts)), ending)
}

async fn connect() -> (TlsStream<DuplexStream>, Ending) {
    let (stream, tls, ending) = serve();
    (tls.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap(), ending)
}

fn in_virtual_time(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(test);
}

/// The answer, up to when the server closes the connection.
async fn answered(stream: &mut TlsStream<DuplexStream>) -> String {
    let mut text = Vec::new();
    // An aborted connection has no close notification.
    let _ = stream.read_to_end(&mut text).await;
    String::from_utf8(text).unwrap()
}

#[test]
fn no_handshake_ends_the_connection_after_ten_seconds() {
    in_virtual_time(async {
        let (mut stream, _, ending) = serve();
        stream.write_all(b"\x16\x03\x01").await.unwrap();
        let (ended, seconds) = ending.await.unwrap();
        assert_eq!((ended.unwrap_err().as_str(), seconds), ("no TLS in time", HANDSHAKE_TIME.as_secs()));
    });
}

/// A filter with a raw `>` is accepted in each request of a connection; bodies stay as they are.
#[test]
fn queries_may_have_the_signs_of_filters_in_them() {
    in_virtual_time(async {
        let (mut stream, _ending) = connect().await;
        for body in ["", "{\"name\": \">?<\"}\n", ""] {
            let length = body.len();
            let head = format!("PATCH /?size=>=1 HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}");
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
            let (mut text, end) = (String::new(), format!("size=%3E=1{length}"));
            while !text.ends_with(&end) {
                text.push(stream.read_u8().await.unwrap().into());
            }
            assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
        }
    });
}

/// A byte every ten seconds is too slow for a head, and so is silence after an answer.
#[test]
fn a_head_is_there_within_a_minute_or_not_at_all() {
    in_virtual_time(async {
        let (mut stream, ending) = connect().await;
        for byte in b"GET / HTTP/1.1\r\n" {
            if stream.write_all(&[*byte]).await.and(stream.flush().await).is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
        assert_eq!(ending.await.unwrap().1, HEAD_TIME.as_secs());

        let (mut stream, ending) = connect().await;
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        assert!(answered(&mut stream).await.starts_with("HTTP/1.1 200 "));
        assert_eq!(ending.await.unwrap().1, HEAD_TIME.as_secs());
    });
}

/// The 408 is sent although the sender has not ended, and the connection ends with it.
#[test]
fn a_body_is_there_within_half_a_minute_or_refused() {
    in_virtual_time(async {
        let (stream, ending) = connect().await;
        let (mut reader, mut writer) = tokio::io::split(stream);
        writer.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n").await.unwrap();
        let drip = tokio::spawn(async move {
            while writer.write_all(b"{").await.and(writer.flush().await).is_ok() {
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
        });
        let mut text = Vec::new();
        let _ = reader.read_to_end(&mut text).await;
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with("HTTP/1.1 408 ") && text.contains("did not come within 30 s"), "{text}");
        assert_eq!(ending.await.unwrap().1, BODY_TIME.as_secs());
        drip.await.unwrap();
    });
}

/// A body of one mebibyte is accepted. One byte more is read to its end and refused; of an endless
/// one at most 16 MiB are read.
#[test]
fn a_body_is_a_mebibyte_at_most() {
    in_virtual_time(async {
        for (length, status) in [(BODY_BYTES_MAX, "200"), (BODY_BYTES_MAX + 1, "413"), (1 << 40, "413")] {
            let (stream, _ending) = connect().await;
            let (mut reader, mut writer) = tokio::io::split(stream);
            let head = format!("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
            let sending = tokio::spawn(async move {
                writer.write_all(head.as_bytes()).await.unwrap();
                let (mut left, piece) = (length, vec![b' '; 64 << 10]);
                while left > 0 && writer.write_all(&piece[..left.min(piece.len())]).await.is_ok() {
                    left -= left.min(piece.len());
                }
                let _ = writer.flush().await;
                length - left
            });
            let mut text = Vec::new();
            let _ = reader.read_to_end(&mut text).await;
            drop(reader);
            let text = String::from_utf8_lossy(&text).into_owned();
            assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{length}: {text}");
            let sent = sending.await.unwrap();
            assert!(sent <= BODY_BYTES_READ + (1 << 20), "{sent} bytes of {length} were taken");
        }
    });
}

/// A client that requests a large answer and reads one byte of it a minute.
#[test]
fn an_answer_is_taken_within_two_minutes() {
    in_virtual_time(async {
        let (mut stream, ending) = connect().await;
        stream.write_all(b"GET /1000000 HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        stream.flush().await.unwrap();
        let reading = tokio::spawn(async move {
            let mut byte = [0];
            while stream.read_exact(&mut byte).await.is_ok() {
                tokio::time::sleep(Duration::from_secs(60)).await;
            }
        });
        let (ended, seconds) = ending.await.unwrap();
        assert_eq!(seconds, ANSWER_TIME.as_secs());
        assert!(ended.is_err());
        reading.abort();
    });
}

/// A slow reader that makes progress is not closed: here 64 KiB per second, so that the whole takes
/// a quarter of a minute.
#[test]
fn a_slow_reader_gets_its_answer() {
    in_virtual_time(async {
        let (mut stream, _ending) = connect().await;
        stream.write_all(b"GET /1000000 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
        stream.flush().await.unwrap();
        let (mut read, mut piece) = (0, vec![0; 64 << 10]);
        while let Ok(length @ 1..) = stream.read(&mut piece).await {
            read += length;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(read > 1_000_000, "{read}");
    });
}
