//! Creates the table, its index and its time to live, and adds what an existing table lacks. Never drops or changes
//! anything.

use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, CreateGlobalSecondaryIndexAction, GlobalSecondaryIndex,
    GlobalSecondaryIndexUpdate, KeySchemaElement, KeyType, Projection, ProjectionType, ScalarAttributeType,
    TimeToLiveSpecification,
};
use postrider_contract::Contract;
use postrider_seams::migrate::{Migrate, MigrateOptions};
use postrider_seams::store::{Class, Error};
use tokio::time::Instant;

use crate::connect::{Database, adapted};
use crate::error::classify;
use crate::layout::{ATTRIBUTES, ID, STATUS};
use crate::requests::{RETRY_TIME, retry_throttled};
use crate::statement::TableTarget;
use crate::store::DynamoStore;
use crate::verify::TableShape;

/// Time limit for the table and its index to become active: a table takes seconds, an index over a large table minutes.
const MAX_WAIT: Duration = Duration::from_mins(10);
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The migration of a contract's table, which need not exist.
pub struct Migration {
    pub(crate) database: Database,
    pub(crate) contract: Contract,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MigrationStep {
    Table,
    Index,
    TimeToLive,
}

impl Migration {
    fn target(&self) -> TableTarget {
        TableTarget::new(&self.contract, true)
    }

    async fn steps(&self) -> Result<Vec<MigrationStep>, Error> {
        let misconfigured = |what: String| {
            Error::new(Class::Misconfigured, format!("{}: {what}", self.database.settings.place()))
        };
        adapted(self.contract.clone()).map_err(misconfigured)?;
        let Some(shape) = TableShape::read(&self.database, &self.contract).await? else {
            return Ok(vec![MigrationStep::Table, MigrationStep::TimeToLive]);
        };
        if let Some(mistake) = shape.key_mistakes(&self.target()).into_iter().next() {
            return Err(misconfigured(format!(
                "{mistake}; a table's key can't be changed: name another table"
            )));
        }
        let index = (!shape.has_index()).then_some(MigrationStep::Index);
        let ttl = shape.ttl.is_none().then_some(MigrationStep::TimeToLive);
        Ok(index.into_iter().chain(ttl).collect())
    }

    /// Returns the AWS CLI command for a step, for operators who run it themselves.
    fn command(&self, step: MigrationStep) -> String {
        let TableTarget { table, index, ttl, .. } = self.target();
        let index = format!(
            "{{\"IndexName\":\"{index}\",\"KeySchema\":[{{\"AttributeName\":\"{STATUS}\",\"KeyType\":\"HASH\"}},\
             {{\"AttributeName\":\"{ID}\",\"KeyType\":\"RANGE\"}}],\"Projection\":{{\"ProjectionType\":\"INCLUDE\",\
             \"NonKeyAttributes\":[\"{ATTRIBUTES}\",\"{ttl}\"]}}}}"
        );
        let names = format!(
            "--attribute-definitions AttributeName={ID},AttributeType=S AttributeName={STATUS},AttributeType=S"
        );
        match step {
            MigrationStep::Table => format!(
                "aws dynamodb create-table --table-name {table} --billing-mode PAY_PER_REQUEST {names} --key-schema \
                 AttributeName={ID},KeyType=HASH AttributeName={STATUS},KeyType=RANGE \
                 --global-secondary-indexes '[{index}]'"
            ),
            MigrationStep::Index => format!(
                "aws dynamodb update-table --table-name {table} {names} \
                 --global-secondary-index-updates '[{{\"Create\":{index}}}]'"
            ),
            MigrationStep::TimeToLive => format!(
                "aws dynamodb update-time-to-live --table-name {table} \
                 --time-to-live-specification Enabled=true,AttributeName={ttl}"
            ),
        }
    }

    async fn run_step(&self, step: MigrationStep) -> Result<(), Error> {
        let place = self.database.settings.place();
        let target = self.target();
        retry_throttled(RETRY_TIME, || async {
            let client = self.database.client().await;
            match step {
                MigrationStep::Table => {
                    let request = client
                        .create_table()
                        .table_name(&target.table)
                        .billing_mode(BillingMode::PayPerRequest)
                        .set_attribute_definitions(Some(definitions()))
                        .set_key_schema(Some(key(ID, STATUS)))
                        .global_secondary_indexes(index(&target));
                    request
                        .send()
                        .await
                        .map(drop)
                        .map_err(|cause| classify(&place, "create the table", cause))
                }
                MigrationStep::Index => {
                    let GlobalSecondaryIndex { index_name, key_schema, projection, .. } = index(&target);
                    let create = CreateGlobalSecondaryIndexAction::builder()
                        .index_name(index_name)
                        .set_key_schema(Some(key_schema))
                        .set_projection(projection)
                        .build()
                        .expect("an index has a name, a key and a projection");
                    let request = client
                        .update_table()
                        .table_name(&target.table)
                        .set_attribute_definitions(Some(definitions()))
                        .global_secondary_index_updates(
                            GlobalSecondaryIndexUpdate::builder().create(create).build(),
                        );
                    request
                        .send()
                        .await
                        .map(drop)
                        .map_err(|cause| classify(&place, "create the index", cause))
                }
                MigrationStep::TimeToLive => {
                    let specification = TimeToLiveSpecification::builder()
                        .enabled(true)
                        .attribute_name(&target.ttl)
                        .build()
                        .expect("it has a name and is on");
                    let request = client.update_time_to_live().table_name(&target.table);
                    let request = request.time_to_live_specification(specification);
                    request
                        .send()
                        .await
                        .map(drop)
                        .map_err(|cause| classify(&place, "switch on the time to live", cause))
                }
            }
        })
        .await?;
        self.wait_until_active().await
    }

    /// Waits until table and index are active.
    async fn wait_until_active(&self) -> Result<(), Error> {
        let until = Instant::now() + MAX_WAIT;
        loop {
            if TableShape::read(&self.database, &self.contract).await?.is_some_and(|shape| shape.ready) {
                return Ok(());
            }
            if Instant::now() > until {
                let text = format!(
                    "table {} is still being made; run `postrider migrate` again later",
                    self.target().table
                );
                return Err(Error::new(Class::Transient, text));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

fn definitions() -> Vec<AttributeDefinition> {
    let text = |name: &str| {
        AttributeDefinition::builder()
            .attribute_name(name)
            .attribute_type(ScalarAttributeType::S)
            .build()
            .expect("it has a name and a type")
    };
    vec![text(ID), text(STATUS)]
}

fn key(partition: &str, sort: &str) -> Vec<KeySchemaElement> {
    let part = |name: &str, kind: KeyType| {
        KeySchemaElement::builder()
            .attribute_name(name)
            .key_type(kind)
            .build()
            .expect("it has a name and a kind")
    };
    vec![part(partition, KeyType::Hash), part(sort, KeyType::Range)]
}

fn index(target: &TableTarget) -> GlobalSecondaryIndex {
    let projection = Projection::builder()
        .projection_type(ProjectionType::Include)
        .non_key_attributes(ATTRIBUTES)
        .non_key_attributes(&target.ttl);
    GlobalSecondaryIndex::builder()
        .index_name(&target.index)
        .set_key_schema(Some(key(STATUS, ID)))
        .projection(projection.build())
        .build()
        .expect("an index has a name, a key and a projection")
}

#[async_trait]
impl Migrate for Migration {
    async fn plan(&self, _options: MigrateOptions) -> Result<Vec<String>, Error> {
        Ok(self.steps().await?.into_iter().map(|step| self.command(step)).collect())
    }

    async fn apply(&self, _options: MigrateOptions) -> Result<Vec<String>, Error> {
        let steps = self.steps().await?;
        for step in &steps {
            self.run_step(*step).await?;
        }
        Ok(steps.into_iter().map(|step| self.command(step)).collect())
    }
}

#[async_trait]
impl Migrate for DynamoStore {
    async fn plan(&self, options: MigrateOptions) -> Result<Vec<String>, Error> {
        Migration { database: self.database.clone(), contract: self.contract.clone() }.plan(options).await
    }

    async fn apply(&self, options: MigrateOptions) -> Result<Vec<String>, Error> {
        Migration { database: self.database.clone(), contract: self.contract.clone() }.apply(options).await
    }
}
