//! Payload schemas: JSON Schemas by id. The payload of a job that names a registered schema is checked against it.

mod cost;
mod pattern_cost;
mod validators;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use self::validators::try_compile;
pub(crate) use self::validators::{Payload, Validators};
use crate::access::Actor;
use crate::audit::Change;
use crate::sql::{Clauses as _, Insert, NewRow, RowReader, Table, columns};
use crate::validation::Faults;
use crate::{Error, Fault, Hub, Moment};

const TABLE: Table =
    Table { name: "dispatch_schemas", columns: columns![id, document, created_at: Time, updated_at: Time] };

/// Maximum size of a schema, in bytes.
const MAX_SCHEMA_BYTES: usize = 256 * 1024;

/// A JSON Schema that payloads of jobs are checked against.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PayloadSchema {
    /// Id of the schema, as in `schemaId` of a job.
    pub id: String,
    /// The JSON Schema; draft 2020-12 unless `$schema` names another one.
    #[schema(value_type = Object)]
    pub schema: serde_json::Value,
    /// When the schema was registered.
    pub created_at: Option<Moment>,
    /// When the schema was last replaced.
    pub updated_at: Option<Moment>,
}

impl Hub {
    /// Checks payloads against their schemas; one result per payload. A schema that is not registered accepts
    /// everything.
    pub(crate) async fn check_payloads(&self, checks: Vec<Payload>) -> Result<Vec<Option<Fault>>, Error> {
        let ids: BTreeSet<&str> = checks.iter().map(|check| check.schema.as_str()).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let query = self.sql("SELECT id, document FROM dispatch_schemas WHERE id IN ");
        let rows = self.fetch_all("look up payload schemas", query.in_list(ids)).await?;
        let documents: BTreeMap<String, String> =
            rows.into_iter().map(|mut row| (row.required_text(), row.required_text())).collect();
        if documents.is_empty() {
            return Ok(checks.iter().map(|_| None).collect());
        }
        let validators = Arc::clone(&self.validators);
        self.validators.run_on_thread(move || validators.check(&documents, &checks)).await
    }

    /// Registers or replaces a schema. Existing jobs are not checked again.
    ///
    /// Fails if the document is no valid JSON Schema, larger than 256 KiB, or too expensive to check.
    pub async fn put_schema(
        &self,
        actor: &Actor,
        id: &str,
        document: &serde_json::Value,
    ) -> Result<PayloadSchema, Error> {
        let mut faults = Faults::default();
        faults.slug("id", id, 128);
        let text = document.to_string();
        faults.text("schema", &text, MAX_SCHEMA_BYTES);
        if !document.is_object() {
            faults.add("schema", "must be a JSON Schema: an object");
        }
        faults.finish()?;
        let schema = document.clone();
        if let Err(why) = self.validators.run_on_thread(move || try_compile(&schema)).await? {
            return Err(Error::invalid("schema", format!("is not accepted: {why}")));
        }
        let dialect = self.dialect();
        let row = NewRow::new().text("id", id.to_owned()).text("document", text.clone());
        let insert = Insert::into(TABLE.name).skip_duplicates(true).row(dialect, row);
        let update = self.update(&TABLE, NewRow::new().text("document", text));
        let update = update.push(", updated_at = ").now().push(" WHERE id = ").text(id);
        let entry = Change::new("put", "schema", id).entry(dialect, actor);
        self.run("register a payload schema", vec![insert, update.finish(), entry]).await?;
        self.schema(id).await
    }

    /// Returns one schema by its id; an error if it is not registered. Schemas belong to no client.
    pub async fn schema(&self, id: &str) -> Result<PayloadSchema, Error> {
        let query = self.select(&TABLE).and_equals("id", Some(id));
        self.fetch_first("read a payload schema", query).await?.map(read).ok_or(Error::NotFound("schema"))
    }

    /// Returns all schemas by id, at most 1000.
    pub async fn schemas(&self) -> Result<Vec<PayloadSchema>, Error> {
        let query = self.select(&TABLE).push(" ORDER BY t.id LIMIT 1000");
        Ok(self.fetch_all("list payload schemas", query).await?.into_iter().map(read).collect())
    }

    /// Deletes a schema; an error if it is not registered. Jobs that name it are no longer checked.
    pub async fn delete_schema(&self, actor: &Actor, id: &str) -> Result<(), Error> {
        self.schema(id).await?;
        let delete = self.sql("DELETE FROM dispatch_schemas WHERE id = ").text(id);
        let change = Change::new("delete", "schema", id).entry(self.dialect(), actor);
        self.run("delete a payload schema", vec![delete.finish(), change]).await?;
        Ok(())
    }
}

fn read(mut row: RowReader) -> PayloadSchema {
    PayloadSchema {
        id: row.required_text(),
        schema: row.json(),
        created_at: row.time(),
        updated_at: row.time(),
    }
}
