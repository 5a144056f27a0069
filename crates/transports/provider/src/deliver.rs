//! The provider transport: one mail, one or more requests, one outcome.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use postrider_seams::{Content, Envelope, Failure, Mail, Outcome, Transport, transport};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::api::ses::Signer;
use crate::api::{self, Api};
use crate::classify::{Code, Fate, Judgement};
use crate::client::{Answer, Client, Fault, Request};
use crate::config::{Kind, Settings};
use crate::draft::{self, Draft};
use crate::encode::{self, Job};
use crate::error::Error;
use crate::outcome::{self, Sent, Taken};
use crate::plan;

/// Time limit of a probe; a slower answer counts as a failure of the provider.
const PROBE: Duration = Duration::from_secs(10);

/// Delivers mails through one provider account.
pub struct Provider {
    settings: Settings,
    api: Box<dyn Api>,
    client: Client,
    signer: OnceCell<Signer>,
    /// The last sender that the provider accepted, to compare a refused sender with.
    taken: Mutex<Option<String>>,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Provider {
    /// Checks the settings; connects with the first mail.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        let client = Client::new(settings.connect_timeout, settings.timeout);
        let api = api::of(&settings);
        Ok(Self { settings, api, client, signer: OnceCell::new(), taken: Mutex::default() })
    }

    /// Creates the transport from a URL: see [`Settings::from_url`].
    pub fn from_url(url: &str, beside: &[(String, String)]) -> Result<Self, Error> {
        Self::new(Settings::from_url(url, beside)?)
    }

    async fn one(&self, envelope: &Envelope, deadline: Instant) -> Outcome {
        let Content::Mail(mail) = &envelope.content else {
            return Outcome::Rejected(Failure::new("a mail provider takes mails, and this row is none"));
        };
        // The API accepts a mail only as a whole, in JSON or a form.
        let loaded = match mail.loaded().await {
            Ok(loaded) => loaded,
            Err(error) => return Outcome::Retryable(Failure::new(format!("the message's file: {error}"))),
        };
        let mail = &loaded;
        let name = self.settings.kind.name();
        let unfit = |words: String| {
            let sent = Sent { recipients: mail.to.clone(), answer: Err(Judgement::unfit(words)) };
            outcome::outcome(name, mail, vec![sent], Vec::new())
        };
        let draft = if self.api.wants_parts() { draft::read(&mail.message) } else { Ok(Draft::default()) };
        let draft = match draft {
            Ok(draft) => draft,
            Err(words) => return unfit(words),
        };
        let most = self.api.recipients();
        let parts =
            if self.api.wants_parts() { plan::seen(mail, &draft, most) } else { plan::whole(mail, most) };
        let mut sent = Vec::with_capacity(parts.len());
        let mut untried = Vec::new();
        for part in &parts {
            let recipients: Vec<String> = part.addresses().map(str::to_owned).collect();
            // A failure that stopped one request would stop the next; a refusal of some recipients says nothing about
            // others.
            if sent.last().is_some_and(stops) {
                untried.extend(recipients);
                continue;
            }
            if let (true, Err(outcome)) = (sent.is_empty(), envelope.may_begin()) {
                return outcome;
            }
            let key = encode::key(&envelope.dedupe, &mail.message_id, part, parts.len());
            let job = Job { envelope, mail, draft: &draft, part, key };
            let answer = self.part(&job, deadline).await;
            sent.push(Sent { recipients, answer });
        }
        outcome::outcome(name, mail, sent, untried)
    }

    async fn part(&self, job: &Job<'_>, deadline: Instant) -> Result<Taken, Judgement> {
        let request = self.api.request(job);
        let (size, most) = (request.body.len(), self.settings.max_size);
        if size > most {
            let name = self.settings.kind.name();
            return Err(Judgement::unfit(format!(
                "the mail is too large for {name}: a request of {size} bytes, at most {most} are taken"
            )));
        }
        let answer = self.ask(request, deadline).await?;
        if (200..300).contains(&answer.status) {
            *self.taken() = draft::sender(&job.mail.message);
            return Ok(Taken { id: self.api.id(&answer), left_out: self.api.left_out(&answer, job) });
        }
        Err(self.weigh(self.api.judge(&answer), job.mail))
    }

    /// Blames the mail for a refused sender if the provider accepted another sender before.
    fn weigh(&self, judgement: Judgement, mail: &Mail) -> Judgement {
        if judgement.fate != Fate::Suspect {
            return judgement;
        }
        let sender = draft::sender(&mail.message);
        let others = self.taken().as_ref().is_some_and(|taken| Some(taken) != sender.as_ref());
        if !others {
            return judgement;
        }
        Judgement { fate: Fate::Rejected, code: Code::ValidationError, ..judgement }
    }

    fn taken(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask(&self, mut request: Request, deadline: Instant) -> Result<Answer, Judgement> {
        if Instant::now() >= deadline {
            return Err(Judgement::silent(Fate::Untried, false, "no time left in this call".to_owned()));
        }
        let base = if self.settings.kind == Kind::Ses {
            let signing = tokio::time::timeout_at(deadline, self.sign(&mut request)).await;
            let late = || Judgement::silent(Fate::Untried, false, "no AWS credentials in time".to_owned());
            signing.map_err(|_| late())?.map_err(Judgement::ours)?
        } else {
            self.settings.base("")
        };
        let name = self.settings.kind.name();
        self.client.send(&base, request, deadline).await.map_err(|fault| match fault {
            Fault::Unreachable(words) => {
                Judgement::silent(Fate::Later, true, format!("{name} can't be reached: {words}"))
            }
            Fault::Exhausted(words) => Judgement::silent(
                Fate::Exhausted,
                false,
                format!("{name} was not asked, this machine has no resources left: {words}"),
            ),
            Fault::Lost(words) => Judgement::silent(
                Fate::Uncertain,
                false,
                format!("sent to {name}, but not confirmed: {words}"),
            ),
        })
    }

    /// Signs the request for AWS and returns the base URL.
    async fn sign(&self, request: &mut Request) -> Result<String, String> {
        let signer = self.signer.get_or_try_init(|| Signer::load(&self.settings)).await?;
        let base = self.settings.base(&signer.region);
        signer.sign(&base, request).await?;
        Ok(base)
    }
}

fn stops(sent: &Sent) -> bool {
    sent.answer.as_ref().err().is_some_and(|judgement| judgement.fate != Fate::Rejected)
}

#[async_trait]
impl Transport for Provider {
    /// Each mail is its own request, settled as soon as it is answered.
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(1, self.settings.concurrency).dropping_repeats(self.api.drops_repeats())
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        join_all(batch.iter().map(|envelope| self.one(envelope, deadline))).await
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        let judgement = match self.ask(self.api.probe(), Instant::now() + PROBE).await {
            Ok(answer) if (200..300).contains(&answer.status) => return Ok(()),
            Ok(answer) => self.api.judge(&answer),
            Err(judgement) => judgement,
        };
        match judgement.fate {
            Fate::Refused => Err(transport::Error::Refused(judgement.words)),
            _ if judgement.status == 0 || judgement.status >= 500 => {
                Err(transport::Error::Unreachable(judgement.words))
            }
            // An error about the request itself shows that the provider is up and accepts our key.
            _ => Ok(()),
        }
    }
}
