//! Key rotation: re-encrypts every `encrypted://` reference of every account, so that the old key can be removed.
//!
//! Invariant: the secrets do not change. A reference that is changed by another request meanwhile is not overwritten.

use postrider_config::Scheme;

use crate::access::Actor;
use crate::audit::Change;
use crate::sql::{Clauses as _, SqlBuilder};
use crate::{Error, Hub};

/// The columns of an account that hold references to secrets.
const COLUMNS: [&str; 3] = ["auth_token_ref", "signing_secret_ref", "previous_signing_secret_ref"];

/// The number of accounts read per query.
const PAGE: usize = 500;

/// The result of a key rotation.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reencrypted {
    /// Number of references that were re-encrypted with the new key.
    pub references: u64,
    /// Accounts with a reference that cannot be decrypted, and the reason.
    pub failed: Vec<(String, String)>,
}

impl Hub {
    /// Re-encrypts the references of all accounts. Idempotent: references already under the new key are not changed.
    pub async fn reencrypt_accounts(&self, actor: &Actor) -> Result<Reencrypted, Error> {
        let mut result = Reencrypted::default();
        let mut after = String::new();
        loop {
            let rows = self.fetch_all("read the accounts' references", self.references_after(&after)).await?;
            let last = rows.len() < PAGE;
            for mut row in rows {
                after = row.required_text();
                let references = COLUMNS.map(|column| (column, row.text()));
                self.reencrypt_account(actor, &after, references, &mut result).await?;
            }
            if last {
                return Ok(result);
            }
        }
    }

    /// The query for the next accounts by id. The previous signing secret is included only while it is valid.
    fn references_after(&self, id: &str) -> SqlBuilder {
        self.sql("SELECT id, auth_token_ref, signing_secret_ref, CASE WHEN previous_until > ")
            .now()
            .push(" THEN previous_signing_secret_ref END FROM service_accounts WHERE id > ")
            .text(id)
            .push(&format!(" ORDER BY id LIMIT {PAGE}"))
    }

    async fn reencrypt_account(
        &self,
        actor: &Actor,
        id: &str,
        references: [(&str, Option<String>); 3],
        result: &mut Reencrypted,
    ) -> Result<(), Error> {
        let Some(encryption) = &self.encryption else { return Ok(()) };
        let mut statements = Vec::new();
        for (column, reference) in references {
            let is_encrypted = |reference: &String| Scheme::Encrypted.strip(reference).is_some();
            let Some(reference) = reference.filter(is_encrypted) else {
                continue;
            };
            match encryption.reencrypt(&reference) {
                Ok(None) => {}
                Ok(Some(new)) => {
                    let update = self.sql(format!("UPDATE service_accounts SET {column} = "));
                    let update = update.text(&new).push(" WHERE id = ").text(id);
                    statements.push(update.push(&format!(" AND {column} = ")).text(&reference).finish());
                }
                Err(why) => result.failed.push((id.to_owned(), why)),
            }
        }
        if statements.is_empty() {
            return Ok(());
        }
        statements.push(Change::new("reencrypt", "serviceAccount", id).entry(self.dialect(), actor));
        let answers = self.run("re-encrypt secret references", statements).await?;
        result.references += answers.iter().rev().skip(1).map(|answer| answer.changed).sum::<u64>();
        Ok(())
    }
}
