//! The distribution of a job's requests over its space, and whether it is as even as chance allows.
//!
//! A *place* is where a request may begin; places are numbered through all of a job's files. They
//! are counted by slices: place `p` of `P` is in slice `p × n / P`, so that slices differ by at
//! most one place. The test is Pearson's (K. Pearson, Philosophical Magazine 50, 1900): the sum
//! over slices of `(counted − expected)² / expected` is compared with chi-square of one degree of
//! freedom less than there are slices.

/// Requests by slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Number of places.
    pub places: u64,
    /// Requests in each slice.
    pub counts: Vec<u64>,
}

/// How even a coverage is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evenness {
    /// Pearson's sum.
    pub chi_square: f64,
    /// Degrees of freedom.
    pub degrees: u32,
    /// How many standard deviations the sum is above its expectation (E. B. Wilson and M. M.
    /// Hilferty, 1931: the cube root of chi-square is nearly normal).
    pub deviations: f64,
}

/// Slices are joined until at least this many requests are expected in each, because the sum does
/// not follow chi-square for fewer.
const EXPECTED_LEAST: f64 = 10.0;

/// One even run in a million exceeds this.
const DEVIATIONS_MOST: f64 = 4.753;

impl Coverage {
    /// No requests yet, in `slices` slices, or as many as there are places.
    pub fn new(places: u64, slices: u32) -> Coverage {
        let slices = u64::from(slices).clamp(1, places.max(1));
        Coverage { places, counts: vec![0; slices as usize] }
    }

    /// Counts a request at a place; places beyond the last count in the last slice.
    #[inline]
    pub fn count(&mut self, place: u64) {
        let (slices, places) = (self.counts.len() as u64, self.places.max(1));
        // Only beyond 2^53 places does the product of a thousand slices need more than 64 bits.
        let slice = match place.checked_mul(slices) {
            Some(product) => product / places,
            None => (u128::from(place) * u128::from(slices) / u128::from(places)) as u64,
        };
        if let Some(count) = self.counts.get_mut(slice.min(slices.saturating_sub(1)) as usize) {
            *count += 1;
        }
    }

    /// How even the coverage is; `None` with too few requests, or only one slice.
    pub fn evenness(&self) -> Option<Evenness> {
        let all: u64 = self.counts.iter().sum();
        let (mut groups, mut sum) = (0u32, 0.0);
        let (mut counted, mut expected, mut left) = (0, 0.0, all as f64);
        for (slice, count) in (0..).zip(&self.counts) {
            counted += count;
            expected += all as f64 * self.places_in(slice) as f64 / self.places as f64;
            // A rest that is too small for a group of its own joins the last group. The tolerance
            // is for rounding of sums.
            let suffices = (expected + 1e-6).min(left - expected + 1e-6) >= EXPECTED_LEAST;
            if suffices || slice + 1 == self.counts.len() as u64 {
                sum += (counted as f64 - expected).powi(2) / expected.max(f64::MIN_POSITIVE);
                groups += 1;
                left -= expected;
                (counted, expected) = (0, 0.0);
            }
        }
        let degrees = groups.checked_sub(1).filter(|degrees| *degrees > 0)?;
        let narrow = 2.0 / (9.0 * f64::from(degrees));
        let deviations = ((sum / f64::from(degrees)).cbrt() - (1.0 - narrow)) / narrow.sqrt();
        Some(Evenness { chi_square: sum, degrees, deviations })
    }

    /// Number of places in a slice.
    fn places_in(&self, slice: u64) -> u64 {
        let slices = self.counts.len() as u64;
        let first = |slice: u64| (u128::from(slice) * u128::from(self.places)).div_ceil(u128::from(slices)) as u64;
        first(slice + 1) - first(slice)
    }
}

impl Evenness {
    /// Whether chance is a plausible explanation.
    pub fn is_even(&self) -> bool {
        self.deviations <= DEVIATIONS_MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten places in four slices: p × 4 / 10 is 0 for places 0 to 2, 1 for 3 and 4, 2 for 5 to 7, 3
    /// for 8 and 9.
    #[test]
    fn each_place_is_in_its_slice() {
        let mut coverage = Coverage::new(10, 4);
        (0..10).for_each(|place| coverage.count(place));
        assert_eq!(coverage.counts, [3, 2, 3, 2]);
        assert_eq!([0, 1, 2, 3].map(|slice| coverage.places_in(slice)), [3, 2, 3, 2]);
        assert_eq!(Coverage::new(3, 1000).counts.len(), 3, "no slice is empty");
        let mut vast = Coverage::new(1 << 60, 1000);
        vast.count((1 << 60) - 1);
        vast.count(u64::MAX);
        assert_eq!((vast.counts[999], vast.places_in(999)), (2, (1 << 60) / 1000));
    }

    /// 40, 60, 50 and 50 where 50 each are expected: (100 + 100) / 50 = 4 with 3 degrees.
    /// Chi-square is above that in 26 % of all even runs, which is 0.64 deviations.
    #[test]
    fn the_sum_is_pearsons() {
        let even = Coverage { places: 400, counts: vec![40, 60, 50, 50] }.evenness().unwrap();
        assert_eq!((even.chi_square, even.degrees), (4.0, 3));
        assert!((even.deviations - 0.64).abs() < 0.02, "{even:?}");
        assert!(even.is_even());
        let uneven = Coverage { places: 400, counts: vec![100, 100, 0, 0] }.evenness().unwrap();
        assert_eq!(uneven.chi_square, 200.0);
        assert!(!uneven.is_even());
    }

    /// With 40 requests in 100 slices 0.4 are expected in each, so 25 slices are joined for ten.
    #[test]
    fn slices_with_few_requests_go_together() {
        let mut coverage = Coverage::new(1000, 100);
        (0..40).for_each(|n| coverage.count(n * 25));
        let even = coverage.evenness().unwrap();
        assert!(even.degrees == 3 && even.chi_square < 1e-9, "{even:?}");
        assert_eq!(Coverage { places: 10, counts: vec![3, 3] }.evenness(), None, "six requests tell nothing");
        assert_eq!(Coverage::new(10, 4).evenness(), None);
    }
}
