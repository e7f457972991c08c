//! Rewords the JSON reader's errors in terms of the file.

use crate::toml::in_words;

/// The reworded error, with its line in front, given the reader's `message`.
pub fn wrong(message: &str) -> String {
    let placed =
        message.rsplit_once(" at line ").and_then(|(what, place)| Some((what, place.split_once(" column ")?.0)));
    match placed {
        Some((what, line)) => format!("line {line}: {}", in_words(what)),
        None => in_words(message),
    }
}

#[cfg(test)]
mod tests {
    use super::wrong;

    #[test]
    fn a_readers_words_become_those_of_the_file() {
        assert_eq!(wrong("missing field `role` at line 3 column 5"), "line 3: role: is missing");
        let key = "line 2: rolle: there is no such key; here it is one of name, role";
        assert_eq!(wrong("unknown field `rolle`, expected `name` or `role` at line 2 column 9"), key);
        let list = "line 1: must be a list in brackets, got a table";
        assert_eq!(wrong("invalid type: map, expected a sequence at line 1 column 11"), list);
        assert_eq!(wrong("EOF while parsing a value at line 1 column 0"), "line 1: EOF while parsing a value");
        assert_eq!(wrong("no place"), "no place");
    }
}
