//! Deleting subscriptions and pools. One that jobs still wait for cannot be deleted: its jobs would be delivered
//! without its limits, or although it was paused.

use crate::access::Actor;
use crate::audit::Change;
use crate::sql::{Clauses as _, SqlBuilder};
use crate::{Error, Hub};

/// The SQL conditions that the job `t` is not delivered yet. Each is a query of its own, so that each can use the
/// partial index that holds such jobs, with the state by which the contract's index of states finds the jobs, if that index holds them all.
const NOT_DELIVERED: [(&str, Option<&str>); 3] = [
    ("((t.status = 'QUEUED') OR (t.status = 'ERROR' AND t.next_attempt_at IS NOT NULL))", None),
    ("t.status = 'IN_PROGRESS'", Some("IN_PROGRESS")),
    ("t.status = 'PENDING'", Some("PENDING")),
];

impl Hub {
    /// Deletes a pool. Fails with a conflict while a subscription, or a job that is not delivered yet, refers to it.
    pub async fn delete_pool(&self, actor: &Actor, id: &str) -> Result<(), Error> {
        let pool = self.pool(actor, id).await?;
        let unless_subscribed =
            "AND NOT EXISTS (SELECT 1 FROM dispatch_subscriptions AS s WHERE s.dispatch_pool_id = ";
        let delete = self
            .delete_unless_jobs_wait("dispatch_pools", "dispatch_pool_id", &pool.id)
            .push(unless_subscribed)
            .text(&pool.id)
            .push(")");
        let change = Change::new("delete", "pool", &pool.id).of_client(pool.client_id.as_deref());
        let in_use = "is in use by a subscription, or by jobs that are not delivered yet";
        self.delete(actor, "dispatch_pools", delete, change, in_use).await
    }

    /// Deletes a subscription. Fails with a conflict while it has jobs that are not delivered yet; ended jobs are kept.
    pub async fn delete_subscription(&self, actor: &Actor, id: &str) -> Result<(), Error> {
        let found = self.subscription(actor, id).await?;
        let delete = self.delete_unless_jobs_wait("dispatch_subscriptions", "subscription_id", &found.id);
        let change = Change::new("delete", "subscription", &found.id).of_client(found.client_id.as_deref());
        let in_use = "is in use: it has jobs that are not delivered yet; cancel them, or wait";
        self.delete(actor, "dispatch_subscriptions", delete, change, in_use).await
    }

    fn delete_unless_jobs_wait(&self, table: &str, column: &str, id: &str) -> SqlBuilder {
        let mut delete = self.sql(format!("DELETE FROM {table} WHERE id = ")).text(id);
        for (condition, state) in NOT_DELIVERED {
            let found = state.map(|state| self.job_states.of(state)).unwrap_or_default();
            let jobs = format!(" AND NOT EXISTS (SELECT 1 FROM dispatch_jobs AS t WHERE {condition}");
            delete =
                delete.push(&jobs).all_of(&found).push(&format!(" AND t.{column} = ")).text(id).push(")");
        }
        delete.push(" ")
    }

    async fn delete(
        &self,
        actor: &Actor,
        table: &'static str,
        delete: SqlBuilder,
        change: Change,
        in_use: &str,
    ) -> Result<(), Error> {
        let entry = change.entry_if_deleted(self.dialect(), actor, table);
        let answers = self.run("delete", vec![delete.finish(), entry]).await?;
        let deleted = answers.first().is_some_and(|answer| answer.changed > 0);
        if deleted { Ok(()) } else { Err(Error::conflict("id", in_use)) }
    }
}
