//! Checks that the relative links between documents have a target.

use std::path::{Component, Path, PathBuf};

use crate::tidy::{Source, Violation};

/// Checks the relative links of Markdown files; `exists` is called with paths relative to the root.
pub fn check(sources: &[Source], exists: &dyn Fn(&Path) -> bool) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in sources.iter().filter(|source| source.has_ending("md")) {
        let folder = Path::new(&source.path).parent().unwrap_or(Path::new(""));
        for (line, target) in relative_links(&source.text) {
            let path = target.split(['#', '?']).next().unwrap_or_default();
            let found = match path {
                "" => true,
                _ => flatten(&folder.join(path)).is_some_and(|path| exists(&path)),
            };
            if !found {
                violations.push(Violation::new(
                    &source.path,
                    line,
                    format!("nothing at `{target}`"),
                    "fix the link",
                ));
            }
        }
    }
    violations
}

/// The targets of `](…)` outside code, with their lines.
fn relative_links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    let mut in_code = false;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect();
        for part in prose.split("](").skip(1) {
            let target = part.split([')', ' ']).next().unwrap_or_default();
            if !target.contains("://") && !target.starts_with("mailto:") {
                links.push((number + 1, target.to_owned()));
            }
        }
    }
    links
}

/// Resolves `..` in the path; `None` if the path leaves the repository.
fn flatten(path: &Path) -> Option<PathBuf> {
    let mut flat = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => flat.push(name),
            Component::ParentDir => flat.pop().then_some(())?,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(flat)
}
