//! Advice for unknown words in a plan.

/// Advice for an unknown word: the nearest known one, or a list of all.
pub(super) fn advice(given: &str, known: &[&str]) -> String {
    match meant(given, known) {
        Some(meant) => meant,
        None if known.is_empty() => "the plan has none".into(),
        None => format!("known here: {}", known.join(", ")),
    }
}

/// The nearest known word as a question. One figure or letter is near every other.
pub(super) fn meant(given: &str, known: &[&str]) -> Option<String> {
    let is_a_word = given.chars().count() > 1;
    nearest::to(given, known.iter().copied()).filter(|_| is_a_word).map(|word| format!("did you mean {word}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_the_nearest_or_all() {
        let known = ["depth", "rate", "read_percent"];
        assert_eq!(advice("Dept", &known), "did you mean depth?");
        assert_eq!(advice("read_percentage", &known), "did you mean read_percent?");
        assert_eq!(advice("colour", &known), "known here: depth, rate, read_percent");
        assert_eq!(advice("colour", &[]), "the plan has none");
        assert_eq!(meant("7", &["0", "1", "5"]), None);
    }
}
