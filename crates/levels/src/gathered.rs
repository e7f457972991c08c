//! Collects the hours of several sources, and refuses duplicates, which would be billed twice.

use crate::line::Hour;
use std::collections::HashMap;

/// An hour that occurs twice, in one source or in two; one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{source_again}: has {path} of {hour} under {policy}, which {source_before} has already; give each hour of an \
     object once"
)]
pub struct TwiceError {
    /// The source of the second occurrence.
    source_again: String,
    /// The source of the first occurrence.
    source_before: String,
    path: String,
    hour: String,
    policy: String,
}

/// What identifies a record. A volume that was deleted and made again under the same name within an
/// hour has another number.
type Whose = (u64, u64, String, String);

/// Hours and their sources.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    hours: Vec<Hour>,
    sources: Vec<String>,
    /// The source of each, as an index into `sources`.
    from: HashMap<Whose, usize>,
}

impl Gathered {
    /// Adds the hours of a source.
    ///
    /// # Errors
    /// One of them has been added already.
    pub fn add(&mut self, source: String, hours: impl IntoIterator<Item = Hour>) -> Result<(), TwiceError> {
        let index = self.sources.len();
        self.sources.push(source);
        for hour in hours {
            let whose = (hour.hour, hour.object, hour.path.clone(), hour.policy.clone());
            if let Some(before) = self.from.insert(whose, index) {
                let policy =
                    if hour.policy.is_empty() { "no policy".into() } else { format!("policy {}", hour.policy) };
                return Err(TwiceError {
                    source_again: self.sources[index].clone(),
                    source_before: self.sources[before].clone(),
                    path: hour.path,
                    hour: block::date(hour.hour.saturating_mul(3600), "%Y-%m-%dT%H:%M"),
                    policy,
                });
            }
            self.hours.push(hour);
        }
        Ok(())
    }

    /// All hours.
    pub fn into_hours(self) -> Vec<Hour> {
        self.hours
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another hour, another policy, and another volume of the same name are distinct. The same
    /// record is refused, within one source and across two.
    #[test]
    fn what_is_there_twice_is_refused_by_its_sources() {
        let hour = |number, object, policy: &str| Hour {
            hour: number,
            object,
            path: "s:/vol/v".into(),
            policy: policy.into(),
            ..Hour::default()
        };
        let mut gathered = Gathered::default();
        let all = [hour(7, 1, ""), hour(8, 1, ""), hour(7, 2, ""), hour(7, 1, "gold")];
        gathered.add("--hours a.csv".into(), all).unwrap();
        let refused = gathered.clone().add("--pool p".into(), [hour(9, 1, ""), hour(7, 1, "gold")]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "--pool p: has s:/vol/v of 1970-01-01T07:00 under policy gold, which --hours a.csv has already; give each \
             hour of an object once"
        );
        let refused = gathered.clone().add("b".into(), [hour(9, 1, ""), hour(9, 1, "")]).unwrap_err().to_string();
        assert!(refused.starts_with("b: has s:/vol/v of 1970-01-01T09:00 under no policy, which b has"), "{refused}");
        assert_eq!(gathered.into_hours().len(), 4);
    }
}
