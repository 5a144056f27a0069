//! boto3, an independent client of the AWS services.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::error::{Error, Result};
use crate::install;
use crate::wheel::{self, Wheel};

const WHEEL: Wheel = Wheel {
    name: "boto3-1.43.106",
    requirements: "boto3==1.43.106\ns3transfer==0.19.3\nbotocore==1.43.106\njmespath==1.1.0\n\
                   python-dateutil==2.9.0.post0\nsix==1.17.0\nurllib3==2.8.0\n",
};

/// Runs a Python program that may import boto3; `input` is its stdin. The outer error means that the program could not
/// be run, the inner one is its stderr.
pub fn run(program: &str, input: &str) -> Result<std::result::Result<String, String>> {
    let python = install::python();
    let mut child = Command::new(&python)
        .args(["-c", program])
        .env("PYTHONPATH", wheel::ensure(&WHEEL)?)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Error::file(&python))?;
    let mut pipe = child.stdin.take().expect("stdin is a pipe");
    pipe.write_all(input.as_bytes()).map_err(Error::file(&python))?;
    drop(pipe);
    let output = child.wait_with_output().map_err(Error::file(&python))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) })
}
