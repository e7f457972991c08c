//! Published command lines, and the errors for broken ones.

use super::*;

/// The command lines as published.
const PUBLISHED: &str = include_str!("../../tests/published/commands.txt");

fn parse(line: &str) -> Result<RampInvocation, GrammarError> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    RampInvocation::parse(&words, "host1")
}

fn error(line: &str) -> String {
    parse(line).unwrap_err().to_string()
}

const NEEDED: &str = "--miniops 1000 --maxiops 2000 --wijfile /d/GENIO.WIJ";

#[test]
fn every_published_line_runs_or_is_answered_with_what_was_meant() {
    let lines = PUBLISHED.lines().filter(|line| line.contains("RampRun.pl") && !line.starts_with('#'));
    let (mut good, mut broken) = (0, 0);
    for line in lines {
        let (mark, command) = line.split_at(line.find("./").unwrap());
        if mark.contains("typo") {
            assert_eq!(
                error(command),
                "--disable -warmup: there is no option --disable; --disable-warmup is written without the space"
            );
            broken += 1;
        } else {
            let invocation = parse(command).unwrap();
            let settings = invocation.settings.unwrap();
            assert!(invocation.background && !settings.warm_up, "{command}");
            assert_eq!((settings.ladder.min, settings.ladder.runs), (75_000, 10));
            assert_eq!(settings.runtime, Span::from_secs(1800));
            assert!(settings.comment.starts_with("Ramp ") && settings.system.starts_with("epic-rhe"), "{command}");
            good += 1;
        }
    }
    assert_eq!((good, broken), (4, 1));
}

#[test]
fn a_comment_takes_all_words_up_to_the_next_option() {
    let comment = |line: &str| parse(&format!("{NEEDED} {line}")).unwrap().settings.unwrap().comment;
    assert_eq!(comment("--comment Ramp constant 75k"), "Ramp constant 75k");
    assert_eq!(comment("--comment before -5 and - after --system x"), "before -5 and - after");
    assert_eq!(comment("--comment one -system x"), "one");
    assert_eq!(comment("--comment one –system x"), "one");
    assert_eq!(comment("--comment=one"), "one");
}

#[test]
fn dashes_come_in_three_kinds() {
    for line in
        ["-miniops 5 --maxiops 6 -wijfile w", "–miniops 5 –maxiops=6 --wijfile w", "––miniops 5 —maxiops 6 -wijfile w"]
    {
        let ladder = parse(line).unwrap().settings.unwrap().ladder;
        assert_eq!((ladder.min, ladder.max), (5, 6), "{line}");
    }
}

#[test]
fn rates_have_the_suffixes_of_other_commands() {
    let ladder = parse("--miniops 75k --maxiops 1.5M --wijfile w").unwrap().settings.unwrap().ladder;
    assert_eq!((ladder.min, ladder.max), (75_000, 1_500_000));
    assert_eq!(
        error("--miniops 75q --maxiops 80k --wijfile w"),
        "--miniops: must be a whole number above 0, such as 75000, 75k or 1.5M, got \"75q\""
    );
}

#[test]
fn times_are_minutes_or_have_a_unit() {
    let runtime = |text: &str| parse(&format!("{NEEDED} --runtime {text}")).map(|i| i.settings.unwrap().runtime);
    assert_eq!(runtime("30"), Ok(Span::from_secs(1800)));
    assert_eq!(runtime("90s"), Ok(Span::from_secs(90)));
    assert_eq!(runtime("1h"), Ok(Span::from_secs(3600)));
    assert!(runtime("1d").unwrap_err().to_string().contains("such as 90s"));
    // A value out of range is repeated as it was typed.
    let wrong = |text: &str| error(&format!("{NEEDED} --runtime {text}"));
    assert_eq!(wrong("0"), "--runtime: must be between 1s and 7 days, got 0");
    assert_eq!(wrong("800h"), "--runtime: must be between 1s and 7 days, got 800h");
    let cycle = parse(&format!("{NEEDED} --cycle 8")).unwrap().settings.unwrap().constants.cycle;
    assert_eq!(cycle, Span::from_secs(8));
}

#[test]
fn what_is_wrong_is_said_in_a_line() {
    assert_eq!(error("--maxiops 1 --wijfile w"), "--miniops: is needed; --help shows how it is written");
    assert_eq!(
        error(&format!("{NEEDED} --minops 4")),
        "--minops: there is no such option; did you mean --miniops? --help lists all"
    );
    assert_eq!(error(&format!("{NEEDED} --wibble")), "--wibble: there is no such option; --help lists all");
    assert_eq!(error(&format!("{NEEDED} --miniops 4")), "--miniops: is given twice; keep one");
    assert_eq!(error(&format!("{NEEDED} --numruns --quiet")), "--numruns: needs N behind it");
    assert_eq!(error(&format!("{NEEDED} --quiet=yes")), "--quiet: takes no value");
    assert_eq!(error(&format!("{NEEDED} --numruns -3")), "--numruns: must be a whole number, got \"-3\"");
    assert_eq!(
        error(&format!("{NEEDED} stray")),
        "\"stray\": stands alone; options begin with --, and only --comment takes several words"
    );
    assert_eq!(error("--miniops 9 --maxiops 5 --wijfile w"), "--maxiops: must not be below --miniops (9), got 5");
}

#[test]
fn a_question_needs_no_ramp() {
    let invocation = parse("--status --output there").unwrap();
    assert!(invocation.status && invocation.settings.is_none() && invocation.output == "there");
    assert!(help().lines().count() > OPTIONS.len());
    assert_eq!(help().lines().find(|line| line.chars().count() > 80), None);
}

#[test]
fn defaults_are_what_the_help_says() {
    let settings = parse(NEEDED).unwrap().settings.unwrap();
    assert_eq!(settings.system, "host1");
    assert_eq!((settings.constants, settings.seed), (Constants::default(), 1));
    // The defaults shown in the table of options parse to the actual defaults.
    let line: Vec<String> = [
        "runtime",
        "cycle",
        "warmup",
        "read-percent",
        "writers",
        "readers",
        "wij-write",
        "journal-rate",
        "numruns",
        "ramp",
        "seed",
    ]
    .iter()
    .map(|name| format!("--{name} {}", find(name).unwrap().default))
    .collect();
    assert_eq!(parse(&format!("{NEEDED} {}", line.join(" "))).unwrap().settings.unwrap(), settings);
}
