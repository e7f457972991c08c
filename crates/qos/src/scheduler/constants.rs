//! The constants of the floors' controller, in one table: each with its unit and the reason for its
//! size. Parts are fractions of one; costs are in operations.

/// Rounds over all floors (`judge.rs`).
pub(crate) mod round {
    use block::Span;

    /// Floors judged in one poll at most; each takes about as long as a dispatch, and 16 leave a
    /// poll under 100 µs.
    pub const JUDGED_PER_POLL: u32 = 16;
    /// With no floor in use for so long, nothing holds best effort back. A second: owners that ask
    /// now and then find the window as they left it.
    pub const UNUSED: Span = Span::from_secs(1);
    /// A round that took longer was held up: nothing was measured in the rest of it. Ten ticks.
    pub const LONGEST: Span = Span::from_millis(200);
    /// What flows through the backend is measured anew after so long: five ticks, so that a change
    /// is not hidden by what was before.
    pub const FLOW: Span = Span::from_millis(100);
}

/// What follows a request that costs more than the window (`judge.rs`).
pub(crate) mod rest {
    use block::Span;

    /// Others wait at most so many times as long as it took: 8 windows of 1 in a request of 8.
    pub const SERVICES: u64 = 8;
    /// And at most so long: nobody waits for a fifth of a second for the sake of an average.
    pub const MOST: Span = Span::from_millis(200);
}

/// The common scale of overcommitted floors, phi (`judge.rs`).
pub(crate) mod scale {
    use block::Span;

    /// After a miss it rests for so long; the second time twice as long, up to a bound. What is
    /// given back is missed by floors: 2 s to 32 s keep that to one dip in each.
    pub const HOLD: Span = Span::from_secs(2);
    pub const HOLD_MAX: Span = Span::from_secs(32);
    /// It falls to so much of what floors got of it, so that the next round finds them met, and to
    /// at most so much of itself, so that it falls at all.
    pub const FALL: f64 = 0.98;
    pub const FALL_LEAST: f64 = 0.995;
    /// It falls no lower: a thousandth of a floor is none.
    pub const LEAST: f64 = 0.001;
    /// Others that take more than this part of the backend show that there is something to give
    /// back: at once, a tenth of that part a tick.
    pub const SPARE: f64 = 0.05;
    pub const SPARE_STEP: f64 = 0.1;
    /// Requests of others in flight, on average: not just the one that always may go.
    pub const MORE_THAN_ONE: f64 = 1.25;
    /// Otherwise so much a tick once it has rested: a tenth a second.
    pub const STEP: f64 = 0.002;
}

/// Attempts with floors that were given up (`judge.rs`, `floor.rs`).
pub(crate) mod attempt {
    use block::Span;

    /// They are tried again after so long; the second time twice as long, up to a bound: an owner
    /// that changed its mind has its floor within seconds, one that never does costs others 1 in
    /// 1000.
    pub const RETRY: Span = Span::from_secs(8);
    pub const RETRY_MAX: Span = Span::from_secs(300);
    /// And after at least so many times what the failed attempt took: it costs others at most 4 %.
    pub const FACTOR: u64 = 25;
    /// What an owner gets at the knee is measured for so long: 25 ticks, a count in the hundreds.
    pub const REFINE: Span = Span::from_millis(500);
    /// It is held to this part of what it got, less so many times what chance makes: it is not to
    /// be short of it at once.
    pub const MARGIN: f64 = 0.97;
    pub const CHANCE: f64 = 1.5;
    /// What a longer measurement found is held to this part, and to no less than a half.
    pub const REFINED: f64 = 0.985;
    pub const REFINED_LEAST: f64 = 0.5;
    /// That measurement is whole with this part of its time.
    pub const REFINED_TIME: f64 = 0.9;
    /// Held to less, it is short beyond chance, in times of that: its owner asks for less still.
    pub const SHORT: f64 = 2.0;
    /// It counts as given up with a window up to so many times that at which it was.
    pub const KNEE: f64 = 1.05;
    /// Rounds in a row in which it was not short: it is met, whatever becomes of others. Fewer than
    /// are waited for at the bottom.
    pub const MET: u32 = 5;
    /// One step holds it to no less than this part of what it was held to; all of them to a
    /// thousandth of its floor.
    pub const STEP_LEAST: f64 = 0.1;
    pub const LEAST: f64 = 0.001;
}

/// The size of the window (`window.rs`).
pub(crate) mod size {
    /// Operations. One request at a time always may.
    pub const LEAST: f64 = 1.0;
    /// Where a mean decides, each request may be followed by a rest: of seven times what it took,
    /// nearly as long as one may be ([`super::rest`]).
    pub const LEAST_PACED: f64 = 0.125;
    /// Operations: more than any backend keeps in flight.
    pub const MOST: f64 = 65_536.0;
    /// Parts of a floor's due. It is short below this: its clock runs 3 % fast, so 0.5 % above is
    /// no miss yet.
    pub const SHORT: f64 = 1.005;
    /// One that got less in a second is near a miss.
    pub const SLOW: f64 = 1.02;
    /// Where a cut aims: between the two.
    pub const AIM: f64 = 1.015;
    /// A cut leaves at least this part, so that one bad moment does not take everything, and takes
    /// at least the rest of this one, so that it is felt.
    pub const CUT_MOST: f64 = 0.2;
    pub const CUT_LEAST: f64 = 0.97;
    /// A cut to less than this part changes so much that measurements begin anew.
    pub const GROSS: f64 = 0.8;
    /// Best effort is less than this part of what is in flight: there is nothing to take.
    pub const NOTHING: f64 = 0.02;
    /// The window is used up, and at its cap, from these parts on.
    pub const FULL: f64 = 0.9;
    pub const AT_CAP: f64 = 0.99;
    /// It grows by this part of the room that floors have, between these bounds, and by so many
    /// operations in any case: slowly where it is near.
    pub const GROW: f64 = 0.2;
    pub const GROW_LEAST: f64 = 0.005;
    pub const GROW_MOST: f64 = 0.15;
    pub const GROW_BY: f64 = 0.05;
    /// Where a mean is waited for before each step: by this part of the room beyond so much of it,
    /// up to so much. From a look's end it would take many steps otherwise.
    pub const GROW_PACED: f64 = 0.5;
    pub const ROOM_PACED: f64 = 1.2;
    pub const GROW_PACED_MOST: f64 = 0.5;
    /// Floors that could wait so many times as long do not feel what is in flight; then it grows by
    /// this part, there being nothing to go past.
    pub const AMPLE: f64 = 8.0;
    pub const GROW_AMPLE: f64 = 0.5;
    /// Rounds at the bottom before the floor's own reasons are looked into: more than a floor's
    /// measurements look back.
    pub const PATIENCE: u32 = 6;
    /// Operations. Fewer in flight do not fill a device that somebody promised floors on.
    pub const FEW: f64 = 32.0;
    /// A level of the climb with so many completions can be compared with the next: chance is a
    /// seventh.
    pub const SAMPLES: f64 = 48.0;
    /// A level has so much of what is in flight more than the one before, and is more only if the
    /// throughput grows by this factor.
    pub const CLIMB: f64 = 0.5;
    pub const CLIMB_GAIN: f64 = 1.02;
}

/// The search for the knee (`knee.rs`).
pub(crate) mod search {
    use block::Span;

    /// Operations. Half the queue of a SATA drive: a start from which few devices have far to go,
    /// and no floor suffers.
    pub const START: f64 = 16.0;
    /// How many times as much is in flight, of everything, at the next level, unless floors bound
    /// it.
    pub const STEP: f64 = 2.0;
    /// A next level nearer than this, in times, is not worth a comparison.
    pub const STEP_LEAST: f64 = 1.1;
    /// Where floors may have no room for that, this part more: enough for its gain to be shown.
    pub const BOLD: f64 = 0.25;
    /// What floors keep of their room at a new level: requests may become a quarter slower still.
    pub const MARGIN: f64 = 1.25;
    /// A queue that takes longer is not tried: comparing would take as long as floors are judged
    /// by.
    pub const LONGEST: Span = Span::from_millis(100);
    /// A level is measured by at least so many requests, by those in flight so many times, and for
    /// so long: chance is an eighth, and a tick passes.
    pub const SAMPLES: f64 = 64.0;
    pub const FLIGHTS: f64 = 2.0;
    pub const LEAST: Span = Span::from_millis(30);
    /// What a count varies by, as a part of its root: requests that queue come more evenly than by
    /// chance.
    pub const CHANCE: f64 = 0.5;
    /// A throughput that differs from the usual by more than this part and twice chance is another
    /// device's.
    pub const CHANGED: f64 = 0.1;
    pub const CHANGED_CHANCE: f64 = 2.0;
    /// Once all do so many times the least since floors lowered the cap, the device is faster.
    pub const FASTER: f64 = 2.0;
    /// What lowering the cap does shows after so long.
    pub const EFFECT: Span = Span::from_millis(200);
    /// After a failure the next level is tried after so long, the second time twice as long, up to
    /// a bound: a comparison costs floors a little room each time.
    pub const REST: Span = Span::from_secs(2);
    pub const REST_MAX: Span = Span::from_secs(16);
    /// What floors bore says nothing any more once they did not lower the cap for as long as so
    /// many operations take, within bounds: a slow disk shows late what it bears.
    pub const OUTLIVED: f64 = 1280.0;
    pub const OUTLIVED_LEAST: Span = Span::from_secs(1);
    pub const OUTLIVED_MOST: Span = Span::from_secs(16);
    /// Half of what is in flight is tried where operations take so many times what they must: what
    /// is gained is more than what trying costs those who wait meanwhile.
    pub const QUEUEING: f64 = 1.25;
    /// What an operation was seen to need is a hundredth less after each rest, and what it took at
    /// least as much more: minutes, as devices become faster or slower.
    pub const FORGET: f64 = 0.99;
    /// The part of all work that those without a floor do from which levels can be judged by it.
    pub const OTHERS: f64 = 1.0 / 16.0;
    /// With ample room the cap grows by this part of what is in flight a round, unsearched.
    pub const AMPLE: f64 = 0.25;
}

/// A comparison of two levels in pairs (`comparison.rs`).
pub(crate) mod pair {
    /// A logarithm: more than this is worth the longer queue.
    pub const GAIN: f64 = 0.01;
    /// How sure it must be that there is more, and that there is not, in deviations of the mean.
    pub const SURE: f64 = 2.5;
    pub const DOUBT: f64 = 0.5;
    /// Pairs until more is kept. A device's moods come in stretches: a few may lie across the ends
    /// of one.
    pub const LEAST: f64 = 4.0;
    /// And until half is found to be too little.
    pub const LEAST_LESS: f64 = 2.0;
    /// A logarithm: one pair counts for no more than this, e times as much. Of next to nothing
    /// anything is many times as much.
    pub const FARTHEST: f64 = 1.0;
    /// After so many without a result there is none.
    pub const MOST: f64 = 16.0;
    /// Few pairs say little of their spread: as if there had been one more, off by a tenth.
    pub const PRIOR: f64 = 0.01;
}

/// What owners of floors get above them (`knee.rs`).
pub(crate) mod surplus {
    /// An owner that gets this part of its floor has more than it is to have, and the others are to
    /// have what can be had of that.
    pub const MORE: f64 = 1.05;
    /// One that gets this part of it, chance apart, does not need a smaller window.
    pub const LEAST: f64 = 0.99;
}

/// The account of what floors cost in vain (`waste.rs`).
pub(crate) mod account {
    use block::Span;

    /// Seconds of all throughput that floors may cost in vain, or as many as the slowest floor's
    /// measurements look back: what is lost in a second, at most, by a floor that turns out to be
    /// out of reach.
    pub const BUDGET: f64 = 0.3;
    /// What stays used up where floors are let go beside others that are met: several out of reach
    /// are not to cost a budget each.
    pub const LEFT: f64 = 0.5 * BUDGET;
    /// What of it is forgiven a second: after a failure it is tried again after 15 s, after the
    /// next 30 s, at most 60 s.
    pub const FORGIVEN: f64 = 0.02;
    pub const FAILURES_MOST: f64 = 4.0;
    /// Floors that were met for so long forget earlier failures.
    pub const FORGET: Span = Span::from_secs(10);
    /// The part that is assumed to be lost while it is not known: more than a half, so that a
    /// second does not pass before it is looked at. The look puts what was lost in its place.
    pub const UNKNOWN: f64 = 0.7;
    /// A floor that lacks this part of itself or more is held in vain: its owner might have had as
    /// much by luck. One that lacks less is nearly held, and of the cost counts the square of what
    /// it lacks over this: at a fortieth less than what is forgiven, so that it is held on.
    pub const IN_VAIN: f64 = 0.15;
    /// A floor that was missed is not met for as long: measurements begin anew after each change of
    /// the window.
    pub const RECENT: Span = Span::from_millis(200);
    /// At the first look so many times as much, and so many operations more, may be in flight:
    /// enough to see a slope, and no harm to floors that turn out to be harmless.
    pub const WIDER: f64 = 2.0;
    pub const MORE: f64 = 8.0;
    /// For how long it is looked at least, and the part of the throughput up to which holding back
    /// is free.
    pub const LOOK: Span = Span::from_millis(400);
    pub const COST_FREE: f64 = 0.1;
    /// The part up to which floors that were not given up lately are tried on.
    pub const COST_LITTLE: f64 = 0.25;
    /// Seconds over which the throughput fades: with others held back, and without.
    pub const HELD_MEMORY: f64 = 0.5;
    pub const OPEN_MEMORY: f64 = 5.0;
    /// Seconds that what was seen before counts beside a new look.
    pub const BEFORE: f64 = 1.0;
    /// For how many times as long as it was measured it is known, and for how many seconds at most.
    pub const KNOWN: f64 = 15.0;
    pub const KNOWN_MOST: f64 = 30.0;
    /// That holding back is free is known for so long by a look whose mean may be off by less than
    /// this part, half of what is to be told; by another for so many seconds only, about as long as
    /// it takes to look again.
    pub const EVEN: f64 = 0.5 * COST_FREE;
    pub const FIRST: f64 = 0.8;
}

/// One floor (`floor.rs`).
pub(crate) mod promise {
    use block::Span;

    /// How fast a floor's clock runs, in millionths: 3 % fast, so that a floor is short before it
    /// is missed.
    pub const FAST: f64 = 1_030_000.0;
    /// How far a floor's clock may lag behind: what a short gap of the owner's or a stall of the
    /// device lost is made up within the same second.
    pub const LAG: Span = Span::from_millis(300);
    /// How far behind an owner counts at most when the window is judged, in seconds of its due, and
    /// by how many times that more it is due meanwhile: it has caught up within half a second.
    pub const BEHIND: f64 = 0.1;
    pub const URGENCY: f64 = 2.0;
    /// A floor's bytes per second count requests without bytes as this many: one block.
    pub const EMPTY_BYTES: u64 = 4096;
    /// The margin for chance, the root of a second's count, is at most this part of the floor.
    pub const CHANCE_MOST: f64 = 0.2;
    /// Seconds that measurements look back at least, and the operations that they need.
    pub const MEMORY: f64 = 0.05;
    pub const MEMORY_OPS: f64 = 32.0;
    /// Operations of the floor, and seconds, below which nothing can be said of it yet.
    pub const JUDGED_OPS: f64 = 8.0;
    pub const JUDGED_TIME: f64 = 0.015;
    /// Seconds of its last one in which an owner must have wanted more for that second to tell.
    pub const WANTED: f64 = 0.3;
    /// A floor is missed below the one part of it in a second, or below the other in a second and
    /// of late; and not before so many seconds were seen.
    pub const MISSED: f64 = 0.9;
    pub const MISSED_NOW: f64 = 0.99;
    pub const MISSED_TIME: f64 = 0.3;
    /// Seconds of an attempt from which most of a latency's last second are of it.
    pub const PRESENT: f64 = 0.5;
    /// An owner whose requests outstanding are on average below this part of their most asks as it
    /// likes, not as it is served; below the lesser part in any case, below the other if it gets
    /// what it is due.
    pub const LEISURE: f64 = 0.5;
    pub const EASE: f64 = 0.85;
    /// What it is due then; less than all by what may be chance. Of late, less by so many times
    /// what a count varies by.
    pub const CONTENT: f64 = 1.0;
    pub const UNLUCKY: f64 = 3.0;
    /// Times that requests may slow down, tried for owners of whom nothing better is known.
    pub const GUESS: f64 = 2.0;
}

/// A floor by latency (`floor.rs`, `latency.rs`).
pub(crate) mod median {
    /// How far below its floor it is held, as a factor of the rate.
    pub const MARGIN: f64 = 1.03;
    /// A median of fewer requests says nothing.
    pub const SAMPLES: f64 = 8.0;
    /// Seconds after which too few requests are its owner's way of asking.
    pub const WAIT: f64 = 1.0;
}

/// The mean of a floor by latency (`latency.rs`).
pub(crate) mod mean {
    /// Seconds of each of the two stretches that it is taken of, and the requests in each: a tenth
    /// of a second is the slice in which Linux' control groups hand out a disk.
    pub const STRETCH: f64 = 0.1;
    pub const SAMPLES: u64 = 8;
    /// Seconds after which a stretch is over with fewer.
    pub const WAIT: f64 = 0.5;
    /// A window that changed by less than this part is the same.
    pub const SAME: f64 = 0.02;
    /// How far below its floor it is held, as a factor.
    pub const MARGIN: f64 = 1.03;
    /// A mean that cannot be had is held to so many times the least that was seen, as it varies, at
    /// most to so many spans.
    pub const SLACK: f64 = 1.05;
    pub const NEARLY: f64 = 1.5;
    /// One beyond is measured so often in a row before it is given up: 0.2 s of a device that
    /// stalls say nothing.
    pub const LOOKS: u32 = 5;
}

/// Stalls of the whole device (`pulse.rs`).
pub(crate) mod stall {
    use block::Span;

    /// A device that does little for longer than this has become slower.
    pub const LONGEST: Span = Span::from_millis(60);
    /// What is missing is more than chance, which makes about the root of the count, so many times;
    /// and at least this part.
    pub const SURE: f64 = 3.0;
    pub const LEAST: f64 = 0.05;
}
