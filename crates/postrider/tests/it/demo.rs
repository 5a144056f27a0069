use std::time::{Duration, Instant};

use crate::shop::Shop;

#[test]
fn the_demo_ends_by_itself_with_every_law_held() {
    let shop = Shop::new(None);
    let start = Instant::now();
    let said = shop.run(&["demo", "--rows", "200"]).fine();
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert!(said.out.contains("killed with SIGKILL"), "{}", said.out);
    assert!(said.out.contains("   200  orders"), "{}", said.out);
    assert!(said.out.contains("no such mailbox"), "failed rows have their reasons: {}", said.out);
    assert_eq!(said.out.matches("\n  ok  ").count(), 7, "{}", said.out);
    assert!(said.out.contains("    40  webhooks delivered"), "{}", said.out);
    assert!(!said.out.contains("BROKEN"), "{}", said.out);
    assert_eq!(std::fs::read_dir(shop.path("")).unwrap().count(), 0, "nothing is left behind");
}
