//! Debian's Chromium, driven by scripts, for tests of the console; and axe-core, for tests of its accessibility.
//!
//! A script is the body of an asynchronous JavaScript function that gets `browser` (Playwright's), `audit(page)`, which
//! lists what axe-core finds wrong with a page, and `input`. See `browser.mjs`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::error::{Error, Result, last_lines};
use crate::install::{self, Dependency};
use crate::server;
use crate::user::we_are_root;
use crate::wheel;

const MODULES: &str = "browser-js-1.65.0-4.14.0";
/// The npm packages with their exact versions; they have no dependencies.
const PACKAGES: [&str; 2] = ["playwright-core@1.65.0", "axe-core@4.14.0"];
const DRIVER: &str = include_str!("../browser.mjs");

/// An installed browser; each script starts its own instance, which ends with the script.
#[derive(Debug)]
pub struct Browser {
    chromium: PathBuf,
    modules: PathBuf,
}

impl Browser {
    /// Installs what is missing, fonts included: without a Chinese font a page of boxes would pass every test.
    pub fn find() -> Result<Self> {
        install::ensure(&[
            Dependency::Chromium,
            Dependency::Fontconfig,
            Dependency::ChineseFonts,
            Dependency::Npm,
        ])?;
        let modules = wheel::cached(MODULES, Dependency::Npm, |partial, _| {
            let mut npm = Command::new("npm");
            npm.args(["install", "--silent", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts"])
                .arg("--prefix")
                .arg(partial)
                .args(PACKAGES);
            server::run(&mut npm, None)
        })?;
        Ok(Self { chromium: install::chromium(), modules: modules.join("node_modules") })
    }

    /// Runs a script with a JSON input and returns its JSON result.
    pub fn run(&self, script: &str, input: &str) -> Result<String> {
        let mut node = Command::new("node");
        node.args(["--input-type=module", "--eval", DRIVER])
            .env("NODE_PATH", &self.modules)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = node.spawn().map_err(Error::command("node"))?;
        let mut stdin = child.stdin.take().expect("stdin is a pipe");
        let request = format!(
            r#"{{"chromium":{},"sandbox":{},"script":{},"input":{}}}"#,
            quoted(&self.chromium.to_string_lossy()),
            !we_are_root(),
            quoted(script),
            input.replace(['\r', '\n'], " "),
        );
        // If node ends at once, its stderr says why.
        let _ = writeln!(stdin, "{request}");
        let errors = child.stderr.take().expect("stderr is a pipe");
        let error_text = std::thread::spawn(move || read(errors));
        let answer = read(child.stdout.take().expect("stdout is a pipe"));
        let status = child.wait().map_err(Error::command("node"))?;
        drop(stdin);
        let error_text = error_text.join().unwrap_or_default();
        if status.success() {
            return Ok(answer.trim().to_owned());
        }
        Err(Error::Failed { command: "a script in the browser".into(), output: last_lines(&error_text) })
    }
}

fn read(mut from: impl std::io::Read) -> String {
    let mut bytes = Vec::new();
    // After a read error, use what was read before it.
    let _ = from.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Quotes a text as a JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                write!(quoted, "\\u{:04x}", u32::from(c)).expect("writing to a String cannot fail");
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_a_json_string() {
        assert_eq!(quoted("a\"b\\c\nd\u{7f}é"), r#""a\"b\\c\u000ad\u007fé""#);
    }
}
