//! Reads `[stores.NAME]` and `[transports.NAME]`.

use std::time::Duration;

use postrider_seams::Secret;
use postrider_store_postgres::Pooler;

use super::keys::transport_options;
use super::reader::{Located, Reader};
use super::reliable::ReliableSettings;
use super::secret::References;
use crate::wiring::{StoreKind, TransportKind, transport_mistakes};

const ONLY_POSTGRES: &str = "is only for PostgreSQL";

/// The settings of a database.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    pub name: String,
    pub kind: StoreKind,
    pub url: Secret,
    /// The direct URL for notifications, which a transaction pooler does not pass on.
    pub listen_url: Option<Secret>,
    pub connections: Option<u32>,
    /// Longest wait for an answer; `None` for the store's default.
    pub timeout: Option<Duration>,
    /// The pooler in front of PostgreSQL; detected if `None`.
    pub pooler: Option<Pooler>,
}

/// The settings of a target.
#[derive(Debug, Clone)]
pub struct TransportSettings {
    pub name: String,
    pub kind: TransportKind,
    /// The URL with user, password and all options, except for transports that parse the options next to it themselves.
    pub url: Secret,
    beside: Vec<(String, Secret)>,
    /// The settings of a combination of several transports; `None` for a single one.
    pub reliable: Option<ReliableSettings>,
}

impl StoreSettings {
    /// Reads the table; `None` if a mistake was recorded.
    pub fn read(name: String, reader: &Reader<'_>) -> Option<Self> {
        let url = reader.secret("url", References::All);
        let url = reader.required("url", url, "url = \"postgres://user@host/database\" (or mysql:, sqlite:)");
        let password = reader.secret("password", References::All).map(|found| found.value);
        let listen_url = reader.secret("listen_url", References::All);
        let connections = reader.number("connections", 2..=200);
        let timeout = reader.duration("timeout", Duration::from_secs(1)..=Duration::from_mins(10));
        let pooler = pooler(reader);
        let kind = url.as_ref().and_then(|url| reported(reader, url, StoreKind::of(url.value.reveal())));
        let whole = url.as_ref().and_then(|url| {
            reported(reader, url, with_options(url.value.reveal(), None, password.as_ref(), &[]))
        });
        if let (Some(found), Some(kind)) = (&pooler, kind)
            && kind != StoreKind::Postgres
        {
            reader.wrong_at(&found.place, "pooler", ONLY_POSTGRES);
        }
        if let (Some(found), Some(kind)) = (&listen_url, kind)
            && kind != StoreKind::Postgres
        {
            reader.wrong_at(&found.place, "listen_url", ONLY_POSTGRES);
        }
        let without_server = kind.is_some_and(|kind| matches!(kind, StoreKind::Sqlite | StoreKind::DynamoDb));
        let set = [("connections", connections.is_some()), ("timeout", timeout.is_some())];
        for (key, _) in set.into_iter().filter(|(_, set)| *set && without_server) {
            reader.wrong_at(reader.place(), key, "is only for PostgreSQL and MySQL");
        }
        let listen_url = listen_url.map(|found| found.value);
        let pooler = pooler.map(|found| found.value);
        reader.finish();
        Some(Self { name, kind: kind?, url: whole?, listen_url, connections, timeout, pooler })
    }
}

fn pooler(reader: &Reader<'_>) -> Option<Located<Pooler>> {
    let item = reader.get("pooler")?;
    let value = item.choice(&[
        ("none", Pooler::None),
        ("session", Pooler::Session),
        ("transaction", Pooler::Transaction),
    ])?;
    Some(Located { value, place: item.place().clone() })
}

impl TransportSettings {
    /// Reads the table; `None` if a mistake was recorded.
    pub fn read(name: String, reader: &Reader<'_>) -> Option<Self> {
        let url = reader.secret("url", References::NoFiles);
        let url = reader.required(
            "url",
            url,
            "url = \"smtp://host:25\" (or smtps:, file:, kafka:, nats:, amqp:, sqs:)",
        );
        let kind = url.as_ref().and_then(|url| reported(reader, url, TransportKind::of(url.value.reveal())));
        let user = reader.text("user").map(|found| found.value);
        let password = reader.secret("password", References::All).map(|found| found.value);
        let key = reader.secret("key", References::All);
        let options: Vec<(&str, String)> =
            transport_options().into_iter().filter_map(|key| Some((key, reader.option(key)?))).collect();
        let beside = kind.is_some_and(TransportKind::reads_beside);
        let whole = url.as_ref().and_then(|url| {
            let (user, password, options) = if beside {
                (None, None, &[][..])
            } else {
                (user.as_deref(), password.as_ref(), &options[..])
            };
            reported(reader, url, with_options(url.value.reveal(), user, password, options))
        });
        let mut pairs: Vec<(String, Secret)> = Vec::new();
        if beside {
            pairs.extend(options.iter().map(|(key, value)| ((*key).to_owned(), Secret::new(value.as_str()))));
            pairs.extend(user.map(|user| ("user".to_owned(), Secret::new(user))));
            pairs.extend(password.map(|password| ("password".to_owned(), password)));
            pairs.extend(key.map(|key| ("key".to_owned(), key.value)));
        } else if let Some(key) = key {
            reader.wrong_at(
                &key.place,
                "key",
                "is only for mail providers: ses:, sendgrid:, postmark:, mailgun:, resend:",
            );
        }
        let reliable =
            kind.filter(|kind| *kind == TransportKind::Reliable).map(|_| ReliableSettings::read(reader));
        let made = kind.zip(whole).map(|(kind, url)| Self { name, kind, url, beside: pairs, reliable });
        if let (Some(url), Some(made)) = (&url, &made) {
            for text in transport_mistakes(made) {
                reader.wrong_at(&url.place, "url", text);
            }
        }
        reader.finish();
        made
    }

    /// The options next to the URL, for transports that parse them themselves.
    pub fn beside(&self) -> Vec<(String, String)> {
        self.beside.iter().map(|(key, value)| (key.clone(), value.reveal().to_owned())).collect()
    }
}

fn reported<T>(reader: &Reader<'_>, url: &Located<Secret>, result: Result<T, String>) -> Option<T> {
    result.map_err(|text| reader.wrong_at(&url.place, "url", text)).ok()
}

/// Adds the options of the table to the URL. Errors never repeat the URL, which may hold a password.
pub(super) fn with_options(
    url: &str,
    user: Option<&str>,
    password: Option<&Secret>,
    options: &[(&str, String)],
) -> Result<Secret, String> {
    if user.is_none() && password.is_none() && options.is_empty() {
        return Ok(Secret::new(url));
    }
    let mut whole = url::Url::parse(url).map_err(|error| format!("is not a URL: {error}"))?;
    let no_host = |()| "has no host, so it cannot have a user or a password".to_owned();
    if let Some(user) = user {
        whole.set_username(user).map_err(no_host)?;
    }
    if let Some(password) = password {
        whole.set_password(Some(password.reveal())).map_err(no_host)?;
    }
    for (key, value) in options {
        whole.query_pairs_mut().append_pair(key, value);
    }
    Ok(Secret::new(whole))
}
