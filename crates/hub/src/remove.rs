//! Deleting subscriptions and pools. One that jobs still wait for cannot be deleted: its jobs would be delivered
//! without its limits, or although it was paused.

use crate::access::Actor;
use crate::audit::Change;
use crate::draft::Draft;
use crate::{Error, Hub};

/// The SQL condition that the job `j` is not delivered yet.
const WAITING: &str = "(j.status IN ('QUEUED', 'PENDING', 'IN_PROGRESS') OR (j.status = 'ERROR' AND j.next_attempt_at IS \
                       NOT NULL))";

impl Hub {
    /// Deletes a pool. Fails with a conflict while a subscription, or a job that is not delivered yet, refers to it.
    pub async fn delete_pool(&self, actor: &Actor, id: &str) -> Result<(), Error> {
        let pool = self.pool(actor, id).await?;
        let named = "AND NOT EXISTS (SELECT 1 FROM dispatch_subscriptions AS s WHERE s.dispatch_pool_id = ";
        let delete = self
            .unless_jobs_wait("dispatch_pools", "dispatch_pool_id", &pool.id)
            .push(named)
            .text(&pool.id)
            .push(")");
        let change = Change::new("delete", "pool", &pool.id).of_client(pool.client_id.as_deref());
        let wrong = "is in use by a subscription, or by jobs that are not delivered yet";
        self.delete(actor, "dispatch_pools", delete, change, wrong).await
    }

    /// Deletes a subscription. Fails with a conflict while it has jobs that are not delivered yet; ended jobs are kept.
    pub async fn delete_subscription(&self, actor: &Actor, id: &str) -> Result<(), Error> {
        let found = self.subscription(actor, id).await?;
        let delete = self.unless_jobs_wait("dispatch_subscriptions", "subscription_id", &found.id);
        let change = Change::new("delete", "subscription", &found.id).of_client(found.client_id.as_deref());
        let wrong = "is in use: it has jobs that are not delivered yet; cancel them, or wait";
        self.delete(actor, "dispatch_subscriptions", delete, change, wrong).await
    }

    fn unless_jobs_wait(&self, table: &str, column: &str, id: &str) -> Draft {
        Draft::new(self.dialect(), format!("DELETE FROM {table} WHERE id = "))
            .text(id)
            .push(&format!(
                " AND NOT EXISTS (SELECT 1 FROM dispatch_jobs AS j WHERE {WAITING} AND j.{column} = "
            ))
            .text(id)
            .push(") ")
    }

    async fn delete(
        &self,
        actor: &Actor,
        table: &'static str,
        delete: Draft,
        change: Change,
        wrong: &str,
    ) -> Result<(), Error> {
        let line = change.if_gone(self.dialect(), actor, table);
        let answers = self.run("delete", vec![delete.done(), line]).await?;
        let gone = answers.first().is_some_and(|answer| answer.changed > 0);
        if gone { Ok(()) } else { Err(Error::conflict("id", wrong)) }
    }
}
