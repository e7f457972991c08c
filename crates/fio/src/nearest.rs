//! The word that was probably meant: the one that takes the fewest slips of the finger to reach.

/// The candidate nearest to what was typed, or nothing if none is near enough to be a slip: at most one slip for every
/// three letters typed, and one always.
pub fn to<'a>(typed: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Beyond this nobody means a word of ours, and the table below grows with the square.
    const TYPED_CHARS_MAX: usize = 64;
    let typed: Vec<char> = typed.to_lowercase().chars().collect();
    if typed.is_empty() || typed.len() > TYPED_CHARS_MAX {
        return None;
    }
    let limit = (typed.len() / 3).max(1);
    candidates
        .map(|word| (slips(&typed, &word.to_lowercase().chars().collect::<Vec<_>>()), word))
        .filter(|(count, _)| *count <= limit)
        .min_by_key(|(count, _)| *count)
        .map(|(_, word)| word)
}

/// Letters missing, added, changed, or swapped with their neighbour ("optimal string alignment").
///
/// Row `i` holds the distance of the first `i` letters of `a` to every beginning of `b`; a swap looks two rows back.
fn slips(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let changed = last[j] + usize::from(a[i] != b[j]);
            let mut least = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(a: &str, b: &str) -> usize {
        slips(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>())
    }

    #[test]
    fn slips_are_counted() {
        assert_eq!(count("", "abc"), 3);
        assert_eq!(count("volume", "volume"), 0);
        // One letter missing, one added, one changed, two swapped.
        assert_eq!(count("volme", "volume"), 1);
        assert_eq!(count("volumme", "volume"), 1);
        assert_eq!(count("valume", "volume"), 1);
        assert_eq!(count("vloume", "volume"), 1);
        // k→s, e→i, +g.
        assert_eq!(count("kitten", "sitting"), 3);
    }

    #[test]
    fn the_nearest_wins_and_the_far_are_not_proposed() {
        let words = ["create", "modify", "delete", "show"];
        assert_eq!(to("crate", words.into_iter()), Some("create"));
        assert_eq!(to("MODIFFY", words.into_iter()), Some("modify"));
        assert_eq!(to("resize", words.into_iter()), None);
        assert_eq!(to("", words.into_iter()), None);
    }
}
