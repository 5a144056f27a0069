//! Collects the failures of a long test run, to print them again at its end, where they are easy to find.

use std::fmt::Write as _;

/// Lines of a failed test that are printed again; the full output is where the test ran.
const LINES: usize = 40;

/// Parses the output of test binaries and keeps that of failed tests.
#[derive(Default)]
pub struct Failures {
    listening: bool,
    tests: Vec<Test>,
}

struct Test {
    heading: String,
    lines: Vec<String>,
    left_out: usize,
}

impl Failures {
    /// Parses one line. The format is `failures:`, then a heading and the output of each test, then their names.
    pub fn hear(&mut self, line: &str) {
        if line.starts_with("---- ") && line.ends_with(" ----") {
            self.listening = true;
            self.tests.push(Test { heading: line.to_owned(), lines: Vec::new(), left_out: 0 });
        } else if line == "failures:" || line.starts_with("test result:") {
            self.listening = false;
        } else if let (true, Some(test)) = (self.listening && !line.is_empty(), self.tests.last_mut()) {
            test.keep(line);
        }
    }

    /// Formats the collected failures; empty if nothing failed.
    pub fn retold(&self) -> String {
        let mut text = String::new();
        for test in &self.tests {
            writeln!(text, "{}\n{}", test.heading, test.lines.join("\n")).expect("a String takes all");
            if test.left_out > 0 {
                writeln!(text, "… and {} lines more, above", test.left_out).expect("a String takes all");
            }
        }
        text
    }
}

impl Test {
    fn keep(&mut self, line: &str) {
        if self.lines.len() < LINES {
            self.lines.push(line.to_owned());
        } else {
            self.left_out += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(lines: &[&str]) -> String {
        let mut failures = Failures::default();
        for line in lines {
            failures.hear(line);
        }
        failures.retold()
    }

    #[test]
    fn what_failed_is_told_again_with_its_words() {
        let said = heard(&[
            "test a::b ... FAILED",
            "",
            "failures:",
            "",
            "---- a::b stdout ----",
            "thread 'a::b' panicked at a.rs:1:",
            "left is not right",
            "",
            "",
            "failures:",
            "    a::b",
            "",
            "test result: FAILED. 0 passed; 1 failed",
            "running 1 test",
        ]);
        assert_eq!(said, "---- a::b stdout ----\nthread 'a::b' panicked at a.rs:1:\nleft is not right\n");
    }

    #[test]
    fn a_run_without_failures_has_nothing_to_tell() {
        assert_eq!(heard(&["running 1 test", "test a ... ok", "test result: ok. 1 passed"]), "");
    }

    #[test]
    fn a_long_failure_is_cut_and_says_so() {
        let mut failures = Failures::default();
        failures.hear("---- a stdout ----");
        for number in 0..LINES + 3 {
            failures.hear(&number.to_string());
        }
        assert!(failures.retold().ends_with("39\n… and 3 lines more, above\n"), "{}", failures.retold());
    }
}
