//! The published results file.

use crate::figures::Figures;
use crate::ledger::Ledger;
use crate::session::{Counts, Think};
use std::fmt::Write as _;

/// The published names of percentiles, with their misspellings.
const DECILES: [&str; 9] = [
    "TenthPrecentile",
    "TwentiethPercentile",
    "ThirtiethPercentile",
    "FortiethPrecentile",
    "FiftythPercentile",
    "SixtiethPercentile",
    "SeventiethPercentile",
    "EightiethPercentile",
    "NinetiethPercentile",
];

/// The `results.xml` of a point that began at `date`, on that database, whose name must contain no
/// password.
pub fn results_xml(
    figures: &Figures,
    ledger: &Ledger,
    think: Think,
    database: &str,
    comment: &str,
    date: &str,
) -> String {
    let seconds = figures.window.as_secs_f64().round() as u64;
    let time = format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out += "<Results xmlns=\"http://www.dominicgiles.com/swingbench/results\">\n";
    let mut group = |name: &str, values: &[(&str, String)]| {
        let _ = writeln!(out, "  <{name}>");
        for (tag, value) in values {
            let _ = writeln!(out, "    <{tag}>{}</{tag}>", escaped(value));
        }
        let _ = writeln!(out, "  </{name}>");
    };
    // Without a full minute there is no rate per minute.
    let max_tpm = figures.minute_was_full.then(|| ("MaximumTransactionRate", figures.max_tpm.to_string()));
    let overview = [
        ("BenchmarkName", "Order Entry (Seawall)".into()),
        ("Comment", comment.into()),
        ("TimeOfRun", date.into()),
        ("TotalRunTime", time),
        ("TotalCompletedTransactions", figures.done.to_string()),
        ("TotalFailedTransactions", figures.failed().to_string()),
        ("AverageTransactionsPerSecond", format!("{:.2}", figures.avg_tps)),
    ];
    group("Overview", &overview.into_iter().chain(max_tpm).collect::<Vec<_>>());
    group(
        "Configuration",
        &[
            ("NumberOfUsers", figures.users.to_string()),
            ("MinimumInterTransactionThinkTime", think.between_ms.0.to_string()),
            ("MaximumInterTransactionThinkTime", think.between_ms.1.to_string()),
            ("MinimumIntraTransactionThinkTime", think.within_ms.0.to_string()),
            ("MaximumIntraTransactionThinkTime", think.within_ms.1.to_string()),
            ("ConnectString", database.into()),
        ],
    );
    let counts = statements(&figures.counts);
    group("DMLResults", &counts);
    out += &transactions(figures);
    let tps = ledger.seconds()[ledger.measured_seconds()].iter().enumerate();
    let tps: Vec<String> = tps.map(|(at, second)| format!("{at},{}", second.done)).collect();
    let _ =
        writeln!(out, "  <BenchmarkMetrics>\n    <TPSReadings>{}</TPSReadings>\n  </BenchmarkMetrics>", tps.join(","));
    out + "</Results>\n"
}

fn statements(counts: &Counts) -> [(&'static str, String); 6] {
    [
        ("SelectStatements", counts.selects.to_string()),
        ("InsertStatements", counts.inserted().to_string()),
        ("UpdateStatements", counts.updates.to_string()),
        ("DeleteStatements", "0".into()),
        ("CommitStatements", counts.commits.to_string()),
        ("RollbackStatements", counts.rollbacks.to_string()),
    ]
}

fn transactions(figures: &Figures) -> String {
    let mut out = String::from("  <TransactionResults>\n");
    for line in &figures.lines {
        let ms = |span: block::Span| format!("{:.3}", span.as_millis_f64());
        let response = &line.response;
        let _ = writeln!(out, "    <Result id=\"{}\">", line.what.name());
        let mut values = vec![
            ("AverageResponse", ms(response.mean())),
            ("MinimumResponse", ms(response.min())),
            ("MaximumResponse", ms(response.max())),
        ];
        let deciles =
            DECILES.iter().zip(1..).map(|(tag, tenth)| (*tag, ms(response.quantile(f64::from(tenth) / 10.0))));
        values.extend(deciles);
        values.push(("TransactionCount", response.count().to_string()));
        values.push(("FailedTransactionCount", line.failed.to_string()));
        for (tag, value) in values {
            let _ = writeln!(out, "      <{tag}>{value}</{tag}>");
        }
        out += "    </Result>\n";
    }
    out + "  </TransactionResults>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::tests::played;

    #[test]
    fn the_file_has_the_published_elements() {
        let ledger = played(|_| 8, 5);
        let xml = results_xml(&Figures::of(&ledger, 4), &ledger, Think::default(), "sqlite:a<b", "&c", "now");
        for part in [
            "<TotalCompletedTransactions>240</TotalCompletedTransactions>",
            "<AverageTransactionsPerSecond>8.00</AverageTransactionsPerSecond>",
            "<MaximumTransactionRate>480</MaximumTransactionRate>",
            "<TotalRunTime>0:00:30</TotalRunTime>",
            "<SelectStatements>480</SelectStatements>",
            "<Result id=\"Customer Registration\">",
            "<FiftythPercentile>5.0",
            "<ConnectString>sqlite:a&lt;b</ConnectString>",
            "<TPSReadings>0,8,1,8,",
        ] {
            assert!(xml.contains(part), "{part} in {xml}");
        }
    }

    /// The rate of the best minute is left out if no minute was full; everything else stays.
    #[test]
    fn less_than_a_minute_has_no_rate_per_minute() {
        let ledger = played(|_| 8, 5);
        let figures = Figures { minute_was_full: false, ..Figures::of(&ledger, 4) };
        let xml = results_xml(&figures, &ledger, Think::default(), "sqlite:a", "", "now");
        assert!(!xml.contains("MaximumTransactionRate"), "{xml}");
        assert!(
            xml.contains("<AverageTransactionsPerSecond>8.00</AverageTransactionsPerSecond>\n  </Overview>"),
            "{xml}"
        );
    }
}
