//! `cargo xtask crash`: the crash test at full length, every database.

use crate::run::{self, Failure, Result};

/// What the issue that asked for it calls enough.
const KILLS: u32 = 40;

pub fn command(words: &[&str]) -> Result {
    let variables = variables(words)?;
    // One after the other: each has three workers, a database and a relay of its own, and shows its figures.
    let arguments =
        ["test", "-p", "postrider", "--test", "it", "crash::", "--", "--nocapture", "--test-threads=1"];
    run::with(&variables, &run::cargo_program(), &arguments)
}

/// What the test reads; `--seed` replays the choices of an earlier run.
fn variables(words: &[&str]) -> Result<Vec<(&'static str, String)>> {
    let mut kills = KILLS.to_string();
    let mut variables = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next().filter(|value| value.parse::<u64>().is_ok());
        let value = value.ok_or_else(|| Failure::Misuse(format!("crash {word} takes a number\n")))?;
        match *word {
            "--kills" => (*value).clone_into(&mut kills),
            "--rows" => variables.push(("POSTRIDER_CRASH_ROWS", (*value).to_owned())),
            "--seed" => variables.push(("POSTRIDER_CRASH_SEED", (*value).to_owned())),
            _ => return Err(Failure::Misuse(format!("crash has no {word}\n"))),
        }
    }
    variables.push(("POSTRIDER_CRASH_KILLS", kills));
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forty_kills_unless_told_otherwise() {
        assert_eq!(variables(&[]).unwrap(), [("POSTRIDER_CRASH_KILLS", "40".to_owned())]);
        let told = variables(&["--seed", "7", "--kills", "90"]).unwrap();
        assert_eq!(
            told,
            [("POSTRIDER_CRASH_SEED", "7".to_owned()), ("POSTRIDER_CRASH_KILLS", "90".to_owned())]
        );
    }

    #[test]
    fn what_is_no_number_is_misuse() {
        assert!(matches!(variables(&["--kills"]), Err(Failure::Misuse(_))));
        assert!(matches!(variables(&["--kills", "many"]), Err(Failure::Misuse(_))));
        assert!(matches!(variables(&["--speed", "9"]), Err(Failure::Misuse(_))));
    }
}
