//! Fits a table of statistics to the width of a terminal: ONTAP's layout is wider than most
//! terminals, and wrapped lines are hard to read.
//!
//! If a table is too wide, columns of waiting times without any are dropped, from the last on. Then
//! columns are narrowed to their contents, and then the names in the first column are cut. A figure
//! that is not zero is never dropped.

/// The cells of a column without any waiting.
const IDLE: &[&str] = &["0ms", "0us", "-"];
/// Least length of a name that is cut.
const NAME_MIN: usize = 8;

/// The laid-out table, made at most `width` columns wide if possible; other text stays as it is.
pub fn fitted(text: &str, width: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_rule = |line: &&str| !line.is_empty() && line.chars().all(|c| c == '-' || c == ' ');
    let Some(rule) = lines.iter().position(is_rule) else { return text.into() };
    let Some(columns) = columns(lines[rule]) else { return text.into() };
    if lines.iter().all(|line| line.chars().count() <= width) {
        return text.into();
    }
    // Rows end at the first line that is not one: an empty line, or advice.
    let end = rule + 1 + lines[rule + 1..].iter().take_while(|line| !line.is_empty() && is_row(line, &columns)).count();
    if lines[..rule].iter().any(|line| !is_row(line, &columns)) {
        return text.into();
    }
    let mut table: Vec<Column> = columns.iter().map(|at| Column::read(*at, &lines, rule, end)).collect();
    drop_idle(&mut table, width, rule);
    if wide(&table) > width {
        table.iter_mut().for_each(Column::narrow);
    }
    let surplus = wide(&table).saturating_sub(width);
    table[0].cut(surplus);
    let mut shown = String::new();
    for line in 0..end {
        let cells: Vec<String> = table.iter().map(|column| column.cell(line, line == rule)).collect();
        shown += cells.join(" ").trim_end();
        shown.push('\n');
    }
    lines[end..].iter().for_each(|line| {
        shown += line;
        shown.push('\n');
    });
    shown
}

/// The start and the end of each column, by a line of dashes.
fn columns(rule: &str) -> Option<Vec<(usize, usize)>> {
    let mut found = Vec::new();
    let mut at = 0;
    for run in rule.split(' ') {
        if run.is_empty() {
            return None;
        }
        found.push((at, at + run.len()));
        at += run.len() + 1;
    }
    (found.len() > 1).then_some(found)
}

/// Whether there is nothing between and after the columns.
fn is_row(line: &str, columns: &[(usize, usize)]) -> bool {
    let chars: Vec<char> = line.chars().collect();
    let last = columns.last().map_or(0, |(_, end)| *end);
    chars.len() <= last && columns.iter().all(|(_, end)| chars.get(*end).is_none_or(|c| *c == ' '))
}

struct Column {
    /// The lines of the header, an empty one for the dashes, and the rows.
    cells: Vec<String>,
    width: usize,
    right: bool,
}

impl Column {
    fn read((begin, end): (usize, usize), lines: &[&str], rule: usize, last: usize) -> Column {
        let raw = |line: &&str| line.chars().skip(begin).take(end - begin).collect::<String>();
        let raw: Vec<String> = lines[..last].iter().map(raw).collect();
        let right = raw[rule + 1..].iter().any(|cell| cell.starts_with(' ') && !cell.trim().is_empty());
        let cells = raw.iter().enumerate().map(|(at, cell)| if at == rule { "" } else { cell.trim() }.to_owned());
        Column { cells: cells.collect(), width: end - begin, right }
    }

    fn is_idle(&self, rule: usize) -> bool {
        self.cells.len() > rule + 1 && self.cells[rule + 1..].iter().all(|cell| IDLE.contains(&cell.as_str()))
    }

    fn narrow(&mut self) {
        self.width = self.cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(1).max(1);
    }

    fn cut(&mut self, surplus: usize) {
        let width = self.width.saturating_sub(surplus).max(NAME_MIN).min(self.width);
        for cell in &mut self.cells {
            if cell.chars().count() > width {
                *cell = cell.chars().take(width - 2).chain("..".chars()).collect();
            }
        }
        self.width = width;
    }

    fn cell(&self, line: usize, is_rule: bool) -> String {
        let (cell, width) = (&self.cells[line], self.width);
        match (is_rule, self.right) {
            (true, _) => "-".repeat(width),
            (false, true) => format!("{cell:>width$}"),
            (false, false) => format!("{cell:<width$}"),
        }
    }
}

fn wide(table: &[Column]) -> usize {
    table.iter().map(|column| column.width + 1).sum::<usize>().saturating_sub(1)
}

/// Drops idle columns. The name and the number or figure after it always stay.
fn drop_idle(table: &mut Vec<Column>, width: usize, rule: usize) {
    for at in (2..table.len()).rev() {
        if wide(table) <= width {
            return;
        }
        if table[at].is_idle(rule) {
            table.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Command;
    use crate::show::{Measured, Statistics, Waits};

    fn latency(names: &[&str]) -> String {
        let Ok(Command::Statistics(show)) = crate::parse("qos statistics workload latency show -iterations 1") else {
            panic!("it is a command")
        };
        let waits = Waits { network_ns: 125_000, disk_ns: 2_000_000, qos_max_ns: 216_870_000, ..Waits::default() };
        let row = |(number, name): (usize, &&str)| Measured {
            name: (*name).into(),
            id: Some(number as u32 + 1),
            iops: 1000,
            latency_ns: 218_995_000,
            waits,
            ..Measured::default()
        };
        Statistics::new(names.iter().enumerate().map(row).collect(), &show, None).text()
    }

    fn widest(text: &str) -> usize {
        text.lines().map(|line| line.chars().count()).max().unwrap()
    }

    /// 165 columns are reduced to 80 with every figure that is not zero, and to 160 with more of
    /// the columns.
    #[test]
    fn the_latency_table_fits_the_terminal_and_keeps_what_is_waited_for() {
        let whole = latency(&["vol1-wid11", "vol2-wid12"]);
        assert!(widest(&whole) > 160, "{whole}");
        for width in [80, 100, 160, 200] {
            let shown = fitted(&whole, width);
            assert!(widest(&shown) <= width, "{width}:\n{shown}");
            for word in ["vol1-wid11", "Latency", "Network", "Disk", "QoS Max", "125.00us", "216.87ms"] {
                assert!(shown.contains(word), "{width}: {word}\n{shown}");
            }
        }
        assert!(fitted(&whole, 160).contains("NVRAM") && !fitted(&whole, 80).contains("NVRAM"));
        assert_eq!(fitted(&whole, 200), whole);
    }

    #[test]
    fn at_forty_columns_names_are_cut() {
        let shown = fitted(&latency(&["database-wid11"]), 40);
        assert!(shown.contains("..") && shown.contains("216.87ms"), "{shown}");
    }

    #[test]
    fn what_is_no_table_stays() {
        for text in ["", "There are no entries matching your query.\n", "a\n- -\nb c d e f g\n"] {
            assert_eq!(fitted(text, 3), text);
        }
    }
}
