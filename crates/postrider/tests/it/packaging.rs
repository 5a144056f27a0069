//! The files shipped with the binary, checked by the programs that will read them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use postrider_services::Tool;

use crate::sandbox::{RunningBinary, SQLITE, Sandbox, eventually};

fn shipped(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(file)
}

fn read(file: &str) -> String {
    std::fs::read_to_string(shipped(file)).expect(file)
}

#[track_caller]
fn assert_success(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().expect("it can be run");
    let output = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{output}");
    output
}

/// A chroot of the image's files shows that the image is complete, without a container engine.
#[test]
fn the_files_of_the_image_suffice_for_the_program() {
    let dockerfile = read("Dockerfile");
    assert!(dockerfile.contains("RUN packaging/rootfs target/dist/postrider /rootfs\n"), "{dockerfile}");
    let image = dockerfile.split_once("FROM scratch\n").expect("the image starts from nothing").1;
    let copied: Vec<&str> =
        image.lines().filter(|line| line.starts_with("COPY") || line.starts_with("ADD")).collect();
    assert_eq!(
        copied,
        ["COPY --from=build /rootfs /"],
        "the image has what the script put together, nothing else"
    );

    let sandbox = Sandbox::new(None);
    let root = sandbox.path("root");
    assert_success(Command::new(shipped("rootfs")).arg(env!("CARGO_BIN_EXE_postrider")).arg(&root));
    let state = root.join("var/lib/postrider");
    std::fs::write(state.join("postrider.toml"), SQLITE).unwrap();
    let inside = |arguments: &[&str]| {
        let mut command = Command::new("/usr/sbin/chroot");
        command.env_clear().arg("--userspec=65532:65532").arg(&root).arg("/bin/postrider").args(arguments);
        command.env("POSTRIDER_CONFIG", "/var/lib/postrider/postrider.toml");
        command
    };
    assert_success(&mut inside(&["migrate"]));
    assert_success(&mut inside(&[
        "send",
        "mail",
        "--to",
        "you@example.com",
        "--subject",
        "Hello",
        "--text",
        "It works.",
    ]));
    let mut command = inside(&["run", "--listen", "127.0.0.1:0"]);
    let _running = RunningBinary::spawn(&mut command, sandbox.path("run.log"));
    eventually("the mail is in the outbox of the root", || {
        let mut mails = std::fs::read_dir(state.join("outbox")).ok()?;
        mails
            .any(|mail| mail.is_ok_and(|mail| mail.path().extension().is_some_and(|end| end == "eml")))
            .then_some(())
    });
}

#[test]
fn the_settings_of_the_compose_file_are_valid() {
    let compose = read("compose.yaml");
    let (_, content) = compose.split_once("content: |\n").expect("the settings are in the file");
    let lines = content.lines().take_while(|line| line.is_empty() || line.starts_with("      "));
    let settings: Vec<&str> = lines.map(|line| line.strip_prefix("      ").unwrap_or_default()).collect();
    let nowhere =
        |text: String| text.replace("@postgres/", "@127.0.0.1:1/").replace("mailpit:1025", "127.0.0.1:1");
    let sandbox = Sandbox::new(Some(&nowhere(settings.join("\n"))));
    let output = sandbox.run_with(&["check", "--json"], &[("SHOP_DB_PASSWORD", "secret")]).code(1);
    assert!(
        output.stdout.contains("could not connect"),
        "read, and only the servers are missing: {}{}",
        output.stdout,
        output.stderr
    );
}

#[test]
fn systemd_accepts_the_unit_and_rates_its_exposure_as_low() {
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("postrider.service");
    let installed = read("postrider.service").replace("/usr/bin/postrider", env!("CARGO_BIN_EXE_postrider"));
    std::fs::write(&unit, installed).unwrap();
    let analyze = || Tool::SystemdAnalyze.command().unwrap();
    let output = assert_success(analyze().args(["verify", "--man=no"]).arg(&unit));
    assert_eq!(output, "", "no warning either");
    assert_success(analyze().args(["security", "--offline=true", "--no-pager", "--threshold=15"]).arg(&unit));
}

#[test]
fn prometheus_accepts_the_alerts_and_they_fire_as_documented() {
    let promtool = || Tool::Promtool.command().unwrap();
    assert_success(promtool().args(["check", "rules"]).arg(shipped("prometheus/alerts.yml")));
    assert_success(promtool().args(["test", "rules"]).arg(shipped("prometheus/alerts.test.yml")));
}

/// Panels and alerts about metrics that do not exist would stay empty unnoticed.
#[test]
fn alerts_and_dashboard_use_only_documented_metrics() {
    let reference = include_str!("../../../../docs/reference/metrics.md");
    let dashboard = read("grafana/postrider.json");
    let parsed: serde_json::Value = serde_json::from_str(&dashboard).expect("the dashboard is JSON");
    assert!(parsed["panels"].as_array().is_some_and(|panels| panels.len() > 5), "{parsed}");
    let asked: BTreeSet<String> = names(&dashboard).chain(names(&read("prometheus/alerts.yml"))).collect();
    assert!(asked.len() > 8, "{asked:?}");
    for name in asked {
        let name = name.strip_suffix("_bucket").unwrap_or(&name);
        assert!(reference.contains(&format!("| `{name}` |")), "{name} is not in docs/reference/metrics.md");
    }
}

fn names(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|character: char| !character.is_ascii_lowercase() && character != '_');
    words.filter(|word| word.starts_with("postrider_")).map(str::to_owned)
}
