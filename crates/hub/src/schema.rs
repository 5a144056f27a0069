//! Schemas of payloads: JSON Schemas by id. A job that names one that is registered is held to it when it is made.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Actor;
use crate::audit::Change;
use crate::check::Faults;
use crate::draft::Draft;
use crate::sheet::{Fresh, Insert, Kind, Reader, Sheet, now};
use crate::{Error, Hub, Moment};

const SHEET: Sheet = Sheet {
    table: "dispatch_schemas",
    columns: &[
        ("id", Kind::Text),
        ("document", Kind::Text),
        ("created_at", Kind::Time),
        ("updated_at", Kind::Time),
    ],
};

/// The most bytes of a schema.
const LARGEST: usize = 256 * 1024;

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PayloadSchema {
    pub id: String,
    /// A JSON Schema; draft 2020-12 unless `$schema` says otherwise.
    #[schema(value_type = Object)]
    pub schema: serde_json::Value,
    pub created_at: Option<Moment>,
    pub updated_at: Option<Moment>,
}

/// Schemas in use, by id.
pub(crate) type Schemas = BTreeMap<String, Compiled>;

pub(crate) struct Compiled(jsonschema::Validator);

impl Compiled {
    /// What is wrong with a payload.
    pub fn mistake(&self, payload: Option<&str>) -> Option<String> {
        let payload = match serde_json::from_str(payload.unwrap_or_default()) {
            Ok(payload) => payload,
            Err(error) => return Some(format!("is no JSON, which its schema is about: {error}")),
        };
        let error = self.0.iter_errors(&payload).next()?;
        let place = error.instance_path().to_string();
        // The message quotes the payload, which may be large.
        let text: String = error.to_string().chars().take(300).collect();
        Some(format!("does not fit its schema at `{place}`: {text}"))
    }
}

/// The error says what is wrong with the schema.
fn compiled(document: &serde_json::Value) -> Result<Compiled, String> {
    let options = jsonschema::options().should_validate_formats(true);
    let validator = options.build(document).map_err(|error| error.to_string())?;
    Ok(Compiled(validator))
}

impl Hub {
    pub(crate) async fn schemas_named(&self, ids: &BTreeSet<String>) -> Result<Schemas, Error> {
        if ids.is_empty() {
            return Ok(Schemas::new());
        }
        let query = Draft::new(self.dialect(), "SELECT id, document FROM dispatch_schemas WHERE id IN ");
        let query = query.texts(ids.iter().map(String::as_str));
        let rows = self.all("look up payload schemas", query).await?;
        let read = |row| {
            let mut row = Reader::new(row);
            let id = row.word();
            let schema = compiled(&row.json()).map_err(|_| Error::broken("a payload schema"))?;
            Ok((id, schema))
        };
        rows.into_iter().map(read).collect()
    }

    /// Registers a schema, or puts another in its place; jobs that are there already are not looked at again.
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
        } else if let Err(mistake) = compiled(document) {
            faults.note(
                "schema",
                format!("is no JSON Schema: {}", mistake.chars().take(300).collect::<String>()),
            );
        }
        faults.end()?;
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

    pub async fn schema(&self, id: &str) -> Result<PayloadSchema, Error> {
        let query =
            Draft::new(self.dialect(), SHEET.selected(self.dialect())).push(" WHERE t.id = ").text(id);
        self.first("read a payload schema", query).await?.map(read).ok_or(Error::Absent("schema"))
    }

    pub async fn schemas(&self) -> Result<Vec<PayloadSchema>, Error> {
        let query =
            Draft::new(self.dialect(), SHEET.selected(self.dialect())).push(" ORDER BY t.id LIMIT 1000");
        Ok(self.all("list payload schemas", query).await?.into_iter().map(read).collect())
    }

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
