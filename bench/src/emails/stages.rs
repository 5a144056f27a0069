//! Measures mails/s on MariaDB: payload file to .eml, .eml to an SMTP sink, and the callback, each alone and together.

use std::path::Path;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, Row};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use crate::binary::{migrate, start, stop};
use crate::lane::rate;
use crate::report::{Figure, Report, median};
use crate::servers::variable;

/// Lane, stage, and the state after the stage.
const STAGES: [(&str, &str, &str); 3] = [
    ("intake", "intake", "READY"),
    ("send", "send", "SENT"),
    ("callback", "sent_callback", "SENT-ACKNOWLEDGED"),
];

/// Measures each stage, then all of them together.
pub async fn run(report: Report, rounds: usize, rows: u64) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = database().await;
    let mut sql = MySqlConnection::connect(&url).await.expect("connected");
    let callbacks = receiver().await;
    let config = |stages: &[(&str, &str, &str)]| {
        let file = folder.path().join(format!("{}.toml", stages.len() * 10 + stages[0].0.len()));
        std::fs::write(&file, settings(&url, &callbacks, stages)).expect("written");
        file
    };
    let whole = config(&STAGES);
    migrate(&whole).await;
    let base = folder.path().join("mnt");
    payloads(&base, rows);
    let (mut each, mut all) = (vec![Vec::new(); STAGES.len()], Vec::new());
    for round in 1..=rounds {
        Report::progress(&format!("round {round} of {rounds}, {rows} mails each"));
        accept(&mut sql, &base, rows).await;
        for (stage, rates) in STAGES.iter().zip(&mut each) {
            rates.push(measure_drain(&config(std::slice::from_ref(stage)), &mut sql, stage.2, rows).await);
        }
        accept(&mut sql, &base, rows).await;
        all.push(measure_drain(&whole, &mut sql, STAGES[2].2, rows).await);
    }
    for ((_, stage, _), rates) in STAGES.iter().zip(&mut each) {
        report.print(&Figure::new("emails", format!("mariadb, {stage}"), median(rates), "mails/s"));
    }
    report.print(&Figure::new("emails", "mariadb, all stages at once", median(&mut all), "mails/s"));
}

async fn database() -> String {
    let server = variable("POSTRIDER_TEST_MYSQL");
    let mut admin = MySqlConnection::connect(&server).await.expect("MariaDB answers");
    admin.execute("DROP DATABASE IF EXISTS bench_emails").await.expect("dropped");
    admin.execute("CREATE DATABASE bench_emails").await.expect("created");
    let end = server.rfind('/').expect("a URL has a path");
    format!("{}/bench_emails", &server[..end])
}

fn settings(url: &str, callbacks: &str, stages: &[(&str, &str, &str)]) -> String {
    let sink = variable("POSTRIDER_TEST_SMTP_SINK");
    let lane = |(name, stage, _): &(&str, &str, &str)| {
        let transport = match *stage {
            "intake" => "",
            "send" => "transport = \"sink\"\n",
            _ => "transport = \"hooks\"\n",
        };
        format!(
            "[lanes.{name}]\ncontract = \"emails\"\nstage = \"{stage}\"\nstore = \"main\"\n{transport}batch = 200\npoll = \"200ms\"\n\
             [lanes.{name}.emails]\nbase = \"mnt\"\ncallback_url = \"{callbacks}\"\n\
             callback_secret = \"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3\"\n"
        )
    };
    let lanes: String = stages.iter().map(lane).collect();
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[stores.main]\nurl = \"{url}\"\n\
         [transports.sink]\nurl = \"smtp://{sink}?tls=none\"\n\
         [transports.hooks]\nurl = \"webhook://?allow=127.0.0.0/8&plain_http=allowed\"\n{lanes}"
    )
}

/// Writes payloads of mails of 4 KB, the size of an order confirmation.
fn payloads(base: &Path, rows: u64) {
    let folder = base.join("payloads");
    std::fs::create_dir_all(&folder).expect("a folder");
    let text = "A line of an ordinary length in an ordinary mail.\n".repeat(80);
    for number in 1..=rows {
        let payload = serde_json::json!({
            "from": "shop@example.org", "to": [format!("to{number}@example.net")],
            "subject": "Your order", "body_text": text,
        });
        std::fs::write(folder.join(format!("{number}.json")), payload.to_string()).expect("written");
    }
}

async fn accept(sql: &mut MySqlConnection, base: &Path, rows: u64) {
    let insert = format!(
        "INSERT INTO emails (id, status, payload_file_path, updated_at) SELECT seq, 'ACCEPTED', \
         CONCAT('{}/payloads/', seq, '.json'), UTC_TIMESTAMP() - INTERVAL 1 SECOND FROM seq_1_to_{rows}",
        base.display()
    );
    for statement in ["DELETE FROM email_statuses", "DELETE FROM emails", &insert, "ANALYZE TABLE emails"] {
        sql.execute(AssertSqlSafe(statement)).await.expect("filled");
    }
}

/// Mails/s from the start of the binary until all mails are in that state.
async fn measure_drain(config: &Path, sql: &mut MySqlConnection, state: &str, rows: u64) -> f64 {
    let started = Instant::now();
    let mut product = start(config);
    let count = format!("SELECT COUNT(*) FROM emails WHERE status = '{state}'");
    loop {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let row = sqlx::query(AssertSqlSafe(count.as_str())).fetch_one(&mut *sql).await.expect("counted");
        if u64::try_from(row.get::<i64, _>(0)).is_ok_and(|there| there >= rows) {
            break;
        }
        assert!(product.try_wait().expect("asked").is_none(), "postrider ended early");
    }
    let rate = rate(rows, started.elapsed());
    stop(&mut product).await;
    rate
}

/// Starts a receiver that accepts every callback at once.
async fn receiver() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let url = format!("http://{}/mails", listener.local_addr().expect("it is bound"));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    url
}

/// Answers requests, which arrive complete and one at a time: each ends with the end of its JSON.
async fn answer(mut stream: TcpStream) {
    let (mut buffer, mut held) = (vec![0; 16 * 1024], 0);
    loop {
        match stream.read(&mut buffer[held..]).await {
            Ok(0) | Err(_) => return,
            Ok(read) => held += read,
        }
        if buffer[..held].ends_with(b"}") {
            held = 0;
            let answer_text = b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n";
            if stream.write_all(answer_text).await.is_err() {
                return;
            }
        }
    }
}
