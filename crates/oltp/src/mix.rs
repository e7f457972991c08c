//! Chooses the next transaction by weight.

use crate::chance::Chance;
use crate::transaction::Transaction;

/// The weights of all transactions; those with weight 0 are not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionMix([u32; 9]);

/// What is wrong with weights.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MixError {
    /// It is not a list of weights.
    #[error(
        "must be v2, v1 or NAME=WEIGHT,… of NCR, UCD, BP, OP, PO, BO, SQ, WQ and WA with weights up to 10000, got {0:?}"
    )]
    Form(String),
    /// It is not the name of a transaction.
    #[error("must be names of NCR, UCD, BP, OP, PO, BO, SQ, WQ and WA, got {0:?}")]
    Name(String),
    /// No transaction is left.
    #[error("no transaction is left; give one of them a weight")]
    Nothing,
}

impl TransactionMix {
    /// The newer published weights; the three queries are off.
    pub const V2: TransactionMix = TransactionMix([15, 10, 50, 40, 5, 5, 0, 0, 0]);
    /// The older ones.
    pub const V1: TransactionMix = TransactionMix([20, 0, 60, 50, 5, 10, 0, 0, 0]);
    /// Weights of the three queries if they are on.
    const QUERIES: [[u32; 3]; 2] = [[2, 2, 2], [5, 5, 2]];

    /// Parses weights: a published set or a list.
    ///
    /// # Errors
    /// The weights are invalid.
    pub fn parse(given: &str) -> Result<TransactionMix, MixError> {
        let wrong = || MixError::Form(given.into());
        let mix = match given.to_ascii_lowercase().as_str() {
            "v2" => TransactionMix::V2,
            "v1" => TransactionMix::V1,
            _ => {
                let mut weights = [0; 9];
                for part in given.split(',') {
                    let (name, weight) = part.split_once('=').ok_or_else(wrong)?;
                    let one = Transaction::of_short(name.trim()).ok_or_else(wrong)?;
                    let weight = weight.trim().parse().ok().filter(|weight| *weight <= 10_000);
                    weights[one as usize] = weight.ok_or_else(wrong)?;
                }
                TransactionMix(weights)
            }
        };
        mix.checked()
    }

    /// The same with the three manager queries, which are off by default.
    #[must_use]
    pub fn with_queries(mut self) -> TransactionMix {
        let of = TransactionMix::QUERIES[usize::from(self == TransactionMix::V1)];
        self.0[6..].iter_mut().zip(of).for_each(|(weight, more)| *weight = (*weight).max(more));
        self
    }

    /// The same without some transactions, given by their short names.
    ///
    /// # Errors
    /// A name is unknown, or nothing is left.
    pub fn without(mut self, names: &str) -> Result<TransactionMix, MixError> {
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let one = Transaction::of_short(name).ok_or_else(|| MixError::Name(name.into()))?;
            self.0[one as usize] = 0;
        }
        self.checked()
    }

    fn checked(self) -> Result<TransactionMix, MixError> {
        if self.0.iter().all(|weight| *weight == 0) { Err(MixError::Nothing) } else { Ok(self) }
    }

    /// The weight of a transaction.
    pub fn weight(&self, of: Transaction) -> u32 {
        self.0[of as usize]
    }

    /// The next transaction.
    pub fn draw(&self, chance: &mut Chance) -> Transaction {
        let mut at = chance.between(0, self.0.iter().map(|weight| i64::from(*weight)).sum::<i64>() - 1);
        let next = Transaction::ALL.into_iter().find(|one| {
            at -= i64::from(self.weight(*one));
            at < 0
        });
        next.unwrap_or(Transaction::BrowseProducts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// χ² of 125,000 draws with five degrees of freedom is above 20.5 for one seed in a thousand.
    #[test]
    fn the_mix_is_as_weighted() {
        let (mut chance, mut seen) = (Chance::new(11, 0), [0u32; 9]);
        (0..125_000).for_each(|_| seen[TransactionMix::V2.draw(&mut chance) as usize] += 1);
        let squares = Transaction::ALL.into_iter().filter(|one| TransactionMix::V2.weight(*one) > 0).map(|one| {
            let expected = f64::from(TransactionMix::V2.weight(one)) * 1000.0;
            (f64::from(seen[one as usize]) - expected).powi(2) / expected
        });
        assert!(squares.sum::<f64>() < 20.5, "{seen:?}");
        assert_eq!(seen[6..], [0; 3]);
    }

    #[test]
    fn weights_as_typed() {
        assert_eq!(TransactionMix::parse("v1"), Ok(TransactionMix::V1));
        assert_eq!(TransactionMix::parse("bp=3, OP=1").unwrap().weight(Transaction::BrowseProducts), 3);
        assert_eq!(TransactionMix::V2.without("ncr,UCD").unwrap().weight(Transaction::CustomerRegistration), 0);
        assert_eq!(TransactionMix::V2.with_queries().weight(Transaction::WarehouseQuery), 2);
        assert_eq!(TransactionMix::V1.with_queries().weight(Transaction::WarehouseQuery), 5);
        assert!(matches!(TransactionMix::parse("XX=1"), Err(MixError::Form(_))));
        assert!(matches!(TransactionMix::parse("BP=-1"), Err(MixError::Form(_))));
        assert_eq!(TransactionMix::parse("BP=0"), Err(MixError::Nothing));
        assert_eq!(TransactionMix::V2.without("NCR,UCD,BP,OP,PO,BO"), Err(MixError::Nothing));
    }
}
