//! Policies as plain data: what an administrator decided, whether it is allowed, and which limits
//! follow from it.
//!
//! A policy knows no object. Rules that depend on who is attached live in the registry.

use std::fmt;

use block::{Bytes, BytesPerSecond, Iops, Span};

use crate::adaptive::{Allocation, Density, Evaluation, Per, Size, SizeUnit, Units};
use crate::edit::{Burst, Ceiling, Floor, Limits};
use crate::rule::{RateName, Refusal, Rule};
use crate::settings::{PeakMode, RegistrySettings};

/// The most operations per second of any limit: the range of ONTAP's REST fields.
pub const IOPS_MAX: u64 = i32::MAX as u64;
/// The most bytes per second of any limit: the 4 194 303 MB/s at which ONTAP's REST fields end. The
/// scheduler's clocks resolve it.
pub const BYTES_MAX: u64 = 4_194_303 * 1_000_000;
/// The shortest latency that may be expected.
pub const LATENCY_LEAST: Span = Span::from_micros(10);
/// The longest.
pub const LATENCY_MOST: Span = Span::from_secs(60);
/// The most a burst may rise above its ceiling, in percent.
pub const BURST_PERCENT_MAX: u32 = 1_000_000;
/// The longest burst.
pub const BURST_DURATION_MAX: Span = Span::from_secs(3600);
/// How long a full credit lasts at the peak where [`PeakMode::Credits`] holds and the policy gives
/// no duration.
pub const CREDIT_DURATION: Span = Span::from_secs(60);

/// What a policy group stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The same for every object.
    Fixed(FixedPolicy),
    /// In proportion to each object's size.
    Adaptive(AdaptivePolicy),
}

/// A rate in operations, in bytes, or both, of which the one reached first counts. `None` and zero
/// are no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Operations per second.
    pub iops: Option<Iops>,
    /// Bytes per second.
    pub bytes: Option<BytesPerSecond>,
}

/// Ceiling and floor in plain numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FixedPolicy {
    /// The most.
    pub ceiling: Rates,
    /// The least.
    pub floor: Rates,
    /// Half of a member's requests are answered within this.
    pub expected_latency: Option<Span>,
    /// One budget for all members, or the whole for each. The command line's default is true, the
    /// REST interface's is false; here the caller says.
    pub shared: bool,
    /// What may pass above the ceiling for a while.
    pub burst: BurstKnobs,
    /// It was made for the limits of one object alone, and goes with them.
    pub auto_generated: bool,
}

/// Ceiling and floor in proportion to the size of the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdaptivePolicy {
    /// The rate to count on.
    pub expected: Density,
    /// The rate at most.
    pub peak: Density,
    /// The size that `expected` refers to.
    pub expected_allocation: Allocation,
    /// The size that `peak` refers to.
    pub peak_allocation: Allocation,
    /// The least rate however small the object; `None` follows the expected rate, see
    /// [`AdaptivePolicy::minimum`].
    pub absolute_min: Option<Iops>,
    /// Half of an object's requests are answered within this.
    pub expected_latency: Option<Span>,
    /// Gives the limits in bytes: IOPS × block size.
    pub block_size: BlockSize,
    /// What may pass above the ceiling for a while.
    pub burst: BurstKnobs,
    /// What the peak is; `None` follows the settings.
    pub peak_mode: Option<PeakMode>,
}

/// A burst as an administrator sets it; nothing set means the settings' default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurstKnobs {
    /// Percent above the ceiling, 50 where only the duration is given. Not together with `iops`.
    pub percent: Option<u32>,
    /// How long a full credit lasts, 1 s where only the height is given.
    pub duration: Option<Span>,
    /// The height as IOPS in all (not above the ceiling); no burst where it does not exceed the
    /// ceiling.
    pub iops: Option<Iops>,
}

/// The operation size that turns an adaptive policy's IOPS into bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockSize {
    /// No limit in bytes.
    Any,
    /// 4 KiB.
    K4,
    /// 8 KiB.
    K8,
    /// 16 KiB.
    K16,
    /// 32 KiB.
    #[default]
    K32,
    /// 64 KiB.
    K64,
    /// 128 KiB.
    K128,
}

impl Policy {
    /// Whether it is one budget for all members.
    pub const fn shared(&self) -> bool {
        matches!(self, Policy::Fixed(FixedPolicy { shared: true, .. }))
    }

    /// The adaptive policy, if it is one.
    pub const fn adaptive(&self) -> Option<&AdaptivePolicy> {
        match self {
            Policy::Adaptive(policy) => Some(policy),
            Policy::Fixed(_) => None,
        }
    }

    /// Whether it gives a floor to whoever is attached.
    pub fn has_floor(&self) -> bool {
        match self {
            Policy::Fixed(policy) => policy.floor() != Floor::default(),
            Policy::Adaptive(_) => true,
        }
    }

    /// The same with zeroes read as "not set", the form that the registry keeps.
    pub fn normal(mut self) -> Policy {
        match &mut self {
            Policy::Fixed(policy) => {
                policy.ceiling = policy.ceiling.normal();
                policy.floor = policy.floor.normal();
                policy.expected_latency = policy.expected_latency.filter(|latency| *latency > Span::ZERO);
                policy.burst = policy.burst.normal();
            }
            Policy::Adaptive(policy) => {
                policy.expected_latency = policy.expected_latency.filter(|latency| *latency > Span::ZERO);
                policy.burst = policy.burst.normal();
            }
        }
        self
    }

    /// Every rule that needs no object. `subject` is named in the refusal.
    pub fn check(&self, subject: &str, settings: &RegistrySettings) -> Result<(), Refusal> {
        match self {
            Policy::Fixed(policy) => policy.check(subject),
            Policy::Adaptive(policy) => policy.check(subject, settings),
        }
    }

    /// The limits in operations for an object of `size`; zero for a fixed policy.
    pub fn evaluate(&self, size: Size, units: Units) -> Evaluation {
        self.adaptive().map_or(Evaluation::default(), |policy| policy.evaluate(size, units))
    }

    /// The budget of a shared group; a floor is its only member's own, see [`Policy::own`].
    pub fn budget(&self, settings: &RegistrySettings) -> Limits {
        match self {
            Policy::Fixed(policy) => Limits { ceiling: policy.ceiling(settings), floor: Floor::default() },
            Policy::Adaptive(_) => Limits::default(),
        }
    }

    /// What a member gets by itself: of a shared group the floor, else everything.
    pub fn own(&self, evaluation: Evaluation, settings: &RegistrySettings) -> Limits {
        match self {
            Policy::Fixed(policy) if policy.shared => Limits { ceiling: Ceiling::default(), floor: policy.floor() },
            Policy::Fixed(policy) => Limits { ceiling: policy.ceiling(settings), floor: policy.floor() },
            Policy::Adaptive(policy) => policy.limits(evaluation, settings),
        }
    }
}

impl Rates {
    /// Only operations per second.
    pub const fn iops(iops: u64) -> Rates {
        Rates { iops: Some(Iops(iops)), bytes: None }
    }

    /// Only bytes per second.
    pub const fn bytes(bytes: u64) -> Rates {
        Rates { iops: None, bytes: Some(BytesPerSecond(bytes)) }
    }

    /// Both.
    pub const fn both(iops: u64, bytes: u64) -> Rates {
        Rates { iops: Some(Iops(iops)), bytes: Some(BytesPerSecond(bytes)) }
    }

    /// Zero read as not set.
    pub fn normal(self) -> Rates {
        Rates { iops: self.iops.filter(|rate| rate.0 > 0), bytes: self.bytes.filter(|rate| rate.0 > 0) }
    }

    /// Whether nothing is set.
    pub const fn is_none(self) -> bool {
        self.iops.is_none() && self.bytes.is_none()
    }

    fn check(self, subject: &str, rate: RateName) -> Result<(), Refusal> {
        let range = |given: String| Err(Refusal::of_rate(Rule::RateRange, subject, rate, given));
        match (self.iops, self.bytes) {
            (Some(Iops(iops)), _) if iops > IOPS_MAX => range(format!("{iops} IOPS")),
            (_, Some(BytesPerSecond(bytes))) if bytes > BYTES_MAX => range(format!("{bytes} bytes/s")),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.iops, self.bytes) {
            (Some(Iops(iops)), Some(BytesPerSecond(bytes))) => write!(f, "{iops} IOPS and {bytes} bytes/s"),
            (Some(Iops(iops)), None) => write!(f, "{iops} IOPS"),
            (None, Some(BytesPerSecond(bytes))) => write!(f, "{bytes} bytes/s"),
            (None, None) => f.write_str("none"),
        }
    }
}

impl FixedPolicy {
    fn floor(&self) -> Floor {
        let Rates { iops, bytes } = self.floor.normal();
        Floor { iops, bytes, latency: self.expected_latency.filter(|latency| *latency > Span::ZERO) }
    }

    fn ceiling(&self, settings: &RegistrySettings) -> Ceiling {
        let Rates { iops, bytes } = self.ceiling.normal();
        let limited = iops.is_some() || bytes.is_some();
        Ceiling { iops, bytes, burst: self.burst.in_force(iops, settings).filter(|_| limited) }
    }

    fn check(&self, subject: &str) -> Result<(), Refusal> {
        self.ceiling.check(subject, RateName::Ceiling)?;
        self.floor.check(subject, RateName::Floor)?;
        check_latency(self.expected_latency, subject)?;
        let (ceiling, floor) = (self.ceiling.normal(), self.floor.normal());
        let above = |given| Err(Refusal::new(Rule::FloorAboveCeiling, subject, given));
        if let (Some(Iops(low)), Some(Iops(high))) = (floor.iops, ceiling.iops)
            && low > high
        {
            return above(format!("floor {low} IOPS over ceiling {high} IOPS"));
        }
        if let (Some(BytesPerSecond(low)), Some(BytesPerSecond(high))) = (floor.bytes, ceiling.bytes)
            && low > high
        {
            return above(format!("floor {low} bytes/s over ceiling {high} bytes/s"));
        }
        self.burst.check(subject, ceiling.iops.is_some())
    }
}

impl AdaptivePolicy {
    /// With the command line's defaults: expected per allocated space, peak per used space, minimum
    /// after the expected rate, 32 KiB blocks.
    pub const fn new(expected: Density, peak: Density) -> AdaptivePolicy {
        AdaptivePolicy {
            expected,
            peak,
            expected_allocation: Allocation::Allocated,
            peak_allocation: Allocation::Used,
            absolute_min: None,
            expected_latency: None,
            block_size: BlockSize::K32,
            burst: BurstKnobs { percent: None, duration: None, iops: None },
            peak_mode: None,
        }
    }

    /// The absolute minimum in force: as given, else 1000 IOPS from 6144 expected per TB on, 500
    /// from 2048 on, 75 below. The steps are the built-in groups' (NetApp PowerShell toolkit,
    /// New-NcQosAdaptivePolicyGroup).
    pub fn minimum(&self, units: Units) -> Iops {
        self.absolute_min.unwrap_or(match self.expected.iops_per_tb(units) {
            6144.. => Iops(1000),
            2048.. => Iops(500),
            _ => Iops(75),
        })
    }

    /// The size up to which the absolute minimum applies instead of the expected rate: `M /
    /// expected`, rounded up.
    pub fn knee(&self, units: Units) -> Bytes {
        let unit = match self.expected.per {
            Per::Gb => SizeUnit::Gb,
            Per::Tb => SizeUnit::Tb,
        };
        let bytes = u128::from(self.minimum(units).0) * u128::from(units.bytes(unit));
        Bytes(u64::try_from(bytes.div_ceil(u128::from(self.expected.iops.0.max(1)))).unwrap_or(u64::MAX))
    }

    /// What the policy comes to for an object of `size`.
    pub fn evaluate(&self, size: Size, units: Units) -> Evaluation {
        let floor = self.expected.at(self.expected_allocation.of(size), units).max(self.minimum(units));
        let peak = self.peak.at(self.peak_allocation.of(size), units);
        Evaluation { floor, ceiling: peak.max(floor) }
    }

    /// What the peak is under these settings.
    pub fn peak_mode(&self, settings: &RegistrySettings) -> PeakMode {
        self.peak_mode.unwrap_or(settings.peak)
    }

    fn limits(&self, Evaluation { floor, ceiling }: Evaluation, settings: &RegistrySettings) -> Limits {
        let bytes = |iops| self.block_size.rate(iops);
        let latency = self.expected_latency.filter(|latency| *latency > Span::ZERO);
        let floor_limits = Floor { iops: Some(floor), bytes: bytes(floor), latency };
        let ceiling = match self.peak_mode(settings) {
            PeakMode::Ceiling => Ceiling {
                iops: Some(ceiling),
                bytes: bytes(ceiling),
                burst: self.burst.in_force(Some(ceiling), settings),
            },
            PeakMode::Credits => Ceiling {
                iops: Some(floor),
                bytes: bytes(floor),
                burst: burst_to(ceiling, floor, self.burst.duration.unwrap_or(CREDIT_DURATION)),
            },
        };
        Limits { ceiling, floor: floor_limits }
    }

    fn check(&self, subject: &str, settings: &RegistrySettings) -> Result<(), Refusal> {
        let rates = [
            (RateName::Expected, self.expected.iops),
            (RateName::Peak, self.peak.iops),
            (RateName::AbsoluteMin, self.absolute_min.unwrap_or(Iops(1))),
        ];
        for (name, Iops(rate)) in rates {
            if rate == 0 {
                return Err(Refusal::of_rate(Rule::AdaptiveZero, subject, name, 0));
            }
            if rate > IOPS_MAX {
                return Err(Refusal::of_rate(Rule::RateRange, subject, name, rate));
            }
        }
        check_latency(self.expected_latency, subject)?;
        let [expected, peak] = [self.expected, self.peak].map(|rate| rate.iops_per_tb(settings.units));
        if expected > peak {
            let given = format!("expected {expected} IOPS/TB over peak {peak} IOPS/TB");
            return Err(Refusal::new(Rule::ExpectedAbovePeak, subject, given));
        }
        if self.peak_mode(settings) == PeakMode::Credits && (self.burst.percent.is_some() || self.burst.iops.is_some())
        {
            return Err(Refusal::new(Rule::BurstWithCredits, subject, self.burst.given()));
        }
        self.burst.check(subject, true)
    }
}

fn check_latency(latency: Option<Span>, subject: &str) -> Result<(), Refusal> {
    match latency {
        Some(latency) if latency > Span::ZERO && !(LATENCY_LEAST..=LATENCY_MOST).contains(&latency) => {
            Err(Refusal::new(Rule::LatencyRange, subject, format_args!("an expected latency of {latency}")))
        }
        _ => Ok(()),
    }
}

impl BurstKnobs {
    /// All three zero is nothing set (ONTAP's way back to the default), zero IOPS too, and zero
    /// percent beside IOPS. Zero percent otherwise stays, and so does a zero duration: they switch
    /// the burst off.
    pub fn normal(self) -> BurstKnobs {
        let BurstKnobs { percent, duration, iops } = self;
        if (percent, duration, iops) == (Some(0), Some(Span::ZERO), Some(Iops(0))) {
            return BurstKnobs::default();
        }
        let iops = iops.filter(|iops| iops.0 > 0);
        let percent = if iops.is_some() { percent.filter(|percent| *percent > 0) } else { percent };
        BurstKnobs { percent, duration, iops }
    }

    fn in_force(self, ceiling: Option<Iops>, settings: &RegistrySettings) -> Option<Burst> {
        let knobs = self.normal();
        if knobs == BurstKnobs::default() {
            return settings.burst.burst();
        }
        let duration = knobs.duration.unwrap_or(Span::SECOND);
        match (knobs.iops, ceiling) {
            (Some(peak), Some(base)) => burst_to(peak, base, duration),
            (Some(_), None) => None,
            (None, _) => some_burst(Burst::percent(knobs.percent.unwrap_or(50), duration)),
        }
    }

    fn check(self, subject: &str, has_iops: bool) -> Result<(), Refusal> {
        let knobs = self.normal();
        let refuse = |rule| Err(Refusal::new(rule, subject, knobs.given()));
        if knobs.percent.is_some() && knobs.iops.is_some() {
            return refuse(Rule::BurstExclusive);
        }
        if knobs.iops.is_some() && !has_iops {
            return refuse(Rule::BurstNeedsIops);
        }
        let in_range = knobs.percent.unwrap_or(0) <= BURST_PERCENT_MAX
            && knobs.duration.unwrap_or(Span::ZERO) <= BURST_DURATION_MAX
            && knobs.iops.unwrap_or(Iops(0)).0 <= IOPS_MAX;
        if in_range { Ok(()) } else { refuse(Rule::BurstRange) }
    }

    pub(crate) fn given(self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.percent.map(|percent| format!("{percent} percent")));
        parts.extend(self.iops.map(|Iops(iops)| format!("{iops} IOPS")));
        parts.extend(self.duration.map(|duration| format!("for {duration}")));
        format!("burst {}", parts.join(" "))
    }
}

impl BlockSize {
    /// In bytes; `None` where any size counts as one operation.
    pub const fn bytes(self) -> Option<u64> {
        match self {
            BlockSize::Any => None,
            BlockSize::K4 => Some(4 << 10),
            BlockSize::K8 => Some(8 << 10),
            BlockSize::K16 => Some(16 << 10),
            BlockSize::K32 => Some(32 << 10),
            BlockSize::K64 => Some(64 << 10),
            BlockSize::K128 => Some(128 << 10),
        }
    }

    fn rate(self, iops: Iops) -> Option<BytesPerSecond> {
        self.bytes().map(|bytes| BytesPerSecond(iops.0.saturating_mul(bytes).min(BYTES_MAX)))
    }
}

/// A burst from `base` up to `peak`, in millionths rounded up: the peak is met to the operation, as
/// rates are cut to whole operations.
fn burst_to(peak: Iops, base: Iops, duration: Span) -> Option<Burst> {
    let above = u128::from(peak.0.saturating_sub(base.0));
    let ppm = (above * 1_000_000).div_ceil(u128::from(base.0.max(1)));
    let most = Burst::percent(BURST_PERCENT_MAX, duration).ppm;
    some_burst(Burst { ppm: u64::try_from(ppm).unwrap_or(u64::MAX).min(most), duration })
}

fn some_burst(burst: Burst) -> Option<Burst> {
    (burst.ppm > 0 && burst.duration > Span::ZERO).then_some(burst)
}
