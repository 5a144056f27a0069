//! Ends the workers of a test that was itself killed, so that no process keeps running.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};

/// A shell that gets the ids of running processes over a pipe; when the pipe closes, it kills those that are left.
pub struct Guardian {
    shell: Child,
    stdin: Option<ChildStdin>,
}

const SCRIPT: &str = r#"
alive=""
while read -r word pid; do
    kept=""
    for one in $alive; do [ "$one" = "$pid" ] || kept="$kept $one"; done
    alive=$kept
    [ "$word" = started ] && alive="$alive $pid"
done
[ -n "$alive" ] && kill -s KILL $alive
"#;

impl Guardian {
    pub fn new() -> Self {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("every machine that tests has sh");
        let stdin = shell.stdin.take();
        Self { shell, stdin }
    }

    pub fn started(&mut self, pid: u32) {
        self.send("started", pid);
    }

    pub fn ended(&mut self, pid: u32) {
        self.send("ended", pid);
    }

    fn send(&mut self, word: &str, pid: u32) {
        if let Some(stdin) = &mut self.stdin {
            // An error means that the guardian has ended, which does no harm.
            let _ = writeln!(stdin, "{word} {pid}");
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.shell.wait();
    }
}
