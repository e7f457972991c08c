//! Where a PostgreSQL server is and who asks: a URL, with libpq's environment and password file
//! behind it.

use nearest::to as nearest_to;
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

/// What is wrong with a URL. None of it repeats what was typed: a password may be in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Not a URL of PostgreSQL.
    #[error("must be postgres://USER@HOST:PORT/DATABASE, as in postgres://seawall@localhost/shop")]
    Form,
    /// Others would see it.
    #[error(
        "a password in the URL can be read by everybody on this host; set PGPASSWORD, or put it into ~/.pgpass, and leave \
         it out"
    )]
    Password,
    /// Not a port.
    #[error("the port must be a number from 1 to 65535")]
    Port,
    /// No such parameter.
    #[error("{name}: there is no such parameter{hint}; there are host, port, user, dbname, application_name and sslmode",
        hint = near.map_or(String::new(), |near| format!(", did you mean {near}?")))]
    Parameter {
        /// Its name.
        name: String,
        /// The nearest.
        near: Option<&'static str>,
    },
    /// Connections are not encrypted.
    #[error("sslmode must be disable, allow or prefer: connections are not encrypted; use a Unix socket or a tunnel")]
    Encryption,
}

/// What the environment says, by the name of a variable.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

const PARAMETERS: [&str; 6] = ["host", "port", "user", "dbname", "application_name", "sslmode"];

/// Where Debian and most others put sockets.
const SOCKETS: &str = "/var/run/postgresql";

impl Address {
    /// Of a URL; what it leaves out the environment says, as for libpq, and else the name `user`.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(url: &str, environment: Environment<'_>) -> Result<Address, AddressError> {
        let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
        let rest = rest.ok_or(AddressError::Form)?;
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, place) = authority.rsplit_once('@').map_or((None, authority), |(user, place)| (Some(user), place));
        if user.is_some_and(|user| user.contains(':')) {
            return Err(AddressError::Password);
        }
        let (host, port) = split_port(place)?;
        let mut given = Given {
            host: Some(decoded(host)?).filter(|host| !host.is_empty()),
            port: port.map(str::to_owned),
            user: user.map(decoded).transpose()?,
            database: Some(decoded(database)?).filter(|name| !name.is_empty()),
        };
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            given.take(parameter)?;
        }
        given.complete(environment)
    }

    /// As a URL without a password.
    pub fn name(&self) -> String {
        match &self.host {
            Host::Tcp(host) if host.contains(':') => {
                format!("postgres://{}@[{host}]:{}/{}", self.user, self.port, self.database)
            }
            Host::Tcp(host) => format!("postgres://{}@{host}:{}/{}", self.user, self.port, self.database),
            Host::Folder(folder) => {
                format!("postgres://{}@/{}?host={}&port={}", self.user, self.database, folder.display(), self.port)
            }
        }
    }

    /// Whether the server is on this host, as far as its address says.
    pub fn is_local(&self) -> bool {
        match &self.host {
            Host::Folder(_) => true,
            Host::Tcp(host) => matches!(host.as_str(), "localhost" | "::1") || host.starts_with("127."),
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

/// Parts of a URL.
struct Given {
    host: Option<String>,
    port: Option<String>,
    user: Option<String>,
    database: Option<String>,
}

impl Given {
    fn take(&mut self, parameter: &str) -> Result<(), AddressError> {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value = decoded(value)?;
        match name {
            "host" => self.host = Some(value),
            "port" => self.port = Some(value),
            "user" => self.user = Some(value),
            "dbname" => self.database = Some(value),
            "application_name" => {}
            "sslmode" if matches!(value.as_str(), "disable" | "allow" | "prefer") => {}
            "sslmode" => return Err(AddressError::Encryption),
            "password" => return Err(AddressError::Password),
            _ => {
                let near = nearest_to(name, PARAMETERS.into_iter())
                    .and_then(|near| PARAMETERS.into_iter().find(|one| *one == near));
                return Err(AddressError::Parameter { name: name.into(), near });
            }
        }
        Ok(())
    }

    fn complete(self, environment: Environment<'_>) -> Result<Address, AddressError> {
        let port = self.port.or_else(|| environment("PGPORT")).unwrap_or_else(|| "5432".into());
        let port = port.parse().ok().filter(|port| *port > 0).ok_or(AddressError::Port)?;
        let host = self.host.or_else(|| environment("PGHOST")).unwrap_or_else(|| SOCKETS.into());
        let host = if host.starts_with('/') { Host::Folder(host.into()) } else { Host::Tcp(host) };
        let user = self.user.or_else(|| environment("PGUSER")).or_else(|| environment("USER"));
        let user = user.unwrap_or_else(|| "postgres".into());
        let database = self.database.or_else(|| environment("PGDATABASE")).unwrap_or_else(|| user.clone());
        Ok(Address { host, port, user, database, password: environment("PGPASSWORD") })
    }
}

/// Host and port; an IPv6 address stands in brackets.
fn split_port(place: &str) -> Result<(&str, Option<&str>), AddressError> {
    if let Some(rest) = place.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or(AddressError::Form)?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(AddressError::Form),
        };
    }
    Ok(place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))))
}

/// Text with its `%2F` and the like undone.
fn decoded(text: &str) -> Result<String, AddressError> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'%' {
            out.push(*first);
            continue;
        }
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok()).ok_or(AddressError::Form)?;
        out.push(u8::from_str_radix(digits, 16).map_err(|_| AddressError::Form)?);
        rest = &behind[2..];
    }
    String::from_utf8(out).map_err(|_| AddressError::Form)
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
        assert_eq!(of("mysql://h/d"), Err(AddressError::Form));
        assert_eq!(of("postgres://u:hunter2@h/d"), Err(AddressError::Password));
        assert_eq!(of("postgres://h/d?password=hunter2"), Err(AddressError::Password));
        assert_eq!(of("postgres://h:0/d"), Err(AddressError::Port));
        assert_eq!(of("postgres://h:x/d"), Err(AddressError::Port));
        assert_eq!(of("postgres://h/%2"), Err(AddressError::Form));
        assert_eq!(of("postgres://h/d?sslmode=require"), Err(AddressError::Encryption));
        let near = Some("dbname");
        assert_eq!(of("postgres://h/?dbnam=x"), Err(AddressError::Parameter { name: "dbnam".into(), near }));
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
