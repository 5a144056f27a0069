//! Inserts a new row, as an application would.

pub(crate) mod statements;

use postrider_seams::produce::KEY;
use postrider_seams::row::{Detail, Value};
use postrider_seams::store::{Class, Error};

use crate::bind::tsid;
use crate::driver::Driver;
use crate::open_table::OpenTable;
use crate::produce::statements::{NewRow, needs_key, produce};

impl OpenTable {
    /// Inserts one row, ready for the stage, and returns its key.
    pub async fn produce(&self, on: &impl Driver, fields: &Detail) -> Result<String, Error> {
        let names: Vec<&str> = fields.keys().map(String::as_str).filter(|name| *name != KEY).collect();
        let script = produce(&self.contract, &self.stage, on.dialect(), &self.shape, &names)
            .map_err(|problem| Error::new(Class::Permanent, format!("can't write a row: {problem}")))?;
        let mut fields = fields.clone();
        if needs_key(&self.contract, &self.shape) {
            let id = self.shape.column(&self.contract.table.id);
            let fresh = || Value::Text(fresh_key(id.map_or("", |id| id.sql_type.as_str())));
            fields.entry(KEY.to_owned()).or_insert_with(fresh);
        }
        let key = on.fetch("write a row", &script, NewRow(&fields)).await?.pop();
        key.ok_or_else(|| Error::new(Class::Permanent, "a row was written, but its key did not come back"))
    }
}

/// Generates a key that the database does not: a UUID if the column's type suits it, else a TSID.
fn fresh_key(sql_type: &str) -> String {
    let sql_type = sql_type.to_ascii_lowercase();
    if !sql_type.contains("uuid") && !sql_type.contains("(36)") {
        return tsid();
    }
    // Version 4, variant 1 (RFC 9562).
    let random: u128 = rand::random();
    let bits = random & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_fits_its_column() {
        for sql_type in ["uuid", "char(36)", "VARCHAR(36)"] {
            let key = fresh_key(sql_type);
            assert_eq!(key.len(), 36);
            assert_eq!(&key[14..15], "4");
            assert!("89ab".contains(&key[19..20]), "{key}");
        }
        assert_eq!(fresh_key("varchar(26)").len(), 13);
    }
}
