//! Custom templates, changed while the lane runs.

use super::{PAYLOAD, at_rest, seat, settings};
use crate::rig::sql::Sql;
use crate::rig::wait::{PATIENCE, until};
use crate::shop::Shop;

/// The text of every mail so far.
fn mails(shop: &Shop) -> Vec<String> {
    let Ok(folder) = std::fs::read_dir(shop.path("mails")) else { return Vec::new() };
    let files = folder.flatten().map(|entry| entry.path());
    files.filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n10_a_changed_template_is_taken_up_and_a_broken_one_is_not() {
    let shop = Shop::new(None);
    let text = settings("sqlite:app.db").replace("[mail]", "[mail]\ntemplates = \"templates\"");
    std::fs::write(shop.path("postrider.toml"), text).expect("the settings can be written");
    let template = shop.path("templates/open-seat/v1/en-US");
    std::fs::create_dir_all(&template).expect("the folder can be made");
    let write =
        |file: &str, text: &str| std::fs::write(template.join(file), text).expect("it can be written");
    write("subject.txt", "First of {{ courseTitle }}");
    write("body.html", "<h1>{{ courseTitle }}</h1><p>Go <a href=\"{{ manageUrl }}\">there</a>.</p>");
    shop.run(&["template", "check"]).fine();
    shop.run(&["migrate"]).fine();
    let sql = Sql::sqlite(&shop.path("app.db"));
    let running = shop.start();
    seat(&sql, 1, "ann@example.net", PAYLOAD, "").await;
    let first = until("the first mail", PATIENCE, || async {
        mails(&shop).into_iter().find(|mail| mail.contains("Subject: First of Algorithms"))
    })
    .await;
    assert!(
        first.contains("text/plain") && first.contains("there (https://"),
        "text is made from the HTML:\n{first}"
    );

    // Rows are delivered while the folder changes: any of the next mails may be the first with the change.
    let mut next = 2;
    write("subject.txt", "{{ broken");
    until("the broken one is told", PATIENCE, || {
        next += 1;
        let (sql, running, id) = (&sql, &running, next);
        async move {
            seat(sql, id, &format!("p{id}@example.net"), PAYLOAD, "").await;
            running.log().contains("subject.txt").then_some(())
        }
    })
    .await;
    let said = shop.run(&["template", "check"]).code(2);
    assert!(said.err.contains("subject.txt"), "{}", said.err);
    at_rest(&sql).await;
    let sent = mails(&shop);
    assert!(
        sent.iter().all(|mail| mail.contains("Subject: First of Algorithms")),
        "the former one stays in use"
    );

    write("subject.txt", "Second of {{ courseTitle }}");
    until("a mail of the changed template", PATIENCE, || {
        next += 1;
        let (sql, shop, id) = (&sql, &shop, next);
        async move {
            seat(sql, id, &format!("p{id}@example.net"), PAYLOAD, "").await;
            mails(shop).iter().any(|mail| mail.contains("Subject: Second of Algorithms")).then_some(())
        }
    })
    .await;
    drop(running);
}
