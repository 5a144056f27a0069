//! Runs the commands of a documentation page in one shell, so that variables and background jobs persist.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

/// Ports in pages that may be in use on this machine.
const PORTS: [&str; 2] = ["8080", "9000"];

pub struct Shell {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    folder: PathBuf,
    /// Pairs of the page's port and the one used instead.
    ports: Vec<(String, String)>,
    count: u32,
}

impl Shell {
    /// Starts a shell in this folder, with the built binary on the `PATH`.
    pub fn start(folder: &Path) -> Self {
        let ports = PORTS.map(|port| (format!(":{port}"), format!(":{}", free_port()))).to_vec();
        let binary = Path::new(env!("CARGO_BIN_EXE_postrider")).parent().expect("it is in a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut child = Command::new("sh")
            .env_clear()
            .env("PATH", format!("{}:{path}", binary.display()))
            .env("POSTRIDER__SERVER__LISTEN", format!("127.0.0.1{}", ports[0].1))
            .current_dir(folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let input = child.stdin.take().expect("it is piped");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { child, input, output, folder: folder.to_owned(), ports, count: 0 }
    }

    /// Runs a command; returns both of its output streams, with the page's ports.
    pub fn run(&mut self, line: &str) -> String {
        self.count += 1;
        let output = self.folder.join(format!(".said-{}", self.count));
        let line = self.with_free_ports(line);
        self.write(&format!("{{ {line}\n}} > '{}' 2>&1 < /dev/null\necho done $?\n", output.display()));
        let mut end = String::new();
        self.output.read_line(&mut end).expect("the shell answers");
        assert!(end.starts_with("done "), "the shell ended in the middle of `{line}`: {end:?}");
        let text = std::fs::read(&output).expect("it was written");
        self.with_page_ports(&String::from_utf8_lossy(&text))
    }

    /// Replaces the page's ports with free ones.
    pub fn with_free_ports(&self, text: &str) -> String {
        self.ports.iter().fold(text.to_owned(), |text, (page, ours)| text.replace(page.as_str(), ours))
    }

    fn with_page_ports(&self, text: &str) -> String {
        self.ports.iter().fold(text.to_owned(), |text, (page, ours)| text.replace(ours.as_str(), page))
    }

    fn write(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).expect("the shell reads");
        self.input.flush().expect("the shell reads");
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // Kill background jobs as well.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    listener.local_addr().expect("it has an address").port()
}
