//! The order of rows: by SVM, then by the other keys of the command, numbers in names by what they
//! come to, so that vol2 stands before vol10.

use super::{Row, text};
use crate::catalogue;
use crate::value::SizeUnits;
use std::cmp::Ordering;

/// Puts rows of what SVMs have in order; rows of other kinds stay as they are.
pub(super) fn sort<R: Row>(rows: &mut [R], units: SizeUnits) {
    let keys = catalogue::specs().find(|spec| spec.path == R::COMMAND).map_or(&[][..], |spec| spec.keys);
    if keys.is_empty() || rows.first().is_none_or(|row| row.cell("vserver").is_none()) {
        return;
    }
    let counted = if R::BY_AGE { keys.len() - 1 } else { keys.len() };
    let others = keys[..counted].iter().copied().filter(|key| *key != "vserver");
    let fields: Vec<&'static str> = std::iter::once("vserver").chain(others).collect();
    rows.sort_by_cached_key(|row| fields.iter().map(|field| Name(text(row, field, units))).collect::<Vec<_>>());
}

/// A name with the numbers in it.
#[derive(PartialEq, Eq)]
struct Name(String);

impl Ord for Name {
    fn cmp(&self, other: &Name) -> Ordering {
        let (mut one, mut two) = (&*self.0, &*other.0);
        while let (Some(a), Some(b)) = (one.chars().next(), two.chars().next()) {
            let order = match (number(one), number(two)) {
                (Some((a, rest)), Some((b, more))) => {
                    (one, two) = (rest, more);
                    // Without their zeros, of two numbers the longer is the larger.
                    a.len().cmp(&b.len()).then(a.cmp(b))
                }
                _ => {
                    (one, two) = (&one[a.len_utf8()..], &two[b.len_utf8()..]);
                    a.cmp(&b)
                }
            };
            if order.is_ne() {
                return order;
            }
        }
        // Names that differ in zeros alone are two names.
        one.len().cmp(&two.len()).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Name) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The digits that a text begins with, without zeros before them, and what follows.
fn number(text: &str) -> Option<(&str, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    (digits > 0).then(|| (number.trim_start_matches('0'), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Command;
    use crate::catalogue::VolumeCommand;
    use crate::show::{Listing, Rows, SnapshotRow, VolumeRow};

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let sorted =
            ["", "1", "02", "2", "10", "a", "a1b2", "a1b10", "a01c", "a2", "vol", "vol2", "vol2a", "vol10", "ä"];
        let mut names: Vec<Name> = sorted.iter().rev().map(|name| Name((*name).into())).collect();
        names.sort();
        assert_eq!(names.iter().map(|name| &*name.0).collect::<Vec<_>>(), sorted);
        let huge = |last: char| Name(format!("v{}{last}", "9".repeat(40)));
        assert!(huge('1') < huge('2'));
    }

    #[test]
    fn rows_stand_by_svm_and_name_and_snapshots_by_age() {
        let volume = |vserver: &str, volume: &str| VolumeRow {
            vserver: vserver.into(),
            volume: volume.into(),
            ..VolumeRow::default()
        };
        let rows = [volume("svm10", "a"), volume("svm2", "vol10"), volume("svm10", "B"), volume("svm2", "vol2")];
        let Ok(Command::Volume(VolumeCommand::Show(selection))) = crate::parse("volume show") else { panic!() };
        let Rows::Volumes(rows) = Listing::new(rows, &selection, SizeUnits::Decimal).rows else { panic!() };
        let names: Vec<_> = rows.iter().map(|row| (&*row.vserver, &*row.volume)).collect();
        assert_eq!(names, [("svm2", "vol2"), ("svm2", "vol10"), ("svm10", "B"), ("svm10", "a")]);

        let snapshot = |volume: &str, snapshot: &str| SnapshotRow {
            vserver: "s".into(),
            volume: volume.into(),
            snapshot: snapshot.into(),
            ..SnapshotRow::default()
        };
        let rows = [snapshot("v2", "z"), snapshot("v1", "y"), snapshot("v2", "x")];
        let Rows::Snapshots(rows) = Listing::new(rows, &selection, SizeUnits::Decimal).rows else { panic!() };
        assert_eq!(rows.iter().map(|row| &*row.snapshot).collect::<Vec<_>>(), ["y", "z", "x"]);
    }
}
