//! The database goes away while somebody looks.

use std::sync::{Arc, Mutex};

use serde_json::json;

use super::{folder, look};
use crate::rig::database::{self, Kind, Server};
use crate::rig::hooks::{Receiver, Reply};
use crate::shop::{Shop, eventually};

const ALONE: &str = r#"
[stores.main]
url = "URL"
[transports.out]
url = "file:outbox"
[mail]
from = "shop@example.com"
[lanes.mail]
contract = "mail_outbox"
[server]
api = "main"
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_database_is_told_within_ten_seconds_and_so_is_its_return() {
    let server = Server::start(Kind::Postgres);
    let shop = Shop::new(None);
    let (url, sql) = database::on_server(Kind::Postgres, &server.url(), "console", "").await;
    sql.close().await;
    std::fs::write(shop.path("postrider.toml"), ALONE.replace("URL", &url)).expect("settings can be written");
    shop.run(&["migrate"]).fine();
    let admin = shop.run(&["key", "create", "first", "--role", "admin"]).fine().out.trim().to_owned();
    let running = shop.start();
    eventually("it is ready", || (running.get("/readyz").0 == 200).then_some(()));
    let server = Arc::new(Mutex::new(server));
    let control = Receiver::start(move |order, _| {
        let mut server = server.lock().expect("no panic holds it");
        match order.path.as_str() {
            "/stop" => server.stop(),
            _ => server.start_again(),
        }
        Reply::status(204)
    })
    .await;
    let base = format!("http://{}", running.address());
    let control = control.url("").trim_end_matches('/').to_owned();
    let input = json!({ "base": base, "admin": admin, "control": control, "folder": folder() });
    let told = look("outage", &input);
    eprintln!("noticed after {} ms, recovered after {} ms", told["noticed"], told["recovered"]);
    assert_eq!(told["wrong"], json!([]), "{}", running.log());
    assert!(told["noticed"].as_u64().expect("a time") < 10_000, "{told}");
    assert_eq!(told["badge"], "store away");
}
