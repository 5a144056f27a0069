//! Finds the texts in JavaScript: string and template literals, without comments, code and regular expressions.
//!
//! It reads what the console uses. A regular expression is recognised by the sign before it, so one directly after a
//! `)` would be read as a division.

/// Returns the lines of the literals, each with its number; of a template without its `${…}`, which are code.
pub fn texts(text: &str) -> Vec<(usize, String)> {
    let mut scanner = Scanner { chars: text.chars().collect(), at: 0, line: 1, found: Vec::new() };
    scanner.code();
    scanner.found
}

struct Scanner {
    chars: Vec<char>,
    at: usize,
    line: usize,
    found: Vec<(usize, String)>,
}

impl Scanner {
    fn next(&mut self) -> Option<char> {
        let next = *self.chars.get(self.at)?;
        self.at += 1;
        self.line += usize::from(next == '\n');
        Some(next)
    }

    /// Reads code up to the brace that closes it: the end of a `${…}`, or of the file.
    fn code(&mut self) {
        let (mut depth, mut before) = (0_usize, '\n');
        while let Some(next) = self.next() {
            match next {
                '"' | '\'' => self.quoted(next),
                '`' => self.template(),
                '/' if self.chars.get(self.at) == Some(&'/') => self.skip_to("\n"),
                '/' if self.chars.get(self.at) == Some(&'*') => self.skip_to("*/"),
                '/' if "\n(,=:[!&|?{};".contains(before) => self.regex(),
                '{' => depth += 1,
                '}' if depth == 0 => return,
                '}' => depth -= 1,
                _ => {}
            }
            if !matches!(next, ' ' | '\n') {
                before = next;
            }
        }
    }

    fn quoted(&mut self, quote: char) {
        let (line, mut text) = (self.line, String::new());
        while let Some(next) = self.next() {
            match next {
                '\\' => drop(self.next()),
                '\n' => break,
                next if next == quote => break,
                next => text.push(next),
            }
        }
        self.found.push((line, text));
    }

    fn template(&mut self) {
        let (mut line, mut text) = (self.line, String::new());
        while let Some(next) = self.next() {
            match next {
                '`' => break,
                '\\' => drop(self.next()),
                '\n' => {
                    self.found.push((line, std::mem::take(&mut text)));
                    line = self.line;
                }
                '$' if self.chars.get(self.at) == Some(&'{') => {
                    self.at += 1;
                    self.code();
                    text.push(' ');
                }
                next => text.push(next),
            }
        }
        self.found.push((line, text));
    }

    fn regex(&mut self) {
        let mut in_class = false;
        while let Some(next) = self.next() {
            match next {
                '\\' => drop(self.next()),
                '[' => in_class = true,
                ']' => in_class = false,
                '/' if !in_class => return,
                '\n' => return,
                _ => {}
            }
        }
    }

    fn skip_to(&mut self, end: &str) {
        let end: Vec<char> = end.chars().collect();
        while self.at < self.chars.len() && !self.chars[self.at..].starts_with(&end) {
            self.next();
        }
    }
}
