//! The client for `seawall shell --rest`: sends lines to a server's `/api/private/cli` over one
//! connection, which is reopened when it was lost.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cipher::{Trust, TrustError};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};

/// How long a server may take to answer: a change waits for the disk.
const ANSWER_TIME: Duration = Duration::from_secs(120);

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is malformed.
    #[error("--rest {0}: write https://HOST or https://HOST:PORT")]
    Url(String),
    /// The certificate cannot be read.
    #[error("--ca {path}: {why}", path = .0.display(), why = .1)]
    Certificate(PathBuf, String),
    /// The connection failed or was lost.
    #[error("--rest {0}: {1}")]
    Connection(String, String),
    /// The log-in or the request was refused.
    #[error("--rest {0}: {1}")]
    Refused(String, String),
}

/// The address of a server, and the credentials.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// `https://HOST:PORT`.
    pub url: String,
    /// The authority of the server's certificate, or that certificate itself.
    pub ca: PathBuf,
    /// The user's name.
    pub user: String,
    /// The password.
    pub password: String,
}

/// A connection to a server.
pub struct Client {
    settings: ClientSettings,
    /// `HOST:PORT`.
    address: String,
    name: ServerName<'static>,
    tls: TlsConnector,
    runtime: Arc<Runtime>,
    connection: Option<SendRequest<Full<Bytes>>>,
}

impl Client {
    /// Connects and logs in.
    ///
    /// # Errors
    /// The server cannot be reached, its certificate is not trusted, or it refuses the log-in.
    pub fn connect(settings: ClientSettings) -> Result<Client, ClientError> {
        let wrong = || ClientError::Url(settings.url.clone());
        let rest = settings.url.strip_prefix("https://").ok_or_else(wrong)?.trim_end_matches('/');
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse::<u16>().map_err(|_| wrong())?),
            _ => (rest, 443),
        };
        let host = host.trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(host.clone()).map_err(|_| wrong())?;
        let tls = TlsConnector::from(Arc::new(trusting(&settings.ca)?));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(|error| ClientError::Connection(settings.url.clone(), error.to_string()))?;
        let address = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let runtime = Arc::new(runtime);
        let mut client = Client { settings, address, name, tls, runtime, connection: None };
        client.run("set").map(|_| client)
    }

    /// Runs a line on the server; returns its answer or its refusal.
    ///
    /// # Errors
    /// The server cannot be reached, or the log-in is refused.
    pub fn run(&mut self, line: &str) -> Result<Result<String, String>, ClientError> {
        self.run_with(line, None)
    }

    /// The same for a line that needs a password.
    ///
    /// # Errors
    /// As [`Client::run`].
    pub fn run_with(&mut self, line: &str, secret: Option<&str>) -> Result<Result<String, String>, ClientError> {
        let body = match secret {
            Some(secret) => json!({ "input": line, "password": secret }),
            None => json!({ "input": line }),
        };
        let body = body.to_string();
        let runtime = Arc::clone(&self.runtime);
        let answered = runtime.block_on(async { tokio::time::timeout(ANSWER_TIME, self.ask(body)).await });
        let url = self.settings.url.clone();
        let (status, answer) = match answered {
            Ok(answered) => answered.map_err(|why| ClientError::Connection(url.clone(), why))?,
            Err(_) => {
                self.connection = None;
                return Err(ClientError::Connection(url, format!("no answer for {} s", ANSWER_TIME.as_secs())));
            }
        };
        if status == 200 {
            return Ok(Ok(answer["output"].as_str().unwrap_or_default().to_owned()));
        }
        let message = answer["error"]["message"].as_str().unwrap_or("it answers what is no answer").to_owned();
        match status {
            401 | 429 => Err(ClientError::Refused(url, message)),
            _ => Ok(Err(message)),
        }
    }

    async fn ask(&mut self, body: String) -> Result<(u16, Value), String> {
        if self.connection.as_ref().is_none_or(SendRequest::is_closed) {
            self.connection = Some(self.open().await?);
        }
        let ClientSettings { user, password, .. } = &self.settings;
        let login = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        let request = hyper::Request::post("/api/private/cli")
            .header(HOST, &self.address)
            .header(AUTHORIZATION, login)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| error.to_string())?;
        let Some(connection) = &mut self.connection else { return Err("there is no connection".into()) };
        let answer = connection.send_request(request).await.map_err(|error| error.to_string());
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                // The request may have been executed, so it is not repeated automatically.
                self.connection = None;
                return Err(error);
            }
        };
        let status = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
        Ok((status, serde_json::from_slice(&bytes).unwrap_or_default()))
    }

    async fn open(&self) -> Result<SendRequest<Full<Bytes>>, String> {
        let stream = TcpStream::connect(&self.address).await.map_err(|error| error.to_string())?;
        let stream = self.tls.connect(self.name.clone(), stream).await.map_err(|error| handshake_error(&error))?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }
}

/// Why a handshake failed.
fn handshake_error(error: &std::io::Error) -> String {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    cause.map_or_else(|| error.to_string(), cipher::error_text)
}

/// A TLS configuration that trusts only one authority or certificate.
pub(crate) fn trusting(ca: &Path) -> Result<ClientConfig, ClientError> {
    let config = Trust::Name(ca.into()).config().map_err(|error| match error {
        TrustError::File { path, why } => ClientError::Certificate(path, why),
        other @ TrustError::Rustls(_) => ClientError::Certificate(ca.into(), other.to_string()),
    })?;
    Ok(config.with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str, ca: &Path) -> String {
        let settings = ClientSettings { url: url.into(), ca: ca.into(), user: "u".into(), password: "p".into() };
        Client::connect(settings).map(drop).unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let empty = folder.path().join("ca.pem");
        std::fs::write(&empty, "").unwrap();
        for url in ["http://a", "a:5", "https://", "https://a:x"] {
            assert!(refused(url, &empty).starts_with(&format!("--rest {url}: write https://HOST")), "{url}");
        }
        assert!(refused("https://a", &empty).contains("has no certificate in it"));
        assert!(refused("https://a", &folder.path().join("none")).starts_with("--ca "));
    }
}
