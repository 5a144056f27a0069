//! Checks of the resources that a job refers to: the service account, pool and schema must exist and be usable by its
//! client, and its target must resolve to an address that may be dialled.

use std::collections::{BTreeMap, BTreeSet};

use super::{DispatchKind, JobDraft, NewJob, Origin};
use crate::access::{Actor, ClientScope, Role};
use crate::schema::Payload;
use crate::sql::RowReader;
use crate::{Error, Fault, Hub};

/// The message for callers below operator if their target is not allowed.
const TARGET_NOT_ALLOWED: &str = "is not an allowed target";

/// The members of a service account that the checks need.
struct Account {
    /// False also if the list of clients is unreadable, because an empty list would mean all clients.
    active: bool,
    clients: Vec<String>,
    hosts: Vec<String>,
}

impl Hub {
    /// Replaces drafts that refer to missing or forbidden resources by errors.
    pub(super) async fn check_references(
        &self,
        actor: &Actor,
        drafts: &mut [Result<JobDraft, Error>],
    ) -> Result<(), Error> {
        let accounts =
            self.accounts_by_id(&referenced_ids(drafts, |new| new.service_account_id.as_deref())).await?;
        let pools = self.pools_by_id(&referenced_ids(drafts, |new| new.dispatch_pool_id.as_deref())).await?;
        let valid = drafts.iter().flatten().map(|draft| &draft.new);
        let targets = valid.map(|new| (new.target_url.as_str(), new.client_id.as_deref())).collect();
        let refused = self.target_dns.refused(&self.settings.guard, targets).await;
        for slot in drafts.iter_mut() {
            let Ok(draft) = slot.as_ref() else { continue };
            let mut faults: Vec<Fault> = Vec::new();
            let why = refused.get(&draft.new.target_url);
            // Only operators may see the address that a name resolves to.
            let why =
                why.map(|why| if actor.role >= Role::Operator { why.as_str() } else { TARGET_NOT_ALLOWED });
            faults.extend(why.map(|why| Fault::new("targetUrl", why)));
            faults.extend(account_fault(actor, &accounts, &draft.new));
            faults.extend(pool_fault(&pools, &draft.new));
            if !faults.is_empty() {
                *slot = Err(Error::Invalid(faults));
            }
        }
        self.check_schemas(drafts).await
    }

    /// Checks the payloads of jobs with a schema, in one call.
    async fn check_schemas(&self, drafts: &mut [Result<JobDraft, Error>]) -> Result<(), Error> {
        let mut slots: Vec<&mut Result<JobDraft, Error>> = drafts
            .iter_mut()
            .filter(|slot| slot.as_ref().is_ok_and(|draft| draft.new.schema_id.is_some()))
            .collect();
        let payload = |slot: &&mut Result<JobDraft, Error>| {
            let new = &slot.as_ref().ok()?.new;
            Some(Payload { schema: new.schema_id.clone()?, text: new.payload.clone() })
        };
        let faults = self.check_payloads(slots.iter().filter_map(payload).collect()).await?;
        for (slot, fault) in slots.iter_mut().zip(faults) {
            if let Some(fault) = fault {
                **slot = Err(Error::Invalid(vec![fault]));
            }
        }
        Ok(())
    }

    /// Checks the references of a job that is not created now, such as those of a subscription.
    pub(crate) async fn check_job_references(&self, actor: &Actor, job: NewJob) -> Result<(), Error> {
        let mut draft = [Ok(job.into_draft(DispatchKind::Task, Origin::default()))];
        self.check_references(actor, &mut draft).await?;
        let [draft] = draft;
        draft.map(|_| ())
    }

    async fn accounts_by_id(&self, ids: &BTreeSet<String>) -> Result<BTreeMap<String, Account>, Error> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let query =
            self.sql("SELECT id, active, client_ids, allowed_hosts FROM service_accounts WHERE id IN ");
        let query = query.in_list(ids);
        let rows = self.fetch_all("look up service accounts", query).await?;
        let read = |mut row: RowReader| {
            let (id, active, mut readable) = (row.required_text(), row.flag(), true);
            let (clients, hosts) = (row.json_checked(&mut readable), row.json());
            (id, Account { active: active && readable, clients, hosts })
        };
        Ok(rows.into_iter().map(read).collect())
    }

    /// Returns the client of each pool that exists; `None` if the pool is for all clients.
    async fn pools_by_id(&self, ids: &BTreeSet<String>) -> Result<BTreeMap<String, Option<String>>, Error> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let query = self.sql("SELECT id, client_id FROM dispatch_pools WHERE id IN ");
        let query = query.in_list(ids);
        let rows = self.fetch_all("look up dispatch pools", query).await?;
        Ok(rows.into_iter().map(|mut row| (row.required_text(), row.text())).collect())
    }
}

fn referenced_ids(
    drafts: &[Result<JobDraft, Error>],
    id: impl Fn(&NewJob) -> Option<&str>,
) -> BTreeSet<String> {
    drafts.iter().flatten().filter_map(|draft| id(&draft.new)).map(str::to_owned).collect()
}

/// Checks the account of a job. An account outside the actor's scope is reported as missing.
fn account_fault(actor: &Actor, accounts: &BTreeMap<String, Account>, new: &NewJob) -> Option<Fault> {
    let id = new.service_account_id.as_ref()?;
    let fault = |message: &str| Some(Fault::new("serviceAccountId", message));
    let visible = |account: &&Account| match &actor.scope {
        ClientScope::All => true,
        scope @ ClientScope::Only(_) => account.clients.iter().any(|client| scope.covers(Some(client))),
    };
    let Some(account) = accounts.get(id).filter(visible) else { return fault("no such service account") };
    let client = new.client_id.as_ref();
    if !account.clients.is_empty() && !client.is_some_and(|client| account.clients.contains(client)) {
        return fault("this service account may not be used by that client");
    }
    if !account.active {
        return fault("this service account is not active");
    }
    let url = url::Url::parse(&new.target_url).ok()?;
    let host = url.host_str().unwrap_or_default();
    let message = "this service account may not be used for the target's host: it is not in allowedHosts";
    if postrider_seams::hosts::allows(&account.hosts, host) { None } else { fault(message) }
}

/// Checks the pool of a job: it must belong to the client of the job, or to no client.
fn pool_fault(pools: &BTreeMap<String, Option<String>>, new: &NewJob) -> Option<Fault> {
    let id = new.dispatch_pool_id.as_ref()?;
    match pools.get(id) {
        Some(None) => None,
        Some(client) if *client == new.client_id => None,
        _ => Some(Fault::new("dispatchPoolId", "no such dispatch pool")),
    }
}
