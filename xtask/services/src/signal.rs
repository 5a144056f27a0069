//! Signals and waiting, through the shell: `unsafe` is forbidden here, and every POSIX shell has `kill`.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Sends a signal to processes (`123`) or groups (`-123`); ignores those that have ended.
pub(crate) fn send(signal: &str, targets: &[String]) {
    let outcome = Command::new("sh")
        .args(["-c", r#"kill -s "$0" -- "$@""#, signal])
        .args(targets)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if let Err(problem) = outcome {
        eprintln!("could not send {signal}: {problem}");
    }
}

/// Whether the child ended within the time.
pub(crate) fn wait_for_end(child: &mut Child, within: Duration) -> bool {
    let until = Instant::now() + within;
    loop {
        match child.try_wait() {
            Ok(Some(_)) | Err(_) => return true,
            Ok(None) if Instant::now() >= until => return false,
            Ok(None) => pause(Duration::from_millis(10)),
        }
    }
}

/// The process and all its descendants, in any process group: each child of PostgreSQL has its own.
pub(crate) fn tree_of(pid: u32) -> Vec<u32> {
    let listed = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = listed.split_whitespace().filter_map(|child| child.parse().ok());
    std::iter::once(pid).chain(children.flat_map(tree_of)).collect()
}

/// Whether a process runs; a zombie does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    !matches!(state(&Path::new("/proc").join(pid.to_string())), None | Some('Z' | 'X'))
}

/// Whether every thread of a process has stopped or ended. After SIGSTOP they continue until they notice the signal, which
/// takes a while on a busy machine.
pub(crate) fn is_stopped(pid: u32) -> bool {
    let tasks = std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task"));
    let is_still = |task: &Path| !matches!(state(task), Some('R' | 'S' | 'D'));
    tasks.map_or(true, |tasks| tasks.flatten().all(|task| is_still(&task.path())))
}

/// The state of a process or thread, such as `S` for sleeping; `None` if there is none.
fn state(folder: &Path) -> Option<char> {
    let status = std::fs::read_to_string(folder.join("stat")).ok()?;
    status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
}

#[expect(
    clippy::disallowed_methods,
    reason = "no runtime and no simulated time here: real servers take real time"
)]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}
