//! Keys and numbers for the state of a floor in the database and in CSV. They are part of both
//! formats, like those in `held_by`.

use super::FloorFared;

impl FloorFared {
    /// Its key in files, and its number.
    pub fn key(self) -> (&'static str, Option<u64>) {
        match self {
            FloorFared::NotSet => ("not_set", None),
            FloorFared::Met => ("met", None),
            FloorFared::NeedsOutstanding(number) => ("needs_outstanding", Some(number)),
            FloorFared::Overcommitted(thousandths) => ("overcommitted", Some(thousandths.into())),
            FloorFared::CeilingAbove => ("ceiling_above", None),
            FloorFared::LinkAbove => ("link_above", None),
            FloorFared::AwayFromServer => ("away_from_server", None),
            FloorFared::Adjusting => ("adjusting", None),
            FloorFared::TakesAtBest(ns) => ("takes_at_best", Some(ns)),
            FloorFared::NotHelped => ("not_helped", None),
        }
    }

    /// The state with this key and number.
    pub fn from_key(name: &str, number: Option<u64>) -> Option<FloorFared> {
        Some(match (name, number) {
            ("not_set", None) => FloorFared::NotSet,
            ("met", None) => FloorFared::Met,
            ("needs_outstanding", Some(number)) => FloorFared::NeedsOutstanding(number),
            ("overcommitted", Some(thousandths)) => FloorFared::Overcommitted(u32::try_from(thousandths).ok()?),
            ("ceiling_above", None) => FloorFared::CeilingAbove,
            ("link_above", None) => FloorFared::LinkAbove,
            ("away_from_server", None) => FloorFared::AwayFromServer,
            ("adjusting", None) => FloorFared::Adjusting,
            ("takes_at_best", Some(ns)) => FloorFared::TakesAtBest(ns),
            ("not_helped", None) => FloorFared::NotHelped,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back() {
        let all = [
            FloorFared::NotSet,
            FloorFared::Met,
            FloorFared::NeedsOutstanding(12),
            FloorFared::Overcommitted(640),
            FloorFared::CeilingAbove,
            FloorFared::LinkAbove,
            FloorFared::AwayFromServer,
            FloorFared::Adjusting,
            FloorFared::TakesAtBest(1_400_000),
            FloorFared::NotHelped,
        ];
        for fared in all {
            let (name, number) = fared.key();
            assert_eq!(FloorFared::from_key(name, number), Some(fared));
        }
        assert_eq!(FloorFared::from_key("met", Some(1)), None);
        assert_eq!(FloorFared::from_key("overcommitted", Some(1 << 40)), None);
    }
}
