//! Values that are one of a few words.

use super::{Value, ValueError};
use crate::word::Word;
use std::fmt;
use std::str::FromStr;

/// Defines an enum whose variants are words: parsing (in any case), printing, and the list for
/// completion.
macro_rules! choice {
    (
        $(#[$about:meta])* $type:ident, $syntax:literal, $what:literal
        { $( $(#[$doc:meta])* $variant:ident = $word:literal, )+ }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $( $(#[$doc])* $variant, )+
        }

        impl FromStr for $type {
            type Err = ValueError;

            fn from_str(text: &str) -> Result<$type, ValueError> {
                $( if text.eq_ignore_ascii_case($word) { return Ok($type::$variant); } )+
                Err(crate::value::choice::not_one_of(text, $what, <$type as Value>::CHOICES))
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $( $type::$variant => $word, )+ })
            }
        }

        impl Value for $type {
            const SYNTAX: &'static str = $syntax;
            const CHOICES: &'static [&'static str] = &[$($word),+];

            fn from_word(word: &Word) -> Result<$type, ValueError> {
                word.text.parse()
            }
        }
    };
}

pub(super) use choice;

choice! {
    /// The space that an adaptive rate is multiplied with.
    Allocation, "used-space|allocated-space", "a kind of space"
    {
        /// `used-space`: data written, before any saving by the store.
        Used = "used-space",
        /// `allocated-space`: the size of the object.
        Allocated = "allocated-space",
    }
}

choice! {
    /// The operation size that turns an adaptive policy's IOPS into a byte limit.
    BlockSize, "ANY|4K|8K|16K|32K|64K|128K", "a block size"
    {
        /// No byte limit.
        Any = "ANY",
        /// 4096 bytes.
        K4 = "4K",
        /// 8192 bytes.
        K8 = "8K",
        /// 16 384 bytes.
        K16 = "16K",
        /// 32 768 bytes.
        K32 = "32K",
        /// 65 536 bytes.
        K64 = "64K",
        /// 131 072 bytes.
        K128 = "128K",
    }
}

impl BlockSize {
    /// Bytes of one operation; `None` for any size.
    pub fn bytes(self) -> Option<u64> {
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
}

choice! {
    /// How the peak of an adaptive policy is reached.
    PeakMode, "ceiling|credits", "a way to the peak"
    {
        /// Always.
        Ceiling = "ceiling",
        /// Only on credit saved below the expected rate.
        Credits = "credits",
    }
}

choice! {
    /// For whom an answer is written.
    #[derive(Default)]
    Output, "text|json", "a kind of output"
    {
        /// For people, as ONTAP lays it out.
        #[default]
        Text = "text",
        /// For programs.
        Json = "json",
    }
}

choice! {
    /// How a chart is drawn.
    ChartFormat, "text|svg|page", "a kind of chart"
    {
        /// In 80 columns for the terminal.
        Text = "text",
        /// As a picture.
        Svg = "svg",
        /// As an HTML page.
        Page = "page",
    }
}

choice! {
    /// How far back something is looked at, and with it how finely.
    #[derive(Default)]
    Interval, "10m|1h|1d|1w|1m|1y", "an interval (1m is a month)"
    {
        /// Ten minutes by 1 s.
        TenMinutes = "10m",
        /// An hour by 15 s.
        #[default]
        Hour = "1h",
        /// A day by 4 minutes.
        Day = "1d",
        /// A week by 2 hours.
        Week = "1w",
        /// A month, of 31 days, by 2 hours.
        Month = "1m",
        /// A year by days.
        Year = "1y",
    }
}

impl Interval {
    /// The period, and the length of an interval in it, both in seconds.
    pub const fn seconds(self) -> (u64, u64) {
        const HOUR: u64 = 3600;
        match self {
            Interval::TenMinutes => (600, 1),
            Interval::Hour => (HOUR, 15),
            Interval::Day => (24 * HOUR, 240),
            Interval::Week => (7 * 24 * HOUR, 2 * HOUR),
            Interval::Month => (31 * 24 * HOUR, 2 * HOUR),
            Interval::Year => (365 * 24 * HOUR, 24 * HOUR),
        }
    }
}

choice! {
    /// What a session lets its user do.
    #[derive(Default)]
    Privilege, "admin|advanced", "a level of privilege (there is no diagnostic one)"
    {
        /// What is done every day.
        #[default]
        Admin = "admin",
        /// What is done seldom, and with care.
        Advanced = "advanced",
    }
}

choice! {
    /// Whether a session asks before something is destroyed.
    #[derive(Default)]
    Confirmations, "on|off", "a switch"
    {
        /// It asks.
        #[default]
        On = "on",
        /// It does not.
        Off = "off",
    }
}

choice! {
    /// A switch of the `enabled`/`none` kind.
    Enabled, "enabled|none", "a state"
    {
        /// `enabled`.
        Enabled = "enabled",
        /// `none`.
        None = "none",
    }
}

choice! {
    /// The operating system that uses a LUN.
    #[derive(Default, PartialOrd, Ord)]
    OsType, "<ostype>", "an operating system"
    {
        /// `linux`.
        #[default]
        Linux = "linux",
        /// `windows`.
        Windows = "windows",
        /// `windows_2008`.
        Windows2008 = "windows_2008",
        /// `windows_gpt`.
        WindowsGpt = "windows_gpt",
        /// `vmware`.
        Vmware = "vmware",
        /// `hyper_v`.
        HyperV = "hyper_v",
        /// `aix`.
        Aix = "aix",
        /// `hpux`.
        Hpux = "hpux",
        /// `solaris`.
        Solaris = "solaris",
        /// `solaris_efi`.
        SolarisEfi = "solaris_efi",
        /// `xen`.
        Xen = "xen",
        /// `openvms`.
        Openvms = "openvms",
        /// `netware`.
        Netware = "netware",
    }
}

/// A parameter that means `true` without a value: `-instance`, `-force`, `-force true`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switch(pub bool);

impl Value for bool {
    const SYNTAX: &'static str = "true|false";
    const CHOICES: &'static [&'static str] = &["true", "false"];

    fn from_word(word: &Word) -> Result<bool, ValueError> {
        match word.text.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            "yes" | "on" | "1" => Err(not_one_of(&word.text, "a truth value", Self::CHOICES).meaning("true")),
            "no" | "off" | "0" => Err(not_one_of(&word.text, "a truth value", Self::CHOICES).meaning("false")),
            _ => Err(not_one_of(&word.text, "a truth value", Self::CHOICES)),
        }
    }
}

pub(super) fn not_one_of(text: &str, what: &str, choices: &[&str]) -> ValueError {
    let error = ValueError::new(text, format!("is not {what}: choose from {}", choices.join(", ")));
    // Another number is not a slip.
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    match nearest::to(text, choices.iter().copied()) {
        Some(word) if digits(word) == digits(text) => error.meaning(word),
        _ => error,
    }
}
