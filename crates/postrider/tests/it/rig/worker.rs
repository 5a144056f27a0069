//! One running `postrider run`.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use super::wait::{PATIENCE, until};

pub struct Worker {
    child: Child,
    log: PathBuf,
}

impl Worker {
    pub fn new(child: Child, log: PathBuf) -> Self {
        Self { child, log }
    }

    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// No worker may end unless it is told to.
    pub fn assert_alive(&mut self) {
        if let Ok(Some(status)) = self.child.try_wait() {
            panic!("a worker ended by itself with {status}:\n{}", self.log());
        }
    }

    pub(super) fn kill(&mut self) -> u32 {
        self.assert_alive();
        self.child.kill().expect("SIGKILL can be sent to a child");
        self.child.wait().expect("a killed child can be reaped");
        self.child.id()
    }

    pub(super) async fn stop(&mut self) -> u32 {
        self.assert_alive();
        let pid = self.child.id();
        let sent = Command::new("sh").args(["-c", r#"kill -s TERM "$0""#, &pid.to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "SIGTERM can be sent to a child");
        let child = &mut self.child;
        let status = until("a worker ends after SIGTERM", PATIENCE, || {
            let status = child.try_wait().expect("a child can be asked");
            async move { status }
        })
        .await;
        assert_eq!(status.code(), Some(0), "a drained worker ends with 0:\n{}", self.log());
        pid
    }

    /// Where its listener answers, from its log.
    pub async fn address(&self) -> SocketAddr {
        until("the worker says where it answers", PATIENCE, || async {
            let log = self.log();
            let line = log.lines().find(|line| line.contains("answering /healthz"))?;
            line.split("address=").nth(1)?.split_whitespace().next()?.parse().ok()
        })
        .await
    }

    /// Status code and body of a GET.
    pub async fn get(&self, path: &str) -> (u16, String) {
        let address = self.address().await;
        let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        let answer = tokio::task::block_in_place(|| {
            let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(10))?;
            stream.set_read_timeout(Some(Duration::from_secs(10)))?;
            stream.write_all(request.as_bytes())?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            std::io::Result::Ok(answer)
        })
        .expect("the listener answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("an HTTP answer has a head");
        let code = head.split_whitespace().nth(1).and_then(|code| code.parse().ok()).expect("a status code");
        (code, body.to_owned())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
