//! The known word that was probably meant.

/// Longest text that is compared: the work grows with the product of both lengths.
const COMPARED_MAX: usize = 64;

/// What to do about an unknown word: the nearest known one, or all of them.
pub(super) fn advice(given: &str, known: &[&str]) -> String {
    match nearest(given, known) {
        Some(word) => format!("did you mean {word}?"),
        None => format!("known here: {}", known.join(", ")),
    }
}

/// The known word with the fewest letters changed; at most every third letter of `given`, and one in short words.
fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    let letters = given.chars().count();
    if letters > COMPARED_MAX {
        return None;
    }
    let given = given.to_lowercase();
    let changes = known.iter().map(|&word| (distance(&given, &word.to_lowercase()), word));
    changes.filter(|&(changes, _)| changes <= (letters / 3).max(1)).min_by_key(|&(changes, _)| changes).map(|(_, w)| w)
}

/// Letters to insert, delete or replace to make one word of the other (Levenshtein), a row of the table at a time.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_letters_changed() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "rate"), 4);
        assert_eq!(distance("rate", "rate"), 0);
    }

    #[test]
    fn advice_names_the_nearest_or_all() {
        let known = ["depth", "rate", "read_percent"];
        assert_eq!(advice("Dept", &known), "did you mean depth?");
        assert_eq!(advice("read_percentage", &known), "did you mean read_percent?");
        assert_eq!(advice("colour", &known), "known here: depth, rate, read_percent");
    }
}
