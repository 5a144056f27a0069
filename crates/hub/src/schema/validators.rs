//! Compiled schemas and the threads that run them.
//!
//! Owns: the cost limits of validation. Must not: run on a thread of the async runtime, because a validator cannot be
//! interrupted. Invariant: each version of a schema is compiled once; work over the budget is refused before it starts;
//! detailed errors are collected only for cheap checks.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jsonschema::PatternOptions;
use postrider_seams::store::{self, Class};
use serde_json::Value;
use tokio::sync::{Semaphore, oneshot};

use super::cost::Cost;
use crate::{Error, Fault};

/// Maximum number of threads that compile and validate.
const THREADS: usize = 2;
/// Stack size of a thread: the validator recurses over schema and payload. Only the used part occupies memory.
const STACK_BYTES: usize = 64 << 20;
/// Time limit of a request's checks, including the wait for a thread.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of evaluations for one payload, and for all payloads of a request; about 100 ns each.
const MAX_PAYLOAD_COST: u64 = 2_000_000;
const MAX_REQUEST_COST: u64 = 10_000_000;
/// Maximum cost up to which a refusal includes details: `anyOf` collects the errors of all its branches.
const MAX_EXPLAINED_COST: u64 = 5_000;

/// Maximum size of a compiled regular expression in bytes, and of steps of one that needs backtracking.
const MAX_PATTERN_BYTES: usize = 256 << 10;
const MAX_BACKTRACKS: usize = 10_000;

/// Maximum number of cached schemas.
const CACHE_SIZE: usize = 100;

/// A payload to check, and the id of its schema.
pub(crate) struct Payload {
    pub schema: String,
    pub text: Option<String>,
}

struct Compiled {
    validator: jsonschema::Validator,
    cost: Cost,
}

/// The document of a schema, and the result of compiling it.
type Entry = (String, Arc<Result<Compiled, String>>);

pub(crate) struct Validators {
    cache: Mutex<HashMap<String, Entry>>,
    threads: Arc<Semaphore>,
}

impl Default for Validators {
    fn default() -> Self {
        Self { cache: Mutex::default(), threads: Arc::new(Semaphore::new(THREADS)) }
    }
}

impl Validators {
    /// Runs the work on a separate thread, of which there are few. After a timeout the thread keeps its permit until it
    /// ends.
    pub async fn run_on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let answer = async {
            let permit = Arc::clone(&self.threads).acquire_owned().await.ok()?;
            let (sender, receiver) = oneshot::channel();
            let run = move || {
                let _ = sender.send(work());
                drop(permit);
            };
            std::thread::Builder::new().name("schema".to_owned()).stack_size(STACK_BYTES).spawn(run).ok()?;
            receiver.await.ok()
        };
        let busy = || {
            let text = "payload schemas: the payload was not checked in time";
            Error::Store(store::Error::new(Class::Transient, text))
        };
        tokio::time::timeout(TIMEOUT, answer).await.ok().flatten().ok_or_else(busy)
    }

    fn compiled(&self, id: &str, text: &str) -> Arc<Result<Compiled, String>> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((document, compiled)) = cache.get(id)
            && document == text
        {
            return Arc::clone(compiled);
        }
        drop(cache);
        let document = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"));
        let compiled = Arc::new(document.and_then(|document| compile(&document)));
        cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= CACHE_SIZE {
            cache.clear();
        }
        cache.insert(id.to_owned(), (text.to_owned(), Arc::clone(&compiled)));
        compiled
    }

    /// Checks each payload against its schema in `documents`; `None` for a payload that is valid or has no schema
    /// there.
    pub fn check(&self, documents: &BTreeMap<String, String>, payloads: &[Payload]) -> Vec<Option<Fault>> {
        let mut left = MAX_REQUEST_COST;
        let check = |payload: &Payload| {
            let compiled = self.compiled(&payload.schema, documents.get(&payload.schema)?);
            match &*compiled {
                Ok(compiled) => {
                    let mistake = compiled.mistake(payload.text.as_deref(), &mut left)?;
                    Some(Fault::new("payload", mistake))
                }
                Err(why) => Some(Fault::new(
                    "schemaId",
                    format!("names a schema that cannot be used: {why}; replace it"),
                )),
            }
        };
        payloads.iter().map(check).collect()
    }
}

/// Checks that a schema can be compiled; the error says why not.
pub(crate) fn try_compile(document: &Value) -> Result<(), String> {
    compile(document).map(|_| ())
}

fn compile(document: &Value) -> Result<Compiled, String> {
    let cost = Cost::new(document)?;
    let patterns =
        PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKS).size_limit(MAX_PATTERN_BYTES);
    let options = jsonschema::options().should_validate_formats(true).with_pattern_options(patterns);
    let validator = options.build(document).map_err(|error| shortened(&error.to_string()))?;
    Ok(Compiled { validator, cost })
}

/// Truncates a message; messages quote schema and payload, which may be large.
fn shortened(text: &str) -> String {
    text.chars().take(300).collect()
}

impl Compiled {
    fn mistake(&self, payload: Option<&str>, left: &mut u64) -> Option<String> {
        let payload: Value = match serde_json::from_str(payload.unwrap_or_default()) {
            Ok(payload) => payload,
            Err(error) => return Some(format!("must be JSON, as its schema requires: {error}")),
        };
        let Some(cost) = self.cost.of(&payload, MAX_PAYLOAD_COST.min(*left)) else {
            return Some("is too large for its schema: checking it would take too long".to_owned());
        };
        *left -= cost;
        if self.validator.is_valid(&payload) {
            return None;
        }
        if cost > MAX_EXPLAINED_COST {
            return Some("does not match its schema".to_owned());
        }
        let error = self.validator.validate(&payload).err()?;
        let place = error.instance_path().to_string();
        Some(format!("does not match its schema at `{place}`: {}", shortened(&error.to_string())))
    }
}
