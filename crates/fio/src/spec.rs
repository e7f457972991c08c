//! Converts fio's options to a job of the engine's.

use crate::error::{Error, Problem};
use crate::job::Job;
use crate::options::{Blocks, Directions, Engine, Options};
use block::{Bytes, Iops, Span};
use stats::{Direction, PerDirection};
use workload::Spacing;
use workload::job::{
    Amount, BlockCoverage, BlockSizes, Calls, Command, Commands, Content, Ending, Ends, EngineKind, FileSpec, Fill,
    Floor, FlowShare, Hash, JobPlace, JobSpec, KernelPolling, Logs, Mix, Order, Pace, Pacing, Pattern, Priority, Reach,
    SplitShare, Start, SteadyCheck, SteadyRule, Strides, Verify, WorkingSet,
};

/// fio's default block size.
const BLOCK_BYTES: u64 = 4096;

impl Job {
    /// The engine's specification of this clone.
    ///
    /// # Errors
    /// Options conflict; the error has this job's position.
    pub fn spec(&self) -> Result<JobSpec, Error> {
        let options = &self.options;
        let reach = self.reach()?;
        let place = self.target(u64::from(reach.least_block()))?;
        let ending = self.ending();
        let course = &options.course;
        Ok(JobSpec {
            name: self.name.clone(),
            number: self.number,
            group: self.group,
            place,
            engine: match options.target.engine {
                Engine::Uring => EngineKind::Uring,
                _ => EngineKind::Sync,
            },
            direct: options.target.direct,
            write_sync: options.target.write_sync,
            calls: Calls { space: options.target.engine == Engine::Space, lock: options.target.lock },
            layout: options.target.layout,
            file_order: options.target.order,
            replay: None,
            reach,
            pacing: self.pacing(),
            content: self.content(),
            verify: self.verify(),
            flushes: options.data.flushes,
            start: Start {
                delay_least: course.delay.0,
                delay_most: course.delay.1,
                after_earlier: course.stonewall && self.number == 0,
                after: course.wait_for.clone(),
            },
            ending,
            forgive: options.data.forgive.clone(),
            logs: self.logs(),
            seed: self.seed,
            cpus: self.cpus(),
            numa: course.numa.clone(),
            kernel_polls: (course.kernel_polls && options.target.engine == Engine::Uring)
                .then_some(KernelPolling { processor: course.kernel_polls_on }),
            priority: Priority { nice: course.nice, io: self.io_priority() },
            commands: Commands {
                before: course.before.as_ref().map(|line| self.command(line, "prerun")),
                after: course.after.as_ref().map(|line| self.command(line, "postrun")),
            },
        })
    }

    /// The kernel's number for class and level. With only a level, the class is best effort (2);
    /// with only a class, the level is 4.
    pub(crate) fn io_priority(&self) -> Option<u16> {
        let course = &self.options.course;
        match (course.prio_class, course.prio) {
            (None, None) => None,
            (class, level) => Some(class.unwrap_or(2) << 13 | level.unwrap_or(4)),
        }
    }

    /// A command with the file that fio writes its output to.
    fn command(&self, line: &str, when: &str) -> Command {
        Command { line: line.to_owned(), output: format!("{}.{when}.txt", self.name).into() }
    }

    fn reach(&self) -> Result<Reach, Error> {
        let pattern = &self.options.pattern;
        let mix = match pattern.kind.directions {
            Directions::Only(direction) => Mix::Only(direction),
            Directions::ReadWrite => Mix::ReadWrite { read_percent: pattern.read_percent },
            Directions::TrimWrite => Mix::TrimThenWrite,
        };
        let order = match (pattern.kind.random, pattern.more) {
            (true, run) => Order::Random { run: run.unwrap_or(1) as u32, same: pattern.identical },
            (false, hole) => Order::Sequential { hole: hole.unwrap_or(0) },
        };
        let (blocks, random_blocks) = self.lengths(order);
        let free = pattern.norandommap || self.aligns_apart();
        let coverage = if free { BlockCoverage::Free } else { BlockCoverage::Once };
        let reach = Reach {
            mix,
            order,
            random_percent: pattern.random_percent,
            distribution: pattern.distribution.clone(),
            coverage,
            blocks,
            random_blocks,
            align: pattern.align,
            strides: pattern.strided.then_some(Strides {
                range: if pattern.zone_range > 0 { pattern.zone_range } else { pattern.zone_bytes },
                bytes: pattern.zone_bytes,
                skip: pattern.zone_skip,
            }),
        };
        self.block_fits(&reach)?;
        Ok(reach)
    }

    /// Whether offsets are aligned to something else than the smallest block. As in fio they may
    /// then repeat.
    pub(crate) fn aligns_apart(&self) -> bool {
        let apart = |direction: Direction| {
            let least = u64::from(self.block_sizes(direction).least());
            self.options.pattern.align[direction].is_some_and(|align| align != least)
        };
        Direction::ALL.into_iter().any(apart)
    }

    /// Block sizes by direction, and those of random requests if they differ.
    fn lengths(&self, order: Order) -> (PerDirection<BlockSizes>, Option<BlockSizes>) {
        let pattern = &self.options.pattern;
        if !pattern.blocks_by_order {
            return (PerDirection::from_fn(|direction| self.block_sizes(direction)), None);
        }
        let [in_order, random] = [Direction::Read, Direction::Write].map(|direction| self.block_sizes(direction));
        let jumps = pattern.random_percent.iter().all(|(_, &percent)| percent >= 100);
        match order {
            Order::Sequential { .. } => (PerDirection::all(in_order), None),
            Order::Random { run: 1, .. } if jumps => (PerDirection::all(random), None),
            Order::Random { .. } => (PerDirection::all(in_order), Some(random)),
        }
    }

    /// fio calls this "blocksize is larger than data set range" and fails the job.
    fn block_fits(&self, reach: &Reach) -> Result<(), Error> {
        let Some(Amount::Bytes(size)) = self.options.target.size else { return Ok(()) };
        let (block, size) = (u64::from(reach.most_block()), size.0);
        if block <= size {
            return Ok(());
        }
        let rule = format!("has blocks of {} in a size of {}; no block fits", Bytes(block), Bytes(size));
        Err(Error::at(&self.place, Problem::Rule(rule)))
    }

    pub(crate) fn block_sizes(&self, direction: Direction) -> BlockSizes {
        let unaligned = self.options.pattern.unaligned;
        match &self.options.pattern.blocks[direction] {
            None => BlockSizes::Fixed(BLOCK_BYTES as u32),
            Some(Blocks::Fixed(size)) => BlockSizes::Fixed(*size as u32),
            Some(Blocks::Range(least, most)) => BlockSizes::Range {
                least: *least as u32,
                most: *most as u32,
                step: if unaligned { 1 } else { *least as u32 },
            },
            Some(Blocks::Split(parts)) => {
                let share = |(size, weight): &(u64, u32)| SplitShare { size: *size as u32, weight: *weight };
                BlockSizes::Split(parts.iter().map(share).collect())
            }
        }
    }

    fn target(&self, least_block: u64) -> Result<JobPlace, Error> {
        let target = &self.options.target;
        let region = |path: &str, size: Option<Amount>, file_size: Option<Bytes>| FileSpec {
            path: path.into(),
            offset: target.offset,
            offset_more: times(target.offset_increment, self.number),
            offset_align: target.offset_align,
            size,
            file_size,
        };
        Ok(match target.engine {
            Engine::Null => JobPlace::Null { size: Bytes(self.null_bytes()) },
            Engine::Nbd | Engine::Joined => {
                let uri = target.uri.clone().unwrap_or_default();
                JobPlace::Named { name: uri, region: region("", target.size, None) }
            }
            Engine::Nfs => {
                let more = times(target.offset_increment, self.number);
                let end = match (target.size, target.offset, more) {
                    (Some(Amount::Bytes(size)), Amount::Bytes(offset), Amount::Bytes(more)) => {
                        Some(Bytes(size.0 + offset.0 + more.0))
                    }
                    _ => None,
                };
                let file = self.paths().into_iter().next().unwrap_or_default();
                let folder = target.nfs_url.as_deref().unwrap_or_default();
                JobPlace::Named {
                    name: crate::naming::nfs_file(folder, &file, end),
                    region: region("", target.size, None),
                }
            }
            Engine::Sync | Engine::Space | Engine::Uring => {
                let paths = self.paths();
                let files = paths.len() as u64;
                let file = |(index, path): (usize, &String)| {
                    let drawn = self.drawn_file_size(index as u64).map(Bytes);
                    let size = match (target.size, drawn) {
                        (Some(Amount::Bytes(all)), None) => {
                            Some(Amount::Bytes(Bytes(share_of(all.0, files, index as u64, least_block))))
                        }
                        (size, _) => size,
                    };
                    let file = region(path, size, drawn);
                    drawn.map_or(Ok(file.clone()), |whole| self.within(file, whole, least_block))
                };
                JobPlace::Files(paths.iter().enumerate().map(file).collect::<Result<_, Error>>()?)
            }
        })
    }

    /// The part that is used of a file of `whole` bytes. An offset in percent is one of the file as
    /// the job finds it, as in fio, so what is used from there on is known only then.
    fn within(&self, file: FileSpec, whole: Bytes, least_block: u64) -> Result<FileSpec, Error> {
        let is_part = |amount| matches!(amount, Amount::Percent(_));
        let size = self.options.target.size;
        if (is_part(file.offset) || is_part(file.offset_more)) && !size.is_some_and(is_part) {
            return Ok(FileSpec { size: None, ..file });
        }
        let start = file.start(whole, least_block);
        if whole <= start {
            let rule = format!(
                "has an offset of {start} and a filesize of {whole}, so nothing is left; lower offset or raise filesize"
            );
            return Err(Error::at(&self.place, Problem::Rule(rule)));
        }
        Ok(FileSpec { size: Some(Amount::Bytes(self.used_from(start, whole))), ..file })
    }

    /// How much of a file of `whole` bytes is used from `start` on: to its end, or a percentage of
    /// the file.
    pub(crate) fn used_from(&self, start: Bytes, whole: Bytes) -> Bytes {
        let rest = Bytes(whole.0.saturating_sub(start.0));
        match self.options.target.size {
            Some(size @ Amount::Percent(_)) => size.of(whole).min(rest),
            _ => rest,
        }
    }

    pub(crate) fn null_bytes(&self) -> u64 {
        let target = &self.options.target;
        match (target.size, target.filesize) {
            (Some(Amount::Bytes(size)), _) => size.0,
            (_, Some((_, most))) => most.saturating_mul(u64::from(target.nrfiles)),
            _ => 0,
        }
    }

    /// The size of a file with a `filesize` range, drawn with the job's seed. As in fio it is a
    /// multiple of the smallest block.
    fn drawn_file_size(&self, index: u64) -> Option<u64> {
        let (least, most) = self.options.target.filesize?;
        let width = u128::from(most - least) + 1;
        let chance = self.options.pattern.seed ^ (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let chance = (chance ^ (chance >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let drawn = least + ((u128::from(chance) * width) >> 64) as u64;
        Some(if least == most { least } else { (drawn - drawn % self.least_block()).max(least) })
    }

    /// The smallest block of all directions.
    fn least_block(&self) -> u64 {
        let blocks = Direction::ALL.map(|direction| u64::from(self.block_sizes(direction).least()));
        blocks.into_iter().min().unwrap_or(1).max(1)
    }

    fn pacing(&self) -> Pacing {
        let (pace, engine) = (&self.options.pace, self.options.target.engine);
        // fio's system-call engines have one request in flight, whatever the depth is.
        let depth = if engine.calls() { 1 } else { pace.depth };
        let limited = |batch: u32| if batch == 0 { depth } else { batch.min(depth) };
        Pacing {
            depth,
            submit_batch: limited(pace.submit_batch),
            complete_least: pace.complete_least.min(depth),
            refill_below: pace.refill_below.map(|low| low.min(depth)),
            rate: PerDirection::from_fn(|direction| paced(pace.rate[direction], pace.rate_iops[direction])),
            spacing: if pace.poisson { Spacing::Poisson } else { Spacing::Uniform },
            floor: PerDirection::from_fn(|direction| {
                let floor = paced(pace.rate_min[direction], pace.rate_iops_min[direction])?;
                Some(Floor { pace: floor, window: pace.rate_cycle })
            }),
            think: (pace.think.time > Span::ZERO).then_some(pace.think),
            latency_search: (pace.search.target > Span::ZERO).then_some(pace.search),
            latency_most: pace.latency_most,
            flow: (pace.flow > 0).then_some(FlowShare { id: pace.flow_id, weight: pace.flow, sleep: pace.flow_sleep }),
        }
    }

    fn content(&self) -> Content {
        let data = &self.options.data;
        let fill = match (&data.pattern, &data.verify) {
            _ if data.zero => Fill::Zero,
            (Some(pattern), _) => Fill::Pattern(pattern.clone()),
            (None, Some(Hash::Pattern(_) | Hash::HeaderPattern(_))) => Fill::Pattern(checked_pattern(self)),
            (None, _) => Fill::Random,
        };
        Content { fill, working_set: self.working_set(), ..data.content.clone() }
    }

    /// The blocks that duplicates are drawn from. If only the machine knows the size, 1 GiB is
    /// assumed.
    fn working_set(&self) -> Option<WorkingSet> {
        let data = &self.options.data;
        let bytes = match self.options.target.size {
            Some(Amount::Bytes(bytes)) => bytes.0,
            _ => 1 << 30,
        };
        let block = u64::from(self.block_sizes(Direction::Write).least()).max(1);
        let blocks = (bytes / block * u64::from(data.dedupe_set_percent) / 100).clamp(1, u64::from(u32::MAX));
        let seed = if data.dedupe_global { self.options.pattern.seed } else { self.seed };
        data.dedupe_set.then_some(WorkingSet { blocks, seed })
    }

    fn verify(&self) -> Option<Verify> {
        let data = &self.options.data;
        let hash = match data.verify.clone()? {
            Hash::Pattern(_) => Hash::Pattern(checked_pattern(self)),
            Hash::HeaderPattern(_) => Hash::HeaderPattern(checked_pattern(self)),
            other => other,
        };
        Some(Verify {
            hash,
            interval: data.verify_interval,
            reads_back: !data.verify_not_now,
            only: data.verify_only,
            fatal: data.verify_fatal,
            backlog: data.verify_backlog,
            backlog_batch: data.verify_backlog_batch,
            header_at: data.verify_offset,
            dump: data.verify_dump,
            trims: data.trims,
            written: None,
        })
    }

    pub(crate) fn ending(&self) -> Ending {
        let course = &self.options.course;
        let looked_for = course.steady.filter(|_| course.steady_duration > Span::ZERO);
        let steady = looked_for.map(|steady| {
            // The standard has five rounds; fio's own rules check every second.
            let round = match steady.check {
                SteadyCheck::Snia { .. } => Span::from_nanos(course.steady_duration.as_nanos() / 5),
                _ => Span::SECOND,
            };
            let (figure, check) = (steady.figure, steady.check);
            SteadyRule { figure, check, ramp: course.steady_ramp, round, duration: course.steady_duration }
        });
        let amount = course.ending.amount.or(self.size_beside_filesize());
        // As in fio, only io_size restarts at the end of the files.
        let ends_with_region = course.ending.amount.is_none();
        // As in fio, time_based has no effect without a runtime.
        let time_based = course.ending.time_based && course.ending.runtime.is_some();
        let ends = if course.exitall { course.exit_what } else { Ends::None };
        Ending { amount, ends_with_region, steady, time_based, ends, ..course.ending.clone() }
    }

    /// A size given together with a filesize is the amount to transfer, over all of each file, and
    /// at most the size of all files.
    fn size_beside_filesize(&self) -> Option<Amount> {
        let target = &self.options.target;
        let (Some(Amount::Bytes(size)), Some(_)) = (target.size, target.filesize) else { return None };
        let Ok(JobPlace::Files(files)) = self.target(self.least_block()) else { return Some(Amount::Bytes(size)) };
        let used = |file: &FileSpec| file.size.map_or(u64::MAX, |size| size.of(Bytes(0)).0);
        Some(Amount::Bytes(size.min(Bytes(files.iter().map(used).fold(0, u64::saturating_add)))))
    }

    fn logs(&self) -> Logs {
        let logs = &self.options.report.logs;
        let any = logs.bw.is_some() || logs.lat.is_some() || logs.iops.is_some();
        let averaged = logs.average > Span::ZERO;
        Logs {
            each_request: any && !averaged,
            interval: if averaged { logs.average } else { logs.interval },
            longest: logs.max_value && averaged,
            asked: self.options.target.write_iolog.is_some(),
            histogram_interval: logs.hist.as_ref().map(|_| logs.hist_interval).filter(|span| *span > Span::ZERO),
            coverage: None,
        }
    }

    fn cpus(&self) -> Vec<u32> {
        let course = &self.options.course;
        match course.cpus.len() {
            0 => Vec::new(),
            all if course.cpus_split => vec![course.cpus[self.number as usize % all]],
            _ => course.cpus.clone(),
        }
    }
}

/// The given rate; there is never one of both kinds.
fn paced(bytes: Option<u64>, iops: Option<u64>) -> Option<Pace> {
    let bytes = bytes.map(|bytes| Pace::Throughput(Bytes(bytes)));
    bytes.or(iops.map(|iops| Pace::Iops(Iops(iops))))
}

/// The pattern of `verify=pattern`: `verify_pattern`, else `buffer_pattern`, else zeroes.
fn checked_pattern(job: &Job) -> Pattern {
    let data = &job.options.data;
    let given = data.verify_pattern.as_ref().or(data.pattern.as_ref());
    given.cloned().unwrap_or(Pattern { bytes: vec![0], offsets_at: Vec::new() })
}

/// The part of `all` bytes that file `index` of `files` has. As in fio they are divided evenly. If
/// whole blocks remain, the first files have one more each. A rest smaller than a block is left
/// out.
fn share_of(all: u64, files: u64, index: u64, block: u64) -> u64 {
    let (files, block) = (files.max(1), block.max(1));
    let left_over = all % files / block;
    all / files + if index < left_over { block } else { 0 }
}

fn times(amount: Amount, number: u32) -> Amount {
    match amount {
        Amount::Bytes(bytes) => Amount::Bytes(Bytes(bytes.0.saturating_mul(u64::from(number)))),
        Amount::Percent(percent) => Amount::Percent(percent.saturating_mul(number)),
    }
}

impl Options {
    /// Whether it changes stored data.
    pub fn changes_data(&self) -> bool {
        self.pattern.kind.directions != Directions::Only(Direction::Read) && !self.data.verify_only
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Size, and amount to transfer, as fio 3.33 had them.
    #[test]
    fn a_file_size_ends_what_is_used() {
        let spec = |line: &str| {
            let words: Vec<String> = format!("--name=a --rw=write {line}").split(' ').map(str::to_owned).collect();
            crate::Invocation::parse(&words, &crate::Given::default()).unwrap().jobs[0].spec()
        };
        let used = |line| {
            let spec = spec(line).unwrap();
            let JobPlace::Files(files) = spec.place else { panic!("{line}") };
            let bytes = |amount: Option<Amount>| amount.map(|amount| amount.of(Bytes(0)).0 >> 10);
            (bytes(files[0].size), bytes(spec.ending.amount))
        };
        assert_eq!(used("--filesize=1m --size=1m --offset=512k"), (Some(512), Some(512)));
        assert_eq!(used("--filesize=1m --size=4m"), (Some(1024), Some(1024)));
        assert_eq!(used("--filesize=4m --size=50% --offset=1m"), (Some(2048), None));
        assert_eq!(used("--filesize=4m --offset=25%"), (None, None));
        assert_eq!(used("--filesize=4m --size=1m --offset=25%"), (None, Some(1024)));
        assert_eq!(used("--size=1m --io_size=0"), (Some(1024), None));
        let refused = spec("--filesize=1m --size=1m --offset=2m").unwrap_err().to_string();
        assert!(refused.contains("has an offset of 2 MiB and a filesize of 1 MiB"), "{refused}");
    }

    #[test]
    fn sizes_divide_evenly() {
        // 3 MiB over 3 files: 1 MiB each (as in fio 3.33).
        assert_eq!([0, 1, 2].map(|i| share_of(3 << 20, 3, i, 4096)), [1 << 20; 3]);
        // 10 KiB over 2 files: 5 KiB each, which is not a whole number of blocks (as in fio 3.33).
        assert_eq!([0, 1].map(|i| share_of(10 << 10, 2, i, 4096)), [5120; 2]);
        // 101 bytes over 3 files with 1-byte blocks: 33 each, and the first two have one more.
        assert_eq!([0, 1, 2].map(|i| share_of(101, 3, i, 1)), [34, 34, 33]);
        assert_eq!(share_of(12_345, 1, 0, 4096), 12_345);
    }
}
