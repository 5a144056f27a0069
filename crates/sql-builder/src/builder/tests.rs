use super::*;

#[derive(Debug, Clone, PartialEq)]
enum Arg {
    Text(Option<String>),
    Int(Option<i64>),
    Flag(bool),
}

impl Argument for Arg {
    fn text(text: Option<String>) -> Self {
        Self::Text(text)
    }

    fn int(number: Option<i64>) -> Self {
        Self::Int(number)
    }

    fn flag(flag: bool) -> Self {
        Self::Flag(flag)
    }

    fn postgres_type(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Int(_) => "bigint",
            Self::Flag(_) => "boolean",
        }
    }
}

#[test]
fn placeholders_follow_the_arguments_in_every_dialect() {
    let built = |dialect| {
        let list = SqlBuilder::new(dialect, "SELECT 1 FROM t WHERE ").column("a").push(" = ").text("x");
        let list = list.push(" AND b = ").value(Arg::Int(None)).push(" AND c IN ").in_list(["y", "z"]);
        list.push(" AND d = ").flag(true).push(" AND e < ").time(None).finish()
    };
    let args = [
        Arg::Text(Some("x".into())),
        Arg::Int(None),
        Arg::Text(Some("y".into())),
        Arg::Text(Some("z".into())),
        Arg::Flag(true),
        Arg::Text(None),
    ];
    for (dialect, sql) in [
        (
            Dialect::Postgres,
            "SELECT 1 FROM t WHERE \"a\" = $1::text AND b = $2::bigint AND c IN ($3::text, \
             $4::text) AND d = $5::boolean AND e < $6::timestamptz",
        ),
        (
            Dialect::Mysql,
            "SELECT 1 FROM t WHERE `a` = ? AND b = ? AND c IN (?, ?) AND d = ? \
             AND e < CAST(? AS DATETIME(6))",
        ),
        (
            Dialect::Sqlite,
            "SELECT 1 FROM t WHERE \"a\" = ?1 AND b = ?2 AND c IN (?3, ?4) AND d = ?5 AND e < ?6",
        ),
    ] {
        assert_eq!(built(dialect), Statement { sql: sql.to_owned(), args: args.to_vec() });
    }
}

#[test]
fn an_empty_list_has_no_member() {
    let empty = SqlBuilder::<Arg>::new(Dialect::Mysql, "a IN ").in_list([] as [&str; 0]);
    assert_eq!(empty.finish().sql, "a IN (NULL)");
}

#[test]
fn a_bare_value_has_no_cast() {
    let mut builder = SqlBuilder::new(Dialect::Postgres, "");
    let (first, second) = (builder.bind_bare(Arg::Int(Some(1))), builder.bind_text("x"));
    let statement = builder.finish_with(format!("SELECT {first}, {second}"));
    assert_eq!(statement.sql, "SELECT $1, $2::text");
    assert_eq!(statement.args, [Arg::Int(Some(1)), Arg::Text(Some("x".into()))]);
}
