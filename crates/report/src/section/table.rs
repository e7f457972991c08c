//! Tables of figures, one or several side by side.

use crate::sheet::Sheet;

/// A section of tables.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// The heading.
    pub heading: String,
    /// Introduction.
    pub lead: String,
    /// The tables; several are side by side if there is room.
    pub tables: Vec<Table>,
    /// The text below them.
    pub note: String,
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Its caption; empty for none.
    pub caption: String,
    /// Headings of the columns; the first is for the names of the rows.
    pub columns: Vec<String>,
    /// Rows that belong together.
    pub groups: Vec<Group>,
    /// Whether its cells are text and left-aligned. In a table of figures, columns with text are
    /// left-aligned too.
    pub words: bool,
}

/// Rows that belong together.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Its heading; empty for none.
    pub name: String,
    /// Remarks about the whole group.
    pub remarks: Vec<String>,
    /// The rows.
    pub rows: Vec<TableRow>,
}

/// A row.
#[derive(Clone, Debug, Default)]
pub struct TableRow {
    /// Its name.
    pub name: String,
    /// Remarks that must not be overlooked.
    pub remarks: Vec<String>,
    /// Its cells.
    pub cells: Vec<TableCell>,
}

/// A cell.
#[derive(Clone, Debug, Default)]
pub struct TableCell {
    /// Its text.
    pub says: String,
    /// Its tone.
    pub tone: Tone,
}

/// The tone of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Neutral.
    #[default]
    Plain,
    /// A failure.
    Bad,
    /// A success.
    Good,
    /// Something for a computer to read.
    Code,
}

impl<T: Into<String>> From<T> for TableCell {
    fn from(says: T) -> TableCell {
        TableCell { says: says.into(), tone: Tone::Plain }
    }
}

impl Tables {
    pub(super) fn draw(&self, sheet: &mut Sheet) {
        sheet.section("", &self.heading, |sheet| {
            sheet.paragraph("lead", &self.lead);
            if self.tables.len() > 1 {
                sheet.out.open("div", &[("class", "abreast")]);
            }
            for table in &self.tables {
                let says = if table.caption.is_empty() { &self.heading } else { &table.caption };
                sheet.wide(says, |sheet| table.draw(sheet));
            }
            if self.tables.len() > 1 {
                sheet.out.close("div");
            }
            sheet.paragraph("lead", &self.note);
        });
    }
}

impl TableCell {
    /// Whether it is text; unknown values count as figures.
    fn has_words(&self) -> bool {
        self.says.starts_with(char::is_alphabetic) && self.says != "N/A"
    }

    fn draw(&self, sheet: &mut Sheet, at_left: bool) {
        let tone = match self.tone {
            Tone::Plain | Tone::Code => "",
            Tone::Bad => "bad",
            Tone::Good => "good",
        };
        let classes = format!("{}{tone}", if at_left { "l " } else { "" });
        let class = [("class", classes.trim_end())];
        if self.tone == Tone::Code {
            sheet.out.open("td", &class);
            sheet.out.text("code", &[], &self.says);
            sheet.out.close("td");
        } else {
            sheet.out.text("td", &class, &self.says);
        }
    }
}

/// Longest word, in characters, that fits the column of names on a narrow screen.
const WHOLE_MAX: usize = 20;

/// Whether a name is one word, such as `aff-a300`, that must not be broken at its hyphens.
fn stays_whole(name: &str) -> bool {
    name.contains('-') && !name.contains(char::is_whitespace) && name.chars().count() <= WHOLE_MAX
}

impl Table {
    /// Whether a column has text, apart from the names of the rows.
    fn has_words(&self, column: usize) -> bool {
        let mut rows = self.groups.iter().flat_map(|group| &group.rows);
        rows.any(|row| row.cells.get(column).is_some_and(TableCell::has_words))
    }

    fn draw(&self, sheet: &mut Sheet) {
        sheet.out.open("table", &[("class", if self.words { "words" } else { "figures" })]);
        if !self.caption.is_empty() {
            sheet.out.text("caption", &[], &self.caption);
        }
        sheet.out.open("thead", &[]);
        sheet.out.open("tr", &[]);
        for (index, column) in self.columns.iter().enumerate() {
            let class = if index == 0 || self.words || self.has_words(index - 1) { "l" } else { "" };
            // A table cell without text is not a heading.
            let name = if column.is_empty() { "td" } else { "th" };
            let scope = [("scope", "col"), ("class", class)];
            sheet.out.text(name, if column.is_empty() { &[] } else { &scope }, column);
        }
        sheet.out.close("tr");
        sheet.out.close("thead");
        let words: Vec<bool> =
            (1..self.columns.len()).map(|column| !self.words && self.has_words(column - 1)).collect();
        for group in &self.groups {
            sheet.out.open("tbody", &[]);
            self.group(sheet, group, &words);
            sheet.out.close("tbody");
        }
        sheet.out.close("table");
    }

    fn group(&self, sheet: &mut Sheet, group: &Group, words: &[bool]) {
        if !group.name.is_empty() {
            sheet.out.open("tr", &[("class", "group")]);
            let across = self.columns.len().to_string();
            sheet.out.open("th", &[("scope", "rowgroup"), ("colspan", &across)]);
            sheet.out.open("span", &[("class", "stay")]);
            sheet.out.content(&group.name);
            for remark in &group.remarks {
                sheet.out.text("span", &[("class", "limit")], remark);
            }
            sheet.out.close("span");
            sheet.out.close("th");
            sheet.out.close("tr");
        }
        for row in &group.rows {
            sheet.out.open("tr", &[]);
            let class = if stays_whole(&row.name) { "l whole" } else { "l" };
            sheet.out.text("th", &[("scope", "row"), ("class", class)], &row.name);
            for (column, cell) in row.cells.iter().enumerate() {
                cell.draw(sheet, words.get(column) == Some(&true));
            }
            sheet.out.close("tr");
            self.remarks(sheet, &row.remarks);
        }
    }

    /// A row for remarks below their row, since sentences do not fit the column of names.
    fn remarks(&self, sheet: &mut Sheet, remarks: &[String]) {
        if remarks.is_empty() {
            return;
        }
        let across = self.columns.len().to_string();
        sheet.out.open("tr", &[("class", "remark")]);
        sheet.out.open("td", &[("colspan", &across)]);
        sheet.out.open("span", &[("class", "stay")]);
        for (index, remark) in remarks.iter().enumerate() {
            sheet.out.content(if index == 0 { "" } else { "; " });
            sheet.out.text("em", &[], remark);
        }
        sheet.out.close("span");
        sheet.out.close("td");
        sheet.out.close("tr");
    }
}
