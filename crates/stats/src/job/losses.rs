//! Lost connections to a server: what was outstanding, and what became of it.

use super::Reasons;
use block::{OpKind, Span, count};
use std::sync::Arc;

/// Losses of a job's connections. Nothing is silent: each request that was outstanding counts by
/// its kind in [`Losses::under_way`], and in exactly one of [`Losses::unsent`],
/// [`Losses::repeated`] and [`Losses::unknown`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Connections that were lost.
    pub lost: u64,
    /// Why they were lost.
    pub why: Reasons,
    /// Connections that were re-established.
    pub regained: u64,
    /// Sum of the times from each loss until the connection was re-established or given up.
    pub away: Span,
    /// Requests without a reply when their connection was lost. A request that loses several
    /// connections in turn counts with each.
    pub under_way: KindCounts,
    /// Of these, requests of which nothing had been sent. Sending them over a new connection
    /// repeats nothing.
    pub unsent: u64,
    /// Of these, requests that were sent again: reads, and writes if that was asked for.
    pub repeated: KindCounts,
    /// Of these, requests that failed: it is unknown whether they took effect.
    pub unknown: KindCounts,
    /// Writes, trims and zeroes that were acknowledged but not covered by a flush when a connection
    /// was lost, or when an NFS server turned out to have restarted: it may have lost them.
    pub not_flushed: u64,
    /// Why no connection could be re-established, in the system's or the server's words.
    pub given_up: Option<String>,
}

/// A count for each kind of request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindCounts([u64; KINDS.len()]);

/// All kinds with their singular and plural, in the order of [`KindCounts`].
const KINDS: [(OpKind, &str, &str); 7] = [
    (OpKind::Read, "read", "reads"),
    (OpKind::Write, "write", "writes"),
    (OpKind::Flush, "flush", "flushes"),
    (OpKind::Trim, "trim", "trims"),
    (OpKind::Zero, "zero", "zeroes"),
    (OpKind::Cache, "cache", "caches"),
    (OpKind::Status, "status query", "status queries"),
];

impl KindCounts {
    /// Counts a request.
    pub fn count(&mut self, kind: OpKind) {
        self.0[place(kind)] += 1;
    }

    /// The count of a kind.
    pub fn of(&self, kind: OpKind) -> u64 {
        self.0[place(kind)]
    }

    /// The sum of all kinds.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The kinds with a count above zero: plural and count.
    pub fn occurred(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.kinds().map(|(&(.., many), number)| (many, number))
    }

    fn kinds(&self) -> impl Iterator<Item = (&'static (OpKind, &'static str, &'static str), u64)> + '_ {
        KINDS.iter().zip(self.0).filter(|&(_, number)| number > 0)
    }

    fn add(&mut self, other: &KindCounts) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    fn words(&self) -> String {
        let each = self.kinds().map(|(&(_, one, many), number)| count(number as usize, one, many));
        let each: Vec<String> = each.collect();
        if each.is_empty() { "nothing".into() } else { each.join(", ") }
    }
}

fn place(kind: OpKind) -> usize {
    KINDS.iter().position(|&(known, ..)| known == kind).expect("every kind is listed")
}

impl Losses {
    /// Whether any connection was lost, or any write.
    pub fn any(&self) -> bool {
        self.lost > 0 || self.not_flushed > 0
    }

    /// Counts a lost connection.
    pub fn lose(&mut self, why: &Arc<str>) {
        self.lost += 1;
        self.why.count(why);
    }

    /// Adds another job's losses.
    pub fn absorb(&mut self, other: &Losses) {
        self.lost += other.lost;
        self.why.absorb(&other.why);
        self.regained += other.regained;
        self.away += other.away;
        self.under_way.add(&other.under_way);
        self.unsent += other.unsent;
        self.repeated.add(&other.repeated);
        self.unknown.add(&other.unknown);
        self.not_flushed += other.not_flushed;
        self.given_up = self.given_up.take().or_else(|| other.given_up.clone());
    }

    /// A description with one line for each kind of loss; empty without a loss.
    pub fn lines(&self) -> Vec<String> {
        let (lost, regained, away) = (self.lost, self.regained, self.away);
        let mut lines = Vec::new();
        if lost > 0 {
            lines.push(format!("connections lost: {lost}, made again: {regained}, away for {away} in all"));
            lines.extend(
                self.why
                    .iter()
                    .map(|(why, number)| format!("lost {} because {why}", count(number as usize, "time", "times"))),
            );
            lines.push(format!("under way then: {}", self.under_way.words()));
        }
        if self.unsent > 0 {
            lines.push(format!("not yet sent, so sent later: {}", self.unsent));
        }
        if self.repeated.total() > 0 {
            lines.push(format!("sent again: {}", self.repeated.words()));
        }
        if self.unknown.total() > 0 {
            lines.push(format!("failed, took effect or not: {}", self.unknown.words()));
        }
        if self.not_flushed > 0 {
            let when = if lost > 0 { "when the server was lost" } else { "when the server restarted" };
            lines.push(format!("answered but not flushed {when}: {}", self.not_flushed));
        }
        lines.extend(self.given_up.as_ref().map(|why| format!("no connection any more: {why}")));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_told_by_kind_and_add_up() {
        let mut losses = Losses { regained: 1, away: Span::from_millis(250), ..Losses::default() };
        losses.lose(&"the server closed the connection".into());
        assert_eq!(Losses::default().lines(), Vec::<String>::new());
        for kind in [OpKind::Read, OpKind::Read, OpKind::Write, OpKind::Flush] {
            losses.under_way.count(kind);
        }
        losses.repeated.count(OpKind::Read);
        losses.repeated.count(OpKind::Read);
        losses.unknown.count(OpKind::Write);
        losses.unknown.count(OpKind::Flush);
        losses.not_flushed = 3;
        let expected = [
            "connections lost: 1, made again: 1, away for 250 ms in all",
            "lost 1 time because the server closed the connection",
            "under way then: 2 reads, 1 write, 1 flush",
            "sent again: 2 reads",
            "failed, took effect or not: 1 write, 1 flush",
            "answered but not flushed when the server was lost: 3",
        ];
        assert_eq!(losses.lines(), expected);
        // A server that restarted may have lost writes, though no connection was lost.
        let restarted = Losses { not_flushed: 2, ..Losses::default() };
        assert_eq!(restarted.lines(), ["answered but not flushed when the server restarted: 2"]);
        let other = losses.clone();
        losses.absorb(&other);
        assert_eq!((losses.lost, losses.under_way.of(OpKind::Read), losses.unknown.total()), (2, 4, 4));
    }
}
