//! Reads `[stores.NAME]` and `[transports.NAME]`.

use std::time::Duration;

use postrider_seams::Secret;
use postrider_store_postgres::Pooler;

use super::keys::transport_options;
use super::reader::{Located, Reader, SetKeys};
use super::reliable::ReliableSettings;
use super::secret::References;
use crate::wiring::{StoreKind, TransportKind, store_mistakes, transport_mistakes};

const ONLY_POSTGRES: &str = "is only for PostgreSQL";
const ONLY_SERVERS: &str = "is only for PostgreSQL and MySQL";

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
    options: Vec<(String, Secret)>,
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
        let password = password.filter(|_| kind != Some(StoreKind::Sqlite));
        let whole = url.as_ref().and_then(|url| {
            reported(reader, url, with_options(url.value.reveal(), None, password.as_ref(), &[]))
        });
        if let Some(kind) = kind {
            refuse_unused(reader, kind);
        }
        if let (Some(url), Some(kind), Some(whole)) = (&url, kind, &whole) {
            let set = reader.set_keys(["password"]);
            reader.wrong_options(&url.place, &set, &store_mistakes(kind, whole.reveal()));
        }
        if let (Some(listen_url), Some(StoreKind::Postgres)) = (&listen_url, kind) {
            for mistake in store_mistakes(StoreKind::Postgres, listen_url.value.reveal()) {
                reader.wrong_at(&listen_url.place, "listen_url", mistake.to_string());
            }
        }
        let listen_url = listen_url.map(|found| found.value);
        reader.finish();
        Some(Self { name, kind: kind?, url: whole?, listen_url, connections, timeout, pooler })
    }
}

/// Refuses the keys that a database of this kind has no use for.
fn refuse_unused(reader: &Reader<'_>, kind: StoreKind) {
    let unused: &[(&str, &str)] = match kind {
        StoreKind::Postgres => &[],
        StoreKind::Mysql => &[("listen_url", ONLY_POSTGRES), ("pooler", ONLY_POSTGRES)],
        StoreKind::Sqlite | StoreKind::DynamoDb => &[
            ("listen_url", ONLY_POSTGRES),
            ("pooler", ONLY_POSTGRES),
            ("connections", ONLY_SERVERS),
            ("timeout", ONLY_SERVERS),
        ],
    };
    let file = [("password", "is not for SQLite: a file has no password")];
    let file = file.iter().filter(|_| kind == StoreKind::Sqlite);
    for (key, text) in unused.iter().chain(file) {
        if let Some(place) = reader.place_of(key) {
            reader.wrong_at(&place, key, *text);
        }
    }
}

fn pooler(reader: &Reader<'_>) -> Option<Pooler> {
    reader.get("pooler")?.choice(&[
        ("none", Pooler::None),
        ("session", Pooler::Session),
        ("transaction", Pooler::Transaction),
    ])
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
        let key = reader.secret("key", References::All).map(|found| found.value);
        let options: Vec<(&'static str, String)> =
            transport_options().into_iter().filter_map(|key| Some((key, reader.option(key)?))).collect();
        let names = options.iter().map(|(name, _)| *name);
        let set = reader.set_keys(["user", "password", "key"].into_iter().chain(names));
        let given = GivenOptions { user, password, key, options };
        let refused = refuse_options(reader, kind, &set);
        let given = if refused { GivenOptions::default() } else { given };
        let separate = kind.is_some_and(TransportKind::parses_own_options);
        let whole = url.as_ref().and_then(|url| {
            let none = GivenOptions::default();
            let GivenOptions { user, password, options, .. } = if separate { &none } else { &given };
            reported(
                reader,
                url,
                with_options(url.value.reveal(), user.as_deref(), password.as_ref(), options),
            )
        });
        let options = if separate { given.pairs() } else { Vec::new() };
        let reliable =
            kind.filter(|kind| *kind == TransportKind::Reliable).map(|_| ReliableSettings::read(reader));
        let made = kind.zip(whole).map(|(kind, url)| Self { name, kind, url, options, reliable });
        if let (Some(url), Some(made)) = (&url, &made) {
            reader.wrong_options(&url.place, &set, &transport_mistakes(made));
        }
        reader.finish();
        made
    }

    /// The options next to the URL, for transports that parse them themselves.
    pub fn options(&self) -> Vec<(String, String)> {
        self.options.iter().map(|(key, value)| (key.clone(), value.reveal().to_owned())).collect()
    }
}

/// What a transport's table sets next to the URL.
#[derive(Default)]
struct GivenOptions {
    user: Option<String>,
    password: Option<Secret>,
    key: Option<Secret>,
    options: Vec<(&'static str, String)>,
}

impl GivenOptions {
    /// All of it as options.
    fn pairs(self) -> Vec<(String, Secret)> {
        let user = self.user.map(Secret::new);
        let login = [("user", user), ("password", self.password), ("key", self.key)];
        let login = login.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let options = self.options.into_iter().map(|(name, value)| (name, Secret::new(value)));
        options.chain(login).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// Refuses what this kind of transport has no use for: every option of a folder or a combination, and the key of a
/// relay. Returns whether all of `set` was refused.
fn refuse_options(reader: &Reader<'_>, kind: Option<TransportKind>, set: &SetKeys) -> bool {
    let Some(kind) = kind else { return false };
    let text = match kind {
        TransportKind::Folder => "is not an option of a folder, which has only a url",
        TransportKind::Reliable => {
            "is not an option of reliable:; its senders have options of their own, in their tables"
        }
        _ => "is only for mail providers: ses:, sendgrid:, postmark:, mailgun:, resend:",
    };
    let all = matches!(kind, TransportKind::Folder | TransportKind::Reliable);
    for (key, place) in set.iter().filter(|(key, _)| all || *key == "key" && kind != TransportKind::Provider)
    {
        reader.wrong_at(place, key, text);
    }
    all
}

fn reported<T>(reader: &Reader<'_>, url: &Located<Secret>, result: Result<T, String>) -> Option<T> {
    result.map_err(|text| reader.wrong_at(&url.place, "url", text)).ok()
}

/// Adds the options of the table to the URL. Errors never repeat the URL, which may hold a password.
pub(super) fn with_options(
    url: &str,
    user: Option<&str>,
    password: Option<&Secret>,
    options: &[(&'static str, String)],
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
