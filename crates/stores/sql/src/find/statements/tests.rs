use postrider_contract::Contract;
use postrider_seams::inspect::{Matching, Query, Search};

use super::*;
use crate::{Shape, ShapeColumn, ddl};

fn page(dialect: Dialect, query: &Query, indexed: &[(&str, bool)]) -> Statement {
    let text = Contract::builtin("mail_outbox").expect("a contract of ours");
    let contract = Contract::parse("mail_outbox.toml", text).expect("it parses");
    let mut shape = ddl::reference_shape(&contract, dialect).expect("a table of ours");
    shape.indexed = indexed.iter().map(|(name, prefix)| ((*name).to_owned(), *prefix)).collect();
    let present = shape.columns.iter().map(|column| column.name.clone()).collect();
    let contract = contract.resolve(&present).expect("the table has every column");
    let table = Table::new(&contract, &contract.stages[0], dialect, &shape).expect("it fits");
    table.page(query, &Within::Index).expect("rows can match")
}

fn search(by: SearchBy, text: &str, matching: Matching) -> Query {
    let search = Some(Search { by, text: text.to_owned(), matching });
    Query { limit: 50, search, brief: true, ..Query::default() }
}

const DIALECTS: [Dialect; 3] = [Dialect::Postgres, Dialect::Mysql, Dialect::Sqlite];

#[test]
fn a_search_reads_an_index_or_the_newest_rows_only() {
    for dialect in DIALECTS {
        for by in [SearchBy::Key, SearchBy::Recipient, SearchBy::Error] {
            for matching in [Matching::Exact, Matching::Prefix] {
                let column = if by == SearchBy::Key { "idempotency_key" } else { "to_addresses" };
                let query = search(by, "a", matching);
                let bounded = page(dialect, &query, &[]).sql;
                assert!(bounded.contains("LIMIT 10000)"), "{bounded}");
                let whole = page(dialect, &query, &[(column, true)]).sql;
                assert_eq!(whole.contains("LIMIT 10000)"), by == SearchBy::Error, "{whole}");
                let exact_only = page(dialect, &query, &[(column, false)]).sql;
                let bounded = by == SearchBy::Error || matching == Matching::Prefix;
                assert_eq!(exact_only.contains("LIMIT 10000)"), bounded, "{exact_only}");
            }
        }
    }
}

#[test]
fn what_was_typed_is_bound_and_its_wildcards_mean_themselves() {
    for dialect in DIALECTS {
        let query = search(SearchBy::Recipient, "50%_\\'; DROP", Matching::Prefix);
        let statement = page(dialect, &query, &[("to_addresses", true)]);
        assert!(!statement.sql.contains("DROP"), "{}", statement.sql);
        let bound = match dialect {
            Dialect::Sqlite => "50%_\\'; DROP",
            _ => "50\\%\\_\\\\'; DROP%",
        };
        assert_eq!(statement.args[0], Arg::Text(Some(bound.to_owned())));
    }
}

/// An index must find no less than a search of the newest rows: producers write one address alone, or a list.
#[test]
fn an_address_is_found_by_index_alone_and_as_a_list() {
    for dialect in DIALECTS {
        for (matching, texts) in
            [(Matching::Exact, ["a@example.net", "[\"a@example.net\"]"]), (Matching::Prefix, ["a@", "[\"a@"])]
        {
            let statement =
                page(dialect, &search(SearchBy::Recipient, texts[0], matching), &[("to_addresses", true)]);
            let bound: Vec<&str> = statement.args.iter().filter_map(Arg::as_text).collect();
            for text in texts {
                assert!(bound.iter().any(|bound| bound.starts_with(text)), "{text}: {bound:?}");
            }
            let both = if dialect == Dialect::Postgres { " UNION ALL " } else { " OR " };
            assert!(
                statement.sql.contains(both) && !statement.sql.contains("LIMIT 10000)"),
                "{}",
                statement.sql
            );
        }
    }
}

#[test]
fn a_page_is_found_by_its_key_in_either_order() {
    for (order, sign, direction) in [(Order::Newest, '<', " DESC\n"), (Order::Oldest, '>', "\n")] {
        let state = Some("failed".to_owned());
        let query = Query { state, limit: 50, after: Some("7".to_owned()), order, ..Query::default() };
        let statement = page(Dialect::Postgres, &query, &[]);
        assert!(statement.sql.contains(&format!("t.\"id\" {sign} $1::bigint")), "{}", statement.sql);
        assert!(
            statement.sql.contains(&format!("ORDER BY t.\"id\"{direction}LIMIT 50")),
            "{}",
            statement.sql
        );
        assert_eq!(statement.args, [Arg::Int(Some(7))]);
    }
}

#[test]
fn a_brief_page_leaves_out_what_rows_carry() {
    let query = Query { limit: 50, brief: true, ..Query::default() };
    let brief = page(Dialect::Postgres, &query, &[]).sql;
    let whole = page(Dialect::Postgres, &Query { brief: false, ..query }, &[]).sql;
    assert!(!brief.contains("body_html") && whole.contains("body_html"));
    assert!(brief.contains("to_addresses") && brief.contains("last_error"), "{brief}");
}

/// The query must use the expression of the index, otherwise PostgreSQL would read the whole table.
#[test]
fn an_index_of_beginnings_is_asked_for_its_own_expression() {
    let text = Contract::builtin("mail_outbox").expect("a contract of ours");
    let contract = Contract::parse("mail_outbox.toml", text).expect("it parses");
    let shape = Shape { columns: vec![ShapeColumn::new("to_addresses", "text")], ..Shape::default() };
    let made = ddl::search::statements(&contract, Dialect::Postgres, &shape);
    assert_eq!(
        made,
        ["CREATE INDEX IF NOT EXISTS \"mail_outbox_search_to_addresses\" ON \"mail_outbox\" \
             (left(\"to_addresses\", 190) text_pattern_ops)"]
    );
    let mysql = |sql_type: &str| {
        let shape = Shape { columns: vec![ShapeColumn::new("to_addresses", sql_type)], ..Shape::default() };
        ddl::search::statements(&contract, Dialect::Mysql, &shape).concat()
    };
    assert!(mysql("longtext").ends_with("(`to_addresses`(190))"), "{}", mysql("longtext"));
    assert!(mysql("varchar(120)").ends_with("(`to_addresses`)"), "{}", mysql("varchar(120)"));
}
