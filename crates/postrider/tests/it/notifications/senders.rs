//! Notifications over several senders: one attempt of the row, one key, and the name of the sender that accepted it.

use super::{PAYLOAD, at_rest, seat, settings};
use crate::rig::sql::Sql;
use crate::senders::provider;
use crate::shop::Shop;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n09_a_provider_that_is_ill_is_stood_in_for_and_the_row_has_one_attempt() {
    let (endpoint, keys) = provider("503 Later");
    let shop = Shop::new(None);
    let both = format!(
        "[transports.resend]\nurl = \"resend://\"\nkey = \"hush\"\nendpoint = \"{endpoint}\"\n\
         [transports.both]\nurl = \"reliable:\"\nsenders = [\"resend\", \"mails\"]\nwaits = [\"0s\", \"10ms\"]\n[mail]"
    );
    let text = settings("sqlite:app.db").replace("[mail]", &both) + "transport = \"both\"\n";
    std::fs::write(shop.path("postrider.toml"), text).expect("the settings can be written");
    shop.run(&["migrate"]).fine();
    let sql = Sql::sqlite(&shop.path("app.db"));
    seat(&sql, 1, "ann@example.net", PAYLOAD, "").await;
    let running = shop.start();
    at_rest(&sql).await;
    let query = "SELECT fanout_status, CAST(fanout_attempts AS TEXT), json_extract(error, '$.provider') \
                 FROM open_event_notifications";
    let row: Vec<String> =
        sql.rows(query).await.expect("it can be read").remove(0).into_iter().flatten().collect();
    assert_eq!(row, ["sent", "1", "mails"]);
    let keys = keys.lock().expect("nobody panics with it").clone();
    assert!(keys.len() == 2 && keys[0] == keys[1], "two tries with the same key: {keys:?}");
    drop(running);
}
