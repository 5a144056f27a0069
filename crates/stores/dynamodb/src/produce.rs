//! Writes a new e-mail as an application would: both of its records, or none.

use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::ColumnRole;
use postrider_rows::Row;
use postrider_seams::Value;
use postrider_seams::produce::{KEY, Produce};
use postrider_seams::row::Detail;
use postrider_seams::store::{Class, Error};

use crate::layout::{LATEST, META};
use crate::record::Record;
use crate::requests::WriteResult;
use crate::statement::text;
use crate::store::DynamoStore;

const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

#[async_trait]
impl Produce for DynamoStore {
    async fn produce(&self, fields: &Detail) -> Result<String, Error> {
        let columns = self.contract.message_columns();
        let mut row = Row::new();
        for (field, value) in fields.iter().filter(|(field, _)| field.as_str() != KEY) {
            let Some((_, column)) = columns.iter().find(|(known, _)| known == field) else {
                let text = format!("contract {} has no field {field}", self.contract.name);
                return Err(Error::new(Class::Permanent, text));
            };
            row.insert(column.clone(), value.clone());
        }
        let now = self.database.clock.now();
        for role in [ColumnRole::Created, ColumnRole::Updated] {
            if let Some(column) = self.contract.column(role) {
                row.insert(column.to_owned(), Value::Int(now));
            }
        }
        let id = fields.get(KEY).and_then(Value::as_text).map_or_else(random_uuid, str::to_owned);
        let status = self.status_of(self.stage().ready[0]);
        let history = Record::history(&self.layout, &row, None);
        let mut meta = history.clone();
        meta.insert(LATEST.to_owned(), text(status));
        let statements =
            [self.target.insert(&id, META, meta, None), self.target.insert(&id, status, history, None)];
        match self.database.write("write a row", &statements, WRITE_TIMEOUT).await? {
            WriteResult::Done => Ok(id),
            WriteResult::Refused(_) => {
                Err(Error::new(Class::Permanent, format!("there is a row {id} already")))
            }
        }
    }
}

/// Returns a random UUID (version 4, RFC 9562).
fn random_uuid() -> String {
    let random: u128 = rand::random();
    let bits = random & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
