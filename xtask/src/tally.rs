//! Counts of tests, parsed from the runners' output.

use std::fmt;
use std::ops::AddAssign;

/// Numbers of passed, failed and skipped tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Passed.
    pub passed: u64,
    /// Failed, timed out or could not be run.
    pub failed: u64,
    /// Skipped or ignored.
    pub skipped: u64,
}

impl Tally {
    /// A check that is not a test, counted as one passed or one failed.
    pub fn of_check(good: bool) -> Tally {
        Tally { passed: u64::from(good), failed: u64::from(!good), skipped: 0 }
    }

    /// Parses a runner's output: the summary line of `cargo nextest`, or else the sum of `cargo
    /// test`'s lines, one for each binary. Output of nextest may also contain lines of the second
    /// kind, from failed tests, which are ignored.
    ///
    /// ```text
    /// Summary [  1.203s] 12 tests run: 10 passed (1 slow), 1 failed, 1 timed out, 2 skipped
    /// test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s
    /// ```
    pub fn of_output(output: &str) -> Tally {
        let mut sum = Tally::default();
        let lines = || output.lines().map(str::trim);
        let mut summary =
            lines().filter(|line| line.starts_with("Summary [")).filter_map(|line| line.split_once(" run: "));
        if let Some((_, counts)) = summary.next_back() {
            counts.split(", ").for_each(|part| sum.add_part(part));
            return sum;
        }
        let results = lines().filter_map(|line| line.strip_prefix("test result: ")?.split_once(". "));
        results.for_each(|(_, counts)| counts.split("; ").for_each(|part| sum.add_part(part)));
        sum
    }

    /// Adds a part such as `10 passed (1 slow)`; other kinds are not tests that ran.
    fn add_part(&mut self, part: &str) {
        let Some((count, kind)) = part.trim().split_once(' ') else { return };
        let Ok(count) = count.parse::<u64>() else { return };
        let kind = kind.split(" (").next().unwrap_or_default();
        match kind {
            "passed" => self.passed += count,
            "failed" | "timed out" | "exec failed" => self.failed += count,
            "skipped" | "ignored" => self.skipped += count,
            _ => {}
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_line_of_nextest_is_read() {
        let line = "     Summary [   1.203s] 14 tests run: 10 passed (1 slow), 1 failed, 2 timed out, 1 exec failed, 3 skipped";
        assert_eq!(Tally::of_output(line), Tally { passed: 10, failed: 4, skipped: 3 });
        let short =
            "     Summary [   0.1s] 5/9 tests run: 4 passed, 1 failed, 0 skipped\nwarning: 4/9 tests were not run";
        assert_eq!(Tally::of_output(short), Tally { passed: 4, failed: 1, skipped: 0 });
    }

    #[test]
    fn what_failed_tests_print_is_not_counted_again() {
        let lines = "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.1s\n\
                     Summary [   0.1s] 5 tests run: 4 passed, 1 failed, 0 skipped";
        assert_eq!(Tally::of_output(lines), Tally { passed: 4, failed: 1, skipped: 0 });
    }

    #[test]
    fn the_lines_of_cargo_test_are_added_up() {
        let lines = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s\n\
                     test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1s";
        assert_eq!(Tally::of_output(lines), Tally { passed: 8, failed: 2, skipped: 1 });
    }

    #[test]
    fn what_only_looks_like_a_summary_counts_nothing() {
        assert_eq!(
            Tally::of_output("100 passed\nthe Summary: 3 tests run: 3 passed\ntest result: none"),
            Tally::default()
        );
    }

    #[test]
    fn it_prints_as_the_closing_line() {
        assert_eq!(Tally { passed: 7, failed: 0, skipped: 2 }.to_string(), "7 passed, 0 failed, 2 skipped");
    }
}
