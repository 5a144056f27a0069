//! `account`, `key`, `secret`: who may do what, and with which secrets.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum AccountCommand {
    /// Make one; a signing secret is made too, and shown this once, unless references are given
    Create {
        /// Its unique code
        code: String,
        /// What people call it [default: its code]
        #[arg(long)]
        name: Option<String>,
        /// A client whose jobs may use it; may be repeated [default: all]
        #[arg(long = "client", value_name = "ID")]
        clients: Vec<String>,
        /// A host that its credentials may go to, *.DOMAIN, or '*' for any; may be repeated
        #[arg(long = "host", value_name = "HOST", required = true)]
        hosts: Vec<String>,
        #[command(flatten)]
        credentials: CredentialArgs,
        /// One JSON object, and no word besides
        #[arg(long)]
        json: bool,
    },
    /// Give it a new signing secret, or new references; the old secret stays valid for 24 hours, and both sign
    Regenerate {
        /// Its id
        id: String,
        #[command(flatten)]
        credentials: CredentialArgs,
        /// One JSON object, and no word besides
        #[arg(long)]
        json: bool,
    },
    /// Seal the encrypted:// references of all accounts with the first key, so that older keys can go
    Reencrypt {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct CredentialArgs {
    /// Where the signing secret is, such as env://SIGNING_SECRET
    #[arg(long, value_name = "REFERENCE")]
    pub signing: Option<String>,
    /// Where the token of `Authorization: Bearer` is
    #[arg(long, value_name = "REFERENCE", conflicts_with = "basic")]
    pub bearer: Option<String>,
    /// Where user:password of `Authorization: Basic` is
    #[arg(long, value_name = "REFERENCE")]
    pub basic: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum SecretCommand {
    /// Print a fresh key for POSTRIDER_SECRET_KEY, or for the file that POSTRIDER_SECRET_KEY_FILE names
    Key {
        /// What the key is called; references hold this name
        #[arg(default_value = "k1")]
        id: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Read a secret from stdin and print its encrypted:// reference
    Encrypt {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Read encrypted:// references from stdin, one a line, and print each sealed with the first key
    Reencrypt {
        /// One JSON object a reference
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Make a key and print it; it is shown this once
    Create(KeyCreateArgs),
    /// Every key, never what it opens with
    List {
        /// One JSON object a key
        #[arg(long)]
        json: bool,
    },
    /// End keys at once
    Revoke {
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// One JSON object a key
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct KeyCreateArgs {
    /// What it is for
    pub name: String,
    /// What it may do: each may do what those before it may
    #[arg(long, value_name = "ROLE", value_parser = ["viewer", "producer", "operator", "admin"])]
    pub role: String,
    /// A client whose things it may see; again for more [default: all]
    #[arg(long = "client", value_name = "CLIENT")]
    pub clients: Vec<String>,
    /// When it ends: 2027-01-31T09:30:00Z
    #[arg(long, value_name = "TIME")]
    pub expires_at: Option<String>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}
