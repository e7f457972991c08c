//! The address of a PostgreSQL server and a role: a URL, with libpq's environment and password file
//! as defaults.

use crate::url::{AddressError, Environment, Scheme, Url, bracketed, is_local};
use cipher::Trust;
use std::path::{Path, PathBuf};

/// A server, a database and a role.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// Where it listens.
    pub host: Host,
    /// Its TCP port, which is also part of its socket's name.
    pub port: u16,
    /// The role.
    pub user: String,
    /// The database.
    pub database: String,
    /// Encryption, for TCP connections.
    pub encryption: Encryption,
    /// Never printed.
    password: Option<String>,
}

/// Encryption of connections, as in libpq's `sslmode`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// `disable` and `allow`: no encryption.
    Never,
    /// `prefer`: if the server supports it, without checking its certificate.
    Preferred,
    /// All others: always, with this check of the server's certificate.
    Required(Trust),
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name or an address.
    Tcp(String),
    /// The folder of a Unix socket.
    Folder(PathBuf),
}

/// The default on Debian and most other systems.
const SOCKETS: &str = "/var/run/postgresql";

impl Address {
    /// Parses a URL. What is missing is taken from the environment, as by libpq, and otherwise from
    /// the name `user`.
    ///
    /// # Errors
    /// The URL is invalid.
    pub fn parse(url: &str, environment: Environment<'_>) -> Result<Address, AddressError> {
        let mut url = Url::parse(Scheme::Postgres, url)?;
        let (mut mode, mut authority) = (None, None);
        for (name, value) in std::mem::take(&mut url.parameters) {
            match name {
                "host" => url.host = Some(value),
                "port" => url.port = Some(value),
                "user" => url.user = Some(value),
                "dbname" => url.database = Some(value),
                "sslmode" => mode = Some(value),
                "sslrootcert" => authority = Some(value),
                _ => {}
            }
        }
        let mode = mode.or_else(|| environment("PGSSLMODE"));
        let authority = authority.or_else(|| environment("PGSSLROOTCERT"));
        let home = || PathBuf::from(environment("HOME").unwrap_or_default()).join(".postgresql/root.crt");
        let encryption = encryption(mode.as_deref(), authority.map(PathBuf::from), home)
            .ok_or(AddressError::Encryption(Scheme::Postgres))?;
        let port = url.port_or(environment("PGPORT"), 5432)?;
        let host = url.host.or_else(|| environment("PGHOST")).unwrap_or_else(|| SOCKETS.into());
        let host = if host.starts_with('/') { Host::Folder(host.into()) } else { Host::Tcp(host) };
        let user = url.user.or_else(|| environment("PGUSER")).or_else(|| environment("USER"));
        let user = user.unwrap_or_else(|| "postgres".into());
        let database = url.database.or_else(|| environment("PGDATABASE")).unwrap_or_else(|| user.clone());
        Ok(Address { host, port, user, database, encryption, password: environment("PGPASSWORD") })
    }

    /// The URL without a password.
    pub fn name(&self) -> String {
        match &self.host {
            Host::Tcp(host) => {
                let encrypted = match &self.encryption {
                    Encryption::Preferred => String::new(),
                    Encryption::Never => "?sslmode=disable".into(),
                    Encryption::Required(Trust::Anybody) => "?sslmode=require".into(),
                    Encryption::Required(Trust::Authority(file)) => {
                        format!("?sslmode=verify-ca&sslrootcert={}", file.display())
                    }
                    Encryption::Required(Trust::Name(file)) => {
                        format!("?sslmode=verify-full&sslrootcert={}", file.display())
                    }
                };
                let Address { user, port, database, .. } = self;
                format!("postgres://{user}@{}:{port}/{database}{encrypted}", bracketed(host))
            }
            Host::Folder(folder) => {
                format!("postgres://{}@/{}?host={}&port={}", self.user, self.database, folder.display(), self.port)
            }
        }
    }

    /// Whether the server is on this host, judging by its address.
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

    /// The same address with another password.
    #[must_use]
    pub fn with_password(self, password: Option<String>) -> Address {
        Address { password, ..self }
    }

    /// The password for it in a password file: from the first line whose fields all match.
    pub fn password_in(&self, file: &str) -> Option<String> {
        let host = match &self.host {
            Host::Tcp(host) => host.as_str(),
            // To libpq a socket in the default folder is `localhost`.
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

/// The meaning of `sslmode` and `sslrootcert`; `None` for an unknown mode. As in libpq, even
/// `require` checks the certificate if an authority is named.
fn encryption(mode: Option<&str>, authority: Option<PathBuf>, home: impl FnOnce() -> PathBuf) -> Option<Encryption> {
    Some(match mode.unwrap_or("prefer") {
        "disable" | "allow" => Encryption::Never,
        "prefer" => Encryption::Preferred,
        "require" => Encryption::Required(authority.map_or(Trust::Anybody, Trust::Authority)),
        "verify-ca" => Encryption::Required(Trust::Authority(authority.unwrap_or_else(home))),
        "verify-full" => Encryption::Required(Trust::Name(authority.unwrap_or_else(home))),
        _ => return None,
    })
}

/// The fields of a line of a password file, which are separated by colons; a backslash escapes one.
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
        assert_eq!(of("postgres://h/d?sslmode=required"), Err(AddressError::Encryption(Scheme::Postgres)));
        let near = Some("dbname");
        assert_eq!(
            of("postgres://h/?dbnam=x"),
            Err(AddressError::Parameter { scheme: Scheme::Postgres, name: "dbnam".into(), near })
        );
        let said = of("postgres://h/?dbnam=x").unwrap_err().to_string();
        assert!(said.ends_with(
            "did you mean dbname?; there are host, port, user, dbname, application_name, sslmode and sslrootcert"
        ));
        for wrong in ["postgres://u:hunter2@h/d", "postgres://h/d?password=hunter2"] {
            assert!(!of(wrong).unwrap_err().to_string().contains("hunter2"));
        }
    }

    #[test]
    fn encryption_is_said_as_to_libpq() {
        let of = |url: &str| {
            let set = |name: &str| (name == "HOME").then(|| "/me".to_owned());
            Address::parse(url, &set).map(|address| address.encryption).unwrap()
        };
        let required = Encryption::Required;
        assert_eq!(of("postgres://h/d"), Encryption::Preferred);
        assert_eq!(of("postgres://h/d?sslmode=allow"), Encryption::Never);
        assert_eq!(of("postgres://h/d?sslmode=require"), required(Trust::Anybody));
        assert_eq!(of("postgres://h/d?sslmode=require&sslrootcert=/ca"), required(Trust::Authority("/ca".into())));
        let usual = "/me/.postgresql/root.crt";
        assert_eq!(of("postgres://h/d?sslmode=verify-ca"), required(Trust::Authority(usual.into())));
        let full = Address::parse("postgres://u@h/d?sslmode=verify-full&sslrootcert=/ca", &|_| None).unwrap();
        assert_eq!(full.encryption, required(Trust::Name("/ca".into())));
        assert_eq!(full.name(), "postgres://u@h:5432/d?sslmode=verify-full&sslrootcert=/ca");
        assert_eq!(Address::parse(&full.name(), &|_| None).unwrap(), full);
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
