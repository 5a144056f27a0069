//! Sends mails as fast as a relay accepts them: `flood smtp://127.0.0.1:2525 [mails] [bytes]`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use postrider_seams::{Content, Envelope, Mail, Outcome, Transport};
use postrider_transport_smtp::Smtp;
use tokio::time::Instant;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().ok_or("usage: flood URL [mails] [bytes]")?;
    let mails: usize = arguments.next().map_or(Ok(50_000), |count| count.parse())?;
    let bytes: usize = arguments.next().map_or(Ok(4096), |size| size.parse())?;

    let smtp = Arc::new(Smtp::from_url(&url)?);
    let batch: Arc<Vec<Envelope>> =
        Arc::new((0..smtp.capabilities().batch).map(|_| envelope(bytes)).collect());
    let left = Arc::new(AtomicUsize::new(mails.div_ceil(batch.len())));
    let started = Instant::now();
    let workers: Vec<_> = (0..smtp.capabilities().concurrency)
        .map(|_| tokio::spawn(work(Arc::clone(&smtp), Arc::clone(&batch), Arc::clone(&left))))
        .collect();
    let mut sent = 0;
    for worker in workers {
        sent += worker.await??;
    }
    let took = started.elapsed();
    smtp.close().await;
    eprintln!("{sent} mails in {took:?}: {:.0} a second", f64::from(sent) / took.as_secs_f64());
    Ok(())
}

async fn work(smtp: Arc<Smtp>, batch: Arc<Vec<Envelope>>, left: Arc<AtomicUsize>) -> Result<u32, String> {
    let mut sent = 0;
    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
        for outcome in smtp.deliver(&batch, Instant::now() + Duration::from_mins(1)).await {
            match outcome {
                Outcome::Delivered(_) => sent += 1,
                other => return Err(format!("{other:?}")),
            }
        }
    }
    Ok(sent)
}

fn envelope(bytes: usize) -> Envelope {
    let line = "X".repeat(70) + "\r\n";
    let message = format!("Subject: flood\r\n\r\n{}", line.repeat(bytes / line.len()));
    Envelope {
        row: "1".to_owned(),
        dedupe: "1".to_owned(),
        attempt: 1,
        lease: postrider_seams::LeaseCheck::default(),
        content: Content::Mail(Mail {
            from: "a@x.test".to_owned(),
            to: vec!["b@y.test".to_owned()],
            message: Bytes::from(message),
            rest: None,
            message_id: "1@x.test".to_owned(),
            utf8: false,
            settled: Vec::new(),
            metadata: Vec::new(),
        }),
        detail: postrider_seams::row::Detail::new(),
    }
}
