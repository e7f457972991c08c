//! URLs of servers: taken apart alike for all of them, and what is wrong with them is said without
//! what was typed, as a password may be in it.

use nearest::to as nearest_to;

/// Whose URLs they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// PostgreSQL's, as libpq has them.
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

    /// Whether that names a database of this kind.
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

/// What is wrong with a URL. None of it repeats what was typed: a password may be in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Not a URL of that kind.
    #[error("must be {form}", form = .0.form())]
    Form(Scheme),
    /// Others would see it.
    #[error("a password in the URL can be read by everybody on this host; {what}", what = .0.password())]
    Password(Scheme),
    /// Not a port.
    #[error("the port must be a number from 1 to 65535")]
    Port,
    /// No database is named, and there is none by default.
    #[error("no database is named; the URL must end with it, as in mysql://seawall@localhost/shop")]
    NoDatabase,
    /// No such parameter.
    #[error("{name}: there is no such parameter{hint}; there are {all}",
        hint = near.map_or(String::new(), |near| format!(", did you mean {near}?")), all = listed(scheme.parameters()))]
    Parameter {
        /// Of which URLs.
        scheme: Scheme,
        /// Its name.
        name: String,
        /// The nearest.
        near: Option<&'static str>,
    },
    /// No such way to encrypt connections.
    #[error("{rule}", rule = .0.encryption())]
    Encryption(Scheme),
}

/// What the environment says, by the name of a variable.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Parts of a URL, as they were given; what was left out, or empty, is none.
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
    /// Takes it apart.
    ///
    /// # Errors
    /// It is none, has a password, or a parameter that is unknown.
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

    /// Its port, of itself, the environment's variable, or this one.
    pub fn port_or(&self, variable: Option<String>, usual: u16) -> Result<u16, AddressError> {
        let Some(port) = self.port.clone().or(variable) else { return Ok(usual) };
        port.parse().ok().filter(|port| *port > 0).ok_or(AddressError::Port)
    }
}

/// A place as it stands in a URL: an IPv6 address in brackets.
pub(crate) fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// Whether a host's name is this one's.
pub(crate) fn is_local(host: &str) -> bool {
    matches!(host, "localhost" | "::1") || host.starts_with("127.")
}

/// The parameter of that name.
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

/// Names as a sentence has them.
fn listed(names: &[&str]) -> String {
    let (last, rest) = names.split_last().unwrap_or((&"none", &[]));
    format!("{} and {last}", rest.join(", "))
}

/// Host and port; an IPv6 address stands in brackets. `None` where it is neither.
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

/// Text with its `%2F` and the like undone; `None` where it is not whole.
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
