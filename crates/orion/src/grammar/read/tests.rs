//! The options with their defaults, and what is wrong with others in one line.

use super::*;

fn parsed(line: &str) -> Result<OrionCommand, Error> {
    parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
}

fn asked(line: &str) -> Settings {
    match parsed(line) {
        Ok(OrionCommand::Run(settings)) => *settings,
        other => panic!("{line}: {other:?}"),
    }
}

/// The defaults that are known: 8 KB, 1024 KB, rand, concat, no writes, 60 s, basic, four requests
/// a stream.
#[test]
fn defaults_are_the_originals() {
    let settings = asked("-run simple");
    let Load { small, large, pattern, array, write_percent, warm, duration, settle, .. } = settings.load;
    assert_eq!((small, large, pattern, array), (8192, 1 << 20, Pattern::Random, Array::Concat));
    assert_eq!((write_percent, warm, duration), (0, None, Span::from_secs(60)));
    assert_eq!(
        (settle, settings.matrix, settings.disks, settings.test_name.as_str()),
        (Span::from_secs(2), Matrix::Basic, None, "orion")
    );
    let streams = asked("-run advanced -type seq -simulate RAID0 -testname t -num_disks 6 -cache_size 0");
    assert_eq!(
        (streams.load.pattern, streams.load.warm, streams.disks),
        (Pattern::Streams { depth: 4 }, Some(0), Some(6))
    );
    assert_eq!(streams.load.array, Array::Raid0 { stripe: 1 << 20 });
    assert_eq!(parsed("-help"), Ok(OrionCommand::Help));
    assert_eq!(parsed(""), Ok(OrionCommand::Help));
}

#[test]
fn matrices_have_their_numbers() {
    let matrix = |line: &str| asked(&format!("-run advanced -matrix {line}")).matrix;
    assert_eq!(matrix("point -num_small 4 -num_large 2"), Matrix::Point { small: 4, large: 2 });
    assert_eq!(matrix("col -num_small 4"), Matrix::Col { small: 4 });
    assert_eq!(matrix("row -num_large 0"), Matrix::Row { large: 0 });
    assert_eq!(matrix("max -num_small 4 -num_large 2"), Matrix::Max { small: 4, large: 2 });
}

#[test]
fn what_changes_nothing_or_means_another_is_told() {
    let settings = asked("-run matrix -hugenotneeded -storax skgfr");
    assert_eq!((settings.run, settings.notes.len()), (RunKind::Normal, 3));
    assert!(settings.notes[0].contains("means normal"), "{:?}", settings.notes);
}

#[test]
fn a_word_holds_once() {
    let twice = parsed("-run simple -run oltp").unwrap_err().to_string();
    assert_eq!(twice, "-run: is given twice; leave one out");
    let settings = asked("-run simple --destroy-data a --destroy-data b");
    assert_eq!(settings.destroy, ["a", "b"]);
}

#[test]
fn levels_are_lists_and_ranges() {
    assert_eq!(asked("-run simple --small-levels 8,1-3,2").small_levels, Some(vec![1, 2, 3, 8]));
    assert_eq!(asked("-run simple --large-levels=64").large_levels, Some(vec![64]));
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    for (line, part) in [
        ("-testname x", "-run: is missing; it must be simple, normal"),
        ("-run fast", "-run: must be simple, normal, advanced, dss or oltp, got \"fast\""),
        ("-run simple -dration 5", "-dration: there is no such option; did you mean -duration? -help lists them"),
        ("-run simple -xyzzyq 5", "-xyzzyq: there is no such option; -help lists them"),
        ("-run simple stray", "stray: there is no such option"),
        ("-run simple -duration", "-duration: needs SECONDS behind it"),
        ("-run simple -duration 0", "-duration: must be a whole number from 1 to 86400, got \"0\""),
        ("-run simple -matrix point", "-matrix: is for -run advanced, and -run is simple"),
        ("-run advanced -matrix cube", "-matrix: must be basic, detailed"),
        ("-run advanced -matrix point -num_small 1", "-matrix point: needs -num_large"),
        ("-run advanced -matrix col -num_small 1 -num_large 1", "-num_large: is for -matrix point, row and max"),
        ("-run simple -num_streamIO 3", "-num_streamIO: is for -type seq"),
        ("-run simple -stripe 64", "-stripe: is for -simulate raid0"),
        ("-run simple -simulate raid0 -stripe 512", "-stripe: must be whole requests"),
        ("-run simple -write 101", "-write: must be a whole number from 0 to 100, got \"101\""),
        ("-run simple --small-levels 1-", "--small-levels: must be numbers from 0 to 4096 and ranges with an end"),
        ("-run simple --small-levels 1,2,...", "--small-levels: must be numbers"),
        ("-run simple --small-levels 9-2", "--small-levels: must be numbers"),
        ("-run simple --quick -duration 5", "--quick and -duration: both say"),
        ("-run simple -testname dir/", "-testname: must be a name, to which .lun is added"),
        ("-run simple -hugenotneeded=1", "-hugenotneeded: takes no value"),
        ("-run simple --limit-ms none", "--limit-ms: must be a number from 0.001 to 1000000"),
    ] {
        let said = parsed(line).unwrap_err().to_string();
        assert!(said.contains(part) && !said.contains('\n'), "{line}: {said}");
    }
}
