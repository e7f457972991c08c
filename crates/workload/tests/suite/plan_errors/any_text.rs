//! Arbitrary text is either accepted or reported, and nothing panics.

use super::*;

/// Pieces from which texts resembling plans are composed.
fn piece() -> impl Strategy<Value = String> {
    let lines: Vec<String> = RIGHT.lines().map(str::to_owned).collect();
    prop_oneof![
        6 => proptest::sample::select(lines),
        1 => "[a-z_0-9]{1,12} = [\"{}\\[\\]a-z0-9,.=' -]{0,20}",
        1 => "\\[{1,2}[a-z]{1,9}\\]{1,2}",
        1 => "(server1|block|commands|size) = (\\{ [a-z0-9]{1,5} = -?[0-9]{1,20} \\}|\\[[0-9, ]{0,9}\\]|1e400|inf|1979-05-27)",
        1 => "\\PC{0,40}",
    ]
}

#[test]
fn deep_and_long_texts_are_told_like_any_other() {
    let deep = format!("title = {}", "[".repeat(100_000));
    assert!(Plan::read(&deep, "p.toml").is_err());
    let keys: String = (0..50_000).map(|n| format!("k{n} = 1\n")).collect();
    let errors = Plan::read(&keys, "p.toml").unwrap_err();
    // One for each of them, and for the five things that a plan must have.
    assert_eq!(errors.0.len(), 50_005);
    assert!(errors.0.last().unwrap().to_string().starts_with("p.toml:50000: k49999: no such key in the plan"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// No text makes the reader panic. All lines of a refusal name the file, and an accepted plan
    /// survives everything that a plan can do.
    #[test]
    fn any_text_is_taken_or_told(pieces in proptest::collection::vec(piece(), 0..30), factor in 0.0f64..100.0) {
        match Plan::read(&pieces.join("\n"), "p.toml") {
            Ok(plan) => {
                let _ = plan.describe();
                if let Ok(sized) = plan.sized(block::Bytes::mib(1)) {
                    prop_assert!(sized.scaled(factor).sized(block::Bytes::mib(1)).is_ok());
                }
            }
            Err(errors) => {
                prop_assert!(!errors.0.is_empty());
                let (text, count) = (errors.to_string(), errors.0.len());
                prop_assert!(text.lines().all(|line| line.starts_with("p.toml:")), "{}", text);
                prop_assert_eq!(text.lines().count(), count);
            }
        }
    }

    /// A correct plan with one changed character is accepted or reported.
    #[test]
    fn one_wrong_letter_never_panics(at in 0..RIGHT.len(), letter in any::<char>()) {
        let mut text = RIGHT.to_owned();
        text.replace_range(at..=at, &letter.to_string());
        let _ = Plan::read(&text, "p.toml");
    }
}
