//! The parser by example, by the consistency of the tables, and by property: whatever is typed, it
//! neither panics nor proposes an invalid line.

use super::*;
use crate::catalogue::*;
use crate::value::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// All commands, with the six of snapshots counted again under their shorter name.
const COMMANDS: usize = 94;

fn ok(line: &str) -> Command {
    parse(line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

fn wrong(line: &str) -> CommandError {
    parse(line).expect_err(line)
}

/// The whole answer to an invalid line, in one line.
fn told(line: &str) -> String {
    wrong(line).to_string()
}

fn object(name: &str) -> ObjectName {
    name.parse().unwrap()
}

fn policy(name: &str) -> PolicyName {
    name.parse().unwrap()
}

#[test]
fn a_volume_is_created() {
    let expected = VolumeCreate {
        volume: object("vol1"),
        vserver: Some(object("svm01")),
        aggregate: None,
        size: Some(UnitSize { number: 1, unit: SizeUnit::Scaled(3) }),
        junction_path: None,
        user: None,
        group: None,
        unix_permissions: None,
        qos_policy_group: Some(PolicyAssignment::Group(policy("policy1"))),
        qos_adaptive_policy_group: None,
    };
    let expected = Command::Volume(VolumeCommand::Create(expected));
    let rest = "-vserver svm01 -size 1GB -qos-policy-group policy1";
    assert_eq!(ok(&format!("volume create -volume vol1 {rest}")), expected);
    // Abbreviated, with the first parameter in its place or at the end, in other case, or in
    // quotes.
    assert_eq!(ok(&format!("vol cr vol1 {rest}")), expected);
    assert_eq!(ok(&format!("volume create {rest} vol1")), expected);
    assert_eq!(ok("VOLUME create -VOL vol1 -vs svm01 -SIZE 1g -qos-pol policy1"), expected);
    assert_eq!(ok(&format!("volume create \"vol1\" {rest}")), expected);
}

#[test]
fn what_is_left_out_has_its_default() {
    let Command::PolicyGroup(PolicyGroupCommand::Create(group)) = ok("qos policy-group create p") else { panic!() };
    assert!(group.is_shared, "the command line makes shared groups");
    let Command::Lun(LunCommand::Create(lun)) = ok("lun create /vol/v/l -size 1g") else { panic!() };
    assert_eq!(lun.ostype, OsType::Linux);
    let line = "qos adaptive-policy-group create a -expected-iops 1 -peak-iops 2";
    let Command::Adaptive(AdaptiveCommand::Create(group)) = ok(line) else { panic!() };
    assert_eq!(group.expected_iops_allocation, Allocation::Allocated);
    assert_eq!((group.peak_iops_allocation, group.block_size), (Allocation::Used, BlockSize::K32));
}

#[test]
fn a_switch_may_stand_alone() {
    let force = |line: &str| match ok(line) {
        Command::PolicyGroup(PolicyGroupCommand::Delete(delete)) => delete.force.0,
        other => panic!("{other:?}"),
    };
    assert!(!force("qos policy-group delete p"));
    assert!(force("qos policy-group delete p -force"));
    assert!(force("qos policy-group delete -force p"));
    assert!(force("qos policy-group delete -force true -policy-group p"));
    assert!(!force("qos policy-group delete p -force false"));
}

#[test]
fn show_commands_ask_for_a_form() {
    let form = |line: &str| match ok(line) {
        Command::Volume(VolumeCommand::Show(selection)) => selection.form,
        other => panic!("{other:?}"),
    };
    assert_eq!(form("volume show"), Form::Summary);
    // With only one of two keys, or with a pattern, no single volume is identified.
    assert_eq!(form("volume show vol1"), Form::Summary);
    assert_eq!(form("volume show -vserver svm01 -volume vol*"), Form::Summary);
    assert_eq!(form("volume show -vserver svm01 -volume vol1"), Form::Instance);
    assert_eq!(form("volume show -instance"), Form::Instance);
    assert_eq!(form("volume show -fields size,volume,size"), Form::Fields(vec!["size", "volume"]));
    assert_eq!(
        told("volume show -fields size,polcy"),
        "-fields: \"polcy\" is not a field; there are volume, vserver, aggregate, uuid, state, type, size, available, \
         used, percent-used, junction-path, user, group, unix-permissions, qos-policy-group, \
         qos-adaptive-policy-group"
    );
    assert!(told("volume show -fields sise").contains("did you mean \"size\"?"));
    assert_eq!(
        told("volume show -fields size -instance"),
        "\"-fields\" cannot be used with \"-instance\"; give one of them"
    );
}

#[test]
fn rows_exclude_a_choice_of_volumes() {
    assert_eq!(
        told("qos statistics volume performance show -rows 5 -vserver svm01"),
        "\"-rows\" cannot be used with \"-vserver\"; give one of them"
    );
    assert!(told("qos statistics performance show -rows 21").contains("\"21\" is not a number of rows: write 1 to 20"));
    let Command::Statistics(show) = ok("qos statistics volume latency show -rows 20 -iter 1") else { panic!() };
    assert_eq!((show.rows.map(RowCount::get), show.iterations), (Some(20), Some(Count(1))));
    assert_eq!((show.scope, show.figures), (StatisticsScope::Volume, StatisticsFigures::Latency));
}

#[test]
fn mistakes_in_command_words_are_named() {
    assert_eq!(
        told("volme modify -volume v -size 1g"),
        "\"volme\" is not a recognized command; did you mean \"volume\"? Try: volume modify -volume v -size 1g"
    );
    assert_eq!(
        told("volume nonsense -volume v"),
        "\"nonsense\" is not a recognized command after \"volume\"; it has create, modify, rename, delete, size, mount, unmount, show, qtree, file, \
         snapshot, clone"
    );
    assert_eq!(
        told("qos policy-group"),
        "\"qos policy-group\" is not a whole command; continue with create, modify, rename, delete, show"
    );
    assert_eq!(told("v show"), "\"v\" is ambiguous; it could be vserver, volume");
    assert_eq!(told("  "), "no command was given; type \"?\" for the list");
    assert_eq!(told("-volume v"), "no command was given; type \"?\" for the list");
    assert_eq!(told("volume show \"vol1"), "the quote \" is not closed; add the closing \"");
    assert!(told(&"x".repeat(LINE_BYTES_MAX + 1)).starts_with("the line has 16385 bytes"));
}

#[test]
fn mistakes_in_parameters_are_named() {
    assert_eq!(
        told("qos policy-group create p -max-thruput 10IOPS"),
        "\"qos policy-group create\" has no parameter \"-max-thruput\"; did you mean \"-max-throughput\"? \
         Try: qos policy-group create p -max-throughput 10IOPS"
    );
    assert_eq!(
        told("volume modify v -qos p"),
        "the parameter \"-qos\" is ambiguous; it could be -qos-policy-group, -qos-adaptive-policy-group"
    );
    assert_eq!(
        told("vserver delete -frce"),
        "\"vserver delete\" has no parameter \"-frce\"; it has -vserver; \"-vserver\" is missing: Name of the SVM (\"-vserver <text>\")"
    );
    assert_eq!(told("lun create /vol/v/l"), "\"-size\" is missing: Its size (\"-size <integer>[KB|MB|GB|TB|PB]\")");
    assert_eq!(
        told("volume modify v -size 1g -size 2g"),
        "\"-size\" is given twice, as \"1g\" and as \"2g\"; give it once"
    );
    assert_eq!(
        told("volume modify v w"),
        "\"w\" is unexpected: it belongs to no parameter; put a value with blanks in quotes"
    );
    assert_eq!(
        told("volume modify v -qos-policy-group a -qos-adaptive-policy-group b"),
        "\"-qos-policy-group\" cannot be used with \"-qos-adaptive-policy-group\"; give one of them"
    );
}

#[test]
fn likely_fixes_are_proposed_as_a_whole_line() {
    let fixed = |line: &str| wrong(line).suggestion;
    let is = |line: &str| Some(line.to_owned());
    // Two hyphens, a dash from a word processor, a known misprint, and several mistakes at once.
    assert_eq!(fixed("volume modify --volume v -size 1g"), is("volume modify -volume v -size 1g"));
    assert_eq!(fixed("volume modify \u{2013}volume v -size 1g"), is("volume modify -volume v -size 1g"));
    assert_eq!(fixed("volume show -instant"), is("volume show -instance"));
    assert_eq!(
        fixed("qos polcy-group crate p -max-throughput 300MB -is-shared yes"),
        is("qos policy-group create p -max-throughput 300MB/s -is-shared true")
    );
    assert_eq!(fixed("volume modify -volume a b"), is("volume modify -volume ab"));
    assert_eq!(fixed("volume modify -size -volume v"), is("volume modify -volume v"));
    // A quoted value stays quoted, so that the proposal means the same.
    assert_eq!(fixed("volume modify --volume \"a*\" -size 1g"), is("volume modify -volume \"a*\" -size 1g"));
    // Nothing is proposed if the fix is only a guess.
    assert_eq!(fixed("volume create"), None);
    assert_eq!(fixed("volume create v -size huge"), None);
}

#[test]
fn a_report_has_a_line_for_every_thing() {
    insta::assert_snapshot!(
        "report",
        wrong("qos adaptive-policy-group modify -policy-group aqos- epic -expected-iops 5000 -peak-iops -allocation used-space")
            .report()
    );
}

fn help(line: &str) -> String {
    match ok(line) {
        Command::Help(topic) => topic.text(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn help_comes_from_the_tables() {
    insta::assert_snapshot!("help_all", help("?"));
    assert_eq!(help("?").lines().find(|line| line.len() > 80), None);
    assert_eq!(help("help"), help("?"));
    for line in ["network limit show", "qos adaptive-policy-group chart", "cache second-level show"] {
        assert_eq!(help(&format!("help {line}")).lines().find(|line| line.len() > 80), None, "{line}");
    }
    insta::assert_snapshot!("help_command", help("qos policy-group create -policy-group p ?"));
    assert_eq!(help("help qos pol cr"), help("qos policy-group create ?"));
    let list = help("volume qtree ?");
    assert!(list.lines().all(|l| l.starts_with("  volume qtree ")) && list.lines().count() == 5);
    assert!(told("help volme").contains("did you mean \"volume\"?"));
}

/// The line with each completion in place of the last word.
fn completed(line: &str) -> Vec<String> {
    let completion = complete(line);
    completion.candidates.iter().map(|c| format!("{}{}", &line[..completion.start], c.word)).collect()
}

#[test]
fn what_could_follow_is_offered() {
    assert_eq!(completed("v"), ["vserver", "volume"]);
    assert_eq!(completed("vol m"), ["vol modify", "vol mount"]);
    assert_eq!(completed("qos policy-group create -ma"), ["qos policy-group create -max-throughput"]);
    assert_eq!(
        completed("volume modify -volume v -qos"),
        ["volume modify -volume v -qos-policy-group", "volume modify -volume v -qos-adaptive-policy-group"]
    );
    assert_eq!(
        completed("qos policy-group create p -is-shared "),
        ["qos policy-group create p -is-shared true", "qos policy-group create p -is-shared false"]
    );
    assert_eq!(
        completed("qos adaptive create a -block-size 1"),
        ["qos adaptive create a -block-size 16K", "qos adaptive create a -block-size 128K"]
    );
    assert_eq!(completed("lun show -fields path,si"), ["lun show -fields path,size"]);
    // Parameters that are given already are not offered again, nor is anything that only the user
    // can know.
    assert!(!completed("volume modify -volume v -").contains(&"volume modify -volume v -volume".to_owned()));
    assert_eq!(completed("volume modify -volume "), Vec::<String>::new());
    assert_eq!(completed("nonsense "), Vec::<String>::new());
    assert_eq!(completed("volume show \"vol1 "), Vec::<String>::new());
    assert_eq!(complete("").candidates.len(), 14);
}

/// The template's name begins with the name of the parameter for volumes and LUNs. An abbreviation
/// to that would set the group of all future volumes, so neither it nor a shorter one is accepted;
/// a longer one stands for the template.
#[test]
fn an_svm_takes_no_adaptive_policy_group() {
    for typed in ["-qos-adaptive-policy-group", "-QOS-adaptive-policy-group", "-qos-adaptive", "-qos-a"] {
        let error = parse(&format!("vserver modify s {typed} g")).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "\"vserver modify\" has no parameter {typed:?}: an SVM takes no adaptive policy group; the one that new \
                 volumes get is \"-qos-adaptive-policy-group-template\""
            )
        );
    }
    assert!(matches!(parse("vserver modify s -qos g").unwrap_err().problems[..], [Problem::AmbiguousParameter { .. }]));
    for typed in ["-qos-adaptive-policy-group-template", "-qos-adaptive-policy-group-t"] {
        let Command::Vserver(VserverCommand::Modify(modify)) = parse(&format!("vserver modify s {typed} g")).unwrap()
        else {
            panic!("{typed}");
        };
        assert!(modify.qos_adaptive_policy_group_template.is_some() && modify.qos_policy_group.is_none());
    }
    let created = parse("vserver create s -qos-adaptive-policy-group g").unwrap_err().to_string();
    assert!(created.contains("set by `vserver modify -qos-adaptive-policy-group-template`"), "{created}");
}

#[test]
fn the_tables_are_consistent() {
    let mut paths = BTreeSet::new();
    for spec in specs() {
        assert!(paths.insert(spec.path), "{} twice", spec.path);
        assert!(!spec.help().is_empty() && spec.help().starts_with(char::is_uppercase), "{}", spec.path);
        let names: BTreeSet<_> = spec.parameters.iter().map(|p| p.name).collect();
        assert_eq!(names.len(), spec.parameters.len(), "{}: a parameter twice", spec.path);
        assert!(spec.apart.iter().all(|(a, b)| names.contains(a) && names.contains(b)), "{}", spec.path);
        assert!(spec.keys.iter().all(|k| names.contains(k)), "{}", spec.path);
        let elsewhere = |name: &str| specs().any(|other| other.path != spec.path && other.parameter(name).is_some());
        // FlexGroups have parameters that no command here has.
        let is_known = |name: &str| elsewhere(name) || name.starts_with("aggr-list");
        // A password is typed at a hidden prompt.
        let is_known = |name: &str| is_known(name) || name == "auto-provision-as" || name == "password";
        assert!(spec.refused.iter().all(|(name, _)| !names.contains(name) && is_known(name)), "{}", spec.path);
        for parameter in spec.parameters {
            let name = parameter.name;
            assert!(!parameter.help().is_empty(), "{} -{name}", spec.path);
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-' || c.is_ascii_digit()), "{name}");
            assert!(
                parameter.default.is_none_or(|d| (parameter.check)(&Word::plain(d)).is_ok()),
                "{} -{name}",
                spec.path
            );
            let fits = |choice: &&str| (parameter.check)(&Word::plain(*choice)).is_ok();
            assert!(parameter.choices.iter().all(fits), "{} -{name}", spec.path);
        }
    }
    // No command is the beginning of another, or its end could not be determined.
    for path in &paths {
        assert!(!paths.iter().any(|other| other.starts_with(&format!("{path} "))), "{path}");
    }
    assert_eq!(paths.len(), COMMANDS);
}

/// A line of mostly valid words, so that the parser is led deep into every branch.
fn scrambled() -> impl Strategy<Value = String> {
    let rows: Vec<_> = specs().collect();
    let values =
        ["v1", "none", "non", "1GB", "10IOPS,3MB/s", "5000", "true", "-", "*", "a b", "\"a b\"", "/vol/v/l", "?", ","];
    let word = (0..rows.len(), 0usize..16, 0usize..12, 0usize..4).prop_map(move |(spec, parameter, cut, kind)| {
        let parameters = rows[spec].parameters;
        let name = parameters[parameter % parameters.len()].name;
        match kind {
            0 => format!("-{name}"),
            1 => format!("-{}", &name[..cut.min(name.len())]),
            _ => values[(parameter + cut) % values.len()].to_owned(),
        }
    });
    let path = (0..specs().count()).prop_map(|i| specs().nth(i).map_or("", |s| s.path));
    (path, proptest::collection::vec(word, 0..8)).prop_map(|(path, words)| format!("{path} {}", words.join(" ")))
}

fn sound(line: &str) -> Result<(), TestCaseError> {
    complete(line);
    match parse(line) {
        Ok(Command::Help(topic)) => prop_assert!(!topic.text().is_empty()),
        Ok(_) => {}
        Err(error) => {
            prop_assert!(!error.problems.is_empty());
            prop_assert!(!error.to_string().contains('\n') && error.report().starts_with("Error: "));
            if let Some(line) = &error.suggestion {
                prop_assert!(parse(line).is_ok(), "proposed: {}", line);
            }
        }
    }
    Ok(())
}

/// `-output` is ours: it does not make ambiguous any abbreviation that ONTAP accepts, and may be
/// abbreviated itself if nothing else begins the same.
#[test]
fn output_stands_behind_the_parameters_of_ontap() {
    let shown = |line: &str| match parse(line) {
        Ok(Command::Lun(LunCommand::Show(selection))) => selection,
        Ok(Command::Volume(VolumeCommand::Show(selection))) => selection,
        other => panic!("{line}: {other:?}"),
    };
    let luns = shown("lun show -o linux");
    assert!(luns.query("ostype").is_some_and(|query| query.matches("linux")), "{luns:?}");
    assert_eq!(luns.output, Output::Text);
    assert_eq!(shown("lun show -ou json").output, Output::Json);
    assert_eq!(shown("volume show -o json").output, Output::Json);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(2_000)))]

    #[test]
    fn no_text_makes_the_parser_panic(line in "\\PC{0,60}|[a-z\"' ?*|,./-]{0,60}") {
        sound(&line)?;
    }

    #[test]
    fn no_scrambled_command_makes_the_parser_panic(line in scrambled()) {
        sound(&line)?;
    }

    #[test]
    fn any_unambiguous_beginning_is_the_word(index in 0..COMMANDS, cut in 1usize..40) {
        let spec = specs().nth(index).unwrap();
        let names: Vec<&'static str> = spec.parameters.iter().map(|p| p.name).collect();
        for name in &names {
            let typed = &name[..cut.min(name.len())];
            let meant: Vec<_> = names.iter().filter(|n| n.starts_with(typed)).collect();
            match lookup::pick(&typed.to_uppercase(), &names) {
                lookup::Pick::One(found) => prop_assert!(found == typed || meant == [&found]),
                lookup::Pick::Several(found) => prop_assert!(found.len() > 1 && !names.contains(&typed)),
                lookup::Pick::None => prop_assert!(false, "{} begins nothing", typed),
            }
        }
    }
}

/// A FlexGroup is refused by name, and an abbreviation means a parameter of volumes.
#[test]
fn flexgroups_are_refused_by_name() {
    for parameter in ["-aggr-list a,b", "-aggr-list-multiplier 2", "-auto-provision-as flexgroup", "-aggr-l a"] {
        let told = told(&format!("volume create v -size 1g {parameter}"));
        assert!(told.contains("FlexGroup") && told.contains(parameter.split(' ').next().unwrap()), "{told}");
    }
    for parameter in ["-aggr a", "-a a", "-aggregate a"] {
        assert!(parse(&format!("volume create v -size 1g {parameter}")).is_ok(), "{parameter}");
    }
}

#[test]
fn snapshots_have_a_shorter_name_and_man_is_help() {
    assert_eq!(parse("snapshot create v -snapshot s"), parse("volume snapshot create v -snapshot s"));
    assert_eq!(parse("snap show -volume v*"), parse("vol snap show -volume v*"));
    assert_eq!(parse("man lun resize"), parse("help lun resize"));
}

#[test]
fn a_word_of_a_choice_may_be_cut_short() {
    for (short, whole) in [
        ("set adv", "set -privilege advanced"),
        ("set -priv ADM -conf of", "set -privilege admin -confirmations off"),
        ("lun create /vol/v/l -size 1g -ostype lin", "lun create /vol/v/l -size 1g -ostype linux"),
        ("qos policy-group create p -is-shared t", "qos policy-group create p -is-shared true"),
        ("volume show -output j", "volume show -output json"),
    ] {
        assert_eq!(ok(short), ok(whole), "{short}");
    }
    // It begins several, or is one of them and begins others.
    assert!(told("set ad").contains("choose from admin, advanced"), "{}", told("set ad"));
    let Command::Lun(LunCommand::Create(create)) = ok("lun create /vol/v/l -size 1g -ostype windows") else { panic!() };
    assert_eq!(create.ostype, OsType::Windows);
    assert!(told("set d").contains("there is no diagnostic one"), "{}", told("set d"));
    // Quotes make it literal, and where a name may stand, nothing is cut short.
    assert!(told("set \"adv\"").contains("is not a level of privilege"));
    assert!(told("volume modify v -qos-policy-group non").contains("cut-off"));
    assert_eq!(ok("volume modify v -qos-policy-group n"), ok("volume modify v -qos-policy-group \"n\""));
}

#[test]
fn a_pattern_where_one_is_meant_is_called_so() {
    for (line, parameter) in [
        ("lun delete /vol/vol2/*", "-path: \"/vol/vol2/*\" is a pattern; this command takes one <path> alone"),
        ("qos policy-group delete p*", "-policy-group: \"p*\" is a pattern"),
        ("volume delete *", "-volume: \"*\" is a pattern"),
    ] {
        assert!(told(line).contains(parameter), "{}", told(line));
    }
    assert!(told("volume show -size >x*").contains("is not a size"), "{}", told("volume show -size >x*"));
}
