//! Disks that fill up, on a small file system of the test's own; needs root, as the tests have.

use std::path::Path;
use std::process::Command;

use postrider_contract::Transition;
use postrider_seams::store::{Class, Held, Store as _, Want};

use crate::file::{File, settlement};

/// A file system of so many bytes, unmounted however the test ends.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(folder: &'a Path, bytes: usize) -> Self {
        let size = format!("size={bytes}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder).output();
        let mounted = mounted.expect("mount runs");
        assert!(mounted.status.success(), "{}", String::from_utf8_lossy(&mounted.stderr));
        Self(folder)
    }

    /// Takes all the room that is left.
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

    fn free(&self) {
        std::fs::remove_file(self.0.join("filler")).expect("the filler goes");
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        // Connections may still be open: detached, it goes with the last of them.
        Command::new("umount").arg("--lazy").arg(self.0).status().ok();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_away_and_the_store_goes_on_when_there_is_room() {
    let file = File::new();
    let disk = SmallDisk::mount(file.folder.path(), 16 << 20);
    let store = file.mail_store().await;
    file.insert_mails(600).await;
    let first = store.claim(&Want { limit: 200 }).await.expect("claim");
    disk.fill();
    let moves: Vec<_> = first.iter().map(|row| settlement(&row.lease, Transition::Delivered)).collect();
    // The write-ahead log may have a little room left: claims fail when that is used up.
    let mut claimed = Vec::new();
    let error = loop {
        match store.claim(&Want { limit: 50 }).await {
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
    assert_eq!(store.settle(&moves).await.expect("settle"), vec![Held::Held; moves.len()]);
    loop {
        let rows = store.claim(&Want { limit: 200 }).await.expect("claim");
        if rows.is_empty() {
            break;
        }
        claimed.extend(rows);
    }
    assert_eq!(first.len() + claimed.len(), 600, "every row once");
    let moves: Vec<_> = claimed.iter().map(|row| settlement(&row.lease, Transition::Delivered)).collect();
    assert_eq!(store.settle(&moves).await.expect("settle"), vec![Held::Held; moves.len()]);
    assert_eq!(
        file.text("SELECT count(*) FROM mail_outbox WHERE status = 'sent'").await.as_deref(),
        Some("600")
    );
    file.sql.close().await;
}
