//! Lists the files of the repository, and checks rules about them: equal file names in all stores and transports, and a
//! README that explains how to start.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Failure, Result};
use crate::tidy::{Source, Violation};

/// The file names of every store, so that readers of one find their way in all. The verbs of the SQL stores are
/// implemented once, in `stores/sql`; the memory store, which has no SQL, has files of the same names.
const STORE_FILES: [&str; 7] = ["connect", "shape", "execute", "store", "verify", "migrate", "error"];
const MEMORY_STORE_FILES: [&str; 4] = ["claim", "settle", "sweep", "inspect"];
const DYNAMODB_STORE_FILES: [&str; 9] =
    ["connect", "store", "claim", "settle", "sweep", "inspect", "verify", "migrate", "error"];
/// The file names of every transport. The folder transport has no answers to classify and does not encode the mail.
const TRANSPORT_FILES: [&str; 5] = ["config", "deliver", "error", "encode", "classify"];
const FILE_TRANSPORT_FILES: [&str; 3] = ["config", "deliver", "error"];

/// Reads all text files of the repository that are tracked by git or could be.
pub fn read(root: &Path) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for path in list(root)? {
        // Skip files that are deleted but not yet committed, and files that are not text.
        let Ok(text) = std::fs::read_to_string(root.join(&path)) else { continue };
        sources.push(Source { path, text });
    }
    Ok(sources)
}

fn list(root: &Path) -> Result<Vec<String>> {
    let git = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output();
    if let Ok(output) = git
        && output.status.success()
    {
        let listed = String::from_utf8_lossy(&output.stdout).into_owned();
        return Ok(listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect());
    }
    // Without git, or in an unpacked archive: walk the folders.
    let mut found = Vec::new();
    walk(root, root, &mut found)
        .map_err(|problem| Failure::Failed(format!("{}: {problem}", root.display())))?;
    Ok(found)
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["target", ".git", ".services", "node_modules"].contains(&name.as_str()) {
                walk(root, &path, found)?;
            }
        } else if let Ok(inside) = path.strip_prefix(root) {
            found.push(inside.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

/// Checks the file names of stores and transports, and the README.
pub fn check(sources: &[Source]) -> Vec<Violation> {
    let special: [(&str, &[&str]); 2] =
        [("memory", &MEMORY_STORE_FILES), ("dynamodb", &DYNAMODB_STORE_FILES)];
    let mut violations = same_names(sources, "crates/stores/", &STORE_FILES, &special);
    violations.extend(same_names(
        sources,
        "crates/transports/",
        &TRANSPORT_FILES,
        &[("file", &FILE_TRANSPORT_FILES)],
    ));
    violations.extend(readme(sources));
    violations
}

fn same_names(
    sources: &[Source],
    folder: &str,
    names: &[&str],
    special: &[(&str, &[&str])],
) -> Vec<Violation> {
    let rust = |source: &&Source| source.is_rust();
    let mut members: Vec<&str> = sources
        .iter()
        .filter(rust)
        .filter_map(|source| source.path.strip_prefix(folder)?.split_once("/src/").map(|(member, _)| member))
        // `sql` renders statements for the stores and is not a store.
        .filter(|member| *member != "sql")
        .collect();
    members.dedup();
    members.sort_unstable();
    members.dedup();
    let mut violations = Vec::new();
    for member in members {
        let own = special.iter().find(|(special, _)| *special == member);
        let wanted = own.map_or(names, |(_, names)| names);
        for name in wanted {
            let (file, module) =
                (format!("{folder}{member}/src/{name}.rs"), format!("{folder}{member}/src/{name}/mod.rs"));
            if !sources.iter().any(|source| source.path == file || source.path == module) {
                let remedy = "the same thing is in the same file everywhere: move it there";
                violations.push(Violation::new(
                    &format!("{folder}{member}"),
                    1,
                    format!("no src/{name}.rs"),
                    remedy,
                ));
            }
        }
    }
    violations
}

fn readme(sources: &[Source]) -> Vec<Violation> {
    let text = sources.iter().find(|source| source.path == "README.md").map_or("", |source| &source.text);
    ["cargo run", "cargo xtask test"]
        .into_iter()
        .filter(|command| !text.contains(command))
        .map(|command| {
            Violation::new(
                "README.md",
                1,
                format!("`{command}` is not in it"),
                "explain how to run and how to test",
            )
        })
        .collect()
}
