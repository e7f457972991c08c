//! Joins the actors of a run, for a load of several processes that nobody looks at singly.

use super::{Cell, Class, Kind, Run, RunActor, Series, Slice};
use crate::Histogram;
use block::Span;
use std::collections::BTreeMap;

/// Slices by point and second within the point.
type Seconds = BTreeMap<(usize, u64), Slice>;

impl Run {
    /// The same run with all of its actors joined into one of that name: counts are added,
    /// histograms merged, slices of the same second of a point joined. Rows of gates are left out.
    pub fn together(&self, name: &str) -> Run {
        let mut run = Run { cells: Vec::new(), series: self.series_together(), gates: Vec::new(), ..self.clone() };
        let place = self.actors.first().and_then(|first| first.place);
        let place = place.filter(|_| self.actors.iter().all(|actor| actor.place == place));
        run.actors = vec![RunActor { name: name.into(), place, ..RunActor::default() }];
        let mut groups: BTreeMap<u32, Vec<Vec<&Cell>>> = BTreeMap::new();
        for cell in &self.cells {
            let classes = groups.entry(cell.point).or_default();
            match classes.iter_mut().find(|cells| cells[0].class == cell.class) {
                Some(cells) => cells.push(cell),
                None => classes.push(vec![cell]),
            }
        }
        run.cells = groups.into_values().flatten().map(|cells| as_one(&cells)).collect();
        run.settings.iter_mut().for_each(|setting| setting.actor = setting.actor.map(|_| 0));
        let mut settings = Vec::new();
        for setting in std::mem::take(&mut run.settings) {
            if !settings.contains(&setting) {
                settings.push(setting);
            }
        }
        run.settings = settings;
        run.events.iter_mut().for_each(|event| event.actor = event.actor.map(|_| 0));
        run.cycles.iter_mut().for_each(|(actor, _)| *actor = 0);
        run
    }

    fn series_together(&self) -> Vec<Series> {
        let mut classes: Vec<(Class, Seconds)> = Vec::new();
        for series in &self.series {
            let at = classes.iter().position(|(class, _)| *class == series.class).unwrap_or_else(|| {
                classes.push((series.class.clone(), Seconds::new()));
                classes.len() - 1
            });
            for slice in &series.slices {
                classes[at].1.entry(self.second_of(slice)).and_modify(|sum| *sum = sum.plus(slice)).or_insert(*slice);
            }
        }
        let series = |(class, slices): (Class, Seconds)| Series {
            actor: 0,
            class,
            slices: slices.into_values().collect(),
            minutes: Vec::new(),
        };
        classes.into_iter().map(series).collect()
    }

    /// Indices of a slice's point and of its second in the point. Actors of a point begin within
    /// milliseconds of each other, so rounding to the nearest second matches their seconds.
    fn second_of(&self, slice: &Slice) -> (usize, u64) {
        let begun = self.points.partition_point(|point| point.start <= slice.start);
        let start = begun.checked_sub(1).map_or(Span::ZERO, |point| self.points[point].start);
        let half = Span::SECOND / 2;
        (begun, (slice.start.saturating_sub(start) + half).as_nanos() / Span::SECOND.as_nanos())
    }
}

/// Joins cells of one point and class; `cells` must not be empty.
fn as_one(cells: &[&Cell]) -> Cell {
    let sum = |of: fn(&Cell) -> Option<u64>| {
        let known: Vec<u64> = cells.iter().filter_map(|cell| of(cell)).collect();
        (!known.is_empty()).then(|| known.iter().sum())
    };
    let measured = cells.iter().map(|cell| cell.measured).max().unwrap_or_default();
    let whole = Cell {
        ops: cells.iter().map(|cell| cell.ops).sum(),
        bytes: sum(|cell| cell.bytes),
        failed: sum(|cell| cell.failed),
        short: sum(|cell| cell.short),
        late: sum(|cell| cell.late),
        late_max: cells.iter().filter_map(|cell| cell.late_max).max(),
        held: sum(|cell| cell.held),
        never_sent: sum(|cell| cell.never_sent),
        ..Cell::new(cells[0].point, 0, cells[0].class.clone(), measured)
    };
    Kind::ALL.into_iter().fold(whole, |whole, kind| {
        let mut all = Histogram::new();
        let mut busy = cells.iter().filter(|cell| cell.ops > 0);
        let known = busy.all(|cell| cell.latency(kind).map(|times| all.merge(times)).is_some());
        if known { whole.with(kind, &all) } else { whole }
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Point, Times};
    use super::*;

    /// Two processes that begin 3 ms apart: 100 and 50 requests of 1 and 4 ms in the first second
    /// of the second point, so 150 with a mean of (100 × 1 + 50 × 4) / 150 = 2 ms. One of them did
    /// nothing in the first point.
    #[test]
    fn processes_add_up() {
        let begin = Span::from_secs(20);
        let slice = |ms: u64, ops: u64, mean: u64| Slice {
            start: begin + Span::from_millis(ms),
            length: Span::SECOND,
            ops,
            response: Times::of_sum(ops, Span::from_millis(mean) * ops, Some(Span::from_millis(mean))),
            ..Slice::default()
        };
        let cell = |actor, ops, mean| {
            let mut lat = Histogram::new();
            lat.record_many(Span::from_millis(mean), ops);
            let cell = Cell { ops, bytes: Some(ops * 8192), ..Cell::new(1, actor, Class::ALL, Span::SECOND) };
            cell.with(Kind::Response, &lat)
        };
        let point = |start, end| Point { start, end, ..Point::default() };
        let of = |actor, slices| Series { actor, class: Class::READ, slices, minutes: Vec::new() };
        let actor = |place| RunActor { place: Some(place), ..RunActor::default() };
        let run = Run {
            actors: vec![actor(0), actor(1)],
            points: vec![point(Span::ZERO, begin), point(begin, begin + Span::from_secs(2))],
            cells: vec![Cell::new(0, 0, Class::ALL, Span::SECOND), cell(0, 100, 1), cell(1, 50, 4)],
            series: vec![of(0, vec![slice(0, 100, 1), slice(1000, 7, 1)]), of(1, vec![slice(3, 50, 4)])],
            ..Run::default()
        };
        let whole = run.together("processes");
        assert_eq!((whole.actors.len(), whole.actors[0].place), (1, None), "they loaded different places");
        assert_eq!(whole.cells.len(), 2);
        let cell = whole.cell(1, 0, &Class::ALL).unwrap();
        assert_eq!((cell.ops, cell.bytes, cell.failed), (150, Some(150 * 8192), None));
        assert_eq!(cell.latency(Kind::Response).map(Histogram::count), Some(150));
        let slices = &whole.series(0, &Class::READ).unwrap().slices;
        assert_eq!(
            slices.iter().map(|slice| (slice.start, slice.ops)).collect::<Vec<_>>(),
            [(begin, 150), (begin + Span::SECOND, 7)]
        );
        let times = slices[0].response.unwrap();
        assert_eq!((times.mean, times.max), (Span::from_millis(2), Some(Span::from_millis(4))));
    }
}
