//! Running commands, and what is said about those that fail.

use std::io::{IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

pub type Result<T = ()> = std::result::Result<T, Failure>;

#[derive(Debug)]
pub enum Failure {
    /// The command line was wrong; what is right follows.
    Misuse(String),
    Failed(String),
}

impl From<postrider_services::Error> for Failure {
    fn from(error: postrider_services::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Runs a command with these variables; its failure is ours.
pub fn with(variables: &[(&'static str, String)], program: &str, arguments: &[&str]) -> Result {
    let mut command = Command::new(program);
    command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
    // A terminal's foreground group gets its Ctrl-C and may read; elsewhere a group of its own can be ended as a whole.
    let apart = !std::io::stdin().is_terminal();
    if apart {
        command.process_group(0);
    }
    let mut child =
        command.spawn().map_err(|problem| Failure::Failed(format!("could not run {program}: {problem}")))?;
    let guardian = Guardian::of(&child, apart)?;
    let status = child.wait().map_err(|problem| Failure::Failed(format!("{program}: {problem}")))?;
    guardian.dismiss();
    if status.success() {
        return Ok(());
    }
    Err(Failure::Failed(format!("{program} {}: {status}", arguments.join(" "))))
}

/// Ends the command if we are killed: nothing goes on working for nobody.
struct Guardian {
    shell: Child,
    orders: ChildStdin,
}

impl Guardian {
    fn of(child: &Child, apart: bool) -> Result<Self> {
        let target = if apart { format!("-{}", child.id()) } else { child.id().to_string() };
        let mut shell = Command::new("sh")
            .args(["-c", r#"read -r word && exit 0; kill -s TERM -- "$1""#, "guardian", &target])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|problem| Failure::Failed(format!("could not run sh: {problem}")))?;
        let orders = shell.stdin.take().expect("its input was asked for as a pipe");
        Ok(Self { shell, orders })
    }

    fn dismiss(mut self) {
        // A guardian that is gone already does no harm.
        let _ = writeln!(self.orders, "done");
        let _ = self.shell.wait();
    }
}

/// Data for people and scripts, on stdout.
pub fn say(text: &str) {
    // A reader that went away has read enough.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

#[expect(clippy::disallowed_methods, reason = "no runtime here, and no simulated time")]
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}
