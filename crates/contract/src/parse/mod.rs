//! Parses a contract's TOML into the checked model. Owns the order of reading; each part of the language has its own
//! file. Invariant: parsing continues after a mistake if anything else can still be read.

mod claim;
mod columns;
mod counts;
mod effects;
mod history;
mod lane;
mod message;
mod moves;
mod old_spelling;
mod schedule;
mod stages;
mod states;
mod template;
#[cfg(test)]
mod tests;
mod values;

use postrider_config::{Item, Mistake, Mistakes, Node, Report, TableReader};

use crate::{Contract, DynamoDb, Layer, Version, verify};
use columns::Names;
use states::States;

/// The major version of the language that this build reads.
const MAJOR: u32 = 1;

impl Contract {
    /// Parses and verifies a contract. `file` only names it in messages.
    pub fn parse(file: &str, text: &str) -> Result<Self, Mistakes> {
        Self::parse_with(file, text, &[])
    }

    /// Parses and verifies a contract with layers merged over the file first; the last layer wins.
    ///
    /// A layer that renames the column of a role, of a message field or of the key renames it wherever the file
    /// mentions it (in states, writes, sweeps …).
    pub fn parse_with(file: &str, text: &str, layers: &[Layer]) -> Result<Self, Mistakes> {
        let mut base = postrider_config::parse(file, text)?;
        let mut old = old_spelling::rewrite(&mut base);
        let mut root = base.clone();
        for (index, layer) in layers.iter().enumerate() {
            root.merge(&layer.values, index + 1);
            old.extend(old_spelling::rewrite(&mut root));
        }
        let prefixes = layers.iter().map(|layer| layer.prefix.clone()).collect();
        let report = Report::with_layers(&root, prefixes);
        old.into_iter().filter_map(|old| old.conflict(layers)).for_each(|mistake| report.add(mistake));
        let contract = read(&report, &base, &root);
        if let Some(contract) = &contract {
            verify::verify(contract, &report);
        }
        #[cfg(test)]
        tests::KEYS_READ.with_borrow_mut(|keys| keys.extend(report.keys_read()));
        report.finish()?;
        Ok(contract.expect("nothing is left out without a reported mistake"))
    }

    /// Returns the old spellings in a contract, each with its place and the new spelling. They are read for one more
    /// version; `contract verify` warns about them.
    pub fn old_spellings(file: &str, text: &str) -> Vec<Mistake> {
        let Ok(mut root) = postrider_config::parse(file, text) else { return Vec::new() };
        let warnings = old_spelling::rewrite(&mut root).into_iter().map(old_spelling::OldSpelling::warning);
        Mistakes::check(warnings.collect()).err().map(Mistakes::into_vec).unwrap_or_default()
    }
}

fn read(report: &Report, base: &Node, root: &Node) -> Option<Contract> {
    let reader = TableReader::root(report, root);
    let names = Names::new(base, root);
    let name = reader.required("contract", "write contract = \"NAME\"").and_then(|item| item.text());
    let version = read_version(&reader);
    let composer = reader.get("composer").and_then(|item| item.text());
    let table = columns::table(&reader, &names);
    let columns = columns::columns(&reader);
    let mut states = States::read(&reader, &names, &columns);
    let stages = stages::stages(&reader, &mut states, &columns, composer);
    let due = claim::due(&reader, &names, &columns);
    let claim = claim::claim(&reader, &names, &columns);
    let group = claim::group(&reader, &names, &columns);
    let pool = claim::pool(&reader);
    let sweeps = moves::sweeps(&reader, &mut states, &names, &columns);
    let producer = states.producer(&reader);
    let operator = moves::operator(&reader, &mut states, stages.as_deref());
    let retention = moves::retention(&reader, &states, &names, &columns);
    let effects = effects::effects(&reader, &names);
    let history = history::history(&reader, &effects, stages.as_deref().unwrap_or_default());
    let writes = effects::writes(&reader, &names);
    let joins = effects::joins(&reader, &names);
    let message = message::message(&reader, &names, &joins);
    let counts = counts::counts(&reader, &states, &names, &columns);
    let (lane, metrics) = (lane::lane(&reader), lane::metrics(&reader));
    let settings = read_settings(&reader);
    let dynamodb = read_dynamodb(&reader);
    reader.finish();
    Some(Contract {
        name: name?.to_owned(),
        version: version?,
        table: table?,
        columns,
        message,
        states: states.list,
        producer,
        stages: stages?,
        due,
        claim,
        group,
        pool,
        sweeps,
        cancel: operator.cancel,
        requeue: operator.requeue,
        complete: operator.complete,
        retention,
        effects,
        history,
        writes,
        joins,
        counts,
        lane,
        metrics,
        settings,
        dynamodb,
        queued: false,
    })
}

fn read_version(reader: &TableReader<'_>) -> Option<Version> {
    let item = reader.required("version", "write version = \"1.0\"")?;
    let text = item.text()?;
    let parts =
        text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    match parts {
        Some((MAJOR, minor)) => Some(Version { major: MAJOR, minor }),
        Some((major, _)) => {
            item.mistake(
                format!("unsupported major version {major}"),
                format!("write \"{MAJOR}.0\": this version of Postrider reads {MAJOR}.x"),
            );
            None
        }
        None => {
            item.mistake(format!("invalid version {text:?}"), "write \"MAJOR.MINOR\", such as \"1.0\"");
            None
        }
    }
}

fn read_settings(reader: &TableReader<'_>) -> std::collections::BTreeMap<String, String> {
    let Some(settings) = reader.table("settings") else { return std::collections::BTreeMap::new() };
    let read = |(name, item): (&str, Item<'_>)| {
        let target = item.text()?;
        if !crate::settings::is_target(target) {
            item.mistake(format!("`{target}` cannot be set by a setting"), crate::settings::targets(target));
            return None;
        }
        Some((name.to_owned(), target.to_owned()))
    };
    settings.all().filter_map(read).collect()
}

fn read_dynamodb(reader: &TableReader<'_>) -> Option<DynamoDb> {
    let dynamodb = reader.table("dynamodb")?;
    let word = |key: &'static str, example: &str| {
        dynamodb.required(key, example).and_then(|item| item.text()).map(str::to_owned)
    };
    let layout = word("layout", "write layout = \"meta_and_history\"");
    let index = word("index", "write index = \"StatusIndex\"");
    let ttl = word("ttl", "write ttl = \"TTL\"");
    dynamodb.finish();
    Some(DynamoDb { layout: layout?, index: index?, ttl: ttl? })
}
