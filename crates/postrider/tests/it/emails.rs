//! The e-mail pipeline, from the payload file to the acknowledged callback.

mod api;
mod files;
pub mod on_dynamodb;
mod pipeline;
mod specification_tables;
mod unknown_states;

use crate::support::sql::Sql;
use crate::support::wait::{TIMEOUT, wait_until};

fn settings(url: &str, base: &str, callback: &str) -> String {
    let lane = |name: &str, stage: &str, more: &str| {
        format!(
            "[lanes.{name}]\ncontract = \"emails\"\nstage = \"{stage}\"\nstore = \"mail\"\npoll = \"100ms\"\n\
             retry.base = \"100ms\"\nretry.jitter = 0\n{more}\n"
        )
    };
    let files = format!("[lanes.NAME.emails]\nbase = \"{base}\"");
    let calls = format!(
        "transport = \"hooks\"\n[lanes.NAME.emails]\ncallback_url = \"{callback}\"\n\
         callback_secret = \"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3\""
    );
    [
        "[server]\nlisten = \"127.0.0.1:0\"\n".to_owned(),
        format!("[stores.mail]\nurl = \"{url}\"\n[transports.folder]\nurl = \"file:outbox\"\n"),
        "[transports.hooks]\nurl = \"webhook://?allow=127.0.0.0/8&plain_http=allowed\"\n".to_owned(),
        lane("intake", "intake", &files.replace("NAME", "intake")),
        lane("send", "send", &format!("transport = \"folder\"\n{}", files.replace("NAME", "send"))),
        lane("sent", "sent_callback", &calls.replace("NAME", "sent")),
        lane("failed", "failed_callback", &calls.replace("NAME", "failed")),
    ]
    .concat()
}

async fn state(sql: &Sql, id: &str) -> (String, String) {
    let query = format!(
        "SELECT {}, {} FROM emails WHERE id = '{id}'",
        sql.text("status"),
        sql.text("coalesce(reason, '')")
    );
    let row = sql.rows(&query).await.unwrap().remove(0);
    (row[0].clone().unwrap(), row[1].clone().unwrap_or_default())
}

async fn wait_for_state(sql: &Sql, id: &str, wanted: &str) -> String {
    wait_until(&format!("{id} is {wanted}"), TIMEOUT, || async move {
        let (status, reason) = state(sql, id).await;
        (status == wanted).then_some(reason)
    })
    .await
}

async fn history(sql: &Sql, id: &str) -> Vec<String> {
    let query =
        format!("SELECT {} FROM email_statuses WHERE email_id = '{id}' ORDER BY id", sql.text("status"));
    sql.rows(&query).await.unwrap().into_iter().map(|mut row| row.remove(0).unwrap()).collect()
}
