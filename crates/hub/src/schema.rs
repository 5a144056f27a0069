//! Payload schemas: JSON Schemas by id. The payload of a job that names a registered schema is checked against it.

mod cost;
mod validators;
mod weight;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use self::validators::try_compile;
pub(crate) use self::validators::{Payload, Validators};
use crate::access::Actor;
use crate::audit::Change;
use crate::check::Faults;
use crate::draft::Draft;
use crate::sheet::{Fresh, Insert, Kind, Reader, Sheet, now};
use crate::{Error, Fault, Hub, Moment};

const SHEET: Sheet = Sheet {
    table: "dispatch_schemas",
    columns: &[
        ("id", Kind::Text),
        ("document", Kind::Text),
        ("created_at", Kind::Time),
        ("updated_at", Kind::Time),
    ],
};

/// Maximum size of a schema, in bytes.
const LARGEST: usize = 256 * 1024;

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
        let query = Draft::new(self.dialect(), "SELECT id, document FROM dispatch_schemas WHERE id IN ");
        let rows = self.all("look up payload schemas", query.texts(ids.iter().copied())).await?;
        let documents: BTreeMap<String, String> = rows
            .into_iter()
            .map(|row| {
                let mut row = Reader::new(row);
                (row.word(), row.word())
            })
            .collect();
        if documents.is_empty() {
            return Ok(checks.iter().map(|_| None).collect());
        }
        let validators = Arc::clone(&self.validators);
        self.validators.apart(move || validators.check(&documents, &checks)).await
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
        faults.text("schema", &text, LARGEST);
        if !document.is_object() {
            faults.note("schema", "must be a JSON Schema: an object");
        }
        faults.end()?;
        let schema = document.clone();
        if let Err(why) = self.validators.apart(move || try_compile(&schema)).await? {
            return Err(Error::invalid("schema", format!("is not accepted: {why}")));
        }
        let dialect = self.dialect();
        let columns = [("id", Kind::Text), ("document", Kind::Text)];
        let insert = Insert { table: SHEET.table, columns: &columns, or_nothing: true, ..Insert::default() };
        let row = Fresh::new().text("id", id.to_owned()).text("document", text.clone());
        let update = Draft::new(dialect, "UPDATE dispatch_schemas SET document = ")
            .text(&text)
            .push(", updated_at = ")
            .push(now(dialect))
            .push(" WHERE id = ")
            .text(id);
        let change = Change::new("put", "schema", id).by(dialect, actor);
        let statements = vec![insert.rows(dialect, vec![row]), update.done(), change];
        self.run("register a payload schema", statements).await?;
        self.schema(id).await
    }

    /// Returns one schema by its id; an error if it is not registered. Schemas belong to no client.
    pub async fn schema(&self, id: &str) -> Result<PayloadSchema, Error> {
        let query =
            Draft::new(self.dialect(), SHEET.selected(self.dialect())).push(" WHERE t.id = ").text(id);
        self.first("read a payload schema", query).await?.map(read).ok_or(Error::Absent("schema"))
    }

    /// Returns all schemas by id, at most 1000.
    pub async fn schemas(&self) -> Result<Vec<PayloadSchema>, Error> {
        let query =
            Draft::new(self.dialect(), SHEET.selected(self.dialect())).push(" ORDER BY t.id LIMIT 1000");
        Ok(self.all("list payload schemas", query).await?.into_iter().map(read).collect())
    }

    /// Deletes a schema; an error if it is not registered. Jobs that name it are no longer checked.
    pub async fn delete_schema(&self, actor: &Actor, id: &str) -> Result<(), Error> {
        self.schema(id).await?;
        let delete = Draft::new(self.dialect(), "DELETE FROM dispatch_schemas WHERE id = ").text(id);
        let change = Change::new("delete", "schema", id).by(self.dialect(), actor);
        self.run("delete a payload schema", vec![delete.done(), change]).await?;
        Ok(())
    }
}

fn read(row: Vec<postrider_seams::row::Value>) -> PayloadSchema {
    let mut row = Reader::new(row);
    PayloadSchema { id: row.word(), schema: row.json(), created_at: row.time(), updated_at: row.time() }
}
