//! The public libraries of Standard Webhooks, which verify our deliveries as receivers do.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Error, Result};
use crate::install::{self, Dependency};
use crate::server;
use crate::wheel::{self, Wheel};

const WHEEL: Wheel = Wheel { name: "standardwebhooks-1.1.0", requirements: "standardwebhooks==1.1.0\n" };
const MODULES: &str = "standardwebhooks-js-1.1.1";
const PACKAGES: [&str; 3] = ["standardwebhooks@1.1.1", "@stablelib/base64@1.0.1", "fast-sha256@1.3.0"];

const PYTHON: &str = "\
import json, sys
from standardwebhooks import Webhook
case = json.load(sys.stdin)
Webhook(case['secret']).verify(case['body'], case['headers'])
";
const JAVASCRIPT: &str = "\
const { Webhook } = require('standardwebhooks');
const given = JSON.parse(require('fs').readFileSync(0, 'utf8'));
new Webhook(given.secret).verify(given.body, given.headers);
";

/// A library by its language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    Python,
    JavaScript,
}

/// A delivery as its receiver got it, as JSON: `{\"secret\": …, \"body\": …, \"headers\": {…}}`.
#[derive(Debug, Clone)]
pub struct Signed {
    pub json: String,
}

/// Verifies a delivery; the outer error means that the library could not be run, the inner one is its refusal.
pub fn verify(library: Library, delivery: &Signed) -> Result<std::result::Result<(), String>> {
    let mut command = match library {
        Library::Python => {
            let mut python = Command::new(install::python());
            python.args(["-c", PYTHON]).env("PYTHONPATH", wheel::ensure(&WHEEL)?);
            python
        }
        Library::JavaScript => {
            let mut node = Command::new("node");
            node.args(["-e", JAVASCRIPT]).env("NODE_PATH", modules()?.join("node_modules"));
            node
        }
    };
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let name = Path::new(command.get_program()).to_owned();
    let mut child = command.spawn().map_err(Error::file(&name))?;
    let mut input = child.stdin.take().expect("stdin is a pipe");
    input.write_all(delivery.json.as_bytes()).map_err(Error::file(&name))?;
    drop(input);
    let output = child.wait_with_output().map_err(Error::file(&name))?;
    let refusal = || String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(if output.status.success() { Ok(()) } else { Err(refusal()) })
}

fn modules() -> Result<PathBuf> {
    wheel::cached(MODULES, Dependency::Npm, |partial, _| {
        let mut npm = Command::new("npm");
        npm.args([
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--no-save",
            "--ignore-scripts",
            "--prefix",
        ])
        .arg(partial)
        .args(PACKAGES);
        server::run(&mut npm, None)
    })
}
