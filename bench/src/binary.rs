//! Runs the `postrider` binary in the folder of this one, which `cargo xtask bench` builds too.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::{Child, Command};

fn binary() -> PathBuf {
    let mut path = std::env::current_exe().expect("we run from a file");
    path.set_file_name("postrider");
    path
}

fn command(config: &Path, verb: &str) -> Command {
    let mut command = Command::new(binary());
    command
        .arg(verb)
        .arg("--config")
        .arg(config)
        .env("RUST_LOG", "warn")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Starts `postrider run`, which ends when it is stopped or dropped.
pub fn start(config: &Path) -> Child {
    command(config, "run").spawn().expect("`cargo xtask bench` builds the binary into the folder of this one")
}

/// Kills the process with SIGKILL and waits for its end.
pub async fn stop(child: &mut Child) {
    child.kill().await.expect("ended");
}

/// Returns what a command prints.
pub async fn output_of(config: &Path, words: &[&str]) -> String {
    let output = Command::new(binary())
        .args(words)
        .arg("--config")
        .arg(config)
        .stdin(Stdio::null())
        .output()
        .await
        .expect("the binary is in the folder of this one");
    assert!(output.status.success(), "{words:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Runs `postrider migrate`.
pub async fn migrate(config: &Path) {
    let output = command(config, "migrate").output().await.expect("the binary is in the folder of this one");
    assert!(output.status.success(), "migrate failed: {}", String::from_utf8_lossy(&output.stderr));
}
