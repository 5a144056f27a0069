//! The system users that servers run as if this process is root: PostgreSQL and MariaDB refuse root.

use std::os::unix::fs::MetadataExt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct User {
    pub uid: u32,
    pub gid: u32,
}

impl User {
    /// The user to switch to; `None` if this process is not root, and servers run as its own user.
    pub(crate) fn for_server(name: &str) -> Option<Self> {
        if !we_are_root() {
            return None;
        }
        find(&std::fs::read_to_string("/etc/passwd").ok()?, name)
    }
}

pub(crate) fn we_are_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0)
}

fn find(passwd: &str, name: &str) -> Option<User> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == name).then_some(())?;
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some(User { uid, gid })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let passwd = "postgres2:x:1:2::/:/bin/sh\npostgres:x:104:110:admin:/var/lib/postgresql:/bin/bash\n";
        assert_eq!(find(passwd, "postgres"), Some(User { uid: 104, gid: 110 }));
        assert_eq!(find(passwd, "mysql"), None);
    }
}
