//! Key rotation: re-encrypts every `encrypted://` reference of every account, so that the old key can be removed.
//!
//! Invariant: the secrets do not change. A reference that is changed by another request meanwhile is not overwritten.

use crate::access::Actor;
use crate::audit::Change;
use crate::draft::Draft;
use crate::sheet::{Reader, now};
use crate::{Error, Hub};

/// The columns of an account that hold references to secrets.
const COLUMNS: [&str; 3] = ["auth_token_ref", "signing_secret_ref", "previous_signing_secret_ref"];

/// The number of accounts read per query.
const AT_ONCE: usize = 500;

/// The result of a key rotation.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Resealed {
    /// Number of references that were re-encrypted with the new key.
    pub references: u64,
    /// Accounts with a reference that cannot be decrypted, and the reason.
    pub failed: Vec<(String, String)>,
}

impl Hub {
    /// Re-encrypts the references of all accounts. Idempotent: references already under the new key are not changed.
    pub async fn reseal_accounts(&self, actor: &Actor) -> Result<Resealed, Error> {
        let mut done = Resealed::default();
        let mut after = String::new();
        loop {
            let rows = self.all("read the accounts' references", self.references_after(&after)).await?;
            let last = rows.len() < AT_ONCE;
            for row in rows {
                let mut row = Reader::new(row);
                after = row.word();
                let references = COLUMNS.map(|column| (column, row.text()));
                self.reseal(actor, &after, references, &mut done).await?;
            }
            if last {
                return Ok(done);
            }
        }
    }

    /// The query for the next accounts by id. The previous signing secret is included only while it is valid.
    fn references_after(&self, id: &str) -> Draft {
        let dialect = self.dialect();
        Draft::new(dialect, "SELECT id, auth_token_ref, signing_secret_ref, CASE WHEN previous_until > ")
            .push(now(dialect))
            .push(" THEN previous_signing_secret_ref END FROM service_accounts WHERE id > ")
            .text(id)
            .push(&format!(" ORDER BY id LIMIT {AT_ONCE}"))
    }

    async fn reseal(
        &self,
        actor: &Actor,
        id: &str,
        references: [(&str, Option<String>); 3],
        done: &mut Resealed,
    ) -> Result<(), Error> {
        let Some(sealer) = &self.sealer else { return Ok(()) };
        let mut statements = Vec::new();
        for (column, reference) in references {
            let Some(reference) = reference.filter(|reference| reference.starts_with("encrypted://")) else {
                continue;
            };
            match sealer.seal_anew(&reference) {
                Ok(None) => {}
                Ok(Some(anew)) => {
                    let update =
                        Draft::new(self.dialect(), format!("UPDATE service_accounts SET {column} = "));
                    let update = update.text(&anew).push(" WHERE id = ").text(id);
                    statements.push(update.push(&format!(" AND {column} = ")).text(&reference).done());
                }
                Err(why) => done.failed.push((id.to_owned(), why)),
            }
        }
        if statements.is_empty() {
            return Ok(());
        }
        statements.push(Change::new("reencrypt", "serviceAccount", id).by(self.dialect(), actor));
        let answers = self.run("seal references anew", statements).await?;
        done.references += answers.iter().rev().skip(1).map(|answer| answer.changed).sum::<u64>();
        Ok(())
    }
}
