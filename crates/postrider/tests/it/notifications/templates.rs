//! Custom templates, changed while the lane runs.

use super::{PAYLOAD, insert_notification, settings, wait_until_settled};
use crate::sandbox::Sandbox;
use crate::support::sql::Sql;
use crate::support::wait::{TIMEOUT, wait_until};

/// The text of every mail so far.
fn mails(sandbox: &Sandbox) -> Vec<String> {
    let Ok(folder) = std::fs::read_dir(sandbox.path("mails")) else { return Vec::new() };
    let files = folder.flatten().map(|entry| entry.path());
    files.filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n10_a_changed_template_is_loaded_and_a_broken_one_is_not() {
    let sandbox = Sandbox::new(None);
    let text = settings("sqlite:app.db").replace("[mail]", "[mail]\ntemplates = \"templates\"");
    std::fs::write(sandbox.path("postrider.toml"), text).expect("the settings can be written");
    let template = sandbox.path("templates/open-seat/v1/en-US");
    std::fs::create_dir_all(&template).expect("the folder can be made");
    let write =
        |file: &str, text: &str| std::fs::write(template.join(file), text).expect("it can be written");
    write("subject.txt", "First of {{ courseTitle }}");
    write("body.html", "<h1>{{ courseTitle }}</h1><p>Go <a href=\"{{ manageUrl }}\">there</a>.</p>");
    sandbox.run(&["template", "check"]).success();
    sandbox.run(&["migrate"]).success();
    let sql = Sql::sqlite(&sandbox.path("app.db"));
    let running = sandbox.start();
    insert_notification(&sql, 1, "ann@example.net", PAYLOAD, "").await;
    let first = wait_until("the first mail", TIMEOUT, || async {
        mails(&sandbox).into_iter().find(|mail| mail.contains("Subject: First of Algorithms"))
    })
    .await;
    assert!(
        first.contains("text/plain") && first.contains("there (https://"),
        "text is made from the HTML:\n{first}"
    );

    // Rows are delivered while the folder changes: any of the next mails may be the first with the change.
    let mut next = 2;
    write("subject.txt", "{{ broken");
    wait_until("the broken template is reported", TIMEOUT, || {
        next += 1;
        let (sql, running, id) = (&sql, &running, next);
        async move {
            insert_notification(sql, id, &format!("p{id}@example.net"), PAYLOAD, "").await;
            running.log().contains("subject.txt").then_some(())
        }
    })
    .await;
    let output = sandbox.run(&["template", "check"]).code(2);
    assert!(output.stderr.contains("subject.txt"), "{}", output.stderr);
    wait_until_settled(&sql).await;
    let sent = mails(&sandbox);
    assert!(
        sent.iter().all(|mail| mail.contains("Subject: First of Algorithms")),
        "the former one stays in use"
    );

    write("subject.txt", "Second of {{ courseTitle }}");
    wait_until("a mail of the changed template", TIMEOUT, || {
        next += 1;
        let (sql, sandbox, id) = (&sql, &sandbox, next);
        async move {
            insert_notification(sql, id, &format!("p{id}@example.net"), PAYLOAD, "").await;
            mails(sandbox).iter().any(|mail| mail.contains("Subject: Second of Algorithms")).then_some(())
        }
    })
    .await;
    drop(running);
}
