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
const STACK: usize = 64 << 20;
/// Time limit of a request's checks, including the wait for a thread.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum number of evaluations for one payload, and for all payloads of a request; about 100 ns each.
const ONE_PAYLOAD: u64 = 2_000_000;
const ONE_REQUEST: u64 = 10_000_000;
/// Maximum cost up to which a refusal includes details: `anyOf` collects the errors of all its branches.
const EXPLAINED: u64 = 5_000;

/// Maximum size of a compiled regular expression in bytes, and of steps of one that needs backtracking.
const PATTERN_SIZE: usize = 256 << 10;
const BACKTRACKING: usize = 10_000;

/// Maximum number of cached schemas.
const KEPT: usize = 100;

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
    known: Mutex<HashMap<String, Entry>>,
    threads: Arc<Semaphore>,
}

impl Default for Validators {
    fn default() -> Self {
        Self { known: Mutex::default(), threads: Arc::new(Semaphore::new(THREADS)) }
    }
}

impl Validators {
    /// Runs the work on a separate thread, of which there are few. After a timeout the thread keeps its permit until it
    /// ends.
    pub async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let answer = async {
            let place = Arc::clone(&self.threads).acquire_owned().await.ok()?;
            let (tell, told) = oneshot::channel();
            let run = move || {
                let _ = tell.send(work());
                drop(place);
            };
            std::thread::Builder::new().name("schema".to_owned()).stack_size(STACK).spawn(run).ok()?;
            told.await.ok()
        };
        let busy = || {
            let text = "payload schemas: the payload was not checked in time";
            Error::Store(store::Error::new(Class::Transient, text))
        };
        tokio::time::timeout(PATIENCE, answer).await.ok().flatten().ok_or_else(busy)
    }

    fn compiled(&self, id: &str, text: &str) -> Arc<Result<Compiled, String>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((document, compiled)) = known.get(id)
            && document == text
        {
            return Arc::clone(compiled);
        }
        drop(known);
        let document = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"));
        let compiled = Arc::new(document.and_then(|document| compile(&document)));
        known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(id.to_owned(), (text.to_owned(), Arc::clone(&compiled)));
        compiled
    }

    /// Checks each payload against its schema in `documents`; `None` for a payload that is valid or has no schema
    /// there.
    pub fn check(&self, documents: &BTreeMap<String, String>, payloads: &[Payload]) -> Vec<Option<Fault>> {
        let mut left = ONE_REQUEST;
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
    let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKING).size_limit(PATTERN_SIZE);
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
        let Some(cost) = self.cost.of(&payload, ONE_PAYLOAD.min(*left)) else {
            return Some("is too large for its schema: checking it would take too long".to_owned());
        };
        *left -= cost;
        if self.validator.is_valid(&payload) {
            return None;
        }
        if cost > EXPLAINED {
            return Some("does not match its schema".to_owned());
        }
        let error = self.validator.validate(&payload).err()?;
        let place = error.instance_path().to_string();
        Some(format!("does not match its schema at `{place}`: {}", shortened(&error.to_string())))
    }
}
