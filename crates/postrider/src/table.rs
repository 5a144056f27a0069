//! Tables that align, for people; columns are as wide as their widest cell.

use std::io::{self, Write};

/// Rows of cells under headings.
#[derive(Debug)]
pub struct Table {
    headings: Vec<&'static str>,
    /// Columns of numbers stand to the right.
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A heading that starts with `>` names a column of numbers.
    pub fn new(headings: &[&'static str]) -> Self {
        Self {
            right: headings.iter().map(|heading| heading.starts_with('>')).collect(),
            headings: headings.iter().map(|heading| heading.trim_start_matches('>')).collect(),
            rows: Vec::new(),
        }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.headings.len(), "one cell per heading");
        self.rows.push(cells);
    }

    /// The same without the rows that do not matter.
    #[must_use]
    pub fn only(self, matters: impl Fn(&[String]) -> bool) -> Self {
        Self { rows: self.rows.into_iter().filter(|row| matters(row)).collect(), ..self }
    }

    /// With the headings.
    pub fn lines(&self) -> usize {
        self.rows.len() + 1
    }

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

/// One line, control characters made visible, cut to `most` characters: a row's text must not draw on the terminal.
pub fn plain(text: &str, most: usize) -> String {
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
        let mut table = Table::new(&["lane", ">rows", "reason"]);
        table.row(vec!["mail".into(), "5".into(), String::new()]);
        table.row(vec!["größer".into(), "12345".into(), "a".into()]);
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "LANE     ROWS  REASON\nmail        5\ngrößer  12345  a\n");
    }

    #[test]
    fn a_cell_is_one_short_line_that_controls_nothing() {
        assert_eq!(plain("a\u{1b}[2Jb\nc", 20), "a␣[2Jb␣c");
        assert_eq!(plain("abcdef", 4), "abc…");
    }
}
