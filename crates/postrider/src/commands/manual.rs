//! `manual`: the help texts as pages for `man`.

use std::path::Path;

use clap::CommandFactory;

use crate::cli::Cli;
use crate::failure::Failure;

pub fn run(folder: &Path) -> Result<(), Failure> {
    let written =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
    written.map_err(|error| {
        Failure::Failed(format!("cannot write the manual pages to {}: {error}", folder.display()))
    })
}
