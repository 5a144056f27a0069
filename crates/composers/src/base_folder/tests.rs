use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn world() -> (tempfile::TempDir, BaseFolder) {
    let world = tempfile::tempdir().unwrap();
    fs::create_dir_all(world.path().join("base/sub")).unwrap();
    fs::write(world.path().join("secret"), "secret").unwrap();
    fs::write(world.path().join("base/sub/file"), "content").unwrap();
    let base = BaseFolder::new(world.path().join("base"));
    (world, base)
}

#[test]
fn e07_files_below_the_base_are_read_by_either_name() {
    let (world, base) = world();
    let canonical = world.path().join("base/sub/file");
    for name in ["sub/file", "./sub/file", canonical.to_str().unwrap()] {
        assert_eq!(base.read(name, 100).unwrap(), b"content", "{name}");
    }
    assert!(matches!(base.read("sub/file", 3), Err(FileError::TooLarge { size: 7, limit: 3, .. })));
}

#[test]
fn e07_nothing_outside_the_base_is_opened() {
    let (world, base) = world();
    let inside = world.path().join("base");
    symlink(world.path(), inside.join("out")).unwrap();
    symlink("../secret", inside.join("link")).unwrap();
    symlink(world.path().join("secret"), inside.join("absolute")).unwrap();
    symlink("/proc/self/root/etc", inside.join("magic")).unwrap();
    let above = world.path().join("secret");
    for name in [
        "../secret",
        "sub/../../secret",
        "/etc/passwd",
        above.to_str().unwrap(),
        "out/secret",
        "link",
        "absolute",
        "magic/passwd",
        "",
        "sub/file\0",
    ] {
        let found = base.read(name, 100);
        assert!(matches!(found, Err(FileError::Outside(_))), "{name:?}: {found:?}");
    }
}

#[test]
fn e07_a_path_that_is_not_a_file_is_reported() {
    let (_world, base) = world();
    assert!(matches!(base.read("sub", 100), Err(FileError::NotAFile(_))));
    assert!(matches!(base.read("sub/none", 100), Err(FileError::Missing(_))));
    assert!(matches!(base.read(&"x".repeat(300), 100), Err(FileError::Missing(_))));
    let unavailable = BaseFolder::new("/nonexistent/folder");
    let problem = unavailable.read("file", 100).unwrap_err();
    assert!(!problem.is_final(), "a folder that is not mounted is no fault of the row's: {problem}");
}

#[test]
fn e07_opening_by_component_follows_no_link() {
    let (world, base) = world();
    let inside = world.path().join("base");
    symlink("sub", inside.join("within")).unwrap();
    symlink("../secret", inside.join("link")).unwrap();
    let folder = openat(CWD, base.path(), OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty()).unwrap();
    assert!(open_by_component(&folder, Path::new("sub/file")).is_ok());
    for name in ["within/file", "link"] {
        assert_eq!(open_by_component(&folder, Path::new(name)).unwrap_err(), Errno::LOOP, "{name}");
    }
}
