//! The address of a MariaDB server and an account: a URL, with the clients' environment as
//! defaults.

use crate::url::{AddressError, Environment, Scheme, Url, bracketed, is_local};
use std::path::PathBuf;

/// A server, a database and an account.
#[derive(Clone, PartialEq, Eq)]
pub struct MysqlAddress {
    pub(super) place: Place,
    /// The account's name.
    pub(super) user: String,
    pub(super) database: String,
    /// Never printed.
    pub(super) password: Option<String>,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A name or an address, and a port.
    Tcp(String, u16),
    /// A Unix socket.
    Socket(PathBuf),
}

/// The default on Debian and most other systems.
const SOCKET: &str = "/run/mysqld/mysqld.sock";
const PORT: u16 = 3306;

impl MysqlAddress {
    /// Parses a URL. What is missing is taken from the environment, as by the server's own clients;
    /// without a host the socket is used.
    ///
    /// # Errors
    /// The URL is invalid, contains a password, or names no database.
    pub fn parse(url: &str, environment: Environment<'_>) -> Result<MysqlAddress, AddressError> {
        let url = Url::parse(Scheme::Mysql, url)?;
        let mut socket = None;
        for (name, value) in &url.parameters {
            match *name {
                "socket" => socket = Some(value.clone()),
                _ if matches!(value.to_ascii_lowercase().as_str(), "disabled" | "preferred") => {}
                _ => return Err(AddressError::Encryption(Scheme::Mysql)),
            }
        }
        let port = url.port_or(environment("MYSQL_TCP_PORT"), PORT)?;
        let place = match (socket, url.host.or_else(|| environment("MYSQL_HOST"))) {
            (Some(socket), _) => Place::Socket(socket.into()),
            (None, Some(host)) => Place::Tcp(host, port),
            (None, None) => Place::Socket(environment("MYSQL_UNIX_PORT").unwrap_or_else(|| SOCKET.into()).into()),
        };
        let user = url.user.or_else(|| environment("USER")).unwrap_or_else(|| "root".into());
        let database = url.database.ok_or(AddressError::NoDatabase)?;
        Ok(MysqlAddress { place, user, database, password: environment("MYSQL_PWD") })
    }

    /// The URL without a password.
    pub fn name(&self) -> String {
        let MysqlAddress { place, user, database, .. } = self;
        match place {
            Place::Tcp(host, port) => format!("mysql://{user}@{}:{port}/{database}", bracketed(host)),
            Place::Socket(path) => format!("mysql://{user}@/{database}?socket={}", path.display()),
        }
    }

    /// Whether the server is on this host, judging by its address.
    pub fn is_local(&self) -> bool {
        match &self.place {
            Place::Socket(_) => true,
            Place::Tcp(host, _) => is_local(host),
        }
    }
}

impl std::fmt::Debug for MysqlAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Result<MysqlAddress, AddressError> {
        let set = |name: &str| match name {
            "USER" => Some("me".into()),
            "MYSQL_PWD" => Some("hunter2".into()),
            _ => None,
        };
        MysqlAddress::parse(url, &set)
    }

    #[test]
    fn a_url_names_place_account_and_database() {
        let name = |url| of(url).map(|address| address.name());
        assert_eq!(name("mysql://u@h:3307/shop").unwrap(), "mysql://u@h:3307/shop");
        assert_eq!(name("mariadb://h/shop").unwrap(), "mysql://me@h:3306/shop");
        assert_eq!(name("mysql://u@/shop").unwrap(), "mysql://u@/shop?socket=/run/mysqld/mysqld.sock");
        assert_eq!(name("mysql://u@h/shop?socket=%2Ftmp%2Fx").unwrap(), "mysql://u@/shop?socket=/tmp/x");
        assert_eq!(name("mysql://[::1]:7/d?ssl-mode=DISABLED").unwrap(), "mysql://me@[::1]:7/d");
        assert_eq!(of(&name("mysql://u@/d?socket=/tmp/x").unwrap()), of("mysql://u@/d?socket=/tmp/x"));
        assert!(of("mysql://u@127.0.0.1/d").unwrap().is_local() && !of("mysql://u@h/d").unwrap().is_local());
    }

    #[test]
    fn what_is_wrong_is_said_without_what_was_typed() {
        assert_eq!(of("mysql://u:hunter2@h/d"), Err(AddressError::Password(Scheme::Mysql)));
        assert_eq!(of("mysql://u@h/d?password=hunter2"), Err(AddressError::Password(Scheme::Mysql)));
        assert_eq!(of("mysql://u@h"), Err(AddressError::NoDatabase));
        assert_eq!(of("mysql://u@h:0/d"), Err(AddressError::Port));
        assert_eq!(of("postgres://u@h/d"), Err(AddressError::Form(Scheme::Mysql)));
        assert_eq!(of("mysql://u@h/d?ssl-mode=required"), Err(AddressError::Encryption(Scheme::Mysql)));
        let near = of("mysql://u@h/d?sockt=x").unwrap_err().to_string();
        assert_eq!(near, "sockt: there is no such parameter, did you mean socket?; there are socket and ssl-mode");
        let refused = of("mysql://u:hunter2@h/d").unwrap_err().to_string();
        assert!(refused.contains("MYSQL_PWD") && !refused.contains("hunter2"), "{refused}");
        assert!(!format!("{:?}", of("mysql://u@h/d").unwrap()).contains("hunter2"));
    }
}
