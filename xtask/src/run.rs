//! Runs commands and reports their failures.

use std::fmt;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// The result of a command of xtask.
pub type Result<T = ()> = std::result::Result<T, Failure>;

/// The reason why a command of xtask failed.
#[derive(Debug)]
pub enum Failure {
    /// The arguments are wrong; the text explains the valid ones.
    Misuse(String),
    Failed(String),
    /// A child process failed with this exit code, which xtask returns as well.
    Ended {
        what: String,
        code: u8,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misuse(what) | Self::Failed(what) => out.write_str(what),
            Self::Ended { what, code } => write!(out, "{what}: ended with {code}"),
        }
    }
}

impl Failure {
    /// The exit code: 1 failed, 2 wrong arguments, or that of the child process.
    pub fn code(&self) -> u8 {
        match self {
            Self::Misuse(_) => 2,
            Self::Failed(_) => 1,
            Self::Ended { code, .. } => *code,
        }
    }
}

impl From<postrider_services::Error> for Failure {
    fn from(error: postrider_services::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// The root of the repository.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the workspace")
}

/// The cargo that runs xtask.
pub fn cargo_program() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

/// Runs cargo with these arguments.
pub fn cargo(arguments: &[&str]) -> Result {
    run_with(&[], &cargo_program(), arguments)
}

/// Whether `cargo deny` is installed.
pub fn has_cargo_deny() -> bool {
    stdout_of(Command::new(cargo_program()).args(["deny", "--version"])).is_ok()
}

/// Runs `cargo metadata` in a folder and parses its output.
pub fn metadata(root: &Path, arguments: &[&str]) -> Result<Value> {
    let mut command = Command::new(cargo_program());
    command.args(["metadata", "--format-version", "1"]).args(arguments).current_dir(root);
    serde_json::from_str(&stdout_of(&mut command)?)
        .map_err(|problem| Failure::Failed(format!("cannot parse the output of cargo metadata: {problem}")))
}

/// The target triple of this machine.
pub fn host() -> Result<String> {
    let version = stdout_of(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Failure::Failed("rustc -vV names no host".into()))
}

/// Returns the stdout of a command; its stderr is part of the error.
fn stdout_of(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|problem| Failure::Failed(format!("cannot run {name}: {problem}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Failure::Failed(format!("{name}: {}", String::from_utf8_lossy(&output.stderr))))
}

/// Runs a command with these variables; an error if it fails.
pub fn run_with(variables: &[(&'static str, String)], program: &str, arguments: &[&str]) -> Result {
    run_guarded(variables, program, arguments, None)
}

/// Runs a command in the same way and passes each line that it prints to `reader`.
pub fn run_with_output(
    variables: &[(&'static str, String)],
    program: &str,
    arguments: &[&str],
    reader: &mut dyn FnMut(&str),
) -> Result {
    run_guarded(variables, program, arguments, Some(reader))
}

fn run_guarded(
    variables: &[(&'static str, String)],
    program: &str,
    arguments: &[&str],
    reader: Option<&mut dyn FnMut(&str)>,
) -> Result {
    let mut command = Command::new(program);
    command.args(arguments);
    if reader.is_some() {
        command.stdout(Stdio::piped());
    }
    clear_cargo_variables(&mut command);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    // In a terminal the foreground process group gets Ctrl-C and may read; elsewhere a separate group can
    // be killed whole.
    let own_group = !std::io::stdin().is_terminal();
    if own_group {
        command.process_group(0);
    }
    let mut child =
        command.spawn().map_err(|problem| Failure::Failed(format!("cannot run {program}: {problem}")))?;
    let guardian = Guardian::watch(&child, own_group)?;
    if let (Some(reader), Some(printed)) = (reader, child.stdout.take()) {
        forward_output(printed, reader);
    }
    let status = child.wait().map_err(|problem| Failure::Failed(format!("{program}: {problem}")))?;
    guardian.release();
    if status.success() {
        return Ok(());
    }
    let what = [&[program][..], arguments].concat().join(" ");
    match status.code().map(u8::try_from) {
        Some(Ok(code)) => Err(Failure::Ended { what, code }),
        _ => Err(Failure::Failed(format!("{what}: {status}"))),
    }
}

fn forward_output(printed: ChildStdout, reader: &mut dyn FnMut(&str)) {
    let mut printed = BufReader::new(printed);
    let mut line = Vec::new();
    // A read error counts as the end of the output; the exit code shows whether the command failed.
    while matches!(printed.read_until(b'\n', &mut line), Ok(read) if read > 0) {
        let text = String::from_utf8_lossy(&line);
        print(&text);
        reader(text.trim_end_matches(['\n', '\r']));
        line.clear();
    }
}

/// Removes the variables that `cargo run` sets for xtask's own package: the child cargo would apply them to its build,
/// and build scripts that depend on them would run again each time.
fn clear_cargo_variables(command: &mut Command) {
    const OWN_VARIABLES: [&str; 5] = [
        "CARGO_MANIFEST_DIR",
        "CARGO_MANIFEST_PATH",
        "CARGO_BIN_NAME",
        "CARGO_CRATE_NAME",
        "CARGO_PRIMARY_PACKAGE",
    ];
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if OWN_VARIABLES.contains(&text.as_ref()) || text.starts_with("CARGO_PKG_") {
            command.env_remove(&name);
        }
    }
}

/// Kills the command if xtask is killed, so that no orphan keeps running.
struct Guardian {
    shell: Child,
    stdin: ChildStdin,
}

impl Guardian {
    fn watch(child: &Child, own_group: bool) -> Result<Self> {
        let target = if own_group { format!("-{}", child.id()) } else { child.id().to_string() };
        let mut shell = Command::new("sh")
            .args(["-c", r#"read -r word && exit 0; kill -s TERM -- "$1""#, "guardian", &target])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|problem| Failure::Failed(format!("cannot run sh: {problem}")))?;
        let stdin = shell.stdin.take().expect("stdin is a pipe");
        Ok(Self { shell, stdin })
    }

    fn release(mut self) {
        // An error means that the guardian has ended already.
        let _ = writeln!(self.stdin, "done");
        let _ = self.shell.wait();
    }
}

/// Prints data to stdout.
pub fn print(text: &str) {
    // Errors are ignored: the reader closed the pipe.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Blocks the thread for this time.
#[expect(clippy::disallowed_methods, reason = "no runtime here, and no simulated time")]
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}
