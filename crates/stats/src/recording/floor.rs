//! Keys, numbers and words for the outcome of a floor. Keys and numbers are part of the formats of
//! the database and of CSV, like those in `held_by`.

use super::FloorOutcome;
use block::Span;
use std::mem::discriminant;

impl FloorOutcome {
    /// All of them, without their numbers. Places in this list are part of the database's format,
    /// so new ones are appended.
    pub const ALL: [FloorOutcome; 10] = [
        FloorOutcome::NotSet,
        FloorOutcome::Met,
        FloorOutcome::NeedsOutstanding(0),
        FloorOutcome::Overcommitted(0),
        FloorOutcome::CeilingAbove,
        FloorOutcome::Adjusting,
        FloorOutcome::TakesAtBest(0),
        FloorOutcome::NotHelped,
        FloorOutcome::LinkAbove,
        FloorOutcome::AwayFromServer,
    ];

    /// Whether it was missed.
    pub fn is_short(self) -> bool {
        !matches!(self, FloorOutcome::NotSet | FloorOutcome::Met)
    }

    /// Its place in [`FloorOutcome::ALL`].
    pub fn place(self) -> Option<usize> {
        FloorOutcome::ALL.iter().position(|one| discriminant(one) == discriminant(&self))
    }

    /// Its key in files, and its number.
    pub fn key(self) -> (&'static str, Option<u64>) {
        match self {
            FloorOutcome::NotSet => ("not_set", None),
            FloorOutcome::Met => ("met", None),
            FloorOutcome::NeedsOutstanding(number) => ("needs_outstanding", Some(number)),
            FloorOutcome::Overcommitted(thousandths) => ("overcommitted", Some(thousandths.into())),
            FloorOutcome::CeilingAbove => ("ceiling_above", None),
            FloorOutcome::LinkAbove => ("link_above", None),
            FloorOutcome::AwayFromServer => ("away_from_server", None),
            FloorOutcome::Adjusting => ("adjusting", None),
            FloorOutcome::TakesAtBest(ns) => ("takes_at_best", Some(ns)),
            FloorOutcome::NotHelped => ("not_helped", None),
        }
    }

    /// The outcome with this key and number.
    pub fn from_key(name: &str, number: Option<u64>) -> Option<FloorOutcome> {
        FloorOutcome::ALL.into_iter().find(|one| one.key().0 == name)?.with(number)
    }

    /// The same with another number; `None` if it must have one and there is none, or vice versa.
    pub fn with(self, number: Option<u64>) -> Option<FloorOutcome> {
        Some(match (self, number) {
            (FloorOutcome::NeedsOutstanding(_), Some(number)) => FloorOutcome::NeedsOutstanding(number),
            (FloorOutcome::Overcommitted(_), Some(number)) => FloorOutcome::Overcommitted(u32::try_from(number).ok()?),
            (FloorOutcome::TakesAtBest(_), Some(ns)) => FloorOutcome::TakesAtBest(ns),
            (plain, None) if plain.key().1.is_none() => plain,
            _ => return None,
        })
    }
}

impl std::fmt::Display for FloorOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FloorOutcome::NotSet => f.pad("no floor"),
            FloorOutcome::Met => f.pad("met"),
            FloorOutcome::NeedsOutstanding(number) => {
                f.pad(&format!("needs {number} requests at the server at all times"))
            }
            FloorOutcome::Overcommitted(thousandths) => {
                f.pad(&format!("more than the storage can do, all floors held at {} %", thousandths / 10))
            }
            FloorOutcome::CeilingAbove => f.pad("a ceiling is in its way"),
            FloorOutcome::LinkAbove => f.pad("the network is in its way"),
            FloorOutcome::AwayFromServer => f.pad("too few of its requests are at the server at a time"),
            FloorOutcome::Adjusting => f.pad("room is still being made"),
            FloorOutcome::TakesAtBest(ns) => {
                f.pad(&format!("its requests take {} with the others held back", Span::from_nanos(*ns)))
            }
            FloorOutcome::NotHelped => f.pad("holding the others back did not help"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list is in the database's order, and every key leads back.
    #[test]
    fn every_key_leads_back_and_places_stay() {
        let keys = [
            "not_set",
            "met",
            "needs_outstanding",
            "overcommitted",
            "ceiling_above",
            "adjusting",
            "takes_at_best",
            "not_helped",
            "link_above",
            "away_from_server",
        ];
        assert_eq!(FloorOutcome::ALL.map(|outcome| outcome.key().0), keys);
        for (place, outcome) in FloorOutcome::ALL.into_iter().enumerate() {
            let (name, number) = outcome.key();
            let outcome = outcome.with(number.map(|_| 640)).unwrap();
            assert_eq!(FloorOutcome::from_key(name, number.map(|_| 640)), Some(outcome));
            assert_eq!((outcome.key(), outcome.place()), ((name, number.map(|_| 640)), Some(place)));
            let other = if number.is_some() { None } else { Some(1) };
            assert_eq!(FloorOutcome::from_key(name, other), None);
        }
        assert_eq!(FloorOutcome::from_key("overcommitted", Some(1 << 40)), None);
        assert_eq!(FloorOutcome::from_key("fared", None), None);
    }
}
