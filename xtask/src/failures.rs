//! Collects the failures of a long test run, to print them again at its end, where they are easy to find.

use std::fmt::Write as _;

/// Lines of a failed test that are printed again; the full output is where the test ran.
const MAX_LINES: usize = 40;

/// Parses the output of test binaries and keeps that of failed tests.
#[derive(Default)]
pub struct Failures {
    in_failure: bool,
    tests: Vec<Test>,
}

struct Test {
    heading: String,
    lines: Vec<String>,
    left_out: usize,
}

impl Failures {
    /// Parses one line. The format is `failures:`, then a heading and the output of each test, then their names.
    pub fn read_line(&mut self, line: &str) {
        if line.starts_with("---- ") && line.ends_with(" ----") {
            self.in_failure = true;
            self.tests.push(Test { heading: line.to_owned(), lines: Vec::new(), left_out: 0 });
        } else if line == "failures:" || line.starts_with("test result:") {
            self.in_failure = false;
        } else if let (true, Some(test)) = (self.in_failure && !line.is_empty(), self.tests.last_mut()) {
            test.keep(line);
        }
    }

    /// Formats the collected failures; empty if nothing failed.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for test in &self.tests {
            writeln!(text, "{}\n{}", test.heading, test.lines.join("\n"))
                .expect("writing to a String cannot fail");
            if test.left_out > 0 {
                writeln!(text, "… and {} lines more, above", test.left_out)
                    .expect("writing to a String cannot fail");
            }
        }
        text
    }
}

impl Test {
    fn keep(&mut self, line: &str) {
        if self.lines.len() < MAX_LINES {
            self.lines.push(line.to_owned());
        } else {
            self.left_out += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary_of(lines: &[&str]) -> String {
        let mut failures = Failures::default();
        for line in lines {
            failures.read_line(line);
        }
        failures.summary()
    }

    #[test]
    fn failures_are_printed_again_with_their_output() {
        let summary = summary_of(&[
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
        assert_eq!(summary, "---- a::b stdout ----\nthread 'a::b' panicked at a.rs:1:\nleft is not right\n");
    }

    #[test]
    fn a_run_without_failures_has_an_empty_summary() {
        assert_eq!(summary_of(&["running 1 test", "test a ... ok", "test result: ok. 1 passed"]), "");
    }

    #[test]
    fn a_long_failure_is_cut_with_a_note() {
        let mut failures = Failures::default();
        failures.read_line("---- a stdout ----");
        for number in 0..MAX_LINES + 3 {
            failures.read_line(&number.to_string());
        }
        assert!(failures.summary().ends_with("39\n… and 3 lines more, above\n"), "{}", failures.summary());
    }
}
