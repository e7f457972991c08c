//! The calendar: a moment of the clock on the wall in years, months and days, for whoever prints one.

/// A moment of the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calendar {
    /// Year.
    pub year: u64,
    /// Month, 1 to 12.
    pub month: u32,
    /// Day of the month, 1 to 31.
    pub day: u32,
    /// Hour, 0 to 23.
    pub hour: u32,
    /// Minute.
    pub minute: u32,
    /// Second.
    pub second: u32,
    /// Days since the last Thursday, as 1970 began with one.
    weekday: usize,
}

impl Calendar {
    /// The moment so many seconds after 1970 began, where they are counted from (UTC, if nothing was added to them).
    ///
    /// Years are counted from 1 March, so that the leap day is a year's last: day 0 of the count is 0000-03-01, which is
    /// 719 468 days before 1970. 400 years are 146 097 days; within them a century is 36 524 days and four years 1461, each
    /// but the last, and the subtractions below take those missing and extra days out before dividing by 365.
    pub fn of(seconds: u64) -> Calendar {
        let (days, second) = (seconds / 86_400, (seconds % 86_400) as u32);
        let weekday = (days % 7) as usize;
        let days = days + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = (day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100)) as u32;
        // Five months from March have 153 days, in the same rhythm of 31 and 30 all year round.
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        Calendar { year, month, day, hour: second / 3600, minute: second / 60 % 60, second: second % 60, weekday }
    }

    /// `Sun` to `Sat`.
    pub fn weekday(&self) -> &'static str {
        ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][self.weekday]
    }

    /// `Jan` to `Dec`.
    pub fn month_name(&self) -> &'static str {
        const NAMES: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        NAMES[self.month as usize - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against `date -u -d @SECONDS`.
    #[test]
    fn moments_are_those_of_date() {
        for (seconds, year, month, day, weekday) in [
            (0, 1970, "Jan", 1, "Thu"),
            (951_782_399, 2000, "Feb", 28, "Mon"),
            (951_782_400, 2000, "Feb", 29, "Tue"),
            (1_709_251_199, 2024, "Feb", 29, "Thu"),
            (1_709_251_200, 2024, "Mar", 1, "Fri"),
            (4_107_542_400, 2100, "Mar", 1, "Mon"),
        ] {
            let moment = Calendar::of(seconds);
            let found = (moment.year, moment.month_name(), moment.day, moment.weekday());
            assert_eq!(found, (year, month, day, weekday), "{seconds}");
        }
        let moment = Calendar::of(1_795_314_659);
        assert_eq!((moment.hour, moment.minute, moment.second), (2, 30, 59));
    }

    /// Every day of 800 years follows the one before it, and each month has its days.
    #[test]
    fn no_day_is_left_out() {
        let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..2 * 146_097 {
            let moment = Calendar::of(days * 86_400);
            assert_eq!((moment.year, moment.month, moment.day), (year, month, day));
            let february = 28 + u32::from(is_leap(year));
            let length = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1];
            (month, day) = if day == length { (month + 1, 1) } else { (month, day + 1) };
            (year, month) = if month == 13 { (year + 1, 1) } else { (year, month) };
        }
    }
}
