//! Help with typing errors: finds the known word nearest to an unknown one, and rewords the errors
//! of the readers of TOML and JSON in terms of the file.

pub mod json;
pub mod toml;

/// Longer input is not a mistyped word, and the work grows with the product of both lengths.
const TYPED_CHARS_MAX: usize = 64;

/// The candidate nearest to what was typed, or `None` if none is near enough: at most one error for
/// every three letters typed, and always one. An error is a letter missing, added, changed, or
/// swapped with its neighbour (optimal string alignment distance); case does not count. Of equally
/// near candidates, the first is chosen.
pub fn to<'a>(typed: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let letters = typed.chars().count();
    if letters == 0 || letters > TYPED_CHARS_MAX {
        return None;
    }
    candidates
        .map(|word| (strsim::osa_distance(&typed, &word.to_lowercase()), word))
        .filter(|(slips, _)| *slips <= (letters / 3).max(1))
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::to;

    #[test]
    fn one_slip_is_a_letter_missing_added_changed_or_two_swapped() {
        for typed in ["volme", "volumme", "valume", "vloume", "VOLUME"] {
            assert_eq!(to(typed, ["volume"].into_iter()), Some("volume"), "{typed}");
        }
        // Three letters allow one error; two are too many.
        assert_eq!(to("abd", ["abc"].into_iter()), Some("abc"));
        assert_eq!(to("axd", ["abc"].into_iter()), None);
        // Seven allow two (k→s, e→i); three (and a g) are too many.
        assert_eq!(to("sittenn", ["kitten"].into_iter()), Some("kitten"));
        assert_eq!(to("sitting", ["kitten"].into_iter()), None);
    }

    #[test]
    fn the_nearest_wins_and_the_far_are_not_proposed() {
        let words = ["create", "modify", "delete", "show"];
        assert_eq!(to("crate", words.into_iter()), Some("create"));
        assert_eq!(to("MODIFFY", words.into_iter()), Some("modify"));
        assert_eq!(to("resize", words.into_iter()), None);
        assert_eq!(to("", words.into_iter()), None);
        assert_eq!(to(&"c".repeat(65), words.into_iter()), None);
    }
}
