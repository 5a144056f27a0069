//! Message values that are not a column as it is: constants, templates, members of JSON, and maps.
//!
//! Owns their computation, for every composer: the fields are added to a row before its composer reads it. A value that
//! cannot be computed rejects the row with a reason that names the field; the other rows are not affected.
//! Invariant: what is computed passes the same checks as a column's value, because the composer cannot tell them apart.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_contract::{Contract, MessageValue};
use postrider_seams::{ClaimedRow, Composer, Envelope, Failure, Fields, Outcome, Value};

mod reason;
mod sources;
#[cfg(test)]
mod tests;
mod texts;

pub use reason::Reason;
use sources::RowSources;

/// Computes the message values of a contract, and passes the rows on to the composer of the stage.
pub struct ComputedFields {
    contract: Contract,
    names: Arc<[String]>,
    composer: Arc<dyn Composer>,
}

impl ComputedFields {
    /// Returns a composer that computes the contract's message values first; `composer` itself if there are none.
    pub fn wrap(contract: &Contract, composer: Arc<dyn Composer>) -> Arc<dyn Composer> {
        let computed = contract.message.iter().filter(|(_, value)| !matches!(value, MessageValue::Column(_)));
        let names: Vec<String> = computed.map(|(field, _)| field.clone()).collect();
        if names.is_empty() {
            return composer;
        }
        Arc::new(Self { contract: contract.clone(), names: names.into(), composer })
    }

    /// Returns the fields of a row with the computed ones.
    fn compute(&self, fields: &Fields) -> Result<Fields, Reason> {
        let sources = RowSources::new(&self.contract, fields);
        let values = self.names.iter().map(|field| sources.value(field, &self.contract.message[field]));
        let values = values.collect::<Result<Vec<Value>, Reason>>()?;
        Ok(fields.with_computed(Arc::clone(&self.names), values))
    }

    fn row(&self, row: &ClaimedRow) -> Result<ClaimedRow, Reason> {
        let fields = row.fields.as_ref().map(|fields| self.compute(fields)).transpose()?;
        Ok(ClaimedRow { fields, ..row.clone() })
    }
}

#[async_trait]
impl Composer for ComputedFields {
    async fn compose(&self, rows: &[ClaimedRow]) -> Vec<Result<Envelope, Outcome>> {
        let mut computed = Vec::with_capacity(rows.len());
        let mut refused: Vec<Option<Reason>> = Vec::with_capacity(rows.len());
        for row in rows {
            let row = self.row(row).map(|row| computed.push(row));
            refused.push(row.err());
        }
        let mut composed = self.composer.compose(&computed).await.into_iter();
        let one = |refused: Option<Reason>| match refused {
            Some(reason) => Err(Outcome::Rejected(Failure::new(crate::shortened(&reason.to_string())))),
            None => composed.next().expect("one result for each row"),
        };
        refused.into_iter().map(one).collect()
    }

    fn size_limit(&self) -> u64 {
        self.composer.size_limit()
    }

    async fn recipients(&self, rows: &[&ClaimedRow]) -> Vec<Vec<String>> {
        let computed: Vec<ClaimedRow> = rows
            .iter()
            .map(|row| self.row(row).unwrap_or_else(|_| ClaimedRow { fields: None, ..(*row).clone() }))
            .collect();
        self.composer.recipients(&computed.iter().collect::<Vec<_>>()).await
    }

    fn dead_letter(&self, envelope: &Envelope, reason: &str) -> Option<Envelope> {
        self.composer.dead_letter(envelope, reason)
    }
}
