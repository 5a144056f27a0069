//! The proof that a contract is sound. Pure: it looks at the model alone, and names keys; the log knows their lines.

use crate::Contract;
use crate::reader::Log;

pub(crate) fn verify(_contract: &Contract, _log: &Log<'_>) {}
