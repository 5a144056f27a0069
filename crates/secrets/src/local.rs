//! Local secrets: `env://` and `file://`.

use std::path::Path;

use postrider_seams::Secret;
use postrider_seams::secret::Error;

use crate::resolver::Environment;

/// Maximum size of a file with a secret, in bytes.
const MAX_FILE_SIZE: u64 = 1024 * 1024;

pub(crate) fn variable(environment: &Environment, name: &str) -> Result<Secret, Error> {
    let found = environment.get(name).map(Secret::new);
    found.ok_or_else(|| Error::Refused(format!("the environment variable `{name}` is not set")))
}

/// Reads a secret from a file, without line ends at its end, which editors and `echo` add.
pub(crate) async fn file(base: &Path, name: &str) -> Result<Secret, Error> {
    let path = base.join(name);
    let shown = path.display();
    let read_error = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::Refused(format!("there is no file {shown}")),
        _ => Error::Unavailable(format!("the file {shown} can't be read: {error}")),
    };
    let size = tokio::fs::metadata(&path).await.map_err(read_error)?.len();
    if size > MAX_FILE_SIZE {
        return Err(Error::Refused(format!("the file {shown} is too large for a secret")));
    }
    let text = zeroize::Zeroizing::new(tokio::fs::read_to_string(&path).await.map_err(read_error)?);
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(Error::Refused(format!("the file {shown} is empty"))),
        value => Ok(Secret::new(value)),
    }
}
