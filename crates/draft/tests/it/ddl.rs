//! Describes the table of a CREATE TABLE statement, as a database would describe it without rows.

use postrider_seams::TableDescription;
use postrider_seams::table::{ColumnDescription, DatabaseKind};

/// Words that end the type of a column.
const ENDS: [&str; 8] = ["NOT", "NULL", "DEFAULT", "PRIMARY", "UNIQUE", "CHECK", "GENERATED", "REFERENCES"];

/// Describes the first table of the script, whose lines hold one column each.
pub fn described(database: DatabaseKind, script: &str) -> TableDescription {
    let create = script.split("CREATE TABLE ").nth(1).expect("a table");
    let (name, rest) = create.split_once('(').expect("its columns");
    let body = rest.split("\n)").next().expect("the end");
    let names: Vec<String> = name.trim().split('.').map(plain).collect();
    let folds = database == DatabaseKind::Postgres;
    let spelled = |name: &str| {
        let quoted = name.starts_with(['"', '`']);
        if folds && !quoted { plain(name).to_lowercase() } else { plain(name) }
    };
    let mut table = TableDescription {
        database,
        schema: (names.len() == 2).then(|| names[0].clone()),
        name: names.last().expect("a name").clone(),
        ..TableDescription::default()
    };
    for line in body.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let line = line.trim_end_matches(',');
        let mut words = line.split_whitespace();
        let name = spelled(words.next().expect("a name"));
        let sql_type: Vec<&str> = words.take_while(|word| !ENDS.contains(word)).collect();
        if line.contains("PRIMARY KEY") || line.contains("UNIQUE") {
            table.unique.push(vec![name.clone()]);
        }
        table.columns.push(ColumnDescription {
            name,
            sql_type: sql_type.join(" "),
            nullable: !line.contains("NOT NULL") && !line.contains("PRIMARY KEY"),
            has_default: line.contains("DEFAULT"),
            ..ColumnDescription::default()
        });
    }
    table
}

fn plain(name: &str) -> String {
    name.trim().trim_matches(['"', '`']).to_owned()
}
