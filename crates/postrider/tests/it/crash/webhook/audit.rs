//! Compares the tables with the requests that the receiver saw.

use std::collections::HashMap;

use super::jobs::{group, id, number, number_of_key};
use crate::support::sql::Sql;
use crate::support::webhook_receiver::{ReceivedRequest, WebhookReceiver};

#[derive(Debug, Default)]
pub struct Findings {
    /// Violations; empty if all is well.
    pub violations: Vec<String>,
    /// Attempts that end with "worker lost".
    pub lost: usize,
    /// Attempts that the receiver refused.
    pub refused: usize,
    /// Requests beyond the first that was accepted.
    pub copies: usize,
}

/// A job and its attempts, as text.
#[derive(Debug, Clone, Default)]
struct Job {
    status: String,
    count: usize,
    error: Option<String>,
    owner: Option<String>,
    finished: bool,
    /// Number, status, code, message.
    attempts: Vec<[String; 4]>,
}

pub async fn compare(sql: &Sql, receiver: &WebhookReceiver, rows: u32) -> Findings {
    let names = named_by_api(sql).await;
    let known = |id: &str| names.get(id).map_or_else(|| id.to_owned(), |number| super::jobs::id(*number));
    let jobs = read(sql).await;
    let made = jobs.len();
    let jobs: HashMap<String, Job> = jobs.into_iter().map(|(id, job)| (known(&id), job)).collect();
    let mut requests = receiver.journal();
    for request in &mut requests {
        let id = known(request.id());
        request.headers.insert("webhook-id".to_owned(), id);
    }
    let mut by_id: HashMap<&str, Vec<&ReceivedRequest>> = HashMap::new();
    for request in &requests {
        by_id.entry(request.id()).or_default().push(request);
    }
    let mut findings = Findings::default();
    if jobs.len() != rows as usize || made != jobs.len() {
        findings.violations.push(format!("{rows} jobs were asked for, the table has {made}"));
    }
    for number in 0..rows {
        let id = id(number);
        let none = Job::default();
        let seen = by_id.get(id.as_str()).map_or(&[][..], Vec::as_slice);
        findings.job(&id, jobs.get(&id).unwrap_or(&none), seen);
    }
    for id in by_id.keys().filter(|id| number(id).is_none_or(|number| number >= rows)) {
        findings.violations.push(format!("unknown jobs: {id:?}"));
    }
    findings.order(&requests);
    findings
}

/// The numbers of the jobs whose ids the API chose.
async fn named_by_api(sql: &Sql) -> HashMap<String, u32> {
    let query = format!(
        "SELECT {}, {} FROM dispatch_jobs WHERE idempotency_key IS NOT NULL",
        sql.text("id"),
        sql.text("idempotency_key")
    );
    let rows = sql.rows(&query).await.expect("the table can be read");
    let named = rows.into_iter().filter_map(|row| {
        let mut row = row.into_iter();
        let (id, key) = (row.next()??, row.next()??);
        Some((id, number_of_key(&key)?))
    });
    named.collect()
}

async fn read(sql: &Sql) -> HashMap<String, Job> {
    let columns = ["id", "status", "attempt_count", "last_error", "claimed_by", "completed_at"];
    let columns: Vec<String> = columns.iter().map(|column| sql.text(column)).collect();
    let query = format!("SELECT {} FROM dispatch_jobs", columns.join(", "));
    let mut jobs: HashMap<String, Job> = HashMap::new();
    for row in sql.rows(&query).await.expect("the table can be read") {
        let text = |at: usize| row[at].clone().unwrap_or_default();
        let job = Job {
            status: text(1),
            count: text(2).parse().unwrap_or(0),
            error: row[3].clone(),
            owner: row[4].clone(),
            finished: row[5].is_some(),
            attempts: Vec::new(),
        };
        jobs.insert(text(0), job);
    }
    let columns = ["job_id", "attempt_number", "status", "response_code", "error_message"];
    let columns: Vec<String> = columns.iter().map(|column| sql.text(column)).collect();
    let query =
        format!("SELECT {} FROM dispatch_attempts ORDER BY job_id, attempt_number", columns.join(", "));
    for row in sql.rows(&query).await.expect("the table can be read") {
        let text = |at: usize| row[at].clone().unwrap_or_default();
        let job = jobs.get_mut(&text(0)).expect("an attempt's job is there: a key says so");
        job.attempts.push([text(1), text(2), text(3), text(4)]);
    }
    jobs
}

impl Findings {
    fn job(&mut self, id: &str, job: &Job, seen: &[&ReceivedRequest]) {
        let of = |status: &str, code: &str| {
            job.attempts.iter().filter(|attempt| attempt[1] == status && attempt[2] == code).count()
        };
        let (taken, refused) = (of("SUCCESS", "200"), of("SERVER_ERROR", "503"));
        let lost = job.attempts.iter().filter(|attempt| attempt[3] == "worker lost").count();
        let answered = |code: u16| {
            seen.iter().filter(|one| one.answered.is_some_and(|(_, status)| status == code)).count()
        };
        self.lost += lost;
        self.refused += refused;
        self.copies += answered(200).saturating_sub(1);
        let mut require = |holds: bool, what: &str| {
            if !holds {
                self.violations.push(format!("{id}: {what} ({} requests, {job:?})", seen.len()));
            }
        };
        require(job.status == "COMPLETED", "the receiver takes every job in the end");
        require(answered(200) >= 1, "the receiver never took it: lost");
        let numbers: Vec<String> = job.attempts.iter().map(|attempt| attempt[0].clone()).collect();
        let counted: Vec<String> = (1..=job.count).map(|number| number.to_string()).collect();
        require(numbers == counted, "the attempts on record are those that were counted, once each");
        require(taken == 1, "one attempt succeeded");
        require(
            job.attempts.last().is_some_and(|last| last[1] == "SUCCESS"),
            "nothing is tried after a success",
        );
        require(taken + refused + lost == job.count, "each attempt was answered, or its worker was lost");
        require(refused <= answered(503), "a refusal on record is one that was given");
        // A lost worker may have sent the request and received an answer; no other copy is allowed.
        require(seen.len() <= taken + refused + lost, "a request came from no attempt on record");
        require(job.error.is_none() && job.owner.is_none() && job.finished, "a completed job is at rest");
    }

    /// Checks that a group's job arrives only after all its predecessors were accepted.
    fn order(&mut self, requests: &[ReceivedRequest]) {
        let mut taken: HashMap<u32, u64> = HashMap::new();
        let mut first: HashMap<u32, u64> = HashMap::new();
        for request in requests {
            let Some(number) = number(request.id()).filter(|number| group(*number).is_some()) else {
                continue;
            };
            let arrived = first.entry(number).or_insert(request.arrived);
            *arrived = request.arrived.min(*arrived);
            if let Some((when, 200)) = request.answered {
                let known = taken.entry(number).or_insert(when);
                *known = when.min(*known);
            }
        }
        let mut groups: HashMap<String, Vec<u32>> = HashMap::new();
        for number in first.keys() {
            groups.entry(group(*number).expect("only those are here")).or_default().push(*number);
        }
        for (group, mut numbers) in groups {
            numbers.sort_unstable();
            for pair in numbers.windows(2) {
                if taken.get(&pair[0]).is_none_or(|taken| *taken > first[&pair[1]]) {
                    self.violations.push(format!("{group}: {} came before {} was taken", pair[1], pair[0]));
                }
            }
        }
    }
}

/// The audit must find the faults that it exists for.
#[test]
fn the_audit_finds_lost_jobs_uncounted_requests_and_broken_order() {
    let request = |number: u32, arrived: u64, status: u16| ReceivedRequest {
        path: String::new(),
        headers: [("webhook-id".to_owned(), id(number))].into(),
        body: String::new(),
        arrived,
        answered: Some((arrived + 1, status)),
    };
    let attempt = |number: u32, status: &str, code: &str, message: &str| {
        [number.to_string(), status.to_owned(), code.to_owned(), message.to_owned()]
    };
    let job = |attempts: &[[String; 4]]| Job {
        status: "COMPLETED".to_owned(),
        count: attempts.len(),
        finished: true,
        attempts: attempts.to_vec(),
        ..Job::default()
    };
    let violations = |job: &Job, seen: &[&ReceivedRequest]| {
        let mut findings = Findings::default();
        findings.job("x", job, seen);
        findings.violations.join("\n")
    };
    let (fine, refused) = (request(0, 0, 200), request(0, 2, 503));
    let once = job(&[attempt(1, "SUCCESS", "200", "")]);
    let gone = [attempt(1, "CONNECTION_ERROR", "", "worker lost"), attempt(2, "SUCCESS", "200", "")];
    assert_eq!(violations(&once, &[&fine]), "");
    assert_eq!(violations(&job(&gone), &[&fine, &fine]), "", "a lost worker may have sent it");
    assert!(violations(&once, &[]).contains("lost"));
    assert!(violations(&once, &[&fine, &refused]).contains("from no attempt on record"));
    assert!(violations(&Job { count: 2, ..once.clone() }, &[&fine]).contains("that were counted"));
    assert!(violations(&Job { status: "ERROR".to_owned(), ..once }, &[&fine]).contains("in the end"));

    let order = |requests: &[ReceivedRequest]| {
        let mut findings = Findings::default();
        findings.order(requests);
        findings.violations.join("\n")
    };
    // 0 and 40 are in one group, 2 is in another.
    assert_eq!(order(&[request(0, 0, 503), request(2, 2, 200), request(0, 4, 200), request(40, 6, 200)]), "");
    assert!(
        order(&[request(0, 0, 503), request(40, 2, 200), request(0, 4, 200)]).contains("40 came before 0")
    );
}
