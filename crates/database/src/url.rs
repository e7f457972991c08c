//! URLs of database servers, parsed alike for all. Errors do not repeat the URL, because it may
//! contain a password.

use nearest::to as nearest_to;

/// The kind of server that a URL is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// PostgreSQL's, as in libpq.
    Postgres,
    /// MariaDB's and MySQL's.
    Mysql,
}

impl Scheme {
    const fn starts(self) -> [&'static str; 2] {
        match self {
            Scheme::Postgres => ["postgres://", "postgresql://"],
            Scheme::Mysql => ["mysql://", "mariadb://"],
        }
    }

    /// Whether `name` is a URL of this kind.
    pub(crate) fn is_of(self, name: &str) -> bool {
        self.starts().iter().any(|start| name.starts_with(start))
    }

    const fn form(self) -> &'static str {
        match self {
            Scheme::Postgres => "postgres://USER@HOST:PORT/DATABASE, as in postgres://seawall@localhost/shop",
            Scheme::Mysql => "mysql://USER@HOST:PORT/DATABASE, as in mysql://seawall@localhost/shop",
        }
    }

    const fn password(self) -> &'static str {
        match self {
            Scheme::Postgres => "set PGPASSWORD, or put it into ~/.pgpass, and leave it out",
            Scheme::Mysql => "set MYSQL_PWD and leave it out",
        }
    }

    const fn encryption(self) -> &'static str {
        match self {
            Scheme::Postgres => "sslmode must be disable, allow, prefer, require, verify-ca or verify-full",
            Scheme::Mysql => {
                "ssl-mode must be disabled or preferred: connections are not encrypted; use a Unix socket or a tunnel"
            }
        }
    }

    const fn parameters(self) -> &'static [&'static str] {
        match self {
            Scheme::Postgres => &["host", "port", "user", "dbname", "application_name", "sslmode", "sslrootcert"],
            Scheme::Mysql => &["socket", "ssl-mode"],
        }
    }
}

/// What is wrong with a URL. The message does not repeat it, because it may contain a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is not a URL of this kind.
    #[error("must be {form}", form = .0.form())]
    Form(Scheme),
    /// It contains a password, which others could see.
    #[error("a password in the URL can be read by everybody on this host; {what}", what = .0.password())]
    Password(Scheme),
    /// The port is invalid.
    #[error("the port must be a number from 1 to 65535")]
    Port,
    /// It names no database, and there is no default.
    #[error("no database is named; the URL must end with it, as in mysql://seawall@localhost/shop")]
    NoDatabase,
    /// It has an unknown parameter.
    #[error("{name}: there is no such parameter{hint}; there are {all}",
        hint = near.map_or(String::new(), |near| format!(", did you mean {near}?")), all = listed(scheme.parameters()))]
    Parameter {
        /// The kind of URL.
        scheme: Scheme,
        /// Its name.
        name: String,
        /// The nearest known name.
        near: Option<&'static str>,
    },
    /// It asks for an unknown kind of encryption.
    #[error("{rule}", rule = .0.encryption())]
    Encryption(Scheme),
}

/// Looks up an environment variable by name.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The parts of a URL as given; missing or empty parts are `None`.
#[derive(Debug)]
pub(crate) struct Url {
    pub host: Option<String>,
    pub port: Option<String>,
    pub user: Option<String>,
    pub database: Option<String>,
    /// Names of [`Scheme::parameters`] and their values.
    pub parameters: Vec<(&'static str, String)>,
}

impl Url {
    /// Parses a URL.
    ///
    /// # Errors
    /// The URL is invalid, contains a password, or has an unknown parameter.
    pub fn parse(scheme: Scheme, url: &str) -> Result<Url, AddressError> {
        let form = AddressError::Form(scheme);
        let rest = scheme.starts().iter().find_map(|start| url.strip_prefix(start)).ok_or(form)?;
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, place) = authority.rsplit_once('@').map_or((None, authority), |(user, place)| (Some(user), place));
        if user.is_some_and(|user| user.contains(':')) {
            return Err(AddressError::Password(scheme));
        }
        let form = || AddressError::Form(scheme);
        let decoded = |text: &str| decoded(text).ok_or_else(form);
        let (host, port) = split_port(place).ok_or_else(form)?;
        let parameters = parameters.split('&').filter(|parameter| !parameter.is_empty()).map(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            Ok((known(scheme, name)?, decoded(value)?))
        });
        Ok(Url {
            host: Some(decoded(host)?).filter(|host| !host.is_empty()),
            port: port.map(str::to_owned),
            user: user.map(decoded).transpose()?,
            database: Some(decoded(database)?).filter(|name| !name.is_empty()),
            parameters: parameters.collect::<Result<_, _>>()?,
        })
    }

    /// Its port, or that of the environment variable, or `usual`.
    pub fn port_or(&self, variable: Option<String>, usual: u16) -> Result<u16, AddressError> {
        let Some(port) = self.port.clone().or(variable) else { return Ok(usual) };
        port.parse().ok().filter(|port| *port > 0).ok_or(AddressError::Port)
    }
}

/// A host as written in a URL: an IPv6 address is in brackets.
pub(crate) fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// Whether a host name means this host.
pub(crate) fn is_local(host: &str) -> bool {
    matches!(host, "localhost" | "::1") || host.starts_with("127.")
}

/// The known parameter with that name.
fn known(scheme: Scheme, name: &str) -> Result<&'static str, AddressError> {
    let all = scheme.parameters();
    match all.iter().find(|one| **one == name) {
        Some(known) => Ok(known),
        None if name == "password" => Err(AddressError::Password(scheme)),
        None => {
            let near = nearest_to(name, all.iter().copied());
            let near = near.and_then(|near| all.iter().copied().find(|one| *one == near));
            Err(AddressError::Parameter { scheme, name: name.into(), near })
        }
    }
}

/// Names joined as in a sentence.
fn listed(names: &[&str]) -> String {
    let (last, rest) = names.split_last().unwrap_or((&"none", &[]));
    format!("{} and {last}", rest.join(", "))
}

/// Splits host and port; an IPv6 address is in brackets. `None` if invalid.
fn split_port(place: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = place.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        return match rest.strip_prefix(':') {
            Some(port) => Some((host, Some(port))),
            None => rest.is_empty().then_some((host, None)),
        };
    }
    Some(place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))))
}

/// Decodes percent-encoded text; `None` if invalid.
fn decoded(text: &str) -> Option<String> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'%' {
            out.push(*first);
            continue;
        }
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok())?;
        out.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &behind[2..];
    }
    String::from_utf8(out).ok()
}
