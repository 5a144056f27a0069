//! Arguments of `account`, `key` and `secret`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum AccountCommand {
    /// Create a service account; without references a signing secret is generated and shown once
    Create {
        /// Code of the account; unique
        code: String,
        /// Display name [default: the code]
        #[arg(long)]
        name: Option<String>,
        /// Client whose jobs may use the account; may be repeated [default: all]
        #[arg(long = "client", value_name = "ID")]
        clients: Vec<String>,
        /// Host that the credentials may be sent to, *.DOMAIN, or '*' for any host; may be repeated
        #[arg(long = "host", value_name = "HOST", required = true)]
        hosts: Vec<String>,
        #[command(flatten)]
        credentials: CredentialArgs,
        /// Print one JSON object and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Replace the signing secret or the references of an account; the old secret stays valid for 24 hours, and requests carry both signatures
    Regenerate {
        /// Id of the account
        id: String,
        #[command(flatten)]
        credentials: CredentialArgs,
        /// Print one JSON object and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Re-encrypt the encrypted:// references of all accounts with the first key, so that older keys can be removed
    Reencrypt {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct CredentialArgs {
    /// Reference to the signing secret, such as env://SIGNING_SECRET
    #[arg(long, value_name = "REFERENCE")]
    pub signing: Option<String>,
    /// Reference to the token for `Authorization: Bearer`
    #[arg(long, value_name = "REFERENCE", conflicts_with = "basic")]
    pub bearer: Option<String>,
    /// Reference to user:password for `Authorization: Basic`
    #[arg(long, value_name = "REFERENCE")]
    pub basic: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum SecretCommand {
    /// Generate a key for POSTRIDER_SECRET_KEY, or for the file that POSTRIDER_SECRET_KEY_FILE names, and print it
    Key {
        /// Name of the key; references contain it
        #[arg(default_value = "k1")]
        id: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Read a secret from stdin and print its encrypted:// reference
    Encrypt {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Read encrypted:// references from stdin, one per line, and print each re-encrypted with the first key
    Reencrypt {
        /// Print one JSON object per reference
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Create an API key and print it; it is shown only once
    Create(KeyCreateArgs),
    /// List API keys; secrets are never shown
    List {
        /// Print one JSON object per key
        #[arg(long)]
        json: bool,
    },
    /// Revoke API keys; requests with them are refused from now on
    Revoke {
        /// Ids of the keys
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// Print one JSON object per key
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct KeyCreateArgs {
    /// Name of the key
    pub name: String,
    /// What the key may do; each role includes those before it
    #[arg(long, value_name = "ROLE", value_parser = ["viewer", "producer", "operator", "admin"])]
    pub role: String,
    /// Client that the key may access; may be repeated [default: all]
    #[arg(long = "client", value_name = "CLIENT")]
    pub clients: Vec<String>,
    /// When the key stops working, for example 2027-01-31T09:30:00Z [default: never]
    #[arg(long, value_name = "TIME")]
    pub expires_at: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}
