//! Tests each rule on a few lines that break it, and on a few that only look as if they did.

use std::path::Path;

use serde_json::json;

use super::graph::Member;
use super::licences::Policy;
use super::*;

fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), text: text.to_owned() }
}

/// Line and text of each violation of the rules about content.
fn file_violations(path: &str, text: &str) -> Vec<(usize, String)> {
    let source = source(path, text);
    let violations =
        files::check(&source).into_iter().chain(words::check(&source)).chain(pages::check(&source));
    violations.map(|violation| (violation.line, violation.what)).collect()
}

fn assert_one(path: &str, text: &str, line: usize, part: &str) {
    let found = file_violations(path, text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, line);
    assert!(found[0].1.contains(part), "{found:?}");
}

#[test]
fn a_violation_is_one_line_with_place_and_remedy() {
    let violation = Violation::new("a/b.rs", 7, "too long", "split it");
    assert_eq!(violation.to_string(), "a/b.rs:7: too long: split it");
}

#[test]
fn a_valid_file_has_no_violation() {
    let text = "//! Claims.\n\n/// `todo!` and .unwrap() in prose are fine.\nfn claim() -> &'static str {\n    \"dbg!(x.unwrap())\"\n}\n";
    assert_eq!(file_violations("crates/a/src/claim.rs", text), []);
}

#[test]
fn long_files_are_found() {
    let long = "//! Long.\n".to_owned() + &"// line\n".repeat(400);
    assert_one("crates/a/src/lib.rs", &long, 401, "401 lines");
    assert_eq!(file_violations("crates/a/src/lib.rs", &long[..long.len() - 8]), []);
    assert_eq!(file_violations("docs/long.md", &long), []);
}

#[test]
fn modules_open_with_documentation_and_tests_need_not() {
    assert_one("crates/a/src/claim.rs", "fn claim() {}\n", 1, "no module documentation");
    assert_eq!(file_violations("crates/a/src/claim/tests.rs", "use super::*;\n"), []);
    assert_eq!(file_violations("crates/a/tests/it.rs", "fn it() {}\n"), []);
}

#[test]
fn unfinished_code_is_found_even_in_tests() {
    for (line, part) in [
        ("fn claim() { todo!() }", "todo!"),
        ("fn claim() { unimplemented!(\"later\") }", "unimplemented!"),
        ("fn claim() { dbg!(1); }", "dbg!"),
        ("#[ignore = \"slow\"] fn claim() {}", "#[ignore"),
    ] {
        assert_one("crates/a/src/a.rs", &format!("//! A.\n{line}\n"), 2, part);
        assert_one("crates/a/tests/it.rs", line, 1, part);
    }
    assert_eq!(file_violations("crates/a/src/a.rs", "//! A.\nnot_todo!();\n"), []);
}

#[test]
fn unwrap_is_for_tests() {
    let text = "//! A.\nfn a() { b().unwrap(); }\n";
    assert_one("crates/a/src/a.rs", text, 2, ".unwrap()");
    assert_eq!(file_violations("crates/a/src/a_tests.rs", text), []);
    let inside = "//! A.\n#[cfg(test)]\nmod tests {\n    fn a() { if true { b().unwrap(); } }\n}\nfn c() { d().unwrap(); }\n";
    assert_one("crates/a/src/a.rs", inside, 6, ".unwrap()");
    let beside = "//! A.\n#[cfg(test)]\nmod tests;\nfn c() { d().unwrap_or(1); }\n";
    assert_eq!(file_violations("crates/a/src/a.rs", beside), []);
}

#[test]
fn silenced_lints_give_a_reason() {
    assert_one("crates/a/src/a.rs", "//! A.\n\n#[allow(clippy::x)]\nfn a() {}\n", 3, "without a reason");
    assert_eq!(file_violations("crates/a/src/a.rs", "//! A.\n#[allow(clippy::x)] // so\nfn a() {}\n"), []);
    assert_eq!(file_violations("crates/a/src/a.rs", "//! A.\n// so\n#[allow(clippy::x)]\nfn a() {}\n"), []);
    assert_one(
        "crates/a/src/a.rs",
        "//! A.\n/// A.\n#[allow(clippy::x)]\nfn a() {}\n",
        3,
        "without a reason",
    );
    assert_one("crates/a/src/a.rs", "//! A.\n#![expect(dead_code)]\n", 2, "without a reason");
    assert_eq!(
        file_violations(
            "crates/a/src/a.rs",
            "//! A.\n#[allow(\n    clippy::x,\n    reason = \"so\"\n)]\nfn a() {}\n"
        ),
        []
    );
}

#[test]
fn paths_of_one_machine_are_found_in_any_file() {
    let home = concat!("/ho", "me/someone/x");
    assert_one("docs/a.md", &format!("see\n`{home}`\n"), 2, "one machine");
    assert_eq!(file_violations("docs/a.md", &format!("https://example.org{home}\n")), []);
}

#[test]
fn only_crates_io_is_a_registry() {
    let lock = |source: &str| format!("[[package]]\nsource = \"{source}\"\n");
    assert_one("Cargo.lock", &lock("sparse+https://mirror.example.org/index/"), 2, "other than crates.io");
    assert_eq!(
        file_violations("Cargo.lock", &lock("registry+https://github.com/rust-lang/crates.io-index")),
        []
    );
    assert_one(".cargo/config.toml", "[source.crates-io]\n", 1, "other than crates.io");
}

#[test]
fn empty_names_are_found() {
    assert_one(
        "crates/a/src/a.rs",
        "//! A.\nstruct LaneManager;\n",
        2,
        "`manager` in the name `LaneManager`",
    );
    assert_one("crates/a/src/a.rs", "//! A.\npub fn process_row() {}\n", 2, "`process`");
    assert_one("crates/a/src/a.rs", "//! A.\nasync fn handle_row() {}\n", 2, "`handle`");
    assert_one("crates/a/src/string_utils.rs", "//! A.\n", 1, "`utils` in a file's name");
    let fine =
        "//! A.\nuse std::process::Command;\nstruct LaneHandle;\nfn handle() { handle.join(); utilise(); }\n";
    assert_eq!(file_violations("crates/a/src/a.rs", fine), []);
}

#[test]
fn a_console_script_is_small_has_a_header_and_creates_no_markup() {
    let path = "crates/server/src/console/js/rows.js";
    assert_eq!(file_violations(path, "// Rows.\nnode.textContent = row.error;\n"), []);
    assert_one(path, "const a = 1;\n", 1, "no opening comment");
    assert_one(path, "// Rows.\nnode.innerHTML = row.error;\n", 2, "innerHTML");
    assert_one(path, &format!("// Rows.\n{}", "a();\n".repeat(150)), 151, "151 lines");
    assert_eq!(file_violations("crates/a/tests/looks/looks.js", "return 1;\n"), []);
}

#[test]
fn literals_and_comments_are_blanked_and_lines_kept() {
    let text =
        "let a = r#\"todo!\n\"#; /* x /* y */ z */ let b = 'c'; let d: &'static str = \"\\\"\"; // e\nf";
    let code = blank::code_only(text);
    assert_eq!(code.lines().count(), text.lines().count());
    let words: Vec<&str> = code.split_whitespace().collect();
    assert_eq!(words.join(" "), "let a = ; let b = ; let d: &'static str = ; f");
}

#[test]
fn stores_and_transports_have_the_same_files() {
    let store = |files: &[&str]| -> Vec<Source> {
        let paths = files.iter().map(|file| format!("crates/stores/postgres/src/{file}"));
        let readme = source("README.md", "cargo run, cargo xtask test");
        paths.map(|path| source(&path, "")).chain([readme]).collect()
    };
    let all = [
        "connect.rs",
        "execute/mod.rs",
        "shape.rs",
        "store.rs",
        "verify.rs",
        "migrate.rs",
        "error.rs",
        "wake.rs",
    ];
    assert_eq!(tree::check(&store(&all)), []);
    let found = tree::check(&store(&all[1..]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].what, "no src/connect.rs");
}

/// What the rules about prose find.
fn prose_violations(path: &str, text: &str) -> Vec<(usize, String)> {
    prose::check(&source(path, text)).into_iter().map(|violation| (violation.line, violation.what)).collect()
}

#[test]
fn archaic_words_are_found_in_comments_and_documents() {
    let word = concat!("to", "ld");
    let comment = format!("//! Claims.\n// The operator is {word}.\nlet {word} = 1;\n");
    assert_eq!(prose_violations("xtask/src/claim.rs", &comment), [(2, format!("`{word}`"))]);
    let page = format!("`{word}` is a name.\nNobody is {word}.\nA toldo is none.\n");
    assert_eq!(prose_violations("docs/a.md", &page), [(2, format!("`{word}`"))]);
    assert_eq!(prose_violations("crates/a/snapshots/a.sql", &page), []);
}

#[test]
fn archaic_words_are_found_in_printed_texts() {
    let word = concat!("to", "ld");
    let text = format!(
        "//! Claims.\nlog(\"the {word} row\");\nlog(\"a {{{word}}} row, `{word}` or \" , \"{word}\");\n\
         log(r#\"a\nrow {word}\"#);\n#[cfg(test)]\nmod tests {{\n    log(\"a {word} row\");\n}}\n"
    );
    let found = |path: &str| -> Vec<usize> {
        prose_violations(path, &text).into_iter().map(|(line, _)| line).collect()
    };
    assert_eq!(found("xtask/src/claim.rs"), [2, 5]);
    assert_eq!(found("xtask/tests/it/claim.rs"), Vec::<usize>::new());
}

#[test]
fn archaic_words_are_found_in_the_texts_of_scripts() {
    let word = concat!("to", "ld");
    let text = format!(
        "// Rows.\nshow('it\\'s {word} so');\nconst {word} = \"{word}\"; // {word}\n\
         show(`a ${{f(`{word} ${{\"}}\"}}`)}} row\nis {word}`);\nconst quote = /[\"/]{word} a'/;\n\
         const half = 1 / 2; show(\"one {word}\");\n"
    );
    let found: Vec<usize> =
        prose_violations("crates/a/src/console/js/rows.js", &text).into_iter().map(|found| found.0).collect();
    assert_eq!(found, [2, 4, 5, 7]);
    assert_eq!(prose_violations("crates/a/tests/looks.js", &text), []);
}

#[test]
fn archaic_words_are_found_in_other_languages() {
    let word = concat!("to", "ld");
    let text = format!("# The operator is {word}.\n{word} = 1\n");
    for path in
        ["a/Dockerfile", "a/compose.yaml", "a/alerts.yml", "a/style.css", "a/index.html", "a/b.service"]
    {
        assert_eq!(prose_violations(path, &text).len(), 2, "{path}");
    }
    assert_eq!(prose_violations("a/server.py", &text), [(1, format!("`{word}`"))]);
    assert_eq!(prose_violations("templates/a/body.html", &text), []);
    assert_eq!(prose_violations("a/tests/old.toml", &text), []);
}

#[test]
fn archaic_names_are_found() {
    assert_one("crates/a/src/a.rs", "//! A.\nfn what_is_told() {}\n", 2, "`told`");
    assert_one("crates/a/src/a.rs", "//! A.\nfn a() { let mut told = 1; }\n", 2, "`told`");
    assert_one("crates/a/src/a.rs", "//! A.\nstruct Told;\n", 2, "`told`");
    assert_eq!(
        file_violations("crates/a/src/a.rs", "//! A.\nfn recommend() { let toldo = \"told\"; }\n"),
        []
    );
}

#[test]
fn public_items_need_a_summary_that_stands_alone() {
    let path = "crates/a/src/claim.rs";
    let good = "/// Claims rows.\n#[must_use]\npub async fn claim() {}\n\n/// The limit.\npub const LIMIT: u32 = 1;\n";
    assert_eq!(prose_violations(path, good), []);
    assert_eq!(prose_violations("crates/a/tests/it.rs", "pub fn claim() {}\n"), []);
    assert_eq!(prose_violations(path, "pub fn claim() {}\n")[0].1, "`claim` has no summary");
    let question = "/// How many rows?\npub const fn rows() -> u32 {\n    1\n}\n";
    assert_eq!(prose_violations(path, question), [(2, "the summary of `rows` starts with How".to_owned())]);
    assert_eq!(prose_violations(path, "/// so many.\npub struct Rows;\n").len(), 1);
}

#[test]
fn methods_of_public_traits_need_a_summary() {
    let path = "crates/a/src/claim.rs";
    let text = "/// Claims.\npub trait Claim {\n    async fn claim(&self);\n    /// Returns the limit.\n    \
                fn limit(&self) -> u32 {\n        fn one() -> u32 {\n            1\n        }\n        one()\n    }\n}\n\n\
                trait Own {\n    fn own(&self);\n}\n\nimpl Claim for Row {\n    fn claim(&self) {}\n}\n";
    assert_eq!(prose_violations(path, text), [(3, "`claim` has no summary".to_owned())]);
    let one_line = "/// A mark.\npub trait Mark {}\n\nstruct Row;\n\nimpl Row {\n    fn row(&self) {}\n}\n";
    assert_eq!(prose_violations(path, one_line), []);
}

#[test]
fn the_readme_explains_how_to_start() {
    assert_eq!(tree::check(&[]).len(), 2);
    assert_eq!(tree::check(&[source("README.md", "cargo run")]).len(), 1);
}

#[test]
fn links_have_a_target() {
    let text = "[a](b.md#part) [c](../README.md) [d](https://example.org) `[e](nowhere)` [f](#here)\n[g](gone.md)\n\
                ```\n[h](nowhere)\n```\n[i](../../outside.md)\n";
    let exists = |path: &Path| path == Path::new("docs/b.md") || path == Path::new("README.md");
    let found = links::check(&[source("docs/a.md", text)], &exists);
    let lines: Vec<usize> = found.iter().map(|violation| violation.line).collect();
    assert_eq!(lines, [2, 6], "{found:?}");
}

fn member(name: &str, folder: &str, needs: &[&str]) -> Member {
    let needs = needs.iter().map(|&need| need.to_owned()).collect();
    Member { name: name.to_owned(), folder: folder.to_owned(), needs }
}

/// The violations when a crate of this kind gets this dependency in an otherwise valid workspace.
fn with_dependency(name: &str, dependency: &str) -> Vec<String> {
    let mut members = vec![
        member("config", "crates/config", &["toml"]),
        member("contract", "crates/contract", &["config", "serde"]),
        member("seams", "crates/seams", &["contract", "tokio"]),
        member("engine", "crates/engine", &["contract", "seams", "tokio"]),
        member("sql-builder", "crates/sql-builder", &[]),
        member("sql", "crates/stores/sql", &["contract", "sql-builder"]),
        member("postgres", "crates/stores/postgres", &["contract", "seams", "sql", "sqlx", "tokio"]),
        member("memory", "crates/stores/memory", &["contract", "seams"]),
        member("smtp", "crates/transports/smtp", &["seams", "tokio"]),
        member("file", "crates/transports/file", &["seams"]),
        member("server", "crates/server", &["seams", "axum"]),
        member("outbox", "crates/outbox", &["sql-builder", "sqlx"]),
        member("conformance", "crates/conformance", &["engine", "memory"]),
        member("postrider", "crates/postrider", &["engine", "postgres", "memory", "smtp", "file", "server"]),
    ];
    let changed = members.iter_mut().find(|member| member.name == name).expect("it is listed");
    changed.needs.insert(dependency.to_owned());
    graph::check(&members).into_iter().map(|violation| violation.what).collect()
}

#[test]
fn the_designed_graph_has_no_violation() {
    assert_eq!(with_dependency("postrider", "contract"), Vec::<String>::new());
    assert_eq!(with_dependency("conformance", "postgres"), Vec::<String>::new());
}

#[test]
fn crates_depend_only_on_what_the_architecture_allows() {
    for (name, dependency) in [
        ("engine", "memory"),
        ("engine", "smtp"),
        ("engine", "sqlx"),
        ("engine", "axum"),
        ("config", "contract"),
        ("config", "tokio"),
        ("contract", "tokio"),
        ("contract", "seams"),
        ("sql", "sqlx"),
        ("postgres", "memory"),
        ("postgres", "engine"),
        ("smtp", "contract"),
        ("smtp", "engine"),
        ("smtp", "file"),
        ("server", "postgres"),
        ("outbox", "config"),
        ("outbox", "contract"),
        ("outbox", "sql"),
        ("outbox", "tokio"),
        ("sql-builder", "config"),
        ("sql-builder", "serde"),
        ("engine", "sql-builder"),
        ("file", "postrider"),
    ] {
        assert_eq!(with_dependency(name, dependency), [format!("{name} must not depend on {dependency}")]);
    }
}

#[test]
fn the_engine_does_not_depend_on_a_store_indirectly() {
    let found = with_dependency("seams", "memory");
    assert!(found.contains(&"engine must not depend on memory".to_owned()), "{found:?}");
}

#[test]
fn licences_are_read_as_expressions() {
    let allowed = ["MIT".to_owned(), "Zlib".to_owned(), "Apache-2.0 WITH LLVM-exception".to_owned()];
    for fine in [
        "MIT",
        "GPL-3.0 OR MIT",
        "GPL-3.0/MIT",
        "(GPL-3.0 OR MIT) AND Zlib",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(licences::is_allowed(fine, &allowed), "{fine}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "(MIT", "MIT MIT"] {
        assert!(!licences::is_allowed(bad, &allowed), "{bad}");
    }
}

#[test]
fn dependencies_are_checked_against_deny_toml() {
    let text = "[licenses]\nallow = [\n    \"MIT\", # \"GPL\"\n]\n[bans]\ndeny = [\n    \"cmake\",\n]\n";
    let policy = Policy::parse(text);
    assert_eq!(
        (policy.allowed.as_slice(), policy.banned.as_slice()),
        (&["MIT".to_owned()][..], &["cmake".to_owned()][..])
    );
    let package = |name: &str, licence: &str| json!({ "name": name, "license": licence });
    let metadata =
        json!({ "packages": [package("a", "MIT"), package("cmake", "MIT"), package("b", "GPL-3.0")] });
    let found: Vec<String> =
        licences::check_packages(&policy, &metadata).into_iter().map(|b| b.what).collect();
    assert_eq!(found, ["cmake is banned", "the licence of b is `GPL-3.0`"]);
}

#[test]
fn files_and_tests_of_the_list_of_failures_exist() {
    let test =
        |path: &str, name: &str| source(path, &format!("#[test]\nfn {name}() {{}}\n\nfn not_run() {{}}\n"));
    let found = |last: &str| -> Vec<String> {
        let page = format!("| what | limit | test |\n|---|---|---|\n| a | `engine/src/room.rs` | {last} |\n");
        let sources = [
            source("docs/failures.md", &page),
            test("crates/engine/src/room.rs", "room_is_found"),
            test("crates/engine/tests/it/leases.rs", "j_a_lease_is_checked"),
            test("crates/stores/mysql/tests/it/network.rs", "a_reset"),
            test("crates/transports/smtp/tests/it/late.rs", "j_late"),
        ];
        failures::check(&sources).into_iter().map(|violation| violation.what).collect()
    };
    for valid in [
        "engine `leases.rs` `j_…`; each transport's `j_…`",
        "mysql `network.rs`; engine `src/room.rs` `room_is_found`",
        "engine `…_lease_…`; crash tests `mail`",
    ] {
        assert_eq!(found(valid), Vec::<String>::new(), "{valid}");
    }
    for (invalid, name) in [
        ("engine `nets.rs`", "nets.rs"),
        ("mysql and engine `network.rs`", "network.rs"),
        ("engine `a_reset`", "a_reset"),
        ("engine `not_run`", "not_run"),
        ("mysql `j_…`", "j_…"),
    ] {
        assert_eq!(found(invalid), [format!("there is no `{name}`")], "{invalid}");
    }
    let page = "| what | limit | test |\n| a | `nets::reclaim`, `Envelope::may_begin`, `engine/src/a.rs` | the simulator |\n";
    let found = failures::check(&[source("docs/failures.md", page)]);
    let found: Vec<&str> = found.iter().map(|violation| violation.what.as_str()).collect();
    assert_eq!(found, ["there is no `nets::reclaim`", "there is no `engine/src/a.rs`"]);
}
