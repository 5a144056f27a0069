//! Signs composed messages with DKIM, on the threads for blocking work: an RSA signature takes almost a millisecond,
//! and a batch of them would block the other tasks of an async thread.

use std::sync::Arc;

use postrider_mail::dkim;
use postrider_seams::Outcome;

use super::Settings;
use super::compose::ComposedMail;

/// Messages per blocking task: enough to outweigh the cost of a task, few enough to use all cores.
const MESSAGES_PER_TASK: usize = 16;

type Result = std::result::Result<ComposedMail, Outcome>;

/// Signs each message with every key that covers its sender's domain; keeps the order of the messages.
pub async fn sign(settings: &Arc<Settings>, composed: Vec<Result>) -> Vec<Result> {
    let total = composed.len();
    let mut composed = composed.into_iter();
    let mut tasks = Vec::with_capacity(total.div_ceil(MESSAGES_PER_TASK));
    while composed.len() > 0 {
        let mut chunk: Vec<Result> = composed.by_ref().take(MESSAGES_PER_TASK).collect();
        let settings = Arc::clone(settings);
        tasks.push(tokio::task::spawn_blocking(move || {
            chunk.iter_mut().flatten().for_each(|composed| sign_one(&settings, composed));
            chunk
        }));
    }
    let mut signed = Vec::with_capacity(total);
    for task in tasks {
        match task.await {
            Ok(chunk) => signed.extend(chunk),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
    signed
}

fn sign_one(settings: &Settings, composed: &mut ComposedMail) {
    let signers: Vec<_> = settings.signers.iter().filter(|signer| signer.covers(&composed.domain)).collect();
    if !signers.is_empty() {
        dkim::sign(signers, &mut composed.message, composed.date);
    }
}
