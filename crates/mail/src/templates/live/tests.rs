use serde_json::json;

use super::*;

/// Writes a file that counts as still being written: its time is in the year 2100.
fn write(folder: &Path, text: &str) {
    write_at(folder, text, 4_102_444_800);
}

fn write_at(folder: &Path, text: &str, seconds: u64) {
    let when = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let inner = folder.join("hello/v1/en");
    fs::create_dir_all(&inner).unwrap();
    let file = inner.join("body.txt");
    fs::write(&file, text).unwrap();
    for path in file.ancestors().take_while(|path| path.starts_with(folder)) {
        fs::File::open(path).unwrap().set_modified(when).unwrap();
    }
}

/// Checks the folder as if a second had passed.
fn reload_if_changed(live: &LiveTemplates) -> String {
    let folder = live.folder.clone().unwrap();
    live.reload_if_changed(&folder, &mut live.current.lock().unwrap());
    live.current().render("hello", None, &json!({})).unwrap().text
}

#[test]
fn a_change_is_taken_up_when_it_has_settled() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "one");
    let live = LiveTemplates::open(Some(folder.path()), "en").unwrap();
    assert_eq!(reload_if_changed(&live), "one");
    write(folder.path(), "two, longer");
    assert_eq!(reload_if_changed(&live), "one", "it may still be written");
    assert_eq!(reload_if_changed(&live), "two, longer");
}

#[test]
fn n10_a_change_between_two_checks_is_loaded_at_the_next_check() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "one");
    let live = LiveTemplates::open(Some(folder.path()), "en").unwrap();
    write_at(folder.path(), "two", 1_600_000_000);
    assert_eq!(reload_if_changed(&live), "two");
}

#[test]
fn a_broken_change_leaves_the_former_templates_in_use() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "one");
    let live = LiveTemplates::open(Some(folder.path()), "en").unwrap();
    write(folder.path(), "{{ broken");
    assert_eq!([reload_if_changed(&live), reload_if_changed(&live)], ["one", "one"]);
    write(folder.path(), "repaired again");
    assert_eq!([reload_if_changed(&live), reload_if_changed(&live)], ["one", "repaired again"]);
}

#[test]
fn without_a_folder_there_are_the_shipped_ones() {
    let live = LiveTemplates::open(None, "en").unwrap();
    assert_eq!(live.current().list().len(), 2);
}
