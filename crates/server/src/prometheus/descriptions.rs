//! Descriptions of metrics for `# HELP`, read from the table of the reference, so that both are always equal.

const REFERENCE: &str = include_str!("../../../../docs/reference/metrics.md");

/// Registers the descriptions with the recorder; call it after the recorder is installed.
pub fn describe() {
    for (name, kind, meaning) in descriptions() {
        let name = name.to_owned();
        match kind {
            "counter" => metrics::describe_counter!(name, meaning),
            "gauge" => metrics::describe_gauge!(name, meaning),
            _ => metrics::describe_histogram!(name, meaning),
        }
    }
}

/// Returns the rows of the tables: `` | `name` | kind | labels | meaning | ``.
fn descriptions() -> impl Iterator<Item = (&'static str, &'static str, String)> {
    let rows = REFERENCE.lines().filter(|line| line.starts_with("| `"));
    rows.filter_map(|line| {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let (name, kind, _, meaning) = (cells.next()?, cells.next()?, cells.next()?, cells.next()?);
        Some((name.trim_matches('`'), kind, plain(meaning)))
    })
}

/// Removes markup: `` `dead` `` becomes `dead`, `[queue](queues.md)` becomes `queue`.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        plain += before;
        rest = match link.split_once("](").and_then(|(word, to)| Some((word, to.split_once(')')?.1))) {
            Some((word, after)) => {
                plain += word;
                after
            }
            None => link,
        };
    }
    plain += rest;
    plain.replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_of_the_reference_has_a_description() {
        let all: Vec<_> = descriptions().collect();
        assert!(all.len() > 25, "{all:?}");
        for (name, kind, meaning) in &all {
            assert!(["counter", "gauge", "histogram"].contains(kind), "{name} is a {kind}");
            assert!(!meaning.is_empty() && !meaning.contains(['`', '[']), "{name}: {meaning}");
        }
        assert_eq!(plain("only with a [collector](../guides/observe.md): `x`"), "only with a collector: x");
    }
}
