//! What means do not contain, seen in virtual time: a write cycle of all instances on an array,
//! request by request.
//!
//! ```text
//!   size by means ──► the best of those that carry it ──► play one write cycle ──► holds: chosen
//!                          ▲                                     │
//!                          └────────── refused, the next ◄───────┘
//! ```
//! By means a burst takes as long as it may. An array that is faster takes it as fast as it can,
//! and writes its log to the media beside the reads. Whether these stay within their limit depends
//! on time: how full the log is, and where on the media what is written meets what is read.
//!
//! Arrays of disks, and logs that write in place, do more than is computed (decision 0602). They
//! are judged by play alone, unless a single read on the idle array already takes too long.

use super::{Candidate, Need, Sized, choice, flows, milliseconds_of, one_down, seconds_beside, silo_choice};
use array::{Array, ArrayStage, Model};
use block::Bytes;

/// A write cycle as it was played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Played {
    /// Mean response time of the reads of whole cycles, in seconds.
    pub read: f64,
    /// Mean response time of the small writes, in seconds.
    pub write: f64,
    /// The longest burst in seconds; `None` if one was not over when the next was due.
    pub burst: Option<f64>,
}

/// What is played: an array as means see it, and the load on it.
#[derive(Clone, Debug)]
pub struct Play {
    /// The name of the candidate.
    pub name: String,
    /// The array. Its credit is used up and its caches are full, or left out where the space that
    /// reads go to is unknown.
    pub array: Array,
    /// Operations a second of one instance.
    pub iops: f64,
    /// Number of instances.
    pub instances: u32,
    /// Cycles to play.
    pub cycles: u32,
}

/// Seconds from which on a mean response time says only that a queue grows.
pub(super) const ENDLESS: f64 = 1.0;

/// Cycles of an array that is judged by play alone: what a log keeps for later must go down within
/// a cycle, or the next one takes longer.
const CYCLES: u32 = 2;

/// Whether means say less of an array than it does.
pub(super) fn is_played(array: &Array) -> bool {
    let in_place = |stage: &ArrayStage| matches!(stage, ArrayStage::WriteLog(log) if !log.anywhere);
    matches!(*array.media, Model::Disk(_)) || array.stages.iter().any(in_place)
}

/// The array without what means do not count on.
pub(super) fn settled(array: &Array, need: &Need) -> Array {
    let mut array = array.clone();
    if need.spread.is_none() {
        array.stages.retain(|stage| !matches!(stage, ArrayStage::Cache(_)));
    }
    let spent = |limits: &mut array::CloudVolume| {
        for limit in [&mut limits.operations, &mut limits.bytes] {
            (limit.peak, limit.credit) = (limit.base, 0);
        }
    };
    for stage in &mut array.stages {
        match stage {
            ArrayStage::Cache(cache) => cache.warm = true,
            ArrayStage::Credits(limits) => spent(limits),
            _ => {}
        }
    }
    if let Model::CloudVolume(limits) = &mut *array.media {
        spent(limits);
    }
    array
}

/// Which limit a played cycle exceeds.
pub(super) fn beyond_as_played(played: &Played, need: &Need) -> Option<String> {
    let longest = need.constants.cycle_limit().as_secs_f64();
    let slow = |took: f64, most: f64, what: &str| {
        let times =
            [if took < ENDLESS { milliseconds_of(took) } else { "more than 1000".into() }, milliseconds_of(most)];
        (took > most).then(|| format!("as played, a {what} takes {} ms, at most {} ms", times[0], times[1]))
    };
    let late = match played.burst {
        None => Some(format!("more than {:.0}", need.constants.cycle.as_secs_f64())),
        Some(burst) => (burst > longest).then(|| seconds_beside(burst, longest)),
    };
    late.map(|took| format!("as played, a burst takes {took} s, at most {longest:.0} s"))
        .or_else(|| slow(played.read, need.response[0], "read"))
        .or_else(|| slow(played.write, need.response[1], "write"))
}

/// Plays those of the candidates that means do not decide, and then in the order of preference
/// those that carry the load by means, until one holds.
///
/// # Errors
/// Those of `play`.
pub fn played<E>(
    need: &Need,
    candidates: &[Candidate],
    sized: &mut [Sized],
    play: impl FnMut(Play) -> Result<Played, E>,
) -> Result<(), E> {
    let mut player = Player { need, candidates, play };
    for index in (0..sized.len()).filter(|index| is_played(&candidates[*index].array)) {
        player.judge(index, &mut sized[index])?;
    }
    player.choose(sized)?;
    player.look_ahead(sized)
}

struct Player<'a, F> {
    need: &'a Need,
    candidates: &'a [Candidate],
    play: F,
}

impl<E, F: FnMut(Play) -> Result<Played, E>> Player<'_, F> {
    /// Plays cycles of so many instances after some years.
    fn play(&mut self, index: usize, array: &Array, instances: u32, year: usize) -> Result<Played, E> {
        let candidate = &self.candidates[index];
        (self.play)(Play {
            name: candidate.name.clone(),
            array: settled(array, self.need),
            iops: self.need.iops * (1.0 + self.need.growth).powi(year as i32),
            instances,
            cycles: if is_played(&candidate.array) { CYCLES } else { 1 },
        })
    }

    /// Judges one that means do not decide.
    fn judge(&mut self, index: usize, of: &mut Sized) -> Result<(), E> {
        let (need, array) = (self.need, &self.candidates[index].array);
        of.by_play = true;
        of.why_not = idle_read(array, need);
        if of.why_not.is_some() {
            of.why_no_silo = of.why_not.clone();
            of.years.iter_mut().for_each(|year| year.carries = false);
            return Ok(());
        }
        let found = self.play(index, array, need.instances, 0)?;
        (of.why_not, of.played) = (beyond_as_played(&found, need), Some(found));
        if of.why_not.is_none() {
            let down = self.play(index, &one_down(array), need.instances, 0)?;
            let patient = Need { response: [f64::INFINITY; 2], ..need.clone() };
            of.why_not = beyond_as_played(&down, &patient).map(|late| format!("{late}, with one controller"));
        }
        let mut carries = of.why_not.is_none();
        for (number, year) in of.years.iter_mut().enumerate() {
            if carries && number > 0 && need.growth > 0.0 {
                carries = beyond_as_played(&self.play(index, array, need.instances, number)?, need).is_none();
            }
            year.carries = carries;
        }
        (of.why_no_silo, of.played_silo) = (of.why_not.clone(), of.played);
        if need.instances > 1 {
            let found = self.play(index, array, 1, 0)?;
            (of.why_no_silo, of.played_silo) = (beyond_as_played(&found, need), Some(found));
        }
        Ok(())
    }

    /// Plays what would be chosen until it holds.
    fn choose(&mut self, sized: &mut [Sized]) -> Result<(), E> {
        let need = self.need;
        while let Some(index) = choice(need, sized).filter(|index| sized[*index].played.is_none()) {
            let found = self.play(index, &self.candidates[index].array, need.instances, 0)?;
            let of = &mut sized[index];
            (of.why_not, of.played) = (beyond_as_played(&found, need), Some(found));
            if of.why_not.is_some() {
                of.years.iter_mut().for_each(|year| year.carries = false);
            }
            if need.instances == 1 {
                (of.why_no_silo, of.played_silo) = (of.why_not.clone(), of.played);
            }
        }
        while let Some(index) = silo_choice(need, sized).filter(|index| sized[*index].played_silo.is_none()) {
            let found = self.play(index, &self.candidates[index].array, 1, 0)?;
            (sized[index].why_no_silo, sized[index].played_silo) = (beyond_as_played(&found, need), Some(found));
        }
        Ok(())
    }

    /// Plays the years of the chosen one from the last that means let pass, back to one that holds.
    fn look_ahead(&mut self, sized: &mut [Sized]) -> Result<(), E> {
        let need = self.need;
        let Some(index) = choice(need, sized) else { return Ok(()) };
        if need.growth <= 0.0 || sized[index].by_play {
            return Ok(());
        }
        while let Some(last) = last_year(&sized[index]) {
            let found = self.play(index, &self.candidates[index].array, need.instances, last)?;
            if beyond_as_played(&found, need).is_none() {
                break;
            }
            sized[index].years[last].carries = false;
        }
        Ok(())
    }
}

/// Why no load at all is carried: a single read takes too long.
fn idle_read(array: &Array, need: &Need) -> Option<String> {
    let spread = need.spread.map(|each| Bytes(each.0.saturating_mul(need.instances.into())));
    let took = array.means(&flows(1.0, &need.constants, spread), false).flows[0].response;
    let times = [took, need.response[0]].map(milliseconds_of);
    (took > need.response[0])
        .then(|| format!("a read takes {} ms on the idle array, at most {} ms", times[0], times[1]))
}

/// The last year beyond now up to which the load is carried in each.
fn last_year(of: &Sized) -> Option<usize> {
    let carried = of.years.iter().take_while(|year| year.carries).count();
    carried.checked_sub(1).filter(|last| *last > 0)
}
