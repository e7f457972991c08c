//! Names and lines that stand for several: `dev{01..30}` is `dev01` to `dev30`, as in a shell.

/// Maximum number of names from one; three times what an experiment with a volume for every
/// developer needs.
const NAMES_MAX: u32 = 100;

/// The texts that `text` stands for, one for each number of its range in braces, or `text` itself
/// if it has none. All such ranges in it must be equal and count together. Other braces stay as
/// they are; whoever reads the text refuses them. If the first number has leading zeros, all
/// numbers are padded to as many digits.
pub fn unfold(text: &str) -> Vec<String> {
    match braces(text) {
        None => vec![text.to_owned()],
        Some(Braces { whole, first, last, width }) => {
            (first..=last).map(|number| text.replace(whole, &format!("{number:0width$}"))).collect()
        }
    }
}

struct Braces<'t> {
    /// The range including its braces.
    whole: &'t str,
    first: u32,
    last: u32,
    width: usize,
}

/// The first valid range in braces: the first number not above the last, at most [`NAMES_MAX`]
/// numbers.
fn braces(text: &str) -> Option<Braces<'_>> {
    let starts = text.match_indices('{').map(|(start, _)| start);
    starts.into_iter().find_map(|start| {
        let inner = text[start + 1..].split('}').next().filter(|inner| text[start + 1..].len() > inner.len())?;
        let (one, other) = inner.split_once("..")?;
        let number = |digits: &str| {
            let plain = (1..=9).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
            digits.parse::<u32>().ok().filter(|_| plain)
        };
        let (first, last) = (number(one)?, number(other)?);
        let width = if one.starts_with('0') { one.len() } else { 1 };
        let fits = first <= last && last - first < NAMES_MAX;
        fits.then(|| Braces { whole: &text[start..start + inner.len() + 2], first, last, width })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_with_two_numbers_are_unfolded() {
        assert_eq!(unfold("dev{8..10}"), ["dev8", "dev9", "dev10"]);
        assert_eq!(unfold("dev{08..10}"), ["dev08", "dev09", "dev10"]);
        assert_eq!(unfold("clone v{1..2} -of /vol/v{1..2}/l"), ["clone v1 -of /vol/v1/l", "clone v2 -of /vol/v2/l"]);
        assert_eq!(unfold("{x}{3..3}"), ["{x}3"]);
        assert_eq!(unfold("a{1..100}").len(), 100);
    }

    #[test]
    fn other_braces_stay() {
        for text in ["vol1", "a{2..1}", "a{1..101}", "a{1..}", "a{..2}", "a{1..2", "a{1-2}", "a{-1..2}", "a{é..2}", "{"]
        {
            assert_eq!(unfold(text), [text], "{text}");
        }
    }
}
