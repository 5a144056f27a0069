//! One running server: starts it with its guardian, waits until it is ready, and ends it.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::signal;
use crate::user::User;

/// Time limit for a server to become ready, long enough for a loaded machine with two cores.
const START_TIMEOUT: Duration = Duration::from_mins(3);

/// The failures that commits survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The database's defaults: a commit survives a power cut. For benches.
    Stock,
    /// A commit survives the death of the database's processes, but not of the machine. For tests: SIGKILL has the same
    /// effects, and commits need no disk flush.
    #[default]
    ProcessCrash,
}

/// The command line of a server, used for every start.
#[derive(Debug)]
pub(crate) struct Launch {
    pub name: &'static str,
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub environment: Vec<(&'static str, String)>,
    pub user: Option<User>,
    /// The signal for the final end: quick, but PostgreSQL still frees its shared memory.
    pub last_signal: &'static str,
}

#[derive(Debug)]
pub(crate) struct Server {
    launch: Launch,
    log: PathBuf,
    running: Option<Child>,
    // The last field, so that the folder is dropped after the process that uses it.
    folder: Folder,
}

impl Server {
    pub(crate) fn new(launch: Launch, folder: Folder) -> Self {
        let log = folder.path().join("server.log");
        Self { launch, log, running: None, folder }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts the process and waits until `ready` returns true. `ready` must verify that this server answers, and not
    /// another one that took the port.
    pub(crate) fn start(&mut self, ready: impl Fn() -> bool) -> Result<()> {
        if self.running.is_some() {
            return Ok(());
        }
        self.spawn()?;
        let until = Instant::now() + START_TIMEOUT;
        while !ready() {
            if let Some(why) = self.failure_reason(until) {
                let error = Error::not_ready(self.launch.name, why, &self.log);
                self.kill();
                return Err(error);
            }
            signal::pause(Duration::from_millis(15));
        }
        Ok(())
    }

    fn failure_reason(&mut self, until: Instant) -> Option<String> {
        let child = self.running.as_mut()?;
        match child.try_wait() {
            Ok(Some(status)) => Some(format!("it ended with {status}")),
            Ok(None) if Instant::now() >= until => {
                Some(format!("no answer in {} s", START_TIMEOUT.as_secs()))
            }
            Ok(None) => None,
            Err(problem) => Some(problem.to_string()),
        }
    }

    /// Spawns the process, which waits for a line on stdin before it becomes the server, so that it
    /// never runs unguarded.
    fn spawn(&mut self) -> Result<()> {
        let log =
            OpenOptions::new().create(true).append(true).open(&self.log).map_err(Error::file(&self.log))?;
        let errors = log.try_clone().map_err(Error::file(&self.log))?;
        let mut command = Command::new("sh");
        command
            .args(["-c", r#"read -r word && exec "$@" </dev/null"#, self.launch.name])
            .arg(&self.launch.program)
            .args(&self.launch.arguments)
            .current_dir(self.folder.path())
            .env("LC_ALL", "C.UTF-8")
            .envs(self.launch.environment.iter().map(|(name, value)| (name, value)))
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(log)
            .stderr(errors);
        if let Some(user) = self.launch.user {
            command.uid(user.uid).gid(user.gid);
        }
        let mut child = command.spawn().map_err(Error::command(self.launch.name))?;
        let mut stdin = child.stdin.take().expect("stdin is a pipe");
        let group = child.id();
        self.running = Some(child);
        self.folder.guard(group)?;
        stdin.write_all(b"go\n").map_err(Error::command(self.launch.name))
    }

    /// Ends the server with the given signal; sends SIGKILL if that takes too long, and to processes that remain.
    pub(crate) fn stop(&mut self, signal: &str) {
        let Some(child) = self.running.as_mut() else { return };
        let processes = signal::tree_of(child.id());
        signal::send(signal, &[child.id().to_string()]);
        if signal::wait_for_end(child, Duration::from_secs(30)) {
            let left = processes.into_iter().filter(|&pid| signal::is_alive(pid));
            let left: Vec<String> = left.map(|pid| pid.to_string()).collect();
            if !left.is_empty() {
                signal::send("KILL", &left);
            }
            self.mark_stopped();
        } else {
            self.kill();
        }
    }

    /// Kills the server and all its processes with SIGKILL; returns when all of them have ended.
    pub(crate) fn kill(&mut self) {
        let Some(child) = self.running.as_mut() else { return };
        let processes = signal::tree_of(child.id());
        let targets: Vec<String> = processes.iter().map(ToString::to_string).collect();
        signal::send("KILL", &targets);
        // Reap the child first; the other processes are not our children, and `lives` treats zombies as dead.
        let _ = child.wait();
        let until = Instant::now() + Duration::from_secs(10);
        while processes.iter().any(|&pid| signal::is_alive(pid)) && Instant::now() < until {
            signal::pause(Duration::from_millis(5));
        }
        self.mark_stopped();
    }

    /// Sends SIGSTOP to the server and all its processes: connections stay open, but nothing answers. Returns when all of
    /// them have stopped.
    pub(crate) fn freeze(&self) {
        let processes = self.signal_all("STOP");
        let until = Instant::now() + Duration::from_secs(10);
        while !processes.iter().all(|&pid| signal::is_stopped(pid)) && Instant::now() < until {
            signal::pause(Duration::from_millis(1));
        }
    }

    /// SIGCONT after [`Server::freeze`].
    pub(crate) fn thaw(&self) {
        self.signal_all("CONT");
    }

    /// Sends a signal to the server and all its processes, and returns them.
    fn signal_all(&self, signal: &str) -> Vec<u32> {
        let Some(child) = &self.running else { return Vec::new() };
        let processes = signal::tree_of(child.id());
        signal::send(signal, &processes.iter().map(ToString::to_string).collect::<Vec<_>>());
        processes
    }

    fn mark_stopped(&mut self) {
        self.running = None;
        self.folder.unguard();
    }

    /// Whether the process still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        self.running.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop(self.launch.last_signal);
    }
}

/// Adds methods that control the process to a type with the fields `server` and, for `port`, `port`.
macro_rules! process_control {
    ($($method:ident),+) => {
        $($crate::server::process_control!(@ $method);)+
    };
    (@ port) => {
        /// The TCP port.
        pub fn port(&self) -> u16 {
            self.port
        }
    };
    (@ kill) => {
        /// Kills the server with SIGKILL.
        pub fn kill(&mut self) {
            self.server.kill();
        }
    };
    (@ freeze) => {
        /// Freezes the server (SIGSTOP); its connections stay open.
        pub fn freeze(&self) {
            self.server.freeze();
        }
    };
    (@ thaw) => {
        /// Continues a frozen server.
        pub fn thaw(&self) {
            self.server.thaw();
        }
    };
    (@ is_running) => {
        /// Whether the server's process runs.
        pub fn is_running(&mut self) -> bool {
            self.server.is_running()
        }
    };
}
pub(crate) use process_control;

/// Waits for a thread that starts a server; a panic there is a panic here.
pub(crate) fn join<T>(starter: std::thread::ScopedJoinHandle<'_, T>) -> T {
    starter.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The name of the first server that does not run.
pub(crate) fn first_stopped<const N: usize>(servers: [(&'static str, bool); N]) -> Option<&'static str> {
    servers.into_iter().find_map(|(name, running)| (!running).then_some(name))
}

/// Runs a preparatory command, as the server's user, and waits for its end.
pub(crate) fn run(command: &mut Command, user: Option<User>) -> Result<()> {
    if let Some(user) = user {
        command.uid(user.uid).gid(user.gid);
    }
    let name = command.get_program().to_string_lossy().into_owned();
    let output =
        command.env("LC_ALL", "C.UTF-8").stdin(Stdio::null()).output().map_err(Error::command(&name))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(Error::Failed { command: name, output: crate::error::last_lines(&String::from_utf8_lossy(&text)) })
}

/// The trimmed stdout of a client command; `None` if it fails.
pub(crate) fn stdout_of(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Tries to start on a free port, three times, as another process may take the port before the server binds it.
pub(crate) fn on_free_port<T>(start: impl Fn(u16) -> Result<T>) -> Result<T> {
    let mut outcome = start(crate::port::free()?);
    for _ in 0..2 {
        if outcome.is_ok() {
            break;
        }
        outcome = start(crate::port::free()?);
    }
    outcome
}

#[cfg(test)]
mod tests;
