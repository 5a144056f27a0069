//! Full disks, on a small file system that the test mounts; needs root, which the tests have.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use postrider_contract::Transition;
use postrider_seams::inspect::{Inspect as _, Level};
use postrider_seams::migrate::{Migrate as _, MigrateOptions};
use postrider_seams::store::{Class, LeaseResult, Store as _};

use postrider_store_sqlite::{Database, Settings, SqliteStore};

use crate::file::{File, contract, settlement};

/// A file system of a given size, unmounted when the test ends, even if it fails.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(folder: &'a Path, bytes: usize) -> Self {
        let size = format!("size={bytes}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder).output();
        let mounted = mounted.expect("mount runs");
        assert!(mounted.status.success(), "{}", String::from_utf8_lossy(&mounted.stderr));
        Self(folder)
    }

    /// Uses up the remaining space.
    fn fill(&self) {
        let filler = self.0.join("filler");
        let mut block = 1 << 16;
        let mut size = 0;
        while block > 0 {
            let file = std::fs::OpenOptions::new().create(true).append(true).open(&filler).expect("a file");
            if std::io::Write::write_all(&mut &file, &vec![0; block]).is_ok() {
                size += block;
            } else {
                let kept = file.metadata().expect("about it").len();
                size = usize::try_from(kept).expect("it is small");
                block /= 2;
            }
        }
        assert!(size > 0);
    }

    fn remount(&self, how: &str) {
        let options = format!("remount,{how}");
        let mounted = Command::new("mount").args(["-o", &options]).arg(self.0).output().expect("mount runs");
        assert!(mounted.status.success(), "{}", String::from_utf8_lossy(&mounted.stderr));
    }

    fn free(&self) {
        std::fs::remove_file(self.0.join("filler")).expect("the filler goes");
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        // Connections may still be open: a lazy unmount ends with the last of them.
        Command::new("umount").arg("--lazy").arg(self.0).status().ok();
    }
}

/// The findings of `check` on a store that was opened before the failure, and on one that is opened now.
async fn refusals(file: &File, open: &SqliteStore) -> [String; 2] {
    let database = Database::connect(&Settings { create: false, ..file.settings() }).expect("settings");
    let fresh = async {
        let store = database.open(contract("mail_outbox"), "dispatch", "test").await?;
        store.verify().await
    };
    [open.verify().await, fresh.await].map(|verified| match verified {
        Err(error) => error.message,
        Ok(findings) => {
            let errors = findings.into_iter().filter(|finding| finding.level == Level::Error);
            errors.map(|finding| finding.text).collect()
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn check_reports_a_full_disk() {
    let file = File::new();
    let disk = SmallDisk::mount(file.folder.path(), 16 << 20);
    let store = file.mail_store().await;
    assert_eq!(refusals(&file, &store).await, ["", ""]);
    disk.fill();
    for refusal in refusals(&file, &store).await {
        assert!(refusal.contains("the disk is full"), "{refusal}");
    }
    disk.free();
    assert_eq!(refusals(&file, &store).await, ["", ""], "nothing is left behind");
    file.sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn check_reports_a_file_that_can_only_be_read() {
    let file = File::new();
    let disk = SmallDisk::mount(file.folder.path(), 16 << 20);
    let made = file.database();
    made.migration(contract("mail_outbox")).apply(MigrateOptions::default()).await.expect("migrate");
    made.close().await;
    disk.remount("ro");
    let database = Database::connect(&Settings { create: false, ..file.settings() }).expect("settings");
    let refusal = match database.open(contract("mail_outbox"), "dispatch", "test").await {
        Err(error) => error.message,
        Ok(store) => refusals(&file, &store).await.concat(),
    };
    assert!(refusal.contains("may this user read and write"), "{refusal}");
    file.sql.close().await;
}

/// Runs itself again in a process with a low limit of open files.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_without_descriptors_is_away() {
    const CHILD: &str = "POSTRIDER_TEST_FEW_DESCRIPTORS";
    if std::env::var_os(CHILD).is_none() {
        let script =
            "ulimit -n 64; exec \"$0\" --exact disk::a_process_without_descriptors_is_away --nocapture";
        let program = std::env::current_exe().expect("this program");
        let ran =
            Command::new("sh").args(["-c", script]).arg(program).env(CHILD, "1").output().expect("sh runs");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"), "the test was run");
        return;
    }
    let file = File::new();
    drop(file.mail_store().await);
    let database = file.database();
    let mut taken = Vec::new();
    // Connections of the dropped store are closed in the background, and free their descriptors late.
    for _ in 0..5 {
        while let Ok(one) = std::fs::File::open("/dev/null") {
            taken.push(one);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let opened = database.open(contract("mail_outbox"), "dispatch", "test").await;
    drop(taken);
    let error = opened.err().expect("no file can be opened");
    assert_eq!(error.class, Class::Transient, "{error}");
    assert!(error.message.contains("file descriptor"), "{error}");
    database.open(contract("mail_outbox"), "dispatch", "test").await.expect("there are descriptors again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_away_and_the_store_goes_on_when_there_is_room() {
    let file = File::new();
    let disk = SmallDisk::mount(file.folder.path(), 16 << 20);
    let store = file.mail_store().await;
    file.insert_mails(600).await;
    let first = store.claim(200).await.expect("claim");
    disk.fill();
    let moves: Vec<_> = first.iter().map(|row| settlement(&row.lease, Transition::Delivered)).collect();
    // The write-ahead log may have some room left: claims fail when that is used up.
    let mut claimed = Vec::new();
    let error = loop {
        match store.claim(50).await {
            Ok(rows) if rows.is_empty() => panic!("the disk was not full"),
            Ok(rows) => claimed.extend(rows),
            Err(error) => break error,
        }
    };
    assert_eq!(error.class, Class::Transient, "{error}");
    for _ in 0..3 {
        let error = store.settle(&moves).await.expect_err("the disk is full");
        assert_eq!(error.class, Class::Transient, "{error}");
        assert!(!error.message.contains("transaction depth"), "{error}");
    }
    disk.free();
    assert_eq!(store.settle(&moves).await.expect("settle"), vec![LeaseResult::Held; moves.len()]);
    loop {
        let rows = store.claim(200).await.expect("claim");
        if rows.is_empty() {
            break;
        }
        claimed.extend(rows);
    }
    assert_eq!(first.len() + claimed.len(), 600, "every row once");
    let moves: Vec<_> = claimed.iter().map(|row| settlement(&row.lease, Transition::Delivered)).collect();
    assert_eq!(store.settle(&moves).await.expect("settle"), vec![LeaseResult::Held; moves.len()]);
    assert_eq!(
        file.text("SELECT count(*) FROM mail_outbox WHERE status = 'sent'").await.as_deref(),
        Some("600")
    );
    file.sql.close().await;
}
