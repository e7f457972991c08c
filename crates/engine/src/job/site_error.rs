//! Why a place of a job cannot be used.

use std::mem::discriminant;
use std::path::PathBuf;
use storage::OpenError;

/// Why a place of a job cannot be used; one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SiteError {
    /// It cannot be opened, or will not be written.
    #[error(transparent)]
    Open(Box<OpenError>),
    /// A file does not suit the job.
    #[error("{}: {problem}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The problem; it does not name the file.
        problem: String,
    },
    /// An export does not suit the job.
    #[error("{0}")]
    Named(String),
    /// Requests would not have the alignment that the place needs.
    #[error("bs and offset: must be multiples of {align} for {how} {place}, got {block} from {start} on")]
    Alignment {
        /// What the place gets.
        how: &'static str,
        /// The place.
        place: String,
        /// The alignment that it needs, in bytes.
        align: u64,
        /// The smallest block, in bytes.
        block: u64,
        /// Start of the region, in bytes.
        start: u64,
    },
}

impl From<OpenError> for SiteError {
    fn from(error: OpenError) -> SiteError {
        SiteError::Open(Box::new(error))
    }
}

impl SiteError {
    /// Whether this is the same problem with another place.
    fn is_like(&self, other: &SiteError) -> bool {
        match (self, other) {
            (SiteError::Open(one), SiteError::Open(other)) => is_same_problem(one, other),
            (SiteError::File { problem, .. }, SiteError::File { problem: other, .. }) => problem == other,
            (
                SiteError::Alignment { align, block, start, .. },
                SiteError::Alignment { align: other_align, block: other_block, start: other_start, .. },
            ) => (align, block, start) == (other_align, other_block, other_start),
            _ => false,
        }
    }
}

/// Whether two errors differ only in the place.
fn is_same_problem(one: &OpenError, other: &OpenError) -> bool {
    match (one, other) {
        (OpenError::Refused(one), OpenError::Refused(other)) => one.found == other.found,
        (OpenError::Missing { advice, .. }, OpenError::Missing { advice: other, .. }) => advice == other,
        (OpenError::NotPermitted { cause, .. }, OpenError::NotPermitted { cause: other, .. })
        | (OpenError::Look { cause, .. }, OpenError::Look { cause: other, .. }) => cause.kind() == other.kind(),
        (OpenError::Folder(_) | OpenError::Kind(_) | OpenError::NoSize(_) | OpenError::Changed(_), _) => {
            discriminant(one) == discriminant(other)
        }
        _ => false,
    }
}

/// One line for each problem: that of the first place that has it, with the number of the others.
pub(crate) fn lines(errors: &[SiteError]) -> Vec<String> {
    let mut kinds: Vec<(&SiteError, usize)> = Vec::new();
    for error in errors {
        match kinds.iter_mut().find(|(first, _)| first.is_like(error)) {
            Some((_, more)) => *more += 1,
            None => kinds.push((error, 0)),
        }
    }
    let line = |(error, more): (&SiteError, usize)| match more {
        0 => error.to_string(),
        1 => format!("{error} (and 1 more file)"),
        more => format!("{error} (and {more} more files)"),
    };
    kinds.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_of_many_files_is_one_line() {
        let file = |file: &str, problem: &str| SiteError::File { file: file.into(), problem: problem.into() };
        let unaligned = |place: &str| SiteError::Alignment {
            how: "direct I/O on",
            place: place.into(),
            align: 512,
            block: 100,
            start: 0,
        };
        let errors = [
            file("x.0", "bs: too large"),
            OpenError::Folder("x.1".into()).into(),
            unaligned("y.0"),
            file("x.2", "bs: too large"),
            OpenError::Folder("x.4".into()).into(),
            file("x.3", "bs: too large"),
            OpenError::Kind("x.5".into()).into(),
            unaligned("y.1"),
        ];
        assert_eq!(
            lines(&errors),
            [
                "x.0: bs: too large (and 2 more files)",
                "x.1: is a folder; name a file in it, or concat:x.1 for its files as one (and 1 more file)",
                "bs and offset: must be multiples of 512 for direct I/O on y.0, got 100 from 0 on (and 1 more file)",
                "x.5: is neither a file nor a block device",
            ]
        );
    }
}
