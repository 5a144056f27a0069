//! Ends the workers of a test that was itself killed, so that no process keeps running.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};

/// A shell that gets the ids of running processes over a pipe; when the pipe closes, it kills those that are left.
pub struct Guardian {
    shell: Child,
    orders: Option<ChildStdin>,
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
        let orders = shell.stdin.take();
        Self { shell, orders }
    }

    pub fn started(&mut self, pid: u32) {
        self.tell("started", pid);
    }

    pub fn ended(&mut self, pid: u32) {
        self.tell("ended", pid);
    }

    fn tell(&mut self, word: &str, pid: u32) {
        if let Some(orders) = &mut self.orders {
            // An error means that the guardian has ended, which does no harm.
            let _ = writeln!(orders, "{word} {pid}");
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.orders = None;
        let _ = self.shell.wait();
    }
}
