//! Tables with native charts as a workbook (XLSX) for spreadsheets.
//!
//! Cells are figures or text. Text that begins with `=` is not a formula, and no text becomes
//! markup or a link.

use rust_xlsxwriter as xlsx;
use xlsx::{ChartLegendPosition, ChartType};

/// Maximum number of rows of a sheet, including its head.
pub const ROWS_MAX: usize = 1_048_576;
/// Maximum length of a cell's text; longer text is cut.
const WORDS_MAX: usize = 32_767;
/// Maximum width of a column in characters: a path of usual length.
const WIDTH_MAX: usize = 60;

/// Colours of columns and of lines in front of them, which can be distinguished without colour
/// vision.
const COLUMNS: &str = "7FA7D9";
const LINES: &str = "8A2B0E";

/// A workbook.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workbook {
    /// Its title.
    pub title: String,
    /// Time of the measurement, in seconds since 1970 (UTC). It is also the file's date, so that
    /// equal figures make equal files.
    pub made_unix_s: u64,
    /// Its sheets, in their order.
    pub sheets: Vec<Sheet>,
}

/// A table, and charts of its columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    /// Its name: up to 31 characters, without `[]:*?/\`.
    pub name: String,
    /// Headings of its columns; if empty there is no row of headings.
    pub heads: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<SheetValue>>,
    /// Its charts, below each other beside the table.
    pub charts: Vec<Chart>,
}

/// The value of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum SheetValue {
    /// Not known.
    Empty,
    /// A figure.
    Number(f64),
    /// Text.
    Words(String),
}

/// A chart of columns of its sheet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// Its heading.
    pub title: String,
    /// Index of the column for the horizontal axis.
    pub across: usize,
    /// Title of the horizontal axis.
    pub across_name: String,
    /// Indices of the table's columns that are drawn as columns, on an axis at the right if there
    /// are lines too.
    pub columns: Vec<usize>,
    /// Title of their axis.
    pub columns_name: String,
    /// Indices of the table's columns that are drawn as lines, on the axis at the left.
    pub lines: Vec<usize>,
    /// Title of their axis.
    pub lines_name: String,
}

/// Why a workbook could not be made.
#[derive(Debug, thiserror::Error)]
pub enum WorkbookError {
    /// Too many rows for a sheet.
    #[error(
        "{sheet}: has {rows} rows, and a sheet of a workbook has room for {}; export fewer runs, or as CSV",
        ROWS_MAX - 1
    )]
    TooLong {
        /// The sheet.
        sheet: String,
        /// Its number of rows.
        rows: usize,
    },
    /// An error of the library that writes it.
    #[error("the workbook cannot be made")]
    Refused(#[from] xlsx::XlsxError),
}

impl From<f64> for SheetValue {
    fn from(number: f64) -> SheetValue {
        if number.is_finite() { SheetValue::Number(number) } else { SheetValue::Empty }
    }
}

impl From<&str> for SheetValue {
    fn from(words: &str) -> SheetValue {
        SheetValue::Words(words.into())
    }
}

impl Workbook {
    /// The content of the file.
    ///
    /// # Errors
    /// A sheet has too many rows, or an invalid name.
    pub fn render(&self) -> Result<Vec<u8>, WorkbookError> {
        let mut book = xlsx::Workbook::new();
        let made = xlsx::ExcelDateTime::from_timestamp(i64::try_from(self.made_unix_s).unwrap_or(0))?;
        book.set_properties(&xlsx::DocProperties::new().set_title(&self.title).set_creation_datetime(&made));
        for sheet in &self.sheets {
            if sheet.rows.len() >= ROWS_MAX {
                return Err(WorkbookError::TooLong { sheet: sheet.name.clone(), rows: sheet.rows.len() });
            }
            sheet.write(book.add_worksheet())?;
        }
        Ok(book.save_to_buffer()?)
    }
}

impl Sheet {
    fn write(&self, out: &mut xlsx::Worksheet) -> Result<(), xlsx::XlsxError> {
        out.set_name(&self.name)?;
        let bold = xlsx::Format::new().set_bold();
        for (column, head) in self.heads.iter().enumerate() {
            out.write_string_with_format(0, column as u16, cut(head), &bold)?;
        }
        let first = self.first_row();
        if first > 0 {
            out.set_freeze_panes(first, 0)?;
        }
        for (row, cells) in (first..).zip(&self.rows) {
            for (column, cell) in cells.iter().enumerate() {
                match cell {
                    SheetValue::Empty => {}
                    SheetValue::Number(number) => drop(out.write_number(row, column as u16, *number)?),
                    SheetValue::Words(words) => drop(out.write_string(row, column as u16, cut(words))?),
                }
            }
        }
        for (column, width) in self.widths().into_iter().enumerate() {
            out.set_column_width(column as u16, width)?;
        }
        // All columns on the width of a page when printed.
        out.set_landscape().set_print_fit_to_pages(1, 0);
        let beside = self.widths().len() as u16;
        for (number, chart) in self.charts.iter().enumerate() {
            // 22 rows of 20 pixels: a chart of 440 and a gap.
            out.insert_chart_with_offset(number as u32 * 22, beside, &self.chart(chart), 20, 10)?;
        }
        Ok(())
    }

    fn first_row(&self) -> u32 {
        u32::from(!self.heads.is_empty())
    }

    /// Width of each column, from its longest text.
    fn widths(&self) -> Vec<f64> {
        let width = |cell: &SheetValue| match cell {
            SheetValue::Words(words) => words.chars().count(),
            SheetValue::Number(_) | SheetValue::Empty => 8,
        };
        let columns = self.rows.iter().map(Vec::len).chain([self.heads.len()]).max().unwrap_or(0);
        let of = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(width);
            let head = self.heads.get(column).map_or(0, |head| head.chars().count());
            cells.chain([head]).max().unwrap_or(0).clamp(8, WIDTH_MAX) as f64 + 2.0
        };
        (0..columns).map(of).collect()
    }

    fn chart(&self, chart: &Chart) -> xlsx::Chart {
        let [lines, columns] = [(ChartType::Line, &chart.lines), (ChartType::Column, &chart.columns)]
            .map(|(kind, of)| (!of.is_empty()).then_some((kind, of)));
        let both = lines.is_some() && columns.is_some();
        let drawn = |(kind, of): (ChartType, &Vec<usize>)| self.series(kind, of, chart, both);
        let (name, other) = if chart.lines.is_empty() {
            (&chart.columns_name, &chart.lines_name)
        } else {
            (&chart.lines_name, &chart.columns_name)
        };
        let mut drawn = lines.into_iter().chain(columns).map(drawn);
        let Some(mut first) = drawn.next() else { return xlsx::Chart::new(ChartType::Line) };
        if let Some(second) = drawn.next() {
            first.combine(&second);
            first.y2_axis().set_name(other).set_min(0);
        }
        first.title().set_name(&chart.title);
        first.x_axis().set_name(&chart.across_name);
        first.y_axis().set_name(name);
        first.y_axis().set_min(0);
        first.legend().set_position(ChartLegendPosition::Bottom);
        first.set_width(760).set_height(420);
        first
    }

    /// Series of one kind. If there are both kinds, columns use the second axis.
    fn series(&self, kind: ChartType, columns: &[usize], chart: &Chart, both: bool) -> xlsx::Chart {
        let mut drawn = xlsx::Chart::new(kind);
        let (first, last) = (self.first_row(), self.first_row() + (self.rows.len().max(1) - 1) as u32);
        for column in columns {
            let at = |column: usize| (self.name.as_str(), first, column as u16, last, column as u16);
            let series = drawn.add_series().set_categories(at(chart.across)).set_values(at(*column));
            series.set_name((self.name.as_str(), 0, *column as u16));
            if both && kind == ChartType::Column {
                // Spreadsheets draw the second axis in front, so the columns are transparent and
                // the line is visible.
                let fill = xlsx::ChartSolidFill::new().set_color(COLUMNS).set_transparency(50).to_owned();
                series.set_secondary_axis(true).set_format(xlsx::ChartFormat::new().set_solid_fill(&fill));
            } else if both {
                series.set_format(xlsx::ChartFormat::new().set_line(xlsx::ChartLine::new().set_color(LINES)));
            }
        }
        drawn
    }
}

/// The text cut to the maximum length of a cell.
fn cut(words: &str) -> String {
    words.chars().take(WORDS_MAX).collect()
}
