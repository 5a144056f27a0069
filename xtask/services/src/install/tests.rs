//! Tests of the service policy, on a temporary folder.

use super::*;

fn place(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("postrider-policy-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn the_machines_policy_is_restored() {
    let folder = place("back");
    let path = folder.join("policy-rc.d");
    std::fs::write(&path, "the machine's own").unwrap();
    let policy = ServicePolicy::forbid_starts(&path).unwrap();
    assert_eq!(Command::new("sh").arg(&path).status().unwrap().code(), Some(101));
    drop(policy);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "the machine's own");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn without_a_policy_before_there_is_none_after() {
    let folder = place("none");
    let path = folder.join("policy-rc.d");
    std::mem::forget(ServicePolicy::forbid_starts(&path).unwrap());
    drop(ServicePolicy::forbid_starts(&path).unwrap());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "ours is not taken for the machine's own");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_policy_saved_by_a_killed_run_is_not_lost() {
    let folder = place("killed");
    let path = folder.join("policy-rc.d");
    std::fs::write(&path, "the machine's own").unwrap();
    std::mem::forget(ServicePolicy::forbid_starts(&path).unwrap());
    drop(ServicePolicy::forbid_starts(&path).unwrap());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "the machine's own");
    std::fs::remove_dir_all(&folder).unwrap();
}
