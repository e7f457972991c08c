//! The administrators' lines of two published documents, word for word, against a server: what is
//! right works, and what is mistyped is answered with what is wrong and the line that was probably
//! meant.

use crate::scratch::Scratch;
use crate::server::Server;

/// All command lines as the documents print them, with the document's number and a mark for each:
/// `ok` or `typo`.
const PUBLISHED: &str = include_str!("../../../../published/commands.txt");

/// The administrators' lines of a document, each with whether it is right, in order.
pub fn lines(document: &str) -> Vec<(bool, &'static str)> {
    let marked = PUBLISHED.lines().filter_map(|line| line.strip_prefix(document)?.trim_start().split_once(' '));
    let lines = marked.map(|(mark, line)| (mark == "ok", line.trim_start()));
    lines.filter(|(_, line)| line.starts_with("qos ") || line.starts_with("vol")).collect()
}

/// What the page on adaptive QoS has before its lines.
pub const EPIC: &[&str] = &[
    "vserver create epic",
    "volume create epic_rhel1_01 -vserver epic -size 5TB",
    "volume create epic_rhel1_02 -vserver epic -size 5TB",
    "volume create epic_rhel2_01 -vserver epic -size 5TB",
    "volume create epic_rhel3_01 -vserver epic -size 5TB",
    "qos adaptive-policy-group create AqosEpicProd -vserver epic -expected-iops 15000 -peak-iops 30000 \
     -absolute-min-iops 7500",
];

/// What the article on a file server has before its lines.
pub const FILE_SERVER: &[&str] = &[
    "vserver create svm01",
    "volume create vol1 -vserver svm01 -size 100GB",
    "volume create vol2 -vserver svm01 -size 100GB",
];

fn walk(server: &Server, document: &str) {
    let lines = lines(document);
    assert!(lines.len() >= 11, "{document}: {lines:?}");
    for (is_right, line) in lines {
        let ended = server.ask(&[line]);
        if is_right {
            assert_eq!(ended.code, Some(0), "{line}: {}", ended.err);
            // Without a terminal to interrupt it on, statistics come once.
            let totals = usize::from(line.starts_with("qos statistics"));
            assert_eq!(ended.out.matches("-total-").count(), totals, "{line}: {}", ended.out);
        } else {
            assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""), "{line}");
            assert!(ended.err.starts_with("Error: ") && ended.err.lines().count() == 1, "{line}: {}", ended.err);
            assert!(
                ended.err.contains("did you mean") || ended.err.contains("or leave it out"),
                "{line}: {}",
                ended.err
            );
        }
    }
}

/// Each document's lines on a server with its SVM alone, where lines without -vserver mean that
/// one, and then all of them on one with both and a third that has a volume of another name, where
/// a volume's name tells its SVM.
#[test]
fn published_lines_work_with_one_svm_and_with_several() {
    for (document, before) in [("000", EPIC), ("003", FILE_SERVER)] {
        let scratch = Scratch::new();
        let server = Server::start(&scratch);
        server.tell(before);
        walk(&server, document);
    }
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.tell(EPIC);
    server.tell(FILE_SERVER);
    server.tell(&["vserver create other", "volume create vol3 -vserver other -size 1GB"]);
    walk(&server, "000");
    walk(&server, "003");
    let volumes = server.tell(&["volume show -fields qos-policy-group,qos-adaptive-policy-group -volume vol2|epic*"]);
    assert_eq!((volumes.matches("AqosEpicProd").count(), volumes.matches("adaptive-policy2").count()), (3, 1));
    // A second vol1 leaves the article's short line without one meaning.
    server.tell(&["volume create vol1 -vserver other -size 1GB"]);
    let ended = server.ask(&["volume modify -volume vol1 -qos-policy-group policy1"]);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.err.contains("several SVMs have a volume vol1: svm01, other; say which with -vserver"),
        "{}",
        ended.err
    );
}
