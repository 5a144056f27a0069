//! Parses `smtp://user:password@host:port?option=value` into settings and reports all mistakes at once.

use postrider_seams::Secret;
use postrider_target_options::{OptionMistake, TargetUrl, UrlOptions};

use super::{Credentials, Mechanism, Settings, Timeouts, Tls, is_loopback};
use crate::error::{Error, TARGET};

impl Settings {
    /// Parses the URL of a relay.
    /// `smtps://` is TLS from the first byte. `smtp://` is STARTTLS, required; to a loopback address without
    /// credentials it is plain text. `tls=none|starttls|implicit` overrides this.
    pub fn from_url(text: &str) -> Result<Self, Error> {
        // The default port depends on TLS: 0 means that the URL has none.
        let mut address = TargetUrl::parse(text, &[], 0);
        let mut options = std::mem::take(&mut address.options);
        if address.hosts.len() > 1 {
            options.mistake("a relay has one host: use a transport with reliable: for several relays");
        }
        if address.path.is_some_and(|path| !path.is_empty()) {
            options.mistake("unexpected text after the port: only ?options are allowed");
        }
        let (host, port) =
            address.hosts.into_iter().next().map(|host| (host.name, host.port)).unwrap_or_default();
        let credentials = credentials(address.user, address.password, &mut options);
        let tls = tls(&address.scheme, &host, credentials.is_some(), &mut options);

        let mut settings = Self::new(host, tls);
        if port != 0 {
            settings.port = port;
        }
        settings.credentials = credentials;
        settings.read(&mut options);
        let mut mistakes = options.finish();
        mistakes.extend(settings.mistakes());
        Error::check(TARGET, mistakes).map(|()| settings)
    }

    fn read(&mut self, options: &mut UrlOptions) {
        options.read("allow_plaintext_auth", "true or false", &mut self.allow_plaintext_auth);
        self.helo = options.text("helo");
        options.read("connections", "a whole number", &mut self.connections);
        options.read("per_connection", "a whole number", &mut self.per_connection);
        options.read("batch", "a whole number", &mut self.batch);
        options.read("max_size", "a number of bytes", &mut self.max_size);
        let is_limited = options.has("rate");
        let mut rate = 1;
        options.read("rate", "a whole number of mails per second", &mut rate);
        self.rate = is_limited.then_some(rate);
        options.positive_duration("idle", &mut self.idle);
        self.ca_file = options.text("ca_file").map(Into::into);
        self.timeouts.read(options);
    }
}

impl Timeouts {
    fn read(&mut self, options: &mut UrlOptions) {
        options.positive_duration("timeout_connect", &mut self.connect);
        options.positive_duration("timeout_tls", &mut self.tls);
        options.positive_duration("timeout_greeting", &mut self.greeting);
        options.positive_duration("timeout_ehlo", &mut self.ehlo);
        options.positive_duration("timeout_auth", &mut self.auth);
        options.positive_duration("timeout_mail", &mut self.mail);
        options.positive_duration("timeout_reuse", &mut self.reuse);
        options.positive_duration("timeout_rcpt", &mut self.rcpt);
        options.positive_duration("timeout_data", &mut self.data);
        options.positive_duration("timeout_block", &mut self.block);
        options.positive_duration("timeout_end", &mut self.end);
    }
}

fn credentials(
    user: Option<String>,
    password: Option<Secret>,
    options: &mut UrlOptions,
) -> Option<Credentials> {
    let mut mechanism = None;
    let mechanisms = [
        ("password", Some(Mechanism::Password)),
        ("plain", Some(Mechanism::Plain)),
        ("login", Some(Mechanism::Login)),
        ("xoauth2", Some(Mechanism::XOAuth2)),
    ];
    options.choice("auth", &mechanisms, &mut mechanism);
    match (user, password.filter(|password| !password.reveal().is_empty())) {
        (user, Some(secret)) => Some(Credentials {
            user: user.unwrap_or_default(),
            secret,
            mechanism: mechanism.unwrap_or(Mechanism::Password),
        }),
        (Some(_), None) => {
            options.mistake(OptionMistake::of("user", "needs a password"));
            None
        }
        (None, None) => {
            if mechanism.is_some() {
                options.mistake(OptionMistake::of("auth", "needs a user and a password before the host"));
            }
            None
        }
    }
}

fn tls(scheme: &str, host: &str, credentials: bool, options: &mut UrlOptions) -> Tls {
    let by_scheme = match scheme {
        "smtps" => Tls::Implicit,
        "smtp" if !credentials && is_loopback(host) => Tls::None,
        "smtp" => Tls::Required,
        _ => {
            options.mistake("the scheme must be smtp, or smtps for TLS from the first byte");
            Tls::Required
        }
    };
    let mut tls = by_scheme;
    let modes = [("implicit", Tls::Implicit), ("starttls", Tls::Required), ("none", Tls::None)];
    options.choice("tls", &modes, &mut tls);
    if by_scheme == Tls::Implicit && tls != Tls::Implicit {
        let what = "must be implicit: smtps:// is TLS from the first byte";
        options.mistake(OptionMistake::of("tls", what).with_remedy("use smtp:// for another mode"));
        return by_scheme;
    }
    tls
}
