//! `postrider demo` runs to its end and finds nothing lost.

use std::time::{Duration, Instant};

use crate::sandbox::Sandbox;

#[test]
fn the_demo_ends_with_every_check_passed() {
    let sandbox = Sandbox::new(None);
    let start = Instant::now();
    let output = sandbox.run(&["demo", "--rows", "200"]).success();
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert!(output.stdout.contains("killed with SIGKILL"), "{}", output.stdout);
    assert!(output.stdout.contains("   200  orders"), "{}", output.stdout);
    assert!(output.stdout.contains("no such mailbox"), "failed rows have their reasons: {}", output.stdout);
    assert_eq!(output.stdout.matches("\n  ok  ").count(), 7, "{}", output.stdout);
    assert!(output.stdout.contains("    40  webhooks delivered"), "{}", output.stdout);
    assert!(!output.stdout.contains("BROKEN"), "{}", output.stdout);
    assert_eq!(std::fs::read_dir(sandbox.path("")).unwrap().count(), 0, "nothing is left behind");
}
