//! Words of shell commands in advice, which users copy.

/// A word as a shell takes it: quoted if it has a character that means something to the shell.
pub(crate) fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=@:,%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn a_word_stays_one_word() {
        assert_eq!(word("private:/tmp/pg"), "private:/tmp/pg");
        assert_eq!(word("postgres://u@/d?host=/tmp&port=5432"), "'postgres://u@/d?host=/tmp&port=5432'");
        assert_eq!(word("/it's here"), r"'/it'\''s here'");
        assert_eq!(word(""), "''");
    }
}
