//! Check and repair of pools: an intact pool is reported as such, every damage is named, and a
//! repair keeps a copy first, leaves a pool that can be served, and reports what was lost.

use crate::support::pools::{BLOCK, change, everything, mend, read, troubles, with_maps};
use std::fs;
use std::path::PathBuf;
use store::{Pool, StoreError};

#[test]
fn a_pool_that_is_whole_is_said_to_be_and_nothing_is_written() {
    let (dir, pool) = with_maps();
    let before = everything(&pool);
    let checked = store::check(&pool).unwrap();
    assert!(checked.is_clean() && checked.leftovers.is_empty(), "{checked:?}");
    assert_eq!((checked.leaves(), checked.used), (2, 8 * BLOCK as u64));
    assert_eq!(server::check_catalogue(&checked.contents), Ok(()));
    let names = |files: &[(PathBuf, Vec<u8>)]| {
        files.iter().map(|(path, bytes)| (path.clone(), bytes.len())).collect::<Vec<_>>()
    };
    let after = everything(&pool);
    assert_eq!(names(&after), names(&before));
    assert!(after == before, "a check writes nothing");
    drop(dir);
}

/// A pool in use, none, and one of a later format are each refused in one line.
#[test]
fn what_cannot_be_checked_is_said() {
    let (dir, pool) = with_maps();
    let held = Pool::open(&pool).unwrap();
    assert!(matches!(store::check(&pool), Err(StoreError::InUse(_))));
    assert!(matches!(mend(&pool, &dir.path().join("copy"), &[]), Err(StoreError::InUse(_))));
    drop(held);
    assert!(matches!(store::check(&dir.path().join("nowhere")), Err(StoreError::Missing(_))));
    assert!(matches!(store::check(dir.path()), Err(StoreError::NotAPool(_))));
    for table in ["maps/table.0", "maps/table.1"] {
        let path = pool.join(table);
        change(&path, |bytes| bytes.get_mut(4).into_iter().for_each(|version| *version = 99));
    }
    let error = store::check(&pool).unwrap_err().to_string();
    assert!(error.contains("have format 99") && error.contains("use a newer seawall"), "{error}");
}

/// The only node of one LUN is damaged, and so is the log that could restore it. The LUN reads as
/// zeroes, the other one is intact.
#[test]
fn a_damaged_node_loses_only_what_it_showed() {
    let (dir, pool) = with_maps();
    // The word of block 0 of the first LUN, all pages valid: (0 + 1) << 16 | 0xffff.
    change(&pool.join("maps/nodes"), |bytes| {
        let page = bytes.chunks(4096).position(|page| page.starts_with(&[0xff, 0xff, 1, 0])).unwrap();
        bytes[page * 4096 + 100] ^= 1;
    });
    let found = store::check(&pool).unwrap();
    assert!(found.is_clean(), "the older table and the log are enough: {found:?}");
    assert_eq!(found.leftovers, ["maps: table.1 or one of its nodes is damaged; table.0 and the log still suffice"]);
    assert_eq!(read(&dir, &pool), [vec![1; 4], vec![2; 4]]);

    let (dir, pool) = with_maps();
    change(&pool.join("maps/nodes"), |bytes| {
        let page = bytes.chunks(4096).position(|page| page.starts_with(&[0xff, 0xff, 1, 0])).unwrap();
        bytes[page * 4096 + 100] ^= 1;
    });
    change(&pool.join("maps/log"), |bytes| bytes[40] ^= 1);
    let found = troubles(&pool);
    assert!(found[0].starts_with("maps: node ") && found[0].contains("has changed since it was written"), "{found:?}");
    assert!(found[1].starts_with("maps: tree 3 ") && found[1].ends_with(" (LUN svm01:/vol/vol1/lun1)"), "{found:?}");
    let repaired = mend(&pool, &dir.path().join("copy"), &[]).unwrap();
    assert!(repaired.after.is_clean(), "{repaired:?}");
    // 8 MiB are blocks 0 to 127.
    let lost = "maps: tree 3: blocks 0 to 127 of 64 KiB read as zeroes now: the map of them is gone (LUN svm01:/vol/vol1/lun1)";
    assert!(repaired.done.iter().any(|line| line == lost), "{repaired:?}");
    assert_eq!(repaired.after.used, 4 * BLOCK as u64);
    assert_eq!(read(&dir, &pool), [vec![0; 4], vec![2; 4]]);
    assert!(store::check(&pool).unwrap().is_clean());
}

/// The file of the blocks was truncated, as when a disk was full during a copy. Lost blocks read as
/// zeroes.
#[test]
fn blocks_that_were_cut_off_are_named() {
    let (dir, pool) = with_maps();
    let blocks = fs::OpenOptions::new().write(true).open(pool.join("maps/blocks")).unwrap();
    blocks.set_len(7 * BLOCK as u64).unwrap();
    let found = troubles(&pool);
    assert!(found.len() == 1 && found[0].ends_with("has 458752 bytes, and blocks up to byte 524288 are in use"));
    let repaired = mend(&pool, &dir.path().join("copy"), &[]).unwrap();
    assert!(repaired.after.is_clean(), "{repaired:?}");
    assert_eq!(read(&dir, &pool), [vec![1; 4], vec![2, 2, 2, 0]]);
}

/// The middle of the log is lost, but what follows shows that it existed. Everything before it is
/// kept, and the pool can be served again and written.
#[test]
fn a_damaged_log_is_played_as_far_as_it_goes() {
    let (dir, _) = with_maps();
    let pool = dir.path().join("killed");
    let log = pool.join("maps/log");
    // Records are in the order of their sequence from the start of the ring; the last but one is
    // damaged.
    let mut records = Vec::new();
    let bytes = fs::read(&log).unwrap();
    for page in (0..bytes.len()).step_by(4096) {
        if &bytes[page..page + 4] == b"SWLG" {
            records.push(page);
        }
    }
    assert!(records.len() >= 4, "{records:?}");
    change(&log, |bytes| bytes[records[records.len() - 2] + 40] ^= 1);
    let found = troubles(&pool);
    assert!(found.len() == 1 && found[0].starts_with("maps: the log holds record "), "{found:?}");
    let error = Pool::open(&pool).unwrap_err().to_string();
    assert!(error.contains("the log holds record"), "a damaged pool is not served: {error}");
    let repaired = mend(&pool, &dir.path().join("copy"), &[]).unwrap();
    assert!(repaired.after.is_clean(), "{repaired:?}");
    assert!(repaired.done.iter().any(|line| line.contains("changes of the maps after record")), "{repaired:?}");
    // The records are four changes of structure (including the volume's tree), then the writes to
    // each LUN: the fifth is damaged.
    assert_eq!((records.len(), repaired.after.leaves()), (6, 2));
    assert_eq!(read(&dir, &pool), [vec![0; 4], vec![0; 4]]);
    assert!(store::check(&pool).unwrap().is_clean());
    // The copy has the original contents.
    assert_eq!(fs::read(dir.path().join("copy/maps/log")).unwrap().len(), bytes.len());
}

/// Neither table is intact: nothing can be done, and nothing is changed.
#[test]
fn without_a_table_nothing_is_touched() {
    let (dir, pool) = with_maps();
    for table in ["maps/table.0", "maps/table.1"] {
        change(&pool.join(table), |bytes| bytes.get_mut(20).into_iter().for_each(|byte| *byte ^= 1));
    }
    let found = troubles(&pool);
    assert!(found.len() == 1 && found[0].starts_with("maps: neither of the two tables is whole"), "{found:?}");
    let before = everything(&pool);
    let error = mend(&pool, &dir.path().join("copy"), &[]).unwrap_err().to_string();
    assert!(error.contains("nothing says which block is whose; nothing was changed"), "{error}");
    assert!(everything(&pool) == before);
}

/// A catalogue that is not a database, or whose rows refer to nothing, is reported; only a copy
/// helps.
#[test]
fn a_damaged_catalogue_is_named() {
    let (dir, pool) = with_maps();
    let db = pool.join("catalogue.db");
    change(&db, |bytes| bytes[4096..].iter_mut().for_each(|byte| *byte = 0xa5));
    let found = troubles(&pool);
    assert!(!found.is_empty() && found.iter().all(|line| line.starts_with("catalogue: ")), "{found:?}");
    let error = mend(&pool, &dir.path().join("copy"), &[]).unwrap_err().to_string();
    assert!(error.contains("the catalogue itself is damaged"), "{error}");
    fs::write(&db, "no database at all").unwrap();
    assert!(troubles(&pool)[0].contains("not a database"), "{:?}", troubles(&pool));
}
