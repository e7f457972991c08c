//! The constants of the floors' controller, in one table: each with its unit and the reason for its
//! size. Parts are fractions of one; costs are in operations.

/// Rounds over all floors (`judge.rs`, `floors.rs`).
pub(crate) mod round {
    use block::Span;

    /// Most floors judged in one poll. Each takes about as long as a dispatch, and 16 leave a poll
    /// under 100 µs.
    pub const JUDGED_PER_POLL: u32 = 16;
    /// Once no floor has been in use for this long, nothing holds best effort back. A second, so
    /// that owners who ask now and then find the window as they left it.
    pub const UNUSED: Span = Span::from_secs(1);
    /// A round that took longer was held up, and nothing was measured in the rest of it. Ten ticks.
    pub const LONGEST: Span = Span::from_millis(200);
    /// The age at which the measurement of what passes through the backend begins anew: five ticks,
    /// so that a change is not hidden by what was before.
    pub const FLOW: Span = Span::from_millis(100);
}

/// The rest after a request that costs more than the window (`floors.rs`).
pub(crate) mod rest {
    use block::Span;

    /// A rest is at most this many times as long as the request took: enough for one of eight
    /// windows.
    pub const SERVICES: u64 = 8;
    /// And at most this long: nobody waits longer than that for the sake of an average.
    pub const MOST: Span = Span::from_millis(200);
}

/// The common scale of overcommitted floors, phi (`scale.rs`).
pub(crate) mod scale {
    use block::Span;

    /// After a miss the scale rests for this long, after each further miss twice as long, up to a
    /// bound. What is given back may be missed by floors: 2 s to 32 s keep that to one dip in each
    /// rest.
    pub const HOLD: Span = Span::from_secs(2);
    pub const HOLD_MAX: Span = Span::from_secs(32);
    /// On a miss it falls to this part of what floors got of it, so that the next round finds them
    /// met; and at most to the other part of itself, so that it falls at all.
    pub const FALL: f64 = 0.98;
    pub const FALL_LEAST: f64 = 0.995;
    /// It falls no lower: a thousandth of a floor is none.
    pub const LEAST: f64 = 0.001;
    /// Others that take more than this part of the backend show that there is something to give
    /// back: phi then grows by a tenth of that part a tick, without a rest.
    pub const SPARE: f64 = 0.05;
    pub const SPARE_STEP: f64 = 0.1;
    /// Requests of others in flight on average: above this it is more than the one always allowed.
    pub const MORE_THAN_ONE: f64 = 1.25;
    /// The growth of phi per tick once it has rested: a tenth a second.
    pub const STEP: f64 = 0.002;
}

/// Attempts with floors that were given up (`attempts.rs`, `held.rs`, `judge.rs`).
pub(crate) mod attempt {
    use block::Span;

    /// They are tried again after this time, then after twice as long each time, up to a bound. An
    /// owner that begins to ask for more has its floor within seconds; one that never does costs
    /// others 1 in 1000.
    pub const RETRY: Span = Span::from_secs(8);
    pub const RETRY_MAX: Span = Span::from_secs(300);
    /// And after at least this many times what the failed attempt took, so it costs others 4 % at
    /// most.
    pub const FACTOR: u64 = 25;
    /// How long what an owner gets at the knee is measured: 25 ticks, a count in the hundreds.
    pub const REFINE: Span = Span::from_millis(500);
    /// An owner is held to this part of what it got, less so many standard deviations of the count,
    /// so that it is not short of that at once.
    pub const MARGIN: f64 = 0.97;
    pub const CHANCE: f64 = 1.5;
    /// The margin and the least factor for what the longer measurement found.
    pub const REFINED: f64 = 0.985;
    pub const REFINED_LEAST: f64 = 0.5;
    /// That measurement is complete with this part of its time.
    pub const REFINED_TIME: f64 = 0.9;
    /// If an owner that is held to less lacks more than this many standard deviations of that, it
    /// asks for even less.
    pub const SHORT: f64 = 2.0;
    /// A floor counts as given up in a window of up to this many times the size at which it was.
    pub const KNEE: f64 = 1.05;
    /// Rounds in a row without being short that make a floor met, whatever becomes of others. Fewer
    /// than are waited for at the bottom.
    pub const MET: u32 = 5;
    /// One step holds an owner to no less than this part of what it was held to; all steps together
    /// to no less than a thousandth of its floor.
    pub const STEP_LEAST: f64 = 0.1;
    pub const LEAST: f64 = 0.001;
}

/// The size of the window (`window.rs`).
pub(crate) mod size {
    /// Operations. One request at a time is always allowed.
    pub const LEAST: f64 = 1.0;
    /// The least where a mean decides: each request may be followed by a rest of seven times what
    /// it took, nearly as long as one may be ([`super::rest`]).
    pub const LEAST_PACED: f64 = 0.125;
    /// Operations: more than any backend keeps in flight.
    pub const MOST: f64 = 65_536.0;
    /// Parts of a floor's due. A floor is short below this: its clock runs 3 % fast, so at 0.5 %
    /// above its due it is not missed yet.
    pub const SHORT: f64 = 1.005;
    /// A floor that got less in a second is near a miss.
    pub const SLOW: f64 = 1.02;
    /// Where a cut aims: between the two.
    pub const AIM: f64 = 1.015;
    /// A cut leaves at least this part, so that one bad moment does not take everything; and at
    /// most the other part, so that it is felt.
    pub const CUT_MOST: f64 = 0.2;
    pub const CUT_LEAST: f64 = 0.97;
    /// A cut to less than this part changes so much that measurements begin anew.
    pub const GROSS: f64 = 0.8;
    /// If best effort is less than this part of what is in flight, there is nothing to take.
    pub const NOTHING: f64 = 0.02;
    /// The window counts as used up, and as at its cap, from these parts on.
    pub const FULL: f64 = 0.9;
    pub const AT_CAP: f64 = 0.99;
    /// The window grows by this part of the room that floors have, between these bounds, and by so
    /// many operations in any case: slowly where the edge is near.
    pub const GROW: f64 = 0.2;
    pub const GROW_LEAST: f64 = 0.005;
    pub const GROW_MOST: f64 = 0.15;
    pub const GROW_BY: f64 = 0.05;
    /// Growth where each step waits for a mean: this part of the room beyond the second figure, at
    /// most the third. Otherwise the way back from a look would take many steps.
    pub const GROW_PACED: f64 = 0.5;
    pub const ROOM_PACED: f64 = 1.2;
    pub const GROW_PACED_MOST: f64 = 0.5;
    /// Floors that could wait this many times as long do not feel what is in flight. The window
    /// then grows by the second figure, since there is no edge to go past.
    pub const AMPLE: f64 = 8.0;
    pub const GROW_AMPLE: f64 = 0.5;
    /// Rounds at the bottom before the reasons of the floor itself are looked into: more than a
    /// floor's measurements look back.
    pub const PATIENCE: u32 = 6;
    /// Operations. Fewer in flight do not fill a device on which somebody promised floors.
    pub const FEW: f64 = 32.0;
    /// Completions that make a level of the climb comparable with the next: chance is a seventh.
    pub const SAMPLES: f64 = 48.0;
    /// A level of the climb has this part of what is in flight more than the one before. It does
    /// more only if throughput grows by the second figure, a factor.
    pub const CLIMB: f64 = 0.5;
    pub const CLIMB_GAIN: f64 = 1.02;
}

/// The search for the knee (`knee.rs`).
pub(crate) mod search {
    use block::Span;

    /// Operations. Half the queue of a SATA drive: few devices have far to go from there, and no
    /// floor suffers.
    pub const START: f64 = 16.0;
    /// The next level has this many times as much in flight, of everything, unless floors bound it.
    pub const STEP: f64 = 2.0;
    /// A next level that is less than this many times as large is not worth a comparison.
    pub const STEP_LEAST: f64 = 1.1;
    /// Where floors may have no room for that, this part more: enough to show its gain.
    pub const BOLD: f64 = 0.25;
    /// What floors keep of their room at a new level: requests may still become a quarter slower.
    pub const MARGIN: f64 = 1.25;
    /// A level whose queue takes longer is not tried: comparing it would take as long as floors are
    /// judged by.
    pub const LONGEST: Span = Span::from_millis(100);
    /// A level is measured over at least so many requests, so many times those in flight, and for
    /// so long: chance is an eighth, and a tick passes.
    pub const SAMPLES: f64 = 64.0;
    pub const FLIGHTS: f64 = 2.0;
    pub const LEAST: Span = Span::from_millis(30);
    /// The deviation of a count, as a part of its square root: requests that queue complete more
    /// evenly than by chance.
    pub const CHANCE: f64 = 0.5;
    /// A throughput that differs from the usual by more than this part and twice chance means that
    /// the device has changed.
    pub const CHANGED: f64 = 0.1;
    pub const CHANGED_CHANCE: f64 = 2.0;
    /// A throughput of this many times the least since floors lowered the cap: the device is
    /// faster.
    pub const FASTER: f64 = 2.0;
    /// The time after which lowering the cap shows its effect.
    pub const EFFECT: Span = Span::from_millis(200);
    /// The wait after a failure until the next level is tried; twice as long each time, up to a
    /// bound, since a comparison costs floors a little room.
    pub const REST: Span = Span::from_secs(2);
    pub const REST_MAX: Span = Span::from_secs(16);
    /// What floors bore says nothing any more once they have not lowered the cap for as long as so
    /// many operations take, within bounds: a slow disk is late to show what it bears.
    pub const OUTLIVED: f64 = 1280.0;
    pub const OUTLIVED_LEAST: Span = Span::from_secs(1);
    pub const OUTLIVED_MOST: Span = Span::from_secs(16);
    /// Half of what is in flight is tried where operations take this many times as long as they
    /// must: the gain is then more than the trial costs those who wait meanwhile.
    pub const QUEUEING: f64 = 1.25;
    /// The time that an operation was seen to need is a hundredth less after each rest, and the
    /// least that one took is as much more: over minutes, since devices become faster or slower.
    pub const FORGET: f64 = 0.99;
    /// The part of all work that those without a floor must do for levels to be judged by it.
    pub const OTHERS: f64 = 1.0 / 16.0;
    /// With ample room the cap grows by this part of what is in flight each round, without a
    /// search.
    pub const AMPLE: f64 = 0.25;
}

/// A comparison of two levels in pairs (`comparison.rs`).
pub(crate) mod pair {
    /// A logarithm: a gain of more than this is worth the longer queue.
    pub const GAIN: f64 = 0.01;
    /// How sure it must be that there is more, and that there is not, in deviations of the mean.
    pub const SURE: f64 = 2.5;
    pub const DOUBT: f64 = 0.5;
    /// Pairs before a larger level may be kept. A device is slow or fast for stretches of time, and
    /// a few pairs may lie across the end of one.
    pub const LEAST: f64 = 4.0;
    /// Pairs before half may be found to be too little.
    pub const LEAST_LESS: f64 = 2.0;
    /// A logarithm: one pair counts for no more than this, a factor of e. Compared with next to
    /// nothing, anything is many times as much.
    pub const FARTHEST: f64 = 1.0;
    /// Pairs after which a gain that could not be shown counts as none.
    pub const MOST: f64 = 16.0;
    /// Few pairs say little about their spread: as if there had been one more, off by a tenth.
    pub const PRIOR: f64 = 0.01;
}

/// What owners of floors get beyond them (`knee.rs`).
pub(crate) mod surplus {
    /// An owner that gets this part of its floor has more than its due, and the others are to get
    /// as much of the excess as they can.
    pub const MORE: f64 = 1.05;
    /// One that gets this part of it, chance apart, does not need a smaller window.
    pub const LEAST: f64 = 0.99;
}

/// The account of what floors cost in vain (`waste.rs`).
pub(crate) mod account {
    use block::Span;

    /// Seconds of all throughput that floors may cost in vain, or as many as the slowest floor's
    /// measurements look back. A floor that is out of reach loses at most this within a second.
    pub const BUDGET: f64 = 0.3;
    /// What stays used up where floors are let go beside others that are met, so that several out
    /// of reach do not cost a budget each.
    pub const LEFT: f64 = 0.5 * BUDGET;
    /// What of it is forgiven a second. Floors are tried again 15 s after a failure, 30 s after the
    /// next, and at most 60 s after further ones.
    pub const FORGIVEN: f64 = 0.02;
    pub const FAILURES_MOST: f64 = 4.0;
    /// Floors that were met for so long forget earlier failures.
    pub const FORGET: Span = Span::from_secs(10);
    /// The part of the throughput that is assumed to be lost while it is not known: more than a
    /// half, so that a look comes within a second. The look puts what was lost in its place.
    pub const UNKNOWN: f64 = 0.7;
    /// A floor that lacks this part of itself or more is held in vain: its owner might have had as
    /// much by luck. One that lacks less is nearly held, and the cost counts times the square of
    /// what it lacks over this. At a fortieth that is less than what is forgiven, so it is held on.
    pub const IN_VAIN: f64 = 0.15;
    /// A floor that was missed does not count as met for this long: measurements begin anew after
    /// each change of the window.
    pub const RECENT: Span = Span::from_millis(200);
    /// At the first look this many times as much, and so many operations more, may be in flight:
    /// enough to see a slope, and no harm to floors that turn out to cost nothing.
    pub const WIDER: f64 = 2.0;
    pub const MORE: f64 = 8.0;
    /// How long a look takes at least, and the part of the throughput up to which holding back
    /// counts as free.
    pub const LOOK: Span = Span::from_millis(400);
    pub const COST_FREE: f64 = 0.1;
    /// The part up to which holding back goes on after the first look that did not find it free.
    pub const COST_LITTLE: f64 = 0.25;
    /// Seconds over which the measured throughput fades: with others held back, and without.
    pub const HELD_MEMORY: f64 = 0.5;
    pub const OPEN_MEMORY: f64 = 5.0;
    /// Seconds for which earlier measurements count beside a new look.
    pub const BEFORE: f64 = 1.0;
    /// A measurement is valid for this many times as long as it took, and at most for so many
    /// seconds.
    pub const KNOWN: f64 = 15.0;
    pub const KNOWN_MOST: f64 = 30.0;
    /// The finding that holding back is free is valid that long if the look's mean is off by less
    /// than this part, half of what the look is to tell. Otherwise it is valid for the second
    /// figure only, in seconds: about as long as the next look takes.
    pub const EVEN: f64 = 0.5 * COST_FREE;
    pub const FIRST: f64 = 0.8;
}

/// One floor (`floor.rs`).
pub(crate) mod promise {
    use block::Span;

    /// How fast a floor's clock runs, in millionths: 3 % fast, so that a floor is short before it
    /// is missed.
    pub const FAST: f64 = 1_030_000.0;
    /// How far a floor's clock may lag behind: what is lost to a short gap of the owner's or a
    /// stall of the device is made up within the same second.
    pub const LAG: Span = Span::from_millis(300);
    /// How far behind an owner counts at most when the window is judged, in seconds of its due, and
    /// how much more it is due meanwhile, times that: it catches up within half a second.
    pub const BEHIND: f64 = 0.1;
    pub const URGENCY: f64 = 2.0;
    /// A floor in bytes per second counts a request as at least this many: one block.
    pub const EMPTY_BYTES: u64 = 4096;
    /// The margin for chance, the square root of a second's count, is at most this part of the
    /// floor.
    pub const CHANCE_MOST: f64 = 0.2;
    /// Seconds that measurements look back at least, and operations that they look back over.
    pub const MEMORY: f64 = 0.05;
    pub const MEMORY_OPS: f64 = 32.0;
    /// The longest gap between a client's requests that its own turn and the network may explain:
    /// while it has nothing outstanding for longer, it asks for nothing.
    pub const TURN: Span = Span::from_millis(1);
    /// Operations of the floor, and seconds, below which it cannot be judged yet.
    pub const JUDGED_OPS: f64 = 8.0;
    pub const JUDGED_TIME: f64 = 0.015;
    /// Seconds of the last one in which an owner must have wanted more for that second to count.
    pub const WANTED: f64 = 0.3;
    /// A floor is missed below the first part of it in a second, or below the second part both in a
    /// second and of late; and not before so many seconds were seen.
    pub const MISSED: f64 = 0.9;
    pub const MISSED_NOW: f64 = 0.99;
    pub const MISSED_TIME: f64 = 0.3;
    /// Seconds of an attempt after which most of a latency's last second belongs to it.
    pub const PRESENT: f64 = 0.5;
    /// The requests an owner has outstanding on average, as a part of the most. Below the first
    /// figure it asks at its own pace, not as it is served; below the second it does if it gets its
    /// due.
    pub const LEISURE: f64 = 0.5;
    pub const EASE: f64 = 0.85;
    /// Its due for that, in the last second; of late it is so many standard deviations of the count
    /// less.
    pub const CONTENT: f64 = 1.0;
    pub const UNLUCKY: f64 = 3.0;
    /// The factor by which requests may slow down for owners of whom nothing better is known.
    pub const GUESS: f64 = 2.0;
}

/// A floor by latency (`floor.rs`, `latency.rs`).
pub(crate) mod median {
    /// How far below its floor it is held, as a factor of the rate.
    pub const MARGIN: f64 = 1.03;
    /// A median of fewer requests says nothing.
    pub const SAMPLES: f64 = 8.0;
    /// Seconds after which too few requests are put down to the way their owner asks.
    pub const WAIT: f64 = 1.0;
}

/// The mean of a floor by latency (`latency.rs`).
pub(crate) mod mean {
    /// Seconds of each of the two stretches over which the mean is taken, and the requests in each.
    /// A tenth of a second is the slice in which Linux's control groups hand out a disk.
    pub const STRETCH: f64 = 0.1;
    pub const SAMPLES: u64 = 8;
    /// Seconds after which a stretch ends with fewer.
    pub const WAIT: f64 = 0.5;
    /// A window that changed by less than this part counts as the same.
    pub const SAME: f64 = 0.02;
    /// How far below its floor it is held, as a factor.
    pub const MARGIN: f64 = 1.03;
    /// A mean that is out of reach is held to this many times the least that was seen, since it
    /// varies, and at most to so many spans.
    pub const SLACK: f64 = 1.05;
    pub const NEARLY: f64 = 1.5;
    /// A mean beyond that is measured this often in a row before it is given up: 0.2 s of a device
    /// that stalls say nothing.
    pub const LOOKS: u32 = 5;
}

/// Stalls of the whole device (`pulse.rs`).
pub(crate) mod stall {
    use block::Span;

    /// A device that does little for longer than this has become slower.
    pub const LONGEST: Span = Span::from_millis(60);
    /// Completions are missing beyond chance if more than so many square roots of the count are,
    /// and at least this part.
    pub const SURE: f64 = 3.0;
    pub const LEAST: f64 = 0.05;
}
