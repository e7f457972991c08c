//! Access rules: which client may use which export. A rule names exports and states conditions; a
//! client that meets them may use the exports. For other clients the exports do not exist: they are
//! not listed, and asking for one by name gives the same answer as for an unknown one. Without
//! rules, every client that a listener accepts may use everything.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use tree::Who;

/// The access rules; without any, everything is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    rules: Option<Vec<AccessRule>>,
}

/// One rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessRule {
    /// Exports, by their full names (`svm01:/vol/vol1/lun1`), with `*` for any run of characters.
    pub exports: Vec<Pattern>,
    /// The networks that a client may come from; empty for any.
    pub addresses: Vec<Network>,
    /// The client's certificate must have one of these names, with `*` as above; empty if none is
    /// required.
    pub certificates: Vec<Pattern>,
    /// The client's pre-shared key must have one of these names. Either such a certificate or such
    /// a key suffices. If both lists are empty, neither is required.
    pub keys: Vec<Pattern>,
    /// Only reads are allowed.
    pub read_only: bool,
    /// Which users of NFS clients are mapped to an anonymous one.
    pub squash: Squash,
}

/// How users of NFS clients are mapped to an anonymous user (root squash).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Squash {
    /// Which users are mapped.
    pub whom: Squashed,
    /// The user that they are mapped to.
    pub uid: u32,
    /// The group that they are mapped to.
    pub gid: u32,
}

/// Whose identity is mapped, from the most trusting to the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Squashed {
    /// Nobody's: every identity is trusted.
    Nobody,
    /// That of root, and membership in root's group.
    Root,
    /// Everybody's.
    Everybody,
}

/// The numbers of `nobody` and `nogroup` on Linux.
pub const NOBODY: u32 = 65_534;

impl Default for Squash {
    fn default() -> Squash {
        Squash { whom: Squashed::Root, uid: NOBODY, gid: NOBODY }
    }
}

impl Squash {
    /// The identity that a user is mapped to; `None` if the client did not state one.
    pub(crate) fn of(&self, said: Option<&Who>) -> Who {
        let Some(said) = said.filter(|_| self.whom != Squashed::Everybody) else {
            return Who::new(self.uid, self.gid, &[]);
        };
        let mut who = *said;
        if self.whom == Squashed::Root {
            who.uid = if who.uid == 0 { self.uid } else { who.uid };
            who.groups_mut().iter_mut().filter(|gid| **gid == 0).for_each(|gid| *gid = self.gid);
        }
        who
    }
}

/// A client, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Caller {
    /// `None` for a Unix socket.
    pub address: Option<IpAddr>,
    /// Whether its connection is encrypted.
    pub encrypted: bool,
    /// The names in the certificate that it proved to own.
    pub names: Vec<String>,
    /// The name of the pre-shared key that it proved to own.
    pub key: Option<String>,
}

/// What a client may do with an export, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grant {
    Nothing,
    Read,
    Write,
}

impl Access {
    /// Access by these rules: an export that no rule grants is hidden, so with no rules everything
    /// is.
    pub fn by_rules(rules: Vec<AccessRule>) -> Access {
        Access { rules: Some(rules) }
    }

    /// The rules; empty if everything is open.
    pub fn rules(&self) -> &[AccessRule] {
        self.rules.as_deref().unwrap_or_default()
    }

    /// What `caller` may do with the export of that full name: the most that any rule grants.
    pub(crate) fn grant(&self, caller: &Caller, export: &str) -> Grant {
        self.standing(caller, export).0
    }

    /// The same, with the mapping of its users: of all rules that grant the export, the first with
    /// the most trusting mapping.
    pub(crate) fn standing(&self, caller: &Caller, export: &str) -> (Grant, Squash) {
        let Some(rules) = &self.rules else { return (Grant::Write, Squash::default()) };
        let (mut grant, mut squash) = (Grant::Nothing, None::<Squash>);
        for rule in rules.iter().filter(|rule| rule.gives(caller, export)) {
            grant = grant.max(if rule.read_only { Grant::Read } else { Grant::Write });
            if squash.is_none_or(|squash| rule.squash.whom < squash.whom) {
                squash = Some(rule.squash);
            }
        }
        (grant, squash.unwrap_or_default())
    }

    /// Whether there are no rules.
    pub(crate) fn is_open(&self) -> bool {
        self.rules.is_none()
    }

    /// The networks that an export is granted to, as text; empty if any client may use it.
    pub(crate) fn networks(&self, export: &str) -> Vec<String> {
        let fits = |rule: &&AccessRule| rule.exports.iter().any(|pattern| pattern.fits(export));
        let rules: Vec<&AccessRule> = self.rules().iter().filter(fits).collect();
        if rules.iter().any(|rule| rule.addresses.is_empty()) {
            return Vec::new();
        }
        rules.iter().flat_map(|rule| &rule.addresses).map(Network::to_string).collect()
    }
}

impl AccessRule {
    fn gives(&self, caller: &Caller, export: &str) -> bool {
        self.admits(caller) && self.exports.iter().any(|pattern| pattern.fits(export))
    }

    fn admits(&self, caller: &Caller) -> bool {
        let from = self.addresses.is_empty() || self.addresses.iter().any(|network| network.holds(caller.address));
        let called = |pattern: &Pattern| caller.names.iter().any(|name| pattern.fits(name));
        let keyed = |pattern: &Pattern| caller.key.as_ref().is_some_and(|key| pattern.fits(key));
        let anyone = self.certificates.is_empty() && self.keys.is_empty();
        from && (anyone || self.certificates.iter().any(called) || self.keys.iter().any(keyed))
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            Some(address) => write!(f, "{address}")?,
            None => f.write_str("unix")?,
        }
        match (self.names.first(), &self.key) {
            (Some(name), _) => write!(f, " ({name})"),
            (None, Some(key)) => write!(f, " (PSK:{key})"),
            (None, None) => Ok(()),
        }
    }
}

/// Text with `*` for any run of characters, including none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl From<&str> for Pattern {
    fn from(text: &str) -> Pattern {
        Pattern(text.into())
    }
}

impl Pattern {
    fn fits(&self, text: &str) -> bool {
        let mut pieces = self.0.split('*');
        let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else { return false };
        let Some(last) = self.0.rsplit_once('*').map(|(_, last)| last) else { return rest.is_empty() };
        // Each piece but the last is matched at its first occurrence, which leaves the most for the
        // following pieces.
        let count = self.0.matches('*').count();
        for piece in pieces.take(count - 1) {
            let Some(at) = rest.find(piece) else { return false };
            rest = &rest[at + piece.len()..];
        }
        rest.ends_with(last)
    }
}

/// Where a client connects from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Through a Unix socket.
    Unix,
    /// Addresses whose first bits, as many as given, are those of this address.
    Ip(IpAddr, u8),
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Network::Unix => f.write_str("unix"),
            Network::Ip(address, bits) if *bits == if address.is_ipv4() { 32 } else { 128 } => address.fmt(f),
            Network::Ip(address, bits) => write!(f, "{address}/{bits}"),
        }
    }
}

/// Text that is not a valid network.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?}: write an address (10.1.2.3), a network (10.1.0.0/16, fd00::/8) or \"unix\"")]
pub struct NetworkError(String);

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Network, NetworkError> {
        if text == "unix" {
            return Ok(Network::Unix);
        }
        let error = || NetworkError(text.into());
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| error())?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(width), |bits| bits.parse().map_err(|_| error()))?;
        // Bits beyond the prefix are probably a typo: 10.1.2.3/8 could mean either.
        if bits > width || number(address) & !mask(bits, width) != 0 {
            return Err(error());
        }
        Ok(Network::Ip(address, bits))
    }
}

impl Network {
    fn holds(self, address: Option<IpAddr>) -> bool {
        match (self, address) {
            (Network::Unix, None) => true,
            (Network::Ip(network, bits), Some(address)) if network.is_ipv4() == address.is_ipv4() => {
                let width = if network.is_ipv4() { 32 } else { 128 };
                number(address) & mask(bits, width) == number(network)
            }
            _ => false,
        }
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(four) => u128::from(four.to_bits()),
        IpAddr::V6(six) => six.to_bits(),
    }
}

/// A mask of the first `bits` of `width`.
fn mask(bits: u8, width: u8) -> u128 {
    let all = if width == 32 { u128::from(u32::MAX) } else { u128::MAX };
    let host = width - bits;
    if host == 128 { 0 } else { all >> host << host }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run() {
        for (pattern, text, fits) in [
            ("svm01:/vol/v/l", "svm01:/vol/v/l", true),
            ("svm01:/vol/v/l", "svm01:/vol/v/l2", false),
            ("svm01:*", "svm01:/vol/v/l", true),
            ("svm01:*", "svm011:/vol/v/l", false),
            ("*", "", true),
            ("*:/vol/db*/log", "a:/vol/db1/q/log", true),
            ("*:/vol/db*/log", "a:/vol/db1/log2", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*ab*ab*", "ab", false),
            ("*ab*ab*", "xabyabz", true),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(Pattern::from(pattern).fits(text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn networks_hold_their_addresses() {
        let holds = |network: &str, address: &str| {
            network.parse::<Network>().unwrap().holds((address != "unix").then(|| address.parse().unwrap()))
        };
        assert!(holds("10.1.0.0/16", "10.1.255.3") && !holds("10.1.0.0/16", "10.2.0.1"));
        assert!(holds("10.1.2.3", "10.1.2.3") && !holds("10.1.2.3", "10.1.2.4"));
        assert!(holds("0.0.0.0/0", "1.2.3.4") && !holds("0.0.0.0/0", "::1") && !holds("0.0.0.0/0", "unix"));
        assert!(holds("::/0", "fd00::1") && holds("fd00::/8", "fdff::1") && !holds("fd00::/8", "fe80::1"));
        assert!(holds("unix", "unix") && !holds("unix", "127.0.0.1"));
        for wrong in ["", "10.1.2.3/8", "10.0.0.0/33", "::/129", "10.0.0/8", "localhost", "10.0.0.0/", "10.0.0.0/-1"] {
            assert_eq!(wrong.parse::<Network>(), Err(NetworkError(wrong.into())));
        }
    }

    #[test]
    fn the_most_that_any_rule_gives_counts_and_nothing_else() {
        let caller = |address: &str, names: &[&str]| Caller {
            address: address.parse().ok(),
            encrypted: !names.is_empty(),
            names: names.iter().map(|&name| name.into()).collect(),
            key: None,
        };
        let access = Access::by_rules(vec![
            AccessRule {
                exports: vec!["svm01:/vol/db/*".into()],
                addresses: vec!["10.0.0.0/8".parse().unwrap()],
                certificates: vec!["CN=db*".into(), "DNS:db1.example".into()],
                ..AccessRule::default()
            },
            AccessRule {
                exports: vec!["*".into()],
                certificates: vec!["CN=backup".into()],
                read_only: true,
                ..AccessRule::default()
            },
            AccessRule { exports: vec!["svm01:/vol/scratch".into()], ..AccessRule::default() },
        ]);
        let db = "svm01:/vol/db/lun1";
        assert_eq!(access.grant(&caller("10.1.1.1", &["CN=db7"]), db), Grant::Write);
        assert_eq!(access.grant(&caller("11.1.1.1", &["CN=db7"]), db), Grant::Nothing, "from elsewhere");
        assert_eq!(access.grant(&caller("10.1.1.1", &["CN=web"]), db), Grant::Nothing, "another name");
        assert_eq!(access.grant(&caller("10.1.1.1", &[]), db), Grant::Nothing, "no certificate");
        assert_eq!(access.grant(&caller("", &["CN=backup"]), db), Grant::Read);
        assert_eq!(access.grant(&caller("10.1.1.1", &["CN=backup", "DNS:db1.example"]), db), Grant::Write, "both");
        assert_eq!(access.grant(&caller("", &[]), "svm01:/vol/scratch"), Grant::Write);
        assert_eq!(Access::default().grant(&caller("", &[]), db), Grant::Write);
        assert_eq!(Access::by_rules(Vec::new()).grant(&caller("", &[]), db), Grant::Nothing);
    }

    /// Root and its group are others unless a rule says otherwise; of several rules that fit the
    /// most lenient counts, whatever else it gives.
    #[test]
    fn root_is_taken_for_nobody_unless_a_rule_takes_its_word() {
        let nobody = Who::new(NOBODY, NOBODY, &[]);
        let squash = |whom| Squash { whom, uid: 7, gid: 8 };
        let (root, user) = (Who::new(0, 0, &[5, 0]), Who::new(5, 0, &[]));
        let usual = Squash::default();
        assert_eq!((usual.of(Some(&root)), usual.of(None)), (Who::new(NOBODY, NOBODY, &[5, NOBODY]), nobody));
        assert_eq!(squash(Squashed::Root).of(Some(&user)), Who::new(5, 8, &[]));
        assert_eq!(
            (squash(Squashed::Nobody).of(Some(&root)), squash(Squashed::Nobody).of(None)),
            (root, Who::new(7, 8, &[]))
        );
        assert_eq!(squash(Squashed::Everybody).of(Some(&user)), Who::new(7, 8, &[]));
        let rule = |address: &str, whom| AccessRule {
            exports: vec!["s:/vol/v/*".into()],
            addresses: vec![address.parse().unwrap()],
            squash: squash(whom),
            ..AccessRule::default()
        };
        let access = Access::by_rules(vec![
            rule("10.0.0.0/8", Squashed::Everybody),
            rule("10.1.0.0/16", Squashed::Root),
            AccessRule { read_only: true, ..rule("10.1.1.1", Squashed::Nobody) },
        ]);
        for (address, whom) in
            [("10.2.0.1", Squashed::Everybody), ("10.1.0.1", Squashed::Root), ("10.1.1.1", Squashed::Nobody)]
        {
            let caller = Caller { address: address.parse().ok(), ..Caller::default() };
            assert_eq!(access.standing(&caller, "s:/vol/v/.").1, squash(whom), "{address}");
            assert_eq!(access.standing(&caller, "s:/vol/w/.").1, usual);
        }
        assert_eq!(Access::default().standing(&Caller::default(), "s:/vol/v/.").1, usual);
    }

    #[test]
    fn a_key_is_a_name_of_its_own() {
        let caller = |names: &[&str], key: Option<&str>| Caller {
            address: None,
            encrypted: true,
            names: names.iter().map(|&name| name.into()).collect(),
            key: key.map(Into::into),
        };
        let rule = |certificates: &[&str], keys: &[&str]| AccessRule {
            exports: vec!["*".into()],
            certificates: certificates.iter().map(|&text| text.into()).collect(),
            keys: keys.iter().map(|&text| text.into()).collect(),
            ..AccessRule::default()
        };
        let grant = |rule: AccessRule, caller: &Caller| Access::by_rules(vec![rule]).grant(caller, "svm01:/vol/v/l");
        let (alice, db1) = (caller(&[], Some("alice")), caller(&["CN=alice"], None));
        assert_eq!(grant(rule(&[], &["al*"]), &alice), Grant::Write);
        assert_eq!(grant(rule(&[], &["bob"]), &alice), Grant::Nothing);
        assert_eq!(grant(rule(&["*"], &[]), &alice), Grant::Nothing, "a key is no certificate");
        assert_eq!(grant(rule(&[], &["*"]), &db1), Grant::Nothing, "a certificate is no key");
        assert_eq!(grant(rule(&["CN=alice"], &["bob"]), &db1), Grant::Write, "either will do");
        assert_eq!(grant(rule(&[], &["*"]), &caller(&[], None)), Grant::Nothing, "nobody is nobody");
        assert_eq!((alice.to_string(), db1.to_string()), ("unix (PSK:alice)".into(), "unix (CN=alice)".into()));
    }
}
