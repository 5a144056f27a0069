//! Runs commands and reports their failures.

use std::fmt;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

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
    run_guarded(variables, program, arguments, Stdio::inherit(), |child, _| child.wait())
}

/// Runs a command in the same way and passes each line that it prints to `reader`. Kills it after `limit`.
pub fn run_with_output(
    variables: &[(&'static str, String)],
    program: &str,
    arguments: &[&str],
    limit: Duration,
    reader: &mut dyn FnMut(&str),
) -> Result {
    let mut in_time = true;
    let outcome = run_guarded(variables, program, arguments, Stdio::piped(), |child, own_group| {
        let lines = lines_of(child.stdout.take().expect("stdout is a pipe"));
        in_time = forward_until_end(&lines, child, limit, reader)?;
        // A process that a failed test left behind holds the pipe open: do not wait for its end.
        if own_group {
            signal_group("KILL", child.id());
        } else if !in_time {
            child.kill()?;
        }
        for line in lines.try_iter() {
            print_and_read(&line, reader);
        }
        child.wait()
    });
    if in_time {
        return outcome;
    }
    Err(Failure::Failed(format!("{program}: killed, as it did not end within {} s", limit.as_secs())))
}

fn run_guarded(
    variables: &[(&'static str, String)],
    program: &str,
    arguments: &[&str],
    stdout: Stdio,
    wait: impl FnOnce(&mut Child, bool) -> std::io::Result<ExitStatus>,
) -> Result {
    let mut command = Command::new(program);
    command.args(arguments).stdout(stdout);
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
    let status =
        wait(&mut child, own_group).map_err(|problem| Failure::Failed(format!("{program}: {problem}")))?;
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

/// Forwards lines until the child has ended and printed nothing for a moment; returns whether it ended in time.
fn forward_until_end(
    lines: &Receiver<Vec<u8>>,
    child: &mut Child,
    limit: Duration,
    reader: &mut dyn FnMut(&str),
) -> std::io::Result<bool> {
    let until = Instant::now() + limit;
    while Instant::now() < until {
        match lines.recv_timeout(Duration::from_millis(100)) {
            Ok(line) => print_and_read(&line, reader),
            Err(RecvTimeoutError::Disconnected) => {
                child.wait()?;
                return Ok(true);
            }
            Err(RecvTimeoutError::Timeout) if child.try_wait()?.is_some() => return Ok(true),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    Ok(false)
}

/// The lines that a process prints, read by a thread that ends with the last process that holds the pipe.
fn lines_of(printed: ChildStdout) -> Receiver<Vec<u8>> {
    let (send, lines) = mpsc::sync_channel(1024);
    std::thread::spawn(move || {
        let mut printed = BufReader::new(printed);
        loop {
            let mut line = Vec::new();
            // A read error counts as the end of the output; the exit code shows whether the command failed.
            let is_line = matches!(printed.read_until(b'\n', &mut line), Ok(read) if read > 0);
            if !is_line || send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

fn print_and_read(line: &[u8], reader: &mut dyn FnMut(&str)) {
    let text = String::from_utf8_lossy(line);
    print(&text);
    reader(text.trim_end_matches(['\n', '\r']));
}

fn signal_group(signal: &str, group: u32) {
    // An error means that nothing of the group is left.
    let _ = Command::new("sh")
        .args(["-c", r#"kill -s "$0" -- "-$1""#, signal, &group.to_string()])
        .stderr(Stdio::null())
        .status();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, limit: Duration) -> (Result, Vec<String>) {
        let mut lines = Vec::new();
        let outcome =
            run_with_output(&[], "sh", &["-c", script], limit, &mut |line| lines.push(line.to_owned()));
        (outcome, lines)
    }

    #[test]
    fn a_process_left_behind_does_not_hold_up_the_end() {
        let begun = Instant::now();
        let (outcome, lines) = run("sleep 100 & echo one; echo two; exit 3", Duration::from_mins(1));
        assert!(matches!(outcome, Err(Failure::Ended { code: 3, .. })), "{outcome:?}");
        assert_eq!(lines, ["one", "two"]);
        assert!(begun.elapsed() < Duration::from_secs(50));
    }

    #[test]
    fn a_command_that_does_not_end_is_killed() {
        let (outcome, lines) = run("echo begun; exec sleep 100", Duration::from_secs(1));
        assert_eq!(outcome.unwrap_err().to_string(), "sh: killed, as it did not end within 1 s");
        assert_eq!(lines, ["begun"]);
    }
}
