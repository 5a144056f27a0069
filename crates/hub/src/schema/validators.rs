//! Compiled schemas, and the threads that they run on.
//!
//! Owns: the bound of what schemas may cost. Must not: run on a thread of the runtime; a validator neither waits nor can be
//! interrupted. Invariant: a schema is compiled once for each version of its document; work that would exceed the budget is
//! refused before it begins; no tree of errors is collected beyond a small one.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jsonschema::PatternOptions;
use postrider_seams::store::{self, Class};
use serde_json::Value;
use tokio::sync::{Semaphore, oneshot};

use super::cost::Cost;
use crate::{Error, Fault};

/// Threads that compile and validate at once.
const THREADS: usize = 2;
/// A validator goes through schema and payload by recursion. Only what is used of it takes memory.
const STACK: usize = 64 << 20;
/// How long a request waits for its answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Evaluations for one payload, and for all payloads of a request: about 100 ns each.
const ONE_PAYLOAD: u64 = 2_000_000;
const ONE_REQUEST: u64 = 10_000_000;
/// Beyond it a refusal does not say what is wrong: `anyOf` would collect the errors of all its branches.
const EXPLAINED: u64 = 5_000;

/// Bytes of a compiled regular expression, and steps of one that needs backtracking.
const PATTERN_SIZE: usize = 256 << 10;
const BACKTRACKING: usize = 10_000;

/// Compiled schemas that are kept.
const KEPT: usize = 100;

/// A payload and the id of its schema.
pub(crate) struct Payload {
    pub schema: String,
    pub text: Option<String>,
}

struct Compiled {
    validator: jsonschema::Validator,
    cost: Cost,
}

/// A schema's document, and what it compiled to.
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
    /// Runs on a thread of its own, of which there are few. One that is not waited for any more keeps its place until it ends.
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

    /// What is wrong with each payload.
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

/// The error says why a schema can't be used.
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

/// Messages quote schema and payload, which may be large.
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
