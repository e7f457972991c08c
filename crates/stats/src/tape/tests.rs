//! A tape counts, times and slices the requests of its classes, and can be added to others.

use super::*;

const MS: u64 = 1_000_000;

fn ms(at: u64) -> Time {
    Time::from_nanos(at * MS)
}

/// A request of 4 KiB, due and made at `due`, handed over 1 ms later and completed at `end` (all in
/// ms).
fn ended(class: usize, due: u64, end: u64) -> Ended {
    Ended { class, due: ms(due), made: ms(due), handed: ms(due + 1), end: ms(end), gate: Span::ZERO, bytes: 4096 }
}

fn seconds() -> Tape {
    Tape::new(ms(0), Noted { slices: Some(Span::SECOND), submission: true, ..Noted::default() })
}

/// Completions at 0.5, 1.0, 1.001 and 3.2 s are two, one, none and one in the first four slices,
/// without calls in between.
#[test]
fn an_end_belongs_to_the_slice_that_it_is_in() {
    let mut tape = seconds();
    for (due, end) in [(100, 500), (200, 1000), (300, 1001), (3000, 3200)] {
        tape.ended(&ended(Tape::READ, due, end));
    }
    tape.finish(ms(3500), ms(3500));
    let reads = &tape[Direction::Read];
    assert_eq!(reads.slices.iter().map(|slice| slice.ops).collect::<Vec<_>>(), [2, 1, 0, 1]);
    // 400 + 800 ms in the first.
    assert_eq!(reads.slices[0].response_sum, Span::from_millis(1200));
    assert_eq!((reads.slices[3].length, reads.slices[3].end), (Span::from_millis(500), Span::from_millis(3500)));
    assert_eq!((reads.measured, reads.submission.count()), (Span::from_millis(3500), 4));
    assert!(tape[Direction::Write].slices.is_empty(), "nothing was written");
}

#[test]
fn whoever_looks_is_told_once_that_a_slice_ended() {
    let mut tape = seconds();
    assert!(!tape.roll(ms(999)));
    assert!(tape.roll(ms(1000)));
    assert!(!tape.roll(ms(1500)));
    tape.ended(&ended(Tape::READ, 1900, 2100));
    assert!(tape.roll(ms(2100)), "the end of a request ended it");
}

/// What is not recorded stays empty, so that it is shown as unknown and not as zero.
#[test]
fn only_what_is_noted_is_known() {
    let mut tape = Tape::default();
    let waited = Ended { gate: Span::from_millis(3), ..ended(Tape::WRITE, 0, 9) };
    tape.ended(&waited);
    let writes = &tape[Direction::Write];
    assert_eq!([&writes.submission, &writes.lateness, &writes.gate].map(Histogram::count), [0; 3]);
    assert_eq!((writes.service.max(), writes.response.max()), (Span::from_millis(8), Span::from_millis(9)));
    let mut tape = Tape::new(ms(0), Noted { gate: true, lateness: true, ..Noted::default() });
    tape.ended(&Ended { made: ms(5), ..waited });
    assert_eq!(tape[Tape::WRITE].gate.max(), Span::from_millis(3));
    assert_eq!(tape[Tape::WRITE].lateness.max(), Span::from_millis(5));
}

/// Reads that verify began when the load was over, at 2 s, and ended at 3 s: they are measured for
/// 1 s, the writes for 2 s although the last of them completed at 1.2 s.
#[test]
fn a_stall_is_no_shorter_run_and_a_check_is_no_load() {
    let mut tape = seconds();
    tape.ended(&ended(Tape::WRITE, 0, 1200));
    tape.ended(&ended(Tape::READ, 2000, 3000));
    tape.finish(ms(2000), ms(3000));
    assert_eq!(tape[Direction::Write].measured, Span::from_secs(2));
    assert_eq!(tape[Direction::Read].measured, Span::SECOND);
    assert_eq!(tape[Direction::Trim].measured, Span::ZERO);
}

/// Recordings of pieces, joined, equal one recording of the whole.
#[test]
fn pieces_put_together_are_the_whole() {
    let noted = Noted { gate: true, ..Noted::default() };
    let (mut whole, mut cut) = (Tape::new(ms(0), noted), Tape::new(ms(0), noted));
    let journal = whole.add(Class::JOURNAL);
    assert_eq!(cut.add(Class::JOURNAL), journal);
    let mut sum = cut.anew(ms(0));
    for second in 0..3 {
        for tape in [&mut whole, &mut cut] {
            tape.punctuality.scheduled = true;
            for class in [Tape::READ, journal] {
                tape.ended(&ended(class, second * 1000, second * 1000 + 7 + second));
            }
            tape.failed(Tape::WRITE, true);
            tape.made(ms(0), ms(second * 2), second == 2);
            tape.punctuality.never_sent = 5;
        }
        sum.append(&cut.take(ms((second + 1) * 1000)));
    }
    whole.finish(ms(3000), ms(3000));
    for class in [Tape::READ, Tape::WRITE, journal] {
        assert_eq!(sum[class], whole[class]);
    }
    // Made 0, 2 and 4 ms late; requests never sent are those of the last piece.
    let kept = Punctuality { scheduled: true, late: 2, late_most: Span::from_millis(4), held: 1, never_sent: 5 };
    assert_eq!((sum.punctuality, whole.punctuality), (kept, kept));
}

/// Two tapes of the same time: 100 requests of one and 300 of the other in 2 and 4 s are 100 a
/// second.
#[test]
fn what_is_done_at_the_same_time_adds_up() {
    let one = |ops: u64, end: u64| {
        let mut tape = seconds();
        (0..ops).for_each(|_| tape.ended(&ended(Tape::READ, 0, end)));
        tape.finish(ms(end), ms(end));
        tape
    };
    let (mut sum, other) = (one(100, 2000), one(300, 4000));
    sum.absorb(&other);
    let reads = &sum[Direction::Read];
    assert_eq!((reads.ops, reads.service.count(), reads.iops()), (400, 400, 100.0));
    // Each in the second in which it completed.
    let told: Vec<_> = reads.slices.iter().map(|slice| (slice.end, slice.ops)).collect();
    assert_eq!(told, [(Span::from_secs(2), 100), (Span::from_secs(4), 300)]);
    assert_eq!(sum.merged(|track| &track.response).count(), 400);
}
