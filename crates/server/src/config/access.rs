//! `[[access]]`: which clients may use which exports, and how users of NFS clients are mapped.

use crate::access::{Access, AccessRule, Network, Pattern, Squash, Squashed};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AccessTable {
    exports: Vec<String>,
    #[serde(default)]
    addresses: Vec<String>,
    #[serde(default)]
    certificates: Vec<String>,
    #[serde(default)]
    psk: Vec<String>,
    #[serde(default)]
    read_only: bool,
    #[serde(default)]
    squash: SquashWord,
    anonymous_uid: Option<u32>,
    anonymous_gid: Option<u32>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SquashWord {
    None,
    #[default]
    Root,
    All,
}

impl AccessTable {
    fn squash(&self) -> Squash {
        let whom = match self.squash {
            SquashWord::None => Squashed::Nobody,
            SquashWord::Root => Squashed::Root,
            SquashWord::All => Squashed::Everybody,
        };
        let usual = Squash::default();
        let (uid, gid) = (self.anonymous_uid.unwrap_or(usual.uid), self.anonymous_gid.unwrap_or(usual.gid));
        Squash { whom, uid, gid }
    }
}

pub(super) fn checked(tables: Option<Vec<AccessTable>>) -> Result<Access, String> {
    let Some(tables) = tables else { return Ok(Access::default()) };
    let rules = tables.into_iter().enumerate().map(|(number, table)| {
        if table.exports.is_empty() {
            return Err(format!("access: rule {}: exports: name at least one, such as \"svm01:*\"", number + 1));
        }
        if table.anonymous_uid == Some(0) {
            let text =
                "anonymous_uid: must be at least 1, got 0: that is root; for root to be root write squash = \"none\"";
            return Err(format!("access: rule {}: {text}", number + 1));
        }
        let networks = table.addresses.iter().map(|text| text.parse::<Network>()).collect::<Result<_, _>>();
        let patterns = |texts: &[String]| texts.iter().map(|text| Pattern::from(text.as_str())).collect();
        Ok(AccessRule {
            exports: patterns(&table.exports),
            addresses: networks.map_err(|error| format!("access: rule {}: addresses: {error}", number + 1))?,
            certificates: patterns(&table.certificates),
            keys: patterns(&table.psk),
            read_only: table.read_only,
            squash: table.squash(),
        })
    });
    Ok(Access::by_rules(rules.collect::<Result<_, String>>()?))
}
