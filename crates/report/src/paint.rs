//! Colour for a terminal, or none. No meaning depends on colour alone: a word or a mark says the
//! same.

/// Whether text has ANSI colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    /// No escape sequences, for files, pipes and terminals without colour.
    #[default]
    Plain,
    /// The sixteen ANSI colours, which follow the terminal's own scheme.
    Ansi,
}

impl Paint {
    /// For headings.
    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    /// For details.
    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    /// For good results.
    pub(crate) fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    /// For doubtful results.
    pub(crate) fn doubtful(self, text: &str) -> String {
        self.with("33", text)
    }

    /// For bad results.
    pub(crate) fn bad(self, text: &str) -> String {
        self.with("1;31", text)
    }

    /// A colour that identifies a workload, as in the charts as far as sixteen colours allow.
    pub(crate) fn series(self, index: usize, text: &str) -> String {
        const CODES: [&str; 6] = ["31", "34", "32", "35", "33", "36"];
        self.with(CODES[index % CODES.len()], text)
    }

    fn with(self, code: &str, text: &str) -> String {
        match self {
            Paint::Plain => text.into(),
            Paint::Ansi => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}
