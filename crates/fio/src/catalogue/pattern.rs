//! Options of what a job requests: directions, order, block sizes, distributions.

use super::{Definition, Form, option};
use crate::options::{Blocks, Directions, Kind, Options, Triple};
use crate::value::{Rule, Value};
use stats::{Direction, PerDirection};
use workload::job::{Amount, Distribution, Zone};

pub(super) const OPTIONS: &[Definition] = &[
    option("rw", Form::Text("randread:8"), "directions and order", kind).also(&["readwrite"]),
    option("rw_sequencer", Form::Text("identical"), "meaning of the number after rw", |o, v| {
        o.pattern.identical = v.choice(&[("sequential", false), ("identical", true)])?;
        Ok(())
    }),
    option("rwmixread", Form::Whole, "percentage of reads in a mix", |o, v| {
        o.pattern.read_percent = v.percent()?;
        Ok(())
    }),
    option("rwmixwrite", Form::Whole, "percentage of writes in a mix", |o, v| {
        o.pattern.read_percent = 100 - v.percent()?;
        Ok(())
    }),
    option("bs", Form::Size, "bytes of a request: reads,writes,trims", |o, v| {
        if !v.dialect().strict_fio && v.text().contains('-') && !v.text().starts_with(['-', '(']) {
            return Err(
                format!("fio reads two sizes, for reads and writes; for a range write bsrange={}", v.text()).into()
            );
        }
        let text = if v.dialect().strict_fio { v.text().replace('-', ",") } else { v.text().to_owned() };
        let sizes = v.part_owned(&text, |v| v.triple(block_size))?;
        set_blocks(o, &PerDirection::from_fn(|direction| sizes[direction].map(Blocks::Fixed)));
        Ok(())
    })
    .also(&["blocksize"]),
    option("bsrange", Form::Text("4k-64k"), "bytes of a request, drawn from a range: reads,writes,trims", |o, v| {
        let ranges = v.part_owned(&v.text().replace('/', ","), |v| v.triple(|v| v.range(block_size)))?;
        set_blocks(
            o,
            &PerDirection::from_fn(|direction| ranges[direction].map(|(low, high)| Blocks::Range(low, high))),
        );
        Ok(())
    })
    .also(&["blocksize_range"]),
    option(
        "bssplit",
        Form::Text("4k/60:64k/40"),
        "bytes of a request, each with its share: reads,writes,trims",
        |o, v| {
            set_blocks(o, &v.triple(split)?);
            Ok(())
        },
    ),
    option("bs_unaligned", Form::Flag, "sizes of a range need not be multiples of the smallest", |o, v| {
        o.pattern.unaligned = v.flag()?;
        Ok(())
    })
    .also(&["blocksize_unaligned"]),
    option("bs_is_seq_rand", Form::Bool, "bs=a,b: a for sequential requests, b for random ones", |o, v| {
        o.pattern.blocks_by_order = v.flag()?;
        Ok(())
    })
    .also(&["blocksize_is_seq_rand"]),
    option("ba", Form::Size, "random offsets are multiples of this: reads,writes,trims", |o, v| {
        o.pattern.align = v.triple(block_size)?;
        Ok(())
    })
    .also(&["blockalign"]),
    option("percentage_random", Form::Whole, "percentage of the requests of a random order that are random", |o, v| {
        let percents = v.triple(Value::percent)?;
        o.pattern.random_percent = PerDirection::from_fn(|direction| percents[direction].unwrap_or(100));
        Ok(())
    }),
    option("random_distribution", Form::Text("zipf:1.2"), "distribution of random offsets", |o, v| {
        let given = distributions(v)?;
        o.pattern.distribution =
            PerDirection::from_fn(|direction| given[direction].clone().unwrap_or(Distribution::Uniform));
        Ok(())
    }),
    option("zonemode", Form::Text("strided"), "whether the region is used piece by piece", |o, v| {
        let words = [("none", Some(false)), ("strided", Some(true)), ("zbd", None)];
        match v.choice(&words)? {
            Some(strided) => o.pattern.strided = strided,
            None => {
                return Err("zoned devices are not known; strided uses any device piece by piece".into());
            }
        }
        Ok(())
    }),
    option("zonesize", Form::Size, "bytes transferred in a piece before the next, with zonemode=strided", |o, v| {
        o.pattern.zone_bytes = v.size()?;
        Ok(())
    }),
    option("zonerange", Form::Size, "length of a piece; zonesize if not given", |o, v| {
        o.pattern.zone_range = v.size()?;
        Ok(())
    }),
    option("zoneskip", Form::Size, "bytes skipped between pieces", |o, v| {
        o.pattern.zone_skip = v.size()?;
        Ok(())
    }),
    option("norandommap", Form::Flag, "random offsets may repeat", |o, v| {
        o.pattern.norandommap = v.flag()?;
        Ok(())
    }),
    option("softrandommap", Form::Bool, "goes on if there is no memory for the map of random offsets", |o, v| {
        v.flag()?;
        o.note("softrandommap has no effect: each place once needs no map here");
        Ok(())
    }),
    option("random_generator", Form::Text("lfsr"), "the random number generator", |o, v| {
        v.choice(&[("tausworthe", ()), ("tausworthe64", ()), ("lfsr", ())])?;
        o.note("random_generator has no effect: seawall has one generator, which covers each place once without a map");
        Ok(())
    }),
    option("randseed", Form::Whole, "the seed of all random numbers", |o, v| {
        o.pattern.seed = v.whole(0, u64::MAX)?;
        Ok(())
    }),
    option("randrepeat", Form::Bool, "the same requests in each run; 0 uses a new seed", |o, v| {
        o.pattern.repeat = v.flag()?;
        Ok(())
    }),
    option("allrandrepeat", Form::Bool, "the same for all random numbers; here randrepeat does this", |o, v| {
        if v.flag()? {
            o.pattern.repeat = true;
        }
        Ok(())
    }),
];

/// A block size that fits into 32 bits.
fn block_size(v: Value<'_>) -> Result<u64, Rule> {
    v.whole(1, u64::from(u32::MAX))
}

fn set_blocks(o: &mut Options, given: &Triple<Blocks>) {
    for direction in Direction::ALL {
        if let Some(blocks) = &given[direction] {
            o.pattern.blocks[direction] = Some(blocks.clone());
        }
    }
}

fn kind(o: &mut Options, v: Value<'_>) -> Result<(), Rule> {
    let only = |direction, random| Kind { directions: Directions::Only(direction), random };
    let mix = |random| Kind { directions: Directions::ReadWrite, random };
    let words = [
        ("read", only(Direction::Read, false)),
        ("write", only(Direction::Write, false)),
        ("trim", only(Direction::Trim, false)),
        ("randread", only(Direction::Read, true)),
        ("randwrite", only(Direction::Write, true)),
        ("randtrim", only(Direction::Trim, true)),
        ("rw", mix(false)),
        ("readwrite", mix(false)),
        ("randrw", mix(true)),
        ("randreadwrite", mix(true)),
        ("trimwrite", Kind { directions: Directions::TrimWrite, random: false }),
        ("randtrimwrite", Kind { directions: Directions::TrimWrite, random: true }),
    ];
    let (word, more) = match v.text().split_once(':') {
        Some((word, more)) => (word, Some(more)),
        None => (v.text(), None),
    };
    let kind = v.part(word).choice(&words)?;
    let more = match more {
        None => None,
        Some(more) if kind.random => Some(i64::from(v.part(more).count(1)?)),
        // Backwards: the gap is negative.
        Some(more) => {
            let (sign, text) = more.strip_prefix('-').map_or((1, more), |text| (-1, text));
            Some(v.part(text).whole(0, i64::MAX as u64)? as i64 * sign)
        }
    };
    (o.pattern.kind, o.pattern.more) = (kind, more);
    Ok(())
}

/// The same limit as in fio.
const SPLIT_PARTS_MAX: usize = 64;

/// `4k/60:64k/40`. Sizes without a share divide the rest evenly.
fn split(v: Value<'_>) -> Result<Blocks, Rule> {
    let mut parts = Vec::new();
    for part in v.text().split(':').filter(|part| !part.is_empty()) {
        let (size, percent) = part.split_once('/').unwrap_or((part, ""));
        let percent = (!percent.trim().is_empty()).then(|| v.part(percent).percent()).transpose()?;
        parts.push((block_size(v.part(size))?, percent));
    }
    if parts.is_empty() || parts.len() > SPLIT_PARTS_MAX {
        return Err(format!("takes 1 to {SPLIT_PARTS_MAX} sizes, as in 4k/60:64k/40").into());
    }
    let shares = shares(&parts.iter().map(|(_, percent)| *percent).collect::<Vec<_>>())?;
    Ok(Blocks::Split(parts.iter().zip(shares).map(|((size, _), percent)| (*size, percent)).collect()))
}

/// Percentages that add up to 100. Missing ones divide the rest evenly; the first of them also gets
/// the remainder of that division.
fn shares(given: &[Option<u32>]) -> Result<Vec<u32>, Rule> {
    let sum: u32 = given.iter().flatten().sum();
    let open = given.iter().filter(|percent| percent.is_none()).count() as u32;
    if sum > 100 || (open == 0 && sum < 100) {
        return Err(
            format!("shares come to {sum}, and must come to 100; leave some out to have them divide the rest").into()
        );
    }
    if open > 100 - sum {
        return Err(format!("{open} parts without a share are left with {} of 100; give them shares", 100 - sum).into());
    }
    let mut rest = 100 - sum;
    let mut left = open;
    let fill = |percent: &Option<u32>| {
        percent.unwrap_or_else(|| {
            let share = rest.div_ceil(left);
            (rest, left) = (rest - share, left - 1);
            share
        })
    };
    Ok(given.iter().map(fill).collect())
}

/// The word for zones occurs once, before all directions: `zoned:50/5:50/95,20/10:80/90`.
fn distributions(v: Value<'_>) -> Result<Triple<Distribution>, Rule> {
    match v.text().split_once(':') {
        Some((name @ ("zoned" | "zoned_abs"), rest)) => {
            let one = |v: Value<'_>| zones(v, name == "zoned_abs").map(Distribution::Zoned);
            v.part(rest).triple(one)
        }
        _ => v.triple(distribution),
    }
}

fn distribution(v: Value<'_>) -> Result<Distribution, Rule> {
    let (name, rest) = v.text().split_once(':').unwrap_or((v.text(), ""));
    let mut numbers = rest.split(':').filter(|text| !text.is_empty()).map(|text| v.part(text).fraction());
    let (number, center) = (numbers.next().transpose()?, numbers.next().transpose()?);
    if center.is_some_and(|center| !(0.0..=1.0).contains(&center)) {
        return Err("the centre lies between 0 and 1".into());
    }
    match name {
        "random" => Ok(Distribution::Uniform),
        "zipf" => Ok(Distribution::Zipf { theta: theta(number.unwrap_or(1.1))?, center }),
        "pareto" => Ok(Distribution::Pareto { h: share(number.unwrap_or(0.2))?, center }),
        "normal" | "gauss" => Ok(Distribution::Normal { width_percent: deviation(number.unwrap_or(0.0))?, center }),
        _ => Err("must be one of random, zipf:T, pareto:H, normal:D, zoned:…, zoned_abs:…".into()),
    }
}

/// The exponent of a zipf distribution. At 1 its sum has no closed form; fio refuses 1, too.
pub(super) fn theta(theta: f64) -> Result<f64, Rule> {
    if theta > 0.0 && theta != 1.0 {
        Ok(theta)
    } else {
        Err("zipf takes a number above 0 that is not 1; an even spread is random".into())
    }
}

/// The fraction of a pareto distribution.
pub(super) fn share(h: f64) -> Result<f64, Rule> {
    if h > 0.0 && h < 1.0 { Ok(h) } else { Err("pareto takes a number between 0 and 1, both excluded".into()) }
}

/// The deviation of a normal distribution.
pub(super) fn deviation(percent: f64) -> Result<f64, Rule> {
    if (0.0..=100.0).contains(&percent) {
        Ok(percent)
    } else {
        Err("normal takes a deviation in percent, from 0 to 100".into())
    }
}

/// The same limit as in fio.
const ZONES_MAX: usize = 256;

/// `60/10:30/20:10/70`: percentage of requests and of the region. With `absolute`, the second
/// number is bytes. Parts without a first or second number divide the rest evenly.
fn zones(v: Value<'_>, absolute: bool) -> Result<Vec<Zone>, Rule> {
    let mut accesses = Vec::new();
    let mut lengths = Vec::new();
    for part in v.text().split(':').filter(|part| !part.is_empty()) {
        let (access, length) = part.split_once('/').unwrap_or((part, ""));
        let given = |text: &str| !text.trim().is_empty();
        accesses.push(given(access).then(|| v.part(access).percent()).transpose()?);
        lengths.push(given(length).then_some(length));
    }
    if accesses.is_empty() || accesses.len() > ZONES_MAX {
        return Err(format!("takes 1 to {ZONES_MAX} zones, as in zoned:60/10:30/20:10/70").into());
    }
    let accesses = shares(&accesses)?;
    let lengths: Vec<Amount> = if absolute {
        let bytes = lengths.iter().map(|text| match text {
            Some(text) => v.part(text).whole(1, u64::MAX).map(|bytes| Amount::Bytes(block::Bytes(bytes))),
            None => Err("each zone of zoned_abs needs its bytes, as in zoned_abs:60/10g:40/20g".into()),
        });
        bytes.collect::<Result<_, Rule>>()?
    } else {
        let percents = lengths.iter().map(|text| text.map(|text| v.part(text).percent()).transpose());
        let percents: Vec<Option<u32>> = percents.collect::<Result<_, Rule>>()?;
        shares(&percents)?.into_iter().map(Amount::Percent).collect()
    };
    let zones = accesses.into_iter().zip(lengths);
    Ok(zones.map(|(access_percent, length)| Zone { access_percent, length }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;

    fn set(name: &str, text: &str) -> Result<Options, Rule> {
        let mut options = Options::default();
        let definition = super::super::find(name).unwrap();
        (definition.set)(&mut options, Value::new(text, Dialect::default()))?;
        Ok(options)
    }

    #[test]
    fn splits_divide_what_is_left() {
        let split = |text| set("bssplit", text).map(|options| options.pattern.blocks.read.unwrap());
        assert_eq!(split("4k/10:64k/50:32k/40"), Ok(Blocks::Split(vec![(4096, 10), (65536, 50), (32768, 40)])));
        // 100 − 50, divided by two.
        assert_eq!(split("4k/50:8k:16k/"), Ok(Blocks::Split(vec![(4096, 50), (8192, 25), (16384, 25)])));
        assert_eq!(split("4k"), Ok(Blocks::Split(vec![(4096, 100)])));
        assert!(split("4k/60:8k/50").unwrap_err().to_string().contains("come to 110"));
        assert!(split("4k/60:8k/30").unwrap_err().to_string().contains("come to 90"));
        let apart = set("bssplit", "4k/100,8k/100").unwrap().pattern.blocks;
        assert_eq!(apart.write, Some(Blocks::Split(vec![(8192, 100)])));
    }

    #[test]
    fn later_sizes_replace_earlier_ones_of_their_direction() {
        let mut options = set("bssplit", "4k/50:8k/50").unwrap();
        let bs = super::super::find("bs").unwrap();
        (bs.set)(&mut options, Value::new(",16k", Dialect::default())).unwrap();
        assert!(matches!(options.pattern.blocks.read, Some(Blocks::Split(_))));
        assert_eq!(options.pattern.blocks.write, Some(Blocks::Fixed(16384)));
    }

    #[test]
    fn a_range_for_bs_names_bsrange() {
        assert!(set("bs", "4k-8k").unwrap_err().to_string().contains("bsrange=4k-8k"));
        let range = set("bsrange", "8k-4k/1k-2k").unwrap().pattern.blocks;
        assert_eq!((range.read, range.write), (Some(Blocks::Range(4096, 8192)), Some(Blocks::Range(1024, 2048))));
        let mut options = Options::default();
        let strict = Dialect { strict_fio: true, ..Dialect::default() };
        (super::super::find("bs").unwrap().set)(&mut options, Value::new("4k-8k", strict)).unwrap();
        assert_eq!(options.pattern.blocks.read, Some(Blocks::Fixed(4096)));
        assert_eq!(options.pattern.blocks.write, Some(Blocks::Fixed(8192)));
    }

    #[test]
    fn kinds_and_what_stands_behind_them() {
        let kind = |text| set("rw", text).map(|options| (options.pattern.kind.random, options.pattern.more));
        assert_eq!(kind("randread:8"), Ok((true, Some(8))));
        assert_eq!(kind("write:4k"), Ok((false, Some(4096))));
        assert_eq!(kind("read:-8k"), Ok((false, Some(-8192))));
        assert!(kind("randrea").unwrap_err().to_string().contains("did you mean randread?"));
        assert!(kind("randread:0").is_err());
    }

    #[test]
    fn distributions() {
        let one = |text| set("random_distribution", text).map(|options| options.pattern.distribution.read);
        assert_eq!(one("zipf:1.2"), Ok(Distribution::Zipf { theta: 1.2, center: None }));
        assert_eq!(one("zipf:1.2:0.5"), Ok(Distribution::Zipf { theta: 1.2, center: Some(0.5) }));
        assert_eq!(one("pareto:0.3"), Ok(Distribution::Pareto { h: 0.3, center: None }));
        let zone = |access_percent, percent| Zone { access_percent, length: Amount::Percent(percent) };
        assert_eq!(
            one("zoned:60/10:30/20:10/70"),
            Ok(Distribution::Zoned(vec![zone(60, 10), zone(30, 20), zone(10, 70)]))
        );
        // The second zone has the rest of both.
        assert_eq!(one("zoned:60/10:/"), Ok(Distribution::Zoned(vec![zone(60, 10), zone(40, 90)])));
        let bytes = |access_percent, g| Zone { access_percent, length: Amount::Bytes(block::Bytes::gib(g)) };
        assert_eq!(one("zoned_abs:60/10g:40/20g"), Ok(Distribution::Zoned(vec![bytes(60, 10), bytes(40, 20)])));
        let apart = set("random_distribution", "zoned:60/10:/,50/50:50/50").unwrap().pattern.distribution;
        assert_eq!(apart.write, Distribution::Zoned(vec![zone(50, 50), zone(50, 50)]));
        assert_eq!(apart.read, Distribution::Zoned(vec![zone(60, 10), zone(40, 90)]));
        for wrong in [
            "zipf:1",
            "zipf:0",
            "zipf:x",
            "pareto:1",
            "normal:101",
            "zoned:60/10",
            "zoned_abs:100",
            "zipf:1.1:2",
            "nope",
        ] {
            assert!(one(wrong).is_err(), "{wrong}");
        }
    }
}
