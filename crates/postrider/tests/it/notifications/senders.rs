//! Notifications over several senders: one attempt of the row, one key, and the name of the sender that accepted it.

use super::{PAYLOAD, insert_notification, settings, wait_until_settled};
use crate::sandbox::Sandbox;
use crate::senders::provider;
use crate::support::sql::Sql;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n09_another_sender_replaces_a_failing_provider_and_the_row_has_one_attempt() {
    let (endpoint, keys) = provider("503 Later");
    let sandbox = Sandbox::new(None);
    let both = format!(
        "[transports.resend]\nurl = \"resend://\"\nkey = \"hush\"\nendpoint = \"{endpoint}\"\n\
         [transports.both]\nurl = \"reliable:\"\nsenders = [\"resend\", \"mails\"]\nwaits = [\"0s\", \"10ms\"]\n[mail]"
    );
    let text = settings("sqlite:app.db").replace("[mail]", &both) + "transport = \"both\"\n";
    std::fs::write(sandbox.path("postrider.toml"), text).expect("the settings can be written");
    sandbox.run(&["migrate"]).success();
    let sql = Sql::sqlite(&sandbox.path("app.db"));
    insert_notification(&sql, 1, "ann@example.net", PAYLOAD, "").await;
    let running = sandbox.start();
    wait_until_settled(&sql).await;
    let query = "SELECT fanout_status, CAST(fanout_attempts AS TEXT), json_extract(error, '$.provider') \
                 FROM open_event_notifications";
    let row: Vec<String> =
        sql.rows(query).await.expect("it can be read").remove(0).into_iter().flatten().collect();
    assert_eq!(row, ["sent", "1", "mails"]);
    let keys = keys.lock().expect("nobody panics with it").clone();
    assert!(keys.len() == 2 && keys[0] == keys[1], "two tries with the same key: {keys:?}");
    drop(running);
}
