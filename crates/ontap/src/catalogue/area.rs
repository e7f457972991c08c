//! What words are about that begin commands and are none yet, for the list of the ways to go on.

const AREAS: [(&str, &str); 44] = [
    ("vserver", "SVMs, which volumes belong to"),
    ("volume", "Volumes, and what is in them"),
    ("volume qtree", "Folders of volumes with policies of their own"),
    ("volume file", "Files in volumes"),
    ("volume file clone", "Copies of LUNs and files that share their space"),
    ("volume snapshot", "Volumes as they were"),
    ("volume clone", "Volumes that share the space of another"),
    ("snapshot", "Volumes as they were"),
    ("network", "What clients are connected by"),
    ("network limit", "Limits on connections, and what they take"),
    ("storage", "The pool"),
    ("storage aggregate", "The pool, as ONTAP names it"),
    ("lun", "Block devices in volumes"),
    ("qos", "Policies, and what comes of them"),
    ("qos policy-group", "Policies of fixed limits"),
    ("qos adaptive-policy-group", "Policies whose limits follow the size"),
    ("qos fairness", "Sharing between objects without a policy"),
    ("qos workload", "What is held to policies, one by one"),
    ("qos settings", "Settings of policies"),
    ("qos statistics", "What is done, and what waits"),
    ("qos statistics performance", "Operations and latency of policy groups"),
    ("qos statistics latency", "Where policy groups wait"),
    ("qos statistics characteristics", "The shape of policy groups' work"),
    ("qos statistics workload", "Statistics of workloads"),
    ("qos statistics workload performance", "Operations and latency of workloads"),
    ("qos statistics workload latency", "Where workloads wait"),
    ("qos statistics workload characteristics", "The shape of workloads' work"),
    ("qos statistics workload held", "What holds workloads back"),
    ("qos statistics volume", "Statistics of volumes"),
    ("qos statistics volume performance", "Operations and latency of volumes"),
    ("qos statistics volume latency", "Where volumes wait"),
    ("qos statistics volume characteristics", "The shape of volumes' work"),
    ("qos statistics volume held", "What holds volumes back"),
    ("qos statistics history", "What was done up to a year ago"),
    ("cache", "The server's cache"),
    ("cache partition", "Parts of the cache that are kept for volumes"),
    ("cache second-level", "The cache on a device"),
    ("cache statistics", "What the cache was asked for, and had"),
    ("memory", "What the server's memory is used for"),
    ("security", "Who may do what"),
    ("security login", "Users of the REST interface"),
    ("security certificate", "What the server shows of itself"),
    ("event", "What happened"),
    ("event log", "The log of what happened"),
];

/// What commands that begin with these words, in full, are about; nothing where none do.
pub(crate) fn about(words: &str) -> &'static str {
    AREAS.iter().find(|(area, _)| *area == words).map_or("", |(_, about)| about)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_words_that_begin_commands_are_told_about_and_no_others() {
        let mut beginnings = BTreeSet::new();
        for spec in crate::catalogue::specs() {
            let words: Vec<&str> = spec.words().collect();
            beginnings.extend((1..words.len()).map(|count| words[..count].join(" ")));
        }
        assert_eq!(AREAS.iter().map(|(area, _)| (*area).to_owned()).collect::<BTreeSet<_>>(), beginnings);
        for word in crate::complete("").candidates {
            assert_ne!(word.help, "", "{}", word.word);
        }
    }
}
