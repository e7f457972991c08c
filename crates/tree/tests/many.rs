//! A folder with very many files: the cost of each does not depend on their number.

use block::Span;
use tree::{FileTree, NewNode, NodeId, NodeKind, TreeCommand};

const FILES: u32 = 200_000;
/// Changes per record.
const TOGETHER: u32 = 500;

/// Carries out the tree's commands, and counts the bytes that they write.
fn settle(tree: &mut FileTree) -> u64 {
    let mut written = 0;
    loop {
        tree.advance();
        let Some(command) = tree.next_command() else { return written };
        let token = match command {
            TreeCommand::Write { token, bytes, .. } => {
                written += bytes.len() as u64;
                token
            }
            TreeCommand::Zero { token, .. } | TreeCommand::Flush { token } => token,
        };
        tree.done(token, Ok(()));
    }
}

#[test]
fn a_folder_of_200_000_files_costs_what_its_files_cost() {
    let (mut tree, now) = (FileTree::empty(), Span::from_secs(1));
    let name = |number: u32| format!("a file with number {number}").into_bytes();
    let new = NewNode { kind: NodeKind::File, mode: 0o644, uid: 0, gid: 0, verifier: 0, target: b"" };
    let mut halves = [0; 2];
    for number in 0..FILES {
        tree.make(now, NodeId::ROOT, &name(number), &new).unwrap();
        if number % TOGETHER == TOGETHER - 1 {
            tree.want();
            halves[usize::from(number >= FILES / 2)] += settle(&mut tree);
        }
    }
    // A file, its name and its folder are some 280 bytes. Images are half as long as the records
    // before them at first, and at most as long later, so each MiB of them adds as much again.
    let each = halves.map(|bytes| bytes / u64::from(FILES / 2));
    assert!(each[0] < 2000 && each[1] < 10_000, "{each:?} bytes a file");
    let mut listed = 0;
    let mut cookie = 0;
    while let Some(last) = {
        let page: Vec<_> = tree.list(NodeId::ROOT, cookie).unwrap().take(100).collect();
        listed += page.len();
        page.last().map(|entry| entry.cookie)
    } {
        // A page continues after the previous one, without visiting earlier entries.
        cookie = last;
    }
    assert_eq!(listed, FILES as usize);
    for number in (0..FILES).step_by(2) {
        tree.remove(now, NodeId::ROOT, &name(number)).unwrap();
        if number % TOGETHER == 0 {
            tree.want();
            settle(&mut tree);
        }
    }
    assert_eq!(tree.nodes(), u64::from(FILES) / 2 + 1);
    assert_eq!(tree.check(), []);
}
