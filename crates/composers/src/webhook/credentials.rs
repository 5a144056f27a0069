//! Loads an account's credentials, all of them or none (rule J10).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use postrider_seams::{Outcome, Secret};

use super::directory::{Account, Auth};
use super::{WebhookComposer, deferred};

/// The credentials of one request.
pub struct RequestCredentials {
    pub authorization: Option<Secret>,
    pub signing: Vec<Secret>,
}

impl WebhookComposer {
    /// Loads the credentials. Every error is a deferral: a request is never sent unsigned or unauthenticated instead.
    pub(super) async fn credentials(
        &self,
        id: &str,
        account: Option<&Account>,
        client: Option<&str>,
    ) -> Result<RequestCredentials, Outcome> {
        let account = account.ok_or_else(|| deferred(format!("there is no service account {id}")))?;
        check_account(id, account, client)?;
        let authorization = match &account.auth {
            None => None,
            Some(Auth::Bearer(reference)) => {
                let token = self.secret(id, "token", reference).await?;
                Some(Secret::new(format!("Bearer {}", token.reveal().trim())))
            }
            Some(Auth::Basic(reference)) => {
                let login = self.secret(id, "login", reference).await?;
                Some(
                    basic_auth(&login)
                        .map_err(|reason| deferred(format!("service account {id}: {reason}")))?,
                )
            }
        };
        let mut signing = Vec::with_capacity(account.signing.len());
        for reference in &account.signing {
            signing.push(self.secret(id, "signing secret", reference).await?);
        }
        Ok(RequestCredentials { authorization, signing })
    }

    async fn secret(&self, id: &str, what: &str, reference: &str) -> Result<Secret, Outcome> {
        let found = self.secrets.secret(reference).await;
        let found = found.map_err(|error| deferred(format!("service account {id}: its {what}: {error}")))?;
        if found.reveal().trim().is_empty() {
            return Err(deferred(format!("service account {id}: its {what} is empty")));
        }
        Ok(found)
    }
}

fn check_account(id: &str, account: &Account, client: Option<&str>) -> Result<(), Outcome> {
    if !account.active {
        return Err(deferred(format!("service account {id} is not active")));
    }
    let serves = |client: &str| account.clients.iter().any(|known| known == client);
    if !account.clients.is_empty() && !client.is_some_and(serves) {
        return Err(deferred(format!("service account {id} is not for this client")));
    }
    Ok(())
}

fn basic_auth(login: &Secret) -> Result<Secret, &'static str> {
    let text = login.reveal().trim();
    if text.contains(':') {
        return Ok(Secret::new(format!("Basic {}", STANDARD.encode(text))));
    }
    match STANDARD.decode(text) {
        Ok(decoded) if decoded.contains(&b':') => Ok(Secret::new(format!("Basic {text}"))),
        _ => Err("its login is neither user:password nor that in base64"),
    }
}
