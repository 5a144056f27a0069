//! A lane whose database connections are all dead, while new ones work.

use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use postrider_services::Proxy;

use crate::sandbox::Sandbox;
use crate::support::database::{Kind, fresh};
use crate::support::slow_relay::SlowRelay;
use crate::support::sql::Cell;
use crate::support::wait::wait_until;

const ROWS: usize = 20;
/// Deliveries at the same time, each on its own connection.
const CONCURRENCY: usize = 2;
/// Time that the relay takes for a mail. The next two are marked as begun so long after the connections died.
const SLOW: Duration = Duration::from_secs(6);
/// Time within which the lane delivers again, with two seconds for a busy machine.
const GOES_ON: Duration = Duration::from_secs(12);
const TIMEOUT: Duration = Duration::from_mins(1);

/// The first call that gets no answer waits for its whole deadline (8 s). Calls that begin later must not each wait for
/// theirs: the lane as a whole continues.
#[tokio::test(flavor = "multi_thread")]
async fn a_lane_delivers_again_within_ten_seconds_of_losing_its_connections() {
    let relay = SlowRelay::default();
    relay.delay_millis.store(SLOW.as_millis().try_into().unwrap(), SeqCst);
    let address = relay.start().await;
    let sandbox = Sandbox::new(None);
    let (url, sql) = fresh(Kind::Postgres, "half_open", &sandbox).await;
    let mut through = url::Url::parse(&url).unwrap();
    let proxy = Proxy::start(([127, 0, 0, 1], through.port().expect("a port")).into()).unwrap();
    through.set_port(Some(proxy.port())).unwrap();
    let settings = format!(
        "[stores.main]\nurl = \"{through}\"\n\
         [transports.relay]\nurl = \"smtp://{address}?tls=none\"\nconnections = {CONCURRENCY}\nbatch = 1\n\
         [mail]\nfrom = \"shop@example.com\"\n\
         [lanes.mail]\ncontract = \"mail_outbox\"\nconcurrency = {CONCURRENCY}\npoll = \"100ms\"\n"
    );
    std::fs::write(sandbox.path("postrider.toml"), settings).unwrap();
    sandbox.run(&["migrate"]).success();
    for number in 0..ROWS {
        let subject = format!("mail {number}");
        let cells = [
            ("to_addresses", Cell::from("ann@example.org")),
            ("subject", Cell::from(subject.as_str())),
            ("body_text", Cell::from("hello")),
            ("status", Cell::from("queued")),
            ("retry_count", Cell::Sql("0".to_owned())),
            ("next_attempt_at", Cell::Sql("now()".to_owned())),
        ];
        sql.insert("mail_outbox", &cells).await;
    }
    let running = sandbox.start();
    wait_until("both connections send", TIMEOUT, || async { (relay.total() >= CONCURRENCY).then_some(()) })
        .await;
    proxy.freeze();
    let lost = Instant::now();
    let before = relay.total();
    wait_until("the lane delivers again", TIMEOUT, || async { (relay.total() > before).then_some(()) }).await;
    assert!(lost.elapsed() > SLOW / 2, "those in flight were done first: {:?}", lost.elapsed());
    assert!(lost.elapsed() < GOES_ON, "{:?}\n{}", lost.elapsed(), running.log());
    relay.delay_millis.store(0, SeqCst);
    let sent = "mail_outbox WHERE status = 'sent' AND retry_count = 0";
    wait_until("all are sent", TIMEOUT, || async {
        (sql.count(sent).await == Some(ROWS.try_into().unwrap())).then_some(())
    })
    .await;
    assert_eq!(relay.total(), ROWS, "each once");
}
