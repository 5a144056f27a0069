//! Aligned text tables; each column is as wide as its widest cell.

use std::io::{self, Write};

/// Rows of cells below a line of headings.
#[derive(Debug)]
pub struct TextTable {
    headings: Vec<&'static str>,
    /// Whether a column is aligned to the right, as numbers are.
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// Creates an empty table. A heading that starts with `>` names a column of numbers.
    pub fn new(headings: &[&'static str]) -> Self {
        Self {
            right: headings.iter().map(|heading| heading.starts_with('>')).collect(),
            headings: headings.iter().map(|heading| heading.trim_start_matches('>')).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; it needs one cell per heading.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.headings.len(), "one cell per heading");
        self.rows.push(cells);
    }

    /// Keeps only the rows for which `keep` returns true.
    #[must_use]
    pub fn only(self, keep: impl Fn(&[String]) -> bool) -> Self {
        Self { rows: self.rows.into_iter().filter(|row| keep(row)).collect(), ..self }
    }

    /// The number of lines, headings included.
    pub fn lines(&self) -> usize {
        self.rows.len() + 1
    }

    /// Writes the headings and the rows, padded to the widths of the columns.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let headings: Vec<String> = self.headings.iter().map(|heading| heading.to_uppercase()).collect();
        let widths: Vec<usize> = (0..headings.len())
            .map(|column| {
                let cells = self.rows.iter().map(|row| width(&row[column]));
                cells.chain([width(&headings[column])]).max().unwrap_or(0)
            })
            .collect();
        for row in std::iter::once(&headings).chain(&self.rows) {
            writeln!(out, "{}", self.line(row, &widths))?;
        }
        Ok(())
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let space = " ".repeat(widths[column].saturating_sub(width(cell)));
            let gap = if column == 0 { "" } else { "  " };
            line += gap;
            if self.right[column] {
                line += &space;
                line += cell;
            } else {
                line += cell;
                line += &space;
            }
        }
        line.trim_end().to_owned()
    }
}

fn width(cell: &str) -> usize {
    cell.chars().count()
}

/// Makes one line of `most` characters at most, with control characters escaped, so that a row's text cannot
/// control the terminal.
pub fn one_line(text: &str, most: usize) -> String {
    let mut shown: String = text
        .chars()
        .take(most)
        .map(|character| if character.is_control() { '␣' } else { character })
        .collect();
    if text.chars().nth(most).is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_numbers_stand_right() {
        let mut table = TextTable::new(&["lane", ">rows", "reason"]);
        table.row(vec!["mail".into(), "5".into(), String::new()]);
        table.row(vec!["größer".into(), "12345".into(), "a".into()]);
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "LANE     ROWS  REASON\nmail        5\ngrößer  12345  a\n");
    }

    #[test]
    fn cells_are_cut_and_escaped() {
        assert_eq!(one_line("a\u{1b}[2Jb\nc", 20), "a␣[2Jb␣c");
        assert_eq!(one_line("abcdef", 4), "abc…");
    }
}
