//! `manual`: writes the help texts as man pages.

use std::path::Path;

use clap::CommandFactory;

use crate::cli::Cli;
use crate::failure::Failure;

/// Writes one page per command into the folder.
pub fn run(folder: &Path) -> Result<(), Failure> {
    let written =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
    written.map_err(|error| {
        Failure::Failed(format!("cannot write the manual pages to {}: {error}", folder.display()))
    })
}
