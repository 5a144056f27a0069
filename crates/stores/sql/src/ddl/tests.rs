//! The statements of `create` and `missing`, without a database.

use postrider_contract::Contract;

use super::*;

const DIALECTS: [Dialect; 3] = [Dialect::Postgres, Dialect::Mysql, Dialect::Sqlite];

fn builtin(name: &str) -> Contract {
    let text = Contract::builtin(name).expect("one of ours");
    Contract::parse(name, text).expect("our own contracts parse")
}

#[test]
fn a_reference_table_lacks_nothing() {
    for name in Contract::builtin_names() {
        for dialect in DIALECTS {
            let contract = builtin(name);
            let shape = reference_shape(&contract, dialect).expect("one of ours");
            assert!(fits(&contract, &shape), "{name} {dialect:?}");
            let indexes: Vec<Index> = needed::needed(&contract, dialect, &shape)
                .expect("it renders")
                .into_iter()
                .map(|one| one.index)
                .collect();
            assert_eq!(missing(&contract, &shape, &indexes, dialect), Ok(Vec::new()), "{name} {dialect:?}");
        }
    }
}

#[test]
fn g04_an_old_table_gets_columns_and_indexes_and_loses_nothing() {
    let contract = builtin("mail_outbox");
    let mut shape = reference_shape(&contract, Dialect::Postgres).expect("one of ours");
    shape.columns.retain(|column| !["claimed_by", "lease_until"].contains(&column.name.as_str()));
    let added = missing(&contract, &shape, &[], Dialect::Postgres).expect("it renders");
    assert_eq!(
        added,
        [
            "ALTER TABLE \"mail_outbox\" ADD COLUMN \"claimed_by\" text",
            "ALTER TABLE \"mail_outbox\" ADD COLUMN \"lease_until\" timestamptz",
            "CREATE INDEX IF NOT EXISTS \"mail_outbox_dispatch_claim\" ON \"mail_outbox\" \
             (\"next_attempt_at\", \"id\") WHERE \"status\" = 'queued'",
            "CREATE INDEX IF NOT EXISTS \"mail_outbox_dispatch_lease\" ON \"mail_outbox\" \
             (\"lease_until\") WHERE \"status\" = 'dispatching'",
            "CREATE INDEX IF NOT EXISTS \"mail_outbox_states5\" ON \"mail_outbox\" \
             ((CASE WHEN \"status\" = 'failed' THEN 'failed' WHEN \"status\" = 'queued' AND \"retry_count\" >= 5 THEN 'no \
             attempts left' END), \"id\") WHERE CASE WHEN \"status\" = 'failed' THEN 'failed' WHEN \"status\" = 'queued' \
             AND \"retry_count\" >= 5 THEN 'no attempts left' END IS NOT NULL",
        ]
    );
}

#[test]
fn an_index_of_the_application_that_serves_is_not_made_again() {
    let contract = builtin("mail_outbox");
    let shape = reference_shape(&contract, Dialect::Mysql).expect("one of ours");
    let theirs = Index {
        name: "their_own".to_owned(),
        columns: ["status", "next_attempt_at", "id"].map(str::to_owned).to_vec(),
        partial: false,
    };
    let added = missing(&contract, &shape, &[theirs], Dialect::Mysql).expect("it renders");
    assert_eq!(
        added,
        ["CREATE INDEX `mail_outbox_dispatch_lease` ON `mail_outbox` (`status`, `lease_until`)"]
    );
}

#[test]
fn a_missing_table_of_an_effect_is_created() {
    let contract = builtin("emails");
    let mut shape = reference_shape(&contract, Dialect::Mysql).expect("one of ours");
    shape.related.clear();
    let added = missing(&contract, &shape, &[], Dialect::Mysql).expect("it renders");
    assert!(added[0].starts_with("CREATE TABLE IF NOT EXISTS email_statuses ("), "{added:?}");
    assert!(added[0].contains("REFERENCES `emails` (id)"), "{added:?}");
}

#[test]
fn channels_and_index_names_stay_within_what_databases_take() {
    let mut contract = builtin("mail_outbox");
    contract.table.name = format!("Mail {}", "x".repeat(58));
    let channel = channel(&contract);
    assert!(channel.len() <= 63 && channel.starts_with("postrider_mail_xxx"), "{channel}");
    let other = {
        contract.table.name.push('y');
        super::channel(&contract)
    };
    assert_ne!(channel, other, "a long name is cut, but keeps a mark of its own");
    assert!(notify(&contract)[1].contains("FOR EACH STATEMENT"));
}

#[test]
fn a_renamed_column_makes_a_plain_table() {
    let text = Contract::builtin("mail_outbox").expect("one of ours").replace("\"retry_count\"", "\"tries\"");
    let contract = Contract::parse("mine", &text).expect("it parses");
    let statements = create(&contract, Dialect::Sqlite).expect("it renders");
    assert!(statements[0].contains("\"tries\" INTEGER NOT NULL DEFAULT 0"), "{}", statements[0]);
}

#[test]
fn a_mysql_table_gets_the_column_that_ordered_groups_need_before_its_indexes() {
    let contract = builtin("outbox");
    let mut shape = reference_shape(&contract, Dialect::Mysql).expect("one of ours");
    shape.columns.retain(|column| column.name != "live_group");
    let added = missing(&contract, &shape, &[], Dialect::Mysql).expect("it renders");
    assert_eq!(
        added[0],
        "ALTER TABLE `outbox` ADD COLUMN `live_group` VARCHAR(255) GENERATED ALWAYS AS (CASE WHEN ((`status` = 'PENDING') \
         OR (`status` = 'PROCESSING')) AND `partition_key` IS NOT NULL THEN `partition_key` END) VIRTUAL"
    );
    let order = "CREATE INDEX `outbox_publish_order` ON `outbox` (`live_group`, `created_at`, `id`)";
    assert!(added.iter().any(|statement| statement == order), "{added:#?}");
}

fn index(name: &str) -> Index {
    Index { name: name.to_owned(), ..Index::default() }
}

#[test]
fn indexes_of_earlier_versions_are_named_and_no_others() {
    let contract = builtin("dispatch_jobs");
    for dialect in DIALECTS {
        let shape = reference_shape(&contract, dialect).expect("one of ours");
        let former = ["dispatch_jobs_newest", "dispatch_jobs_code"];
        // MySQL never had indexes of states and of rows without attempts left.
        let partial = [
            "dispatch_jobs_queued_state",
            "dispatch_jobs_deliver_spent7_own",
            "dispatch_jobs_deliver_fresh_mode",
            "dispatch_jobs_rare3_own",
            "dispatch_jobs_rare_status",
        ];
        let others = [
            "dispatch_jobs_idempotency",
            "dispatch_jobs_deliver_order_mode",
            "dispatch_jobs_their_state",
            "dispatch_jobs_deliver_spent",
            "dispatch_jobs_deliver_spent7_theirs",
            "dispatch_jobs_rare3_theirs",
            "their_dispatch_jobs_newest",
            // A lane with an external queue needs it.
            "dispatch_jobs_deliver_offer",
        ];
        let named = former.iter().chain(&partial).chain(&others);
        let named: Vec<Index> = named.map(|name| index(name)).collect();
        let unneeded =
            |existing: &[Index]| former::unneeded(&contract, &shape, existing, dialect).expect("it renders");
        assert_eq!(unneeded(&named), [], "{dialect:?}: the new indexes are still missing");
        let needed = needed::needed(&contract, dialect, &shape).expect("it renders");
        let needed = needed.into_iter().map(|needed| needed.index);
        let mut existing: Vec<Index> = named.into_iter().chain(needed).collect();
        let without_the_apis = unneeded(&existing);
        assert!(!without_the_apis.iter().any(|index| former.contains(&index.name.as_str())), "{dialect:?}");
        existing.push(index("dispatch_jobs_of_client"));
        let found = unneeded(&existing);
        let names: Vec<&str> = found.iter().map(|index| index.name.as_str()).collect();
        let partial = partial.iter().filter(|_| dialect != Dialect::Mysql);
        assert_eq!(names, former.iter().chain(partial).copied().collect::<Vec<_>>(), "{dialect:?}");
        let drop = match dialect {
            Dialect::Postgres => "DROP INDEX CONCURRENTLY \"dispatch_jobs_newest\"",
            Dialect::Mysql => "DROP INDEX `dispatch_jobs_newest` ON `dispatch_jobs`",
            Dialect::Sqlite => "DROP INDEX \"dispatch_jobs_newest\"",
        };
        assert!(found.iter().any(|index| index.drop == drop), "{found:?}");
    }
}

#[test]
fn an_index_of_an_earlier_version_that_serves_instead_of_a_missing_one_is_still_needed() {
    let contract = builtin("emails");
    let shape = reference_shape(&contract, Dialect::Mysql).expect("one of ours");
    let of_stage = |stage: &str| Index {
        columns: ["status", "updated_at", "id"].map(str::to_owned).to_vec(),
        ..index(&format!("emails_{stage}_claim"))
    };
    let unneeded = |existing: &[Index]| {
        former::unneeded(&contract, &shape, existing, Dialect::Mysql).expect("it renders").len()
    };
    assert_eq!(unneeded(&[of_stage("send")]), 0);
    assert_eq!(unneeded(&[of_stage("intake"), of_stage("send")]), 1);
}
