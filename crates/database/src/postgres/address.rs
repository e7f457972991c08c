//! Where a PostgreSQL server is and who asks: a URL, with libpq's environment and password file
//! behind it.

use crate::url::{AddressError, Environment, Scheme, Url, bracketed, is_local};
use std::path::{Path, PathBuf};

/// A server, a database in it, and a role.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// Where it listens.
    pub host: Host,
    /// Its TCP port, which is also part of the name of its socket.
    pub port: u16,
    /// The role.
    pub user: String,
    /// The database.
    pub database: String,
    /// Never printed.
    password: Option<String>,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name or an address.
    Tcp(String),
    /// The folder of a Unix socket.
    Folder(PathBuf),
}

/// Where Debian and most others put sockets.
const SOCKETS: &str = "/var/run/postgresql";

impl Address {
    /// Of a URL; what it leaves out the environment says, as for libpq, and else the name `user`.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(url: &str, environment: Environment<'_>) -> Result<Address, AddressError> {
        let mut url = Url::parse(Scheme::Postgres, url)?;
        for (name, value) in std::mem::take(&mut url.parameters) {
            match name {
                "host" => url.host = Some(value),
                "port" => url.port = Some(value),
                "user" => url.user = Some(value),
                "dbname" => url.database = Some(value),
                "sslmode" if !matches!(value.as_str(), "disable" | "allow" | "prefer") => {
                    return Err(AddressError::Encryption(Scheme::Postgres));
                }
                _ => {}
            }
        }
        let port = url.port_or(environment("PGPORT"), 5432)?;
        let host = url.host.or_else(|| environment("PGHOST")).unwrap_or_else(|| SOCKETS.into());
        let host = if host.starts_with('/') { Host::Folder(host.into()) } else { Host::Tcp(host) };
        let user = url.user.or_else(|| environment("PGUSER")).or_else(|| environment("USER"));
        let user = user.unwrap_or_else(|| "postgres".into());
        let database = url.database.or_else(|| environment("PGDATABASE")).unwrap_or_else(|| user.clone());
        Ok(Address { host, port, user, database, password: environment("PGPASSWORD") })
    }

    /// As a URL without a password.
    pub fn name(&self) -> String {
        match &self.host {
            Host::Tcp(host) => {
                format!("postgres://{}@{}:{}/{}", self.user, bracketed(host), self.port, self.database)
            }
            Host::Folder(folder) => {
                format!("postgres://{}@/{}?host={}&port={}", self.user, self.database, folder.display(), self.port)
            }
        }
    }

    /// Whether the server is on this host, as far as its address says.
    pub fn is_local(&self) -> bool {
        match &self.host {
            Host::Folder(_) => true,
            Host::Tcp(host) => is_local(host),
        }
    }

    /// The password, if there is one.
    pub fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// The same with another password.
    #[must_use]
    pub fn with_password(self, password: Option<String>) -> Address {
        Address { password, ..self }
    }

    /// The password that a password file has for it: the first line whose fields all match.
    pub fn password_in(&self, file: &str) -> Option<String> {
        let host = match &self.host {
            Host::Tcp(host) => host.as_str(),
            // A socket in the default folder is `localhost` to libpq.
            Host::Folder(folder) if folder == Path::new(SOCKETS) => "localhost",
            Host::Folder(folder) => folder.to_str()?,
        };
        let wanted = [host, &self.port.to_string(), &self.database, &self.user];
        file.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
            let fields = fields(line);
            let matches = wanted.iter().zip(&fields).all(|(wanted, field)| field == "*" || field == wanted);
            (fields.len() == 5 && matches).then(|| fields[4].clone())
        })
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

/// The fields of a line of a password file: with colons between them, which a backslash may
/// precede.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut escaped) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '\\' if !escaped => escaped = true,
            ':' if !escaped => fields.push(String::new()),
            _ => {
                escaped = false;
                fields.iter_mut().next_back().expect("there is one").push(letter);
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Result<Address, AddressError> {
        Address::parse(url, &|name| (name == "PGUSER").then(|| "me".into()))
    }

    #[test]
    fn a_url_names_host_port_role_and_database() {
        let name = |url| of(url).map(|address| address.name());
        assert_eq!(name("postgres://u@h:6000/shop").unwrap(), "postgres://u@h:6000/shop");
        assert_eq!(name("postgresql://h/shop").unwrap(), "postgres://me@h:5432/shop");
        assert_eq!(name("postgres:///shop").unwrap(), "postgres://me@/shop?host=/var/run/postgresql&port=5432");
        assert_eq!(name("postgres://u@%2Ftmp%2Fx:7/d").unwrap(), "postgres://u@/d?host=/tmp/x&port=7");
        assert_eq!(name("postgres:///d?host=/tmp/x&port=7&user=u").unwrap(), "postgres://u@/d?host=/tmp/x&port=7");
        assert_eq!(name("postgres://[::1]:7/d").unwrap(), "postgres://me@[::1]:7/d");
        assert_eq!(name("postgres://h").unwrap(), "postgres://me@h:5432/me");
        assert_eq!(of(&name("postgres://u@%2Ftmp%2Fx:7/d").unwrap()), of("postgres://u@%2Ftmp%2Fx:7/d"));
    }

    #[test]
    fn what_is_wrong_is_said_without_what_was_typed() {
        assert_eq!(of("mysql://h/d"), Err(AddressError::Form(Scheme::Postgres)));
        assert_eq!(of("postgres://u:hunter2@h/d"), Err(AddressError::Password(Scheme::Postgres)));
        assert_eq!(of("postgres://h/d?password=hunter2"), Err(AddressError::Password(Scheme::Postgres)));
        assert_eq!(of("postgres://h:0/d"), Err(AddressError::Port));
        assert_eq!(of("postgres://h:x/d"), Err(AddressError::Port));
        assert_eq!(of("postgres://h/%2"), Err(AddressError::Form(Scheme::Postgres)));
        assert_eq!(of("postgres://h/d?sslmode=require"), Err(AddressError::Encryption(Scheme::Postgres)));
        let near = Some("dbname");
        assert_eq!(
            of("postgres://h/?dbnam=x"),
            Err(AddressError::Parameter { scheme: Scheme::Postgres, name: "dbnam".into(), near })
        );
        let said = of("postgres://h/?dbnam=x").unwrap_err().to_string();
        assert!(
            said.ends_with("did you mean dbname?; there are host, port, user, dbname, application_name and sslmode")
        );
        for wrong in ["postgres://u:hunter2@h/d", "postgres://h/d?password=hunter2"] {
            assert!(!of(wrong).unwrap_err().to_string().contains("hunter2"));
        }
    }

    #[test]
    fn the_password_file_is_read_as_by_libpq() {
        let address = of("postgres://u@h:6/d").unwrap();
        let file = "# h:6:d:u:no\nh:6:other:u:no\nh:*:d:u:a\\:b\\\\c\nh:6:d:u:later\n";
        assert_eq!(address.password_in(file).as_deref(), Some("a:b\\c"));
        assert_eq!(address.password_in("x:*:*:*:no"), None);
        let socket = of("postgres:///d").unwrap();
        assert_eq!(socket.password_in("localhost:*:*:*:yes").as_deref(), Some("yes"));
        let with = address.with_password(Some("hunter2".into()));
        assert!(!format!("{with:?}").contains("hunter2"));
    }
}
