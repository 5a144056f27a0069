//! Schemathesis, an independent tool that reads an OpenAPI document and sends requests generated from it to the server.

use std::process::{Command, Stdio};

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::install;
use crate::wheel::{self, Wheel};

const WHEEL: Wheel = Wheel {
    name: "schemathesis-4.32.5",
    requirements: "schemathesis==4.32.5\nanyio==4.16.0\ncertifi==2026.10.18\ncharset-normalizer==3.5.2\nclick==8.5.1\n\
                   graphql-core==3.3.2\nharfile==0.6.0\nhypothesis==6.170.15\nhypothesis-graphql==0.13.5\nidna==3.20\n\
                   iniconfig==2.3.1\njsonschema-rs==0.60.3\nmarkdown-it-py==4.3.0\nmarkupsafe==3.0.4\nmdurl==0.1.2\n\
                   packaging==26.3\npluggy==1.7.0\npygments==2.21.0\npyrate-limiter==4.5.1\npytest==9.2.0\npyyaml==6.0.3\n\
                   requests==2.34.2\nrich==15.0.0\nsortedcontainers==2.4.0\ntyping-extensions==4.16.0\nurllib3==2.8.0\n\
                   werkzeug==3.1.9\n",
};

/// The parameters of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The URL of the document: `http://127.0.0.1:8080/api/openapi.json`.
    pub document: String,
    /// Headers of every request: `Authorization: Bearer …`.
    pub headers: Vec<String>,
    /// Cases per operation.
    pub cases: u32,
    /// The seed of the generator; the same seed generates the same cases.
    pub seed: u32,
    /// The content of `schemathesis.toml`.
    pub settings: String,
}

/// Runs the generated requests; the inner error is the report of its findings.
pub fn run(options: &Options) -> Result<std::result::Result<(), String>> {
    let packages = wheel::ensure(&WHEEL)?;
    let folder = Folder::create("schemathesis", None, "KILL")?;
    let settings = folder.path().join("schemathesis.toml");
    std::fs::write(&settings, &options.settings).map_err(Error::file(&settings))?;
    let python = install::python();
    let mut command = Command::new(&python);
    command
        .args(["-m", "schemathesis.cli", "--config-file"])
        .arg(&settings)
        .args(["run", &options.document, "--no-color", "--continue-on-failure"])
        .args(["--max-examples", &options.cases.to_string(), "--seed", &options.seed.to_string()])
        .args(options.headers.iter().flat_map(|header| ["--header", header]))
        .env("PYTHONPATH", packages)
        .env("HOME", folder.path())
        .current_dir(folder.path())
        .stdin(Stdio::null());
    let output = command.output().map_err(Error::file(&python))?;
    if output.status.success() {
        return Ok(Ok(()));
    }
    let text = [output.stdout, output.stderr].concat();
    Ok(Err(String::from_utf8_lossy(&text).into_owned()))
}
