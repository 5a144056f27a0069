//! A server's private folder, and the guardian process that cleans up after this process has ended.
//!
//! Invariant: while the folder exists, its guardian runs; the guardian ends only after it received `gone`, or after it
//! killed the server and removed the folder itself.

use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{Error, Result};
use crate::user::{User, we_are_root};

/// The guardian's script. It reads `run PID`, `idle` and `gone`; at the end of its input (this process died) it kills
/// the process group and removes the folder. The first signal requests an abrupt but orderly end, in which PostgreSQL
/// ends its own children. A zombie counts as ended, as it stays one where no process reaps orphans.
const GUARDIAN: &str = r#"
lives() {
    read -r about <"/proc/$group/stat" || return 1
    case $about in *") Z "*) return 1 ;; esac
}
group=
while read -r word pid; do
    case $word in
        run) group=$pid ;;
        idle) group= ;;
        gone) exit 0 ;;
    esac
done
if [ -n "$group" ]; then
    kill -s "$1" -- "-$group"
    tries=0
    while lives && [ "$tries" -lt 60 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
    kill -s KILL -- "-$group"
fi
rm -rf -- "$2"
"#;

static NEXT: AtomicU32 = AtomicU32::new(0);

#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    guardian: Child,
    stdin: ChildStdin,
}

impl Folder {
    pub(crate) fn create(server: &str, owner: Option<User>, last_signal: &str) -> Result<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("postrider-{server}-{}-{number}", std::process::id());
        let path = parent_folder()?.join(name);
        // A leftover folder of an earlier process with the same PID is unused: a guardian would have removed it.
        if path.exists() {
            std::fs::remove_dir_all(&path).map_err(Error::file(&path))?;
        }
        std::fs::create_dir(&path).map_err(Error::file(&path))?;
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).map_err(Error::file(&path))?;
        let mut guardian = Command::new("sh")
            .args(["-c", GUARDIAN, "guardian", last_signal])
            .arg(&path)
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Error::command("sh"))?;
        let stdin = guardian.stdin.take().expect("stdin is a pipe");
        let folder = Self { path, guardian, stdin };
        folder.set_owner(&folder.path, owner)?;
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a subfolder that the server's user owns.
    pub(crate) fn subfolder(&self, name: &str, owner: Option<User>) -> Result<PathBuf> {
        let path = self.path.join(name);
        std::fs::create_dir(&path).map_err(Error::file(&path))?;
        self.set_owner(&path, owner)?;
        Ok(path)
    }

    #[expect(clippy::unused_self, reason = "only paths inside a folder are given away")]
    fn set_owner(&self, path: &Path, owner: Option<User>) -> Result<()> {
        let Some(user) = owner else { return Ok(()) };
        chown(path, Some(user.uid), Some(user.gid)).map_err(Error::file(path))
    }

    /// Makes the guardian kill this process group if this process dies.
    pub(crate) fn guard(&mut self, group: u32) -> Result<()> {
        writeln!(self.stdin, "run {group}").map_err(Error::command("the guardian"))
    }

    /// Stops guarding the group: the server has ended, and the system may reuse its PID.
    pub(crate) fn unguard(&mut self) {
        // An error means that the guardian has ended, and guards nothing anyway.
        let _ = writeln!(self.stdin, "idle");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(problem) = std::fs::remove_dir_all(&self.path) {
            eprintln!("{} could not be removed: {problem}", self.path.display());
        }
        let _ = writeln!(self.stdin, "gone");
        let _ = self.guardian.wait();
    }
}

/// The parent of the folders: a short path, as socket paths are limited, and open to the users that servers run as.
fn parent_folder() -> Result<PathBuf> {
    if let Some(chosen) = std::env::var_os("POSTRIDER_SERVICES_DIR") {
        return Ok(chosen.into());
    }
    let usual = std::env::temp_dir();
    if !we_are_root() || is_open_to_all(&usual)? { Ok(usual) } else { Ok("/var/tmp".into()) }
}

fn is_open_to_all(path: &Path) -> Result<bool> {
    for folder in path.ancestors() {
        let metadata = std::fs::metadata(folder).map_err(Error::file(folder))?;
        if metadata.permissions().mode() & 0o001 == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}
