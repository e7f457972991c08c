//! The slab from its users' point of view: where slots come from, what is returned to the system,
//! and what is refused.

use super::*;
use proptest::prelude::*;

fn slab(frames: usize, registered: usize) -> Slab {
    Slab::new(Slab::map(Bytes((frames * FRAME) as u64)).unwrap(), registered * FRAME)
}

#[test]
fn small_slots_come_from_the_registered_part_and_large_ones_do_not() {
    // 64 frames registered of 256. A slot of 256 KiB is 64 frames, more than SMALL.
    let slab = slab(256, 64);
    let small = slab.take(4096).unwrap();
    let large = slab.take(256 << 10).unwrap();
    assert!((small.slot() as usize) < 64);
    assert!((large.slot() as usize) >= 64);
    slab.fly(&small);
    slab.fly(&large);
    assert_eq!(slab.memory(&small, 0).fixed, Some(0));
    assert_eq!(slab.memory(&large, 0).fixed, None);
    slab.land(&small);
    slab.land(&large);
    slab.give(&small);
    slab.give(&large);
    assert_eq!(slab.outstanding(), 0);
}

#[test]
fn a_full_slab_says_so_and_serves_again_after_a_return() {
    let slab = slab(4, 0);
    let all: Vec<Buf> = std::iter::from_fn(|| slab.take(1)).collect();
    assert_eq!(all.len(), 4);
    assert!(slab.take(1).is_none());
    all.iter().for_each(|buf| slab.give(buf));
    assert_eq!(slab.take(16 << 10).map(|buf| buf.len()), Some(16 << 10));
    assert!(slab.take(u32::MAX).is_none());
}

#[test]
fn a_window_reaches_its_bytes_alone() {
    let slab = slab(4, 0);
    let buf = slab.take(8192).unwrap();
    slab.with_mut(&buf, |bytes| bytes.fill(1));
    let buf = buf.window(100, 50);
    slab.with_mut(&buf, |bytes| bytes.fill(2));
    let buf = buf.window(0, 8192);
    slab.with(&buf, |bytes| {
        assert_eq!(bytes.iter().filter(|&&byte| byte == 2).count(), 50);
        assert_eq!((bytes[99], bytes[100], bytes[149], bytes[150]), (1, 2, 2, 1));
    });
    slab.give(&buf);
}

#[test]
fn readers_may_nest() {
    let slab = slab(1, 0);
    let buf = slab.take(4096).unwrap();
    let sum = slab.with(&buf, |one| slab.with(&buf, |two| one.len() + two.len()));
    assert_eq!(sum, 8192);
    slab.with_mut(&buf, |bytes| bytes[0] = 1);
    slab.give(&buf);
}

/// 16 MiB were used and given back; a slot of another 2 MiB is still out. By `mincore`, only the
/// pages of that slot belong to the process in the end. A slot taken later has zeroes or its former
/// contents, but never those of another mapping.
#[test]
fn memory_that_nobody_uses_any_more_goes_back_to_the_system() {
    let slab = slab((64 << 20) / FRAME, 0);
    let resident = || {
        let mut pages = vec![0_u8; slab.region.len() / FRAME];
        // SAFETY: the range is the whole region, and the kernel writes a byte for each of its
        // pages.
        let outcome =
            unsafe { libc::mincore(slab.region.start().as_ptr().cast(), slab.region.len(), pages.as_mut_ptr()) };
        assert_eq!(outcome, 0);
        pages.iter().filter(|page| **page & 1 == 1).count() * FRAME
    };
    let large: Vec<Buf> = (0..8).map(|_| slab.take(2 << 20).unwrap()).collect();
    let kept = slab.take(2 << 20).unwrap();
    large.iter().chain([&kept]).for_each(|buf| slab.with_mut(buf, |bytes| bytes.fill(7)));
    assert_eq!(resident(), 18 << 20);
    large.iter().for_each(|buf| slab.give(buf));
    let given = |most| (0..20).map(|_| slab.give_back(most, 10).0).collect::<Vec<_>>();
    // Ten looks without a result, and then 4 MiB each.
    assert_eq!(given(Bytes::mib(4))[9..], [[0, 4, 4, 4, 4].map(|mib| mib << 20).to_vec(), vec![0; 6]].concat());
    assert_eq!(resident(), 2 << 20);
    assert!(slab.with(&kept, |bytes| bytes.iter().all(|byte| *byte == 7)));
    let again = slab.take(16 << 20).unwrap();
    slab.with_mut(&again, |bytes| bytes.fill(8));
    slab.give(&again);
    slab.give(&kept);
    // While memory is short, all of it is returned at the second look.
    let in_haste: Vec<u64> = (0..3).map(|_| slab.give_back(Bytes::mib(64), 1).0).collect();
    assert_eq!(in_haste, [0, 18 << 20, 0]);
    assert_eq!(resident(), 0);
}

/// Forged claims must not reach memory that another claim holds.
#[test]
fn forged_claims_are_refused() {
    let refused = |misuse: fn(&Slab, Buf)| {
        let slab = slab(4, 0);
        let buf = slab.take(4096).unwrap();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| misuse(&slab, buf)));
        assert!(outcome.is_err());
    };
    refused(|slab, buf| slab.with(&buf, |_| slab.with_mut(&Buf::new(buf.slot(), 0, 1), |_| ())));
    refused(|slab, buf| slab.with_mut(&buf, |_| slab.with(&Buf::new(buf.slot(), 0, 1), |_| ())));
    refused(|slab, buf| slab.with(&Buf::new(buf.slot(), 1, 4096), |_| ()));
    refused(|slab, _| slab.with(&Buf::new(1000, 0, 1), |_| ()));
    refused(|slab, buf| {
        slab.give(&buf);
        slab.with(&buf, |_| ());
    });
    refused(|slab, buf| {
        slab.fly(&buf);
        slab.with(&Buf::new(buf.slot(), 0, 1), |_| ());
    });
    refused(|slab, buf| {
        slab.fly(&buf);
        slab.give(&buf);
    });
    refused(|slab, buf| slab.with(&buf, |_| slab.give(&Buf::new(buf.slot(), 0, 1))));
}

proptest! {
    /// Every holder finds its own pattern after all others have written theirs, and everything is
    /// given back.
    #[test]
    fn slots_never_overlap_and_all_come_back(
        registered in 0usize..=64,
        sizes in proptest::collection::vec(1u32..100_000, 1..60),
    ) {
        let slab = slab(64, registered);
        let whole = slab.take(128 << 10).map(|buf| slab.give(&buf)).is_some();
        let mut held = Vec::new();
        for (number, len) in sizes.into_iter().enumerate() {
            if let Some(buf) = slab.take(len) {
                prop_assert_eq!(buf.len(), len);
                slab.with_mut(&buf, |bytes| bytes.fill(number as u8));
                held.push((number as u8, buf));
            }
        }
        for (number, buf) in held {
            prop_assert!(slab.with(&buf, |bytes| bytes.iter().all(|&byte| byte == number)));
            slab.give(&buf);
        }
        prop_assert_eq!(slab.outstanding(), 0);
        prop_assert_eq!(slab.take(128 << 10).is_some(), whole);
    }
}
