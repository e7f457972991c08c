//! Redraws a few lines in place on a terminal.
//!
//! The cursor is on the line below the frame. A redraw moves it up by the rows that the old frame
//! occupies *now* (a terminal that became narrower has wrapped the old lines), overwrites every
//! line and erases the rest. It is one write, so that no partial frame is visible.

use std::io::{self, Write};

/// Makes the cursor visible again, for code that exits without dropping the [`Screen`].
pub const SHOW_CURSOR: &str = "\x1b[?25h";
const HIDE_CURSOR: &str = "\x1b[?25l";
const ERASE_TO_END_OF_LINE: &str = "\x1b[K";
const ERASE_BELOW: &str = "\x1b[J";
const NO_COLOUR: &str = "\x1b[0m";

/// A terminal's size in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenSize {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
}

/// A terminal with a frame that is redrawn in place. Dropping it leaves the last frame and restores
/// the cursor.
#[derive(Debug)]
pub struct Screen<W: Write> {
    out: W,
    /// Width of each line of the frame as drawn.
    drawn: Vec<usize>,
    hidden: bool,
}

impl<W: Write> Screen<W> {
    /// A screen on `out`; writes nothing yet.
    pub fn new(out: W) -> Screen<W> {
        Screen { out, drawn: Vec::new(), hidden: false }
    }

    /// Draws `lines` over the last frame, cut to `size`.
    ///
    /// # Errors
    /// Those of the output.
    pub fn draw(&mut self, size: ScreenSize, lines: &[String]) -> io::Result<()> {
        let mut text = self.back_to_top(size);
        if !self.hidden {
            text.push_str(HIDE_CURSOR);
            self.hidden = true;
        }
        self.drawn.clear();
        // One row stays free for the cursor; otherwise the last line would scroll the first one
        // away.
        for line in lines.iter().take(size.rows.saturating_sub(1)) {
            let (line, width) = cut(line, size.columns);
            text.push_str(&line);
            // On terminals that wrap late, erasing after a full line would erase its last
            // character.
            text.push_str(if width < size.columns { ERASE_TO_END_OF_LINE } else { "" });
            text.push_str("\r\n");
            self.drawn.push(width);
        }
        text.push_str(ERASE_BELOW);
        self.write(&text)
    }

    /// Writes permanent lines above the frame, which reappears with the next [`Screen::draw`].
    ///
    /// # Errors
    /// Those of the output.
    pub fn print_above(&mut self, size: ScreenSize, lines: &str) -> io::Result<()> {
        let mut text = self.back_to_top(size) + ERASE_BELOW;
        for line in lines.lines() {
            text.push_str(line);
            text.push_str("\r\n");
        }
        self.drawn.clear();
        self.write(&text)
    }

    /// Erases the frame and restores the cursor.
    ///
    /// # Errors
    /// Those of the output.
    pub fn clear(&mut self, size: ScreenSize) -> io::Result<()> {
        let text = self.back_to_top(size) + ERASE_BELOW + SHOW_CURSOR;
        self.drawn.clear();
        self.hidden = false;
        self.write(&text)
    }

    /// The sequence that moves from below the frame to its first character.
    fn back_to_top(&self, size: ScreenSize) -> String {
        let rows: usize = self.drawn.iter().map(|&width| width.div_ceil(size.columns.max(1)).max(1)).sum();
        // At most to the top. Terminals stop there, but some count rows differently.
        match rows.min(size.rows.saturating_sub(1)) {
            0 => String::from("\r"),
            rows => format!("\r\x1b[{rows}A"),
        }
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

impl<W: Write> Drop for Screen<W> {
    fn drop(&mut self) {
        if self.hidden {
            // A failure cannot be reported here.
            let _ = self.write(SHOW_CURSOR);
        }
    }
}

/// The first `columns` characters of a line, without counting escape sequences, and their number.
fn cut(line: &str, columns: usize) -> (String, usize) {
    let (mut out, mut width, mut in_escape) = (String::new(), 0, false);
    for c in line.chars() {
        if c == '\x1b' || in_escape {
            // All our sequences are ESC [ numbers letter.
            in_escape = c == '\x1b' || !c.is_ascii_alphabetic();
        } else if width == columns {
            return (out + NO_COLOUR, width);
        } else {
            width += 1;
        }
        out.push(c);
    }
    (out, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A minimal terminal: it wraps late, scrolls, and rewraps lines when it becomes narrower.
    struct Terminal {
        size: ScreenSize,
        rows: Vec<String>,
        cursor: (usize, usize),
        cursor_shown: bool,
    }

    impl Terminal {
        fn new(columns: usize, rows: usize) -> Terminal {
            Terminal {
                size: ScreenSize { columns, rows },
                rows: vec![String::new()],
                cursor: (0, 0),
                cursor_shown: true,
            }
        }

        fn narrow(&mut self, columns: usize) {
            self.size.columns = columns;
            let mut rows = Vec::new();
            for row in &self.rows {
                let chars: Vec<char> = row.trim_end().chars().collect();
                let broken = chars.chunks(columns).map(|chunk| chunk.iter().collect::<String>());
                rows.extend(if chars.is_empty() { vec![String::new()] } else { broken.collect() });
            }
            self.rows = rows;
            self.cursor = (self.rows.len() - 1, 0);
        }

        fn take(&mut self, bytes: &[u8]) {
            let text = std::str::from_utf8(bytes).unwrap();
            let mut chars = text.chars();
            while let Some(c) = chars.next() {
                match c {
                    '\r' => self.cursor.1 = 0,
                    '\n' => {
                        self.cursor.0 += 1;
                        self.rows.resize(self.rows.len().max(self.cursor.0 + 1), String::new());
                    }
                    '\x1b' => {
                        assert_eq!(chars.next(), Some('['));
                        let mut numbers = String::new();
                        let end = loop {
                            match chars.next().unwrap() {
                                c if c.is_ascii_alphabetic() => break c,
                                c => numbers.push(c),
                            }
                        };
                        self.sequence(&numbers, end);
                    }
                    c => self.print(c),
                }
            }
        }

        fn sequence(&mut self, numbers: &str, end: char) {
            let (row, column) = self.cursor;
            match (numbers, end) {
                ("?25", 'l') => self.cursor_shown = false,
                ("?25", 'h') => self.cursor_shown = true,
                (_, 'm') => {}
                (rows, 'A') => {
                    // Not above the visible rows, because those above have scrolled away.
                    let top = self.rows.len().saturating_sub(self.size.rows);
                    self.cursor.0 = row.saturating_sub(rows.parse().unwrap()).max(top);
                }
                ("", 'K') => self.rows[row] = self.rows[row].chars().take(column).collect(),
                ("", 'J') => {
                    self.rows[row] = self.rows[row].chars().take(column).collect();
                    self.rows.truncate(row + 1);
                }
                other => panic!("unknown sequence {other:?}"),
            }
        }

        fn print(&mut self, c: char) {
            let (row, column) = self.cursor;
            assert!(column < self.size.columns, "wrote over the right edge");
            let mut chars: Vec<char> = self.rows[row].chars().collect();
            chars.resize(chars.len().max(column + 1), ' ');
            chars[column] = c;
            self.rows[row] = chars.into_iter().collect();
            self.cursor.1 += 1;
        }

        fn text(&self) -> Vec<&str> {
            self.rows.iter().map(|row| row.trim_end()).collect()
        }
    }

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_string()).collect()
    }

    /// Passes what the screen has written to the terminal.
    fn show(screen: &mut Screen<Vec<u8>>, terminal: &mut Terminal) {
        terminal.take(&std::mem::take(&mut screen.out));
    }

    #[test]
    fn a_frame_takes_the_place_of_the_one_before() {
        let mut terminal = Terminal::new(20, 10);
        terminal.take(b"$ seawall demo\r\n");
        let mut screen = Screen::new(Vec::new());
        screen.draw(terminal.size, &lines(&["one long line", "two", "three"])).unwrap();
        show(&mut screen, &mut terminal);
        assert_eq!(terminal.text(), ["$ seawall demo", "one long line", "two", "three", ""]);
        assert!(!terminal.cursor_shown);
        screen.draw(terminal.size, &lines(&["1", "2"])).unwrap();
        show(&mut screen, &mut terminal);
        assert_eq!(terminal.text(), ["$ seawall demo", "1", "2", ""], "nothing of the longer frame is left");
    }

    #[test]
    fn lines_above_stay_and_the_frame_comes_back_below_them() {
        let mut terminal = Terminal::new(20, 10);
        let mut screen = Screen::new(Vec::new());
        screen.draw(terminal.size, &lines(&["frame"])).unwrap();
        screen.print_above(terminal.size, "a note\nand more").unwrap();
        screen.draw(terminal.size, &lines(&["frame 2"])).unwrap();
        show(&mut screen, &mut terminal);
        assert_eq!(terminal.text(), ["a note", "and more", "frame 2", ""]);
        screen.clear(terminal.size).unwrap();
        show(&mut screen, &mut terminal);
        assert_eq!(terminal.text(), ["a note", "and more", ""]);
        assert!(terminal.cursor_shown);
    }

    #[test]
    fn a_terminal_that_became_narrower_keeps_no_remains() {
        let mut terminal = Terminal::new(20, 10);
        terminal.take(b"$\r\n");
        let mut screen = Screen::new(Vec::new());
        screen.draw(terminal.size, &lines(&["12345678901234567890", "short"])).unwrap();
        show(&mut screen, &mut terminal);
        // Twenty characters on eight columns are three rows.
        terminal.narrow(8);
        assert_eq!(terminal.text(), ["$", "12345678", "90123456", "7890", "short", ""]);
        screen.draw(terminal.size, &lines(&["12345678901234567890", "short"])).unwrap();
        show(&mut screen, &mut terminal);
        assert_eq!(terminal.text(), ["$", "12345678", "short", ""]);
    }

    #[test]
    fn a_frame_higher_than_the_terminal_is_cut_and_does_not_scroll() {
        let mut terminal = Terminal::new(20, 3);
        let mut screen = Screen::new(Vec::new());
        for _ in 0..3 {
            screen.draw(terminal.size, &lines(&["a", "b", "c", "d"])).unwrap();
            show(&mut screen, &mut terminal);
        }
        assert_eq!(terminal.text(), ["a", "b", ""]);
    }

    #[test]
    fn colour_has_no_width_and_ends_where_a_line_is_cut() {
        assert_eq!(cut("\x1b[1mabc\x1b[0m", 3), ("\x1b[1mabc\x1b[0m".into(), 3));
        assert_eq!(cut("\x1b[1mabcd\x1b[0m", 3), ("\x1b[1mabc\x1b[0m".into(), 3));
        assert_eq!(cut("äöü", 2), ("äö\x1b[0m".into(), 2));
    }

    #[test]
    fn the_cursor_comes_back_however_it_ends() {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out);
        screen.draw(ScreenSize { columns: 9, rows: 9 }, &lines(&["a"])).unwrap();
        drop(screen);
        assert!(out.ends_with(SHOW_CURSOR.as_bytes()));
    }
}
