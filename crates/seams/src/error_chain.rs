//! Formats an error together with its causes.

use std::error::Error;

/// Returns the error and its causes on one line. A cause that the text already ends with is not repeated.
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut chain = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !chain.ends_with(&text) {
            chain.push_str(": ");
            chain.push_str(&text);
        }
        cause = error.source();
    }
    chain
}
