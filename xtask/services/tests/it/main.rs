//! Tests of the servers: they answer, keep what they promise to keep, and leave nothing behind.

mod proxy;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use postrider_services::{
    Browser, Durability, MariaDb, Ministack, Nats, Postgres, RabbitMq, SmtpOptions, SmtpServer, SmtpSink,
    Tansu, Tls,
};

fn psql(server: &Postgres, sql: &str) -> String {
    let output = Command::new("psql").args([&server.url(), "-XAtc", sql]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn mariadb(server: &MariaDb, sql: &str) -> String {
    let port = format!("-P{}", server.port());
    let output = Command::new("mariadb")
        .args(["--no-defaults", "-h127.0.0.1", "-uroot", &port, "-BNe", sql])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn postgres_keeps_commits_over_kills_and_restarts() {
    let mut server = Postgres::start(Durability::ProcessCrash).unwrap();
    psql(&server, "create table kept (n int)");
    // A session that is busy during the shutdown.
    let mut busy = Command::new("psql").args([&server.url(), "-c", "select pg_sleep(60)"]).spawn().unwrap();
    for n in 1..=3 {
        psql(&server, &format!("insert into kept values ({n})"));
        server.kill();
        assert!(!server.is_running());
        server.restart().unwrap();
    }
    server.stop();
    server.restart().unwrap();
    assert_eq!(psql(&server, "select count(*) from kept"), "3");
    assert_eq!(psql(&server, "show timezone"), "Asia/Kathmandu");
    busy.wait().unwrap();
}

#[test]
fn mariadb_keeps_commits_over_kills_and_restarts() {
    let mut server = MariaDb::start(Durability::ProcessCrash).unwrap();
    mariadb(&server, "create database d; create table d.kept (n int)");
    for n in 1..=2 {
        mariadb(&server, &format!("insert into d.kept values ({n})"));
        server.kill();
        server.restart().unwrap();
    }
    server.stop();
    server.restart().unwrap();
    assert_eq!(mariadb(&server, "select count(*) from d.kept"), "2");
}

/// A plain SMTP client: sends each line, returns the codes of the replies.
fn send_lines(address: SocketAddr, lines: &[&str]) -> Vec<String> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let mut codes = vec![reply_code(&mut answers)];
    for line in lines {
        stream.write_all(format!("{line}\r\n").as_bytes()).unwrap();
        codes.push(reply_code(&mut answers));
    }
    codes
}

fn reply_code(answers: &mut impl BufRead) -> String {
    loop {
        let mut line = String::new();
        if answers.read_line(&mut line).unwrap_or(0) == 0 {
            return "closed".into();
        }
        if line.as_bytes().get(3) != Some(&b'-') {
            return line[..3].to_owned();
        }
    }
}

fn mail<'a>(to: &'a str, body: &'a str) -> Vec<&'a str> {
    vec!["EHLO me", "MAIL FROM:<from@example.org>", to, "DATA", body]
}

#[test]
fn the_sink_accepts_mail() {
    let sink = SmtpSink::start().unwrap();
    let codes = send_lines(sink.address(), &mail("RCPT TO:<to@example.org>", "hello\r\n."));
    assert_eq!(codes, ["220", "250", "250", "250", "354", "250"]);
}

#[test]
fn the_smtp_server_journals_what_it_accepts_and_nothing_else() {
    let mut server = SmtpServer::start(&SmtpOptions::default()).unwrap();
    let text = "Message-ID: <one@example.org>\r\n\r\nhello\r\n.";
    let send = |server: &SmtpServer, to: &str| {
        let recipient = format!("RCPT TO:<{to}@example.org>");
        send_lines(server.address(), &mail(&recipient, text)).last().unwrap().clone()
    };
    assert_eq!(send(&server, "plain"), "250");
    assert_eq!(send(&server, "data-554-a"), "554");
    assert_eq!(send(&server, "lost-a"), "closed");
    assert_eq!(send(&server, "hangup-a"), "closed");
    let refused = send_lines(server.address(), &mail("RCPT TO:<rcpt-550-a@example.org>", text)[..3]);
    assert_eq!(refused.last().unwrap(), "550");
    server.kill();
    server.restart().unwrap();
    assert_eq!(send(&server, "after"), "250");
    let journal = std::fs::read_to_string(server.journal()).unwrap();
    let of = |to: &str| {
        let recipient = format!("\"{to}@example.org\"");
        journal.lines().filter(|line| line.contains(&recipient) && line.contains("<one@example.org>")).count()
    };
    assert_eq!(
        (of("plain"), of("hangup-a"), of("after"), journal.lines().count()),
        (1, 1, 1, 3),
        "{journal}"
    );
}

#[test]
fn greylisting_puts_off_and_then_accepts() {
    let greylist = Some(Duration::from_millis(300));
    let server = SmtpServer::start(&SmtpOptions { greylist, ..SmtpOptions::default() }).unwrap();
    let first_try = |()| send_lines(server.address(), &mail("RCPT TO:<a@example.org>", "")[..3])[3].clone();
    assert_eq!(first_try(()), "451");
    let until = Instant::now() + Duration::from_secs(5);
    while first_try(()) != "250" {
        assert!(Instant::now() < until, "still greylisted");
    }
}

#[test]
fn a_login_is_required_and_checked() {
    let login = Some(("user".to_owned(), "secret".to_owned()));
    let server = SmtpServer::start(&SmtpOptions { login, ..SmtpOptions::default() }).unwrap();
    // "\0user\0secret" and "\0user\0wrong!".
    let right = send_lines(
        server.address(),
        &["EHLO me", "AUTH PLAIN AHVzZXIAc2VjcmV0", "MAIL FROM:<a@example.org>"],
    );
    assert_eq!(right, ["220", "250", "235", "250"]);
    let wrong = send_lines(
        server.address(),
        &["EHLO me", "AUTH PLAIN AHVzZXIAd3Jvbmch", "MAIL FROM:<a@example.org>"],
    );
    assert_eq!(wrong, ["220", "250", "535", "530"]);
}

#[test]
fn tls_works_both_ways() {
    for (tls, extra) in [(Tls::StartTls, &["-starttls", "smtp"][..]), (Tls::Implicit, &[])] {
        let server = SmtpServer::start(&SmtpOptions { tls, ..SmtpOptions::default() }).unwrap();
        let output = Command::new("openssl")
            .args(["s_client", "-verify_return_error", "-verify_hostname", "localhost", "-brief"])
            .args(["-connect", &server.address().to_string(), "-CAfile"])
            .arg(server.certificate())
            .args(extra)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && stderr.contains("Verification: OK"), "{tls:?}: {stderr}");
    }
}

/// Runs this test again as a child process that starts a server and is then killed.
#[test]
fn a_killed_starter_leaves_nothing_behind() {
    const ROLE: &str = "POSTRIDER_SERVICES_TEST_STARTER";
    if std::env::var_os(ROLE).is_some() {
        let server = Postgres::start(Durability::ProcessCrash).unwrap();
        eprintln!("\nstarted {}", psql(&server, "show data_directory"));
        // Wait to be killed; nothing is ever written to the pipe.
        let _ = std::io::stdin().read(&mut [0]);
        return;
    }
    let mut starter = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_killed_starter_leaves_nothing_behind", "--nocapture"])
        .env(ROLE, "1")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(starter.stderr.take().unwrap()).lines().map_while(Result::ok);
    let data = lines.find_map(|line| Some(line.strip_prefix("started ")?.to_owned())).expect("it starts");
    let folder = Path::new(&data).parent().unwrap();
    let postmaster = std::fs::read_to_string(format!("{data}/postmaster.pid")).unwrap();
    let postmaster = Path::new("/proc").join(postmaster.lines().next().unwrap()).join("cmdline");
    assert!(folder.exists() && postmaster.exists());
    starter.kill().unwrap();
    starter.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(15);
    // A zombie has an empty command line; it stays one where no process reaps it.
    while folder.exists() || std::fs::read(&postmaster).is_ok_and(|words| !words.is_empty()) {
        assert!(Instant::now() < until, "still there: {data}");
        std::thread::yield_now();
    }
}

/// The first line that a NATS server answers to this request.
fn nats(server: &Nats, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let subscribe = "CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\nSUB in 1\r\n";
    let (subject, payload) = request.split_once(' ').unwrap_or((request, ""));
    let publish = format!("PUB {subject} in {}\r\n{payload}\r\n", payload.len());
    stream.write_all(format!("{subscribe}{publish}").as_bytes()).unwrap();
    let mut line = String::new();
    while !line.contains('{') || line.starts_with("INFO") {
        line.clear();
        assert_ne!(answers.read_line(&mut line).unwrap(), 0, "the server hung up");
    }
    line
}

#[test]
fn nats_keeps_streams_over_kills() {
    let mut server = Nats::start("").unwrap();
    let made = nats(
        &server,
        "$JS.API.STREAM.CREATE.kept {\"name\":\"kept\",\"subjects\":[\"kept\"],\"storage\":\"file\"}",
    );
    assert!(!made.contains("\"error\""), "{made}");
    assert!(nats(&server, "kept hello").contains("\"seq\":1"));
    server.kill();
    assert!(!server.is_running());
    server.restart().unwrap();
    assert!(nats(&server, "kept again").contains("\"seq\":2"));
}

#[test]
fn the_emulator_of_sqs_and_the_broker_of_kafkas_protocol_start_again() {
    let mut ministack = Ministack::start().unwrap();
    let mut tansu = Tansu::start().unwrap();
    ministack.kill();
    tansu.kill();
    assert!(!ministack.is_running() && !tansu.is_running());
    ministack.restart().unwrap();
    tansu.restart().unwrap();
    assert!(ministack.is_running() && tansu.is_running());
}

#[test]
fn rabbitmq_leaves_no_port_mapper_behind() {
    let server = RabbitMq::start("").unwrap();
    let mapper = |folder: &str| {
        std::fs::read_dir("/proc").unwrap().flatten().any(|process| {
            let about = |file: &str| std::fs::read(process.path().join(file)).unwrap_or_default();
            let holds = |text: Vec<u8>, words: &str| String::from_utf8_lossy(&text).contains(words);
            holds(about("cmdline"), "epmd") && holds(about("environ"), folder)
        })
    };
    let folder = format!("RABBITMQ_NODE_PORT={}", server.port());
    assert!(mapper(&folder));
    drop(server);
    assert!(!mapper(&folder));
}

#[test]
fn the_browser_runs_scripts_and_axe_sees_what_is_wrong() {
    let script = "
        const context = await browser.newContext({ viewport: { width: input.width, height: 300 } });
        const page = await context.newPage();
        await page.setContent(input.html);
        return { wide: await page.evaluate(() => innerWidth), wrong: await audit(page) };
    ";
    let browser = Browser::find().unwrap();
    let page = "<!DOCTYPE html><html lang='en'><title>t</title><main><h1>h</h1>BODY</main></html>";
    let look = |body: &str| {
        let html = page.replace("BODY", body);
        browser.run(script, &format!("{{\"html\": \"{html}\",\n\"width\": 360}}")).unwrap()
    };
    assert_eq!(look("<p>fine</p>"), r#"{"wide":360,"wrong":[]}"#);
    let wrong = look("<img src='data:,'><p style='color:#ccc;background:#fff'>pale</p>");
    assert!(wrong.contains("image-alt") && wrong.contains("color-contrast"), "{wrong}");
    let failed = browser.run("throw new Error('no such button')", "null").unwrap_err().to_string();
    assert!(failed.contains("no such button"), "{failed}");
}
