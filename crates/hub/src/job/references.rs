//! Checks of the resources that a job refers to: the service account, pool and schema must exist and be usable by its
//! client, and its target must resolve to an address that may be dialled.

use std::collections::{BTreeMap, BTreeSet};

use super::{DispatchKind, Draught, NewJob, Origin};
use crate::access::{Actor, Role, Scope};
use crate::draft::Draft;
use crate::schema::Payload;
use crate::sheet::Reader;
use crate::{Error, Fault, Hub};

/// The message for callers below operator if their target is not allowed.
const NOT_ALLOWED: &str = "is not an allowed target";

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
        drafts: &mut [Result<Draught, Error>],
    ) -> Result<(), Error> {
        let accounts = self.accounts_named(&named(drafts, |new| new.service_account_id.as_deref())).await?;
        let pools = self.pools_named(&named(drafts, |new| new.dispatch_pool_id.as_deref())).await?;
        let drafted = drafts.iter().flatten().map(|draft| &draft.new);
        let targets = drafted.map(|new| (new.target_url.as_str(), new.client_id.as_deref())).collect();
        let private = self.names.refused(&self.settings.guard, targets).await;
        for slot in drafts.iter_mut() {
            let Ok(draft) = slot.as_ref() else { continue };
            let mut faults: Vec<Fault> = Vec::new();
            let why = private.get(&draft.new.target_url);
            // Only operators may see the address that a name resolves to.
            let why = why.map(|why| if actor.role >= Role::Operator { why.as_str() } else { NOT_ALLOWED });
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
    async fn check_schemas(&self, drafts: &mut [Result<Draught, Error>]) -> Result<(), Error> {
        let mut slots: Vec<&mut Result<Draught, Error>> = drafts
            .iter_mut()
            .filter(|slot| slot.as_ref().is_ok_and(|draft| draft.new.schema_id.is_some()))
            .collect();
        let payload = |slot: &&mut Result<Draught, Error>| {
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
    pub(crate) async fn check_job(&self, actor: &Actor, job: NewJob) -> Result<(), Error> {
        let mut draft = [Ok(job.drafted(DispatchKind::Task, Origin::default()))];
        self.check_references(actor, &mut draft).await?;
        let [draft] = draft;
        draft.map(|_| ())
    }

    async fn accounts_named(&self, ids: &BTreeSet<String>) -> Result<BTreeMap<String, Account>, Error> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let query = Draft::new(
            self.dialect(),
            "SELECT id, active, client_ids, allowed_hosts FROM service_accounts WHERE id IN ",
        );
        let query = query.texts(ids.iter().map(String::as_str));
        let rows = self.all("look up service accounts", query).await?;
        let read = |row| {
            let mut row = Reader::new(row);
            let (id, active, mut readable) = (row.word(), row.flag(), true);
            let (clients, hosts) = (row.json_in(&mut readable), row.json());
            (id, Account { active: active && readable, clients, hosts })
        };
        Ok(rows.into_iter().map(read).collect())
    }

    /// Returns the client of each pool that exists; `None` if the pool is for all clients.
    async fn pools_named(&self, ids: &BTreeSet<String>) -> Result<BTreeMap<String, Option<String>>, Error> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let query = Draft::new(self.dialect(), "SELECT id, client_id FROM dispatch_pools WHERE id IN ");
        let query = query.texts(ids.iter().map(String::as_str));
        let rows = self.all("look up dispatch pools", query).await?;
        let read = |row| {
            let mut row = Reader::new(row);
            (row.word(), row.text())
        };
        Ok(rows.into_iter().map(read).collect())
    }
}

fn named(drafts: &[Result<Draught, Error>], id: impl Fn(&NewJob) -> Option<&str>) -> BTreeSet<String> {
    drafts.iter().flatten().filter_map(|draft| id(&draft.new)).map(str::to_owned).collect()
}

/// Checks the account of a job. An account outside the actor's scope is reported as missing.
fn account_fault(actor: &Actor, accounts: &BTreeMap<String, Account>, new: &NewJob) -> Option<Fault> {
    let id = new.service_account_id.as_ref()?;
    let fault = |message: &str| Some(Fault::new("serviceAccountId", message));
    let visible = |account: &&Account| match &actor.scope {
        Scope::All => true,
        scope @ Scope::Only(_) => account.clients.iter().any(|client| scope.covers(Some(client))),
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
