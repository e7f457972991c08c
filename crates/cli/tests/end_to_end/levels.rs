//! `seawall levels`: classes become policies on a running server, and hours become a bill.

use crate::running::{run, seawall};
use crate::scratch::Scratch;
use crate::server::{Server, read_text};

const CLASSES: &str = "currency = \"CHF\"\n\
    [[class]]\nname = \"gold\"\nabout = \"databases\"\nexpected_iops_per_tb = 2000\npeak_iops_per_tb = 4000\n\
    absolute_min_iops = 200\npeak_space = \"allocated-space\"\nblock_size = \"4K\"\nlatency_ms = 2.0\nprice_per_tb = 100.0\n\
    price_per_iops = 0.05\n[[class]]\nname = \"bronze\"\nexpected_iops_per_tb = 250\npeak_iops_per_tb = 500\n";

fn levels(scratch: &Scratch, arguments: &[&str]) -> crate::running::Ended {
    run(seawall(scratch.path()).arg("levels").args(arguments))
}

/// Each class has a policy group in each SVM, by the shell's commands; the second time nothing is
/// to be done, and what was changed in the file or on the server is changed back. A dry run changes
/// nothing.
#[test]
fn classes_become_policies_in_every_svm() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    std::fs::write(scratch.join("levels.toml"), CLASSES).unwrap();
    let apply = ["apply", "levels.toml", "--pool", "pool"];
    let empty = levels(&scratch, &apply);
    assert!(empty.code == Some(2) && empty.err.contains("the server has no SVM yet"), "{empty:?}");
    server.tell(&["vserver create svm01", "vserver create svm02", "volume create db -vserver svm01 -size 10GB"]);
    let dry = levels(&scratch, &[&apply[..], &["--dry-run", "--vserver", "svm02"]].concat());
    assert_eq!((dry.code, dry.out.lines().count()), (Some(0), 2), "{dry:?}");
    let made = levels(&scratch, &apply);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(
        made.out.contains("create -policy-group gold-svm01 -vserver svm01 -expected-iops 2000IOPS/TB"),
        "{}",
        made.out
    );
    let again = levels(&scratch, &apply);
    assert_eq!(
        again.out,
        "gold-svm01: is as it should be\nbronze-svm01: is as it should be\n\
                           gold-svm02: is as it should be\nbronze-svm02: is as it should be\n"
    );
    server.tell(&["volume modify db -vserver svm01 -qos-adaptive-policy-group gold-svm01"]);
    server.tell(&["qos adaptive-policy-group modify gold-svm01 -peak-iops 9000"]);
    let back = levels(&scratch, &apply);
    assert_eq!(back.out.matches(" modify -policy-group gold-svm01").count(), 1, "{}", back.out);
    let shown =
        server.tell(&["qos adaptive-policy-group show gold-svm01", "qos adaptive-policy-group show bronze-svm02"]);
    for words in ["4000IOPS/TB", "200IOPS", "4K", "500IOPS/TB", "Vserver: svm02"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    // 10 GB × 2000 = 20, and the minimum is 200.
    let chart = server.tell(&["qos adaptive-policy-group chart -policy-group gold-svm01 -used-space 10TB"]);
    assert!(chart.contains("\n   10.000 TB      20,000        40,000  "), "{chart}");
    assert!(chart.lines().all(|line| line.chars().count() <= 80), "{chart}");
}

/// What the server refuses ends it in one line with the answer no; what cannot be read, with what
/// is wrong.
#[test]
fn what_is_refused_and_what_is_wrong_is_said() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.join("pool")).unwrap();
    let goal = "cache = \"page\"\n[qos]\ncapacity_iops = 1000\nutilisation = 50\nbeyond_utilisation = \"refuse\"\n";
    std::fs::write(scratch.join("pool/seawall.toml"), goal).unwrap();
    let server = Server::start(&scratch);
    std::fs::write(scratch.join("levels.toml"), CLASSES).unwrap();
    server.tell(&["vserver create svm01", "volume create db -size 200GB"]);
    assert_eq!(levels(&scratch, &["apply", "levels.toml", "--pool", "pool"]).code, Some(0));
    server.tell(&["volume modify db -qos-adaptive-policy-group gold-svm01"]);
    // 200 GB × 2000 = 400 of 500; by 3000 it would be 600.
    std::fs::write(scratch.join("levels.toml"), CLASSES.replace("2000", "3000")).unwrap();
    let refused = levels(&scratch, &["apply", "levels.toml", "--pool", "pool"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert_eq!(
        refused.err,
        "Error: the floors together would be 600 IOPS, beyond the goal of 500 (50 % of 1000); ask for less, or raise \
         utilisation in [qos] of the pool's seawall.toml\n"
    );
    let grown = server.ask(&["volume modify db -size 400GB"]);
    assert!(grown.code == Some(1) && grown.err.contains("would be 800 IOPS, beyond the goal of 500"), "{grown:?}");
    for (arguments, words) in [
        (
            &["apply", "levels.toml", "--pool", "pool", "--vserver", "svm9"][..],
            "--vserver svm9: the server has no such SVM; it has: svm01",
        ),
        (&["apply", "levels.toml", "--pool", "elsewhere"], "--pool elsewhere: no server answers there"),
        (&["show", "none.toml"], "none.toml: read the file of classes"),
        (&["show", "broken.toml"], "broken.toml: line 2: colour: there is no such key"),
    ] {
        std::fs::write(scratch.join("broken.toml"), "[[class]]\ncolour = 1\n").unwrap();
        let ended = levels(&scratch, arguments);
        assert!(ended.code == Some(2) && ended.err.contains(words) && ended.err.lines().count() == 1, "{ended:?}");
    }
    let shown = levels(&scratch, &["show", "levels.toml"]);
    assert!(
        shown.out.contains("gold") && shown.out.contains("CHF") && shown.out.lines().all(|l| l.chars().count() <= 80)
    );
}

/// Two days of a volume under gold, 20 TB and 40 000 IOPS, whose LUN does 10 000 and misses 400 of
/// them: (20 × 100 + 40 000 × 0.05) × 48 / 730 = 263.01. As table, spreadsheet and page; hours
/// before and after are not in it.
#[test]
fn hours_become_a_bill() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("levels.toml"), CLASSES).unwrap();
    // 2026-11-01 is hour 498 192 of 1970.
    let first = 498_192;
    let mut hours =
        "hour,svm,volume,path,policy,promised_seconds,promised_floor_ops,promised_allocated_mib_s,read_ops,\
                     completed,disk_us,qos_max_us,missed_ops,missed_ms\n"
            .to_owned();
    for hour in first - 5..first + 53 {
        let mib = 20e12 / 1_048_576.0 * 3600.0;
        hours += &format!("{hour},svm01,db,svm01:/vol/db,gold-svm01,3600,{},{mib:.0},,,,,,\n", 3600 * 40_000);
        let ops = 3600 * 10_000_u64;
        let (disk, held) = (ops * 900, ops * 100);
        hours +=
            &format!("{hour},svm01,db,svm01:/vol/db/lun1,,3600,,,{ops},{ops},{disk},{held},{},30000\n", 3600 * 400);
    }
    std::fs::write(scratch.join("hours.csv"), hours).unwrap();
    let report = ["report", "levels.toml", "--hours", "hours.csv", "--from", "2026-11-01", "--to", "2026-11-03"];
    let ended = levels(&scratch, &[&report[..], &["--csv", "bill.csv", "--page", "bill.html"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let first = "2026-11-01 00:00 to 2026-11-03 00:00 (UTC): 48.0 of 48.0 hours were kept; ";
    assert!(ended.out.starts_with(first), "{}", ended.out);
    let line = "  db             gold       20.000   40,000   10,000  10.0 %  1.00 %      263.01\n";
    assert!(ended.out.contains(line), "{}", ended.out);
    assert!(ended.out.contains("    the floor was missed for 24 min\n"), "{}", ended.out);
    assert!(ended.out.lines().all(|line| line.chars().count() <= 80), "{}", ended.out);
    let csv = read_text(&scratch.join("bill.csv"));
    assert!(
        csv.lines().count() == 2 && csv.contains(",48.0000,20.000000,") && csv.trim_end().ends_with("263.01,CHF"),
        "{csv}"
    );
    assert!(read_text(&scratch.join("bill.html")).contains("263.01"));
    for (arguments, words) in [
        (&[][..], "--pool <DIR>|--hours <FILE>"),
        (&["--hours", "none.csv"], "--hours none.csv"),
        (&["--hours", "levels.toml"], "has no column hour; a row needs"),
        (&["--hours", "hours.csv", "--hours", "hours.csv"], "which --hours hours.csv has already; give each hour"),
        (&["--hours", "hours.csv", "--from", "soon"], "must be a date such as 2026-11-01"),
        (&["--hours", "hours.csv", "--to", "2026-11-01T03:30"], "--to: must be a full hour such as 2026-11-01T06:00"),
        (&["--pool", "."], "--pool: .: not a pool, and not empty"),
        (
            &["--hours", "hours.csv", "--from", "2026-11-02", "--to", "2026-11-02"],
            "must be after --from 2026-11-02T00:00",
        ),
    ] {
        let ended = levels(&scratch, &[&["report", "levels.toml"][..], arguments].concat());
        assert!(ended.code == Some(2) && ended.err.contains(words) && ended.err.lines().count() == 1, "{ended:?}");
    }
}
