//! A folder with very many files: each costs the same, however many there are.

use block::Span;
use tree::{FileTree, NewNode, NodeId, NodeKind, TreeCommand};

const FILES: u32 = 200_000;
/// Changes of one record.
const TOGETHER: u32 = 500;

/// Does what the tree asks for, and counts the bytes that it writes.
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
    // A file, its name and its folder are some 280 bytes; images, half as long as the records
    // before them at first and later at most as long, come to as much again for each MiB of them.
    let each = halves.map(|bytes| bytes / u64::from(FILES / 2));
    assert!(each[0] < 2000 && each[1] < 10_000, "{each:?} bytes a file");
    let mut listed = 0;
    let mut cookie = 0;
    while let Some(last) = {
        let page: Vec<_> = tree.list(NodeId::ROOT, cookie).unwrap().take(100).collect();
        listed += page.len();
        page.last().map(|entry| entry.cookie)
    } {
        // A page goes on where the last one ended, and looks at no entry before.
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
