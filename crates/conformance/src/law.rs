//! The list of laws, each with the rules that it proves and a sentence that says what holds.

use futures::future::BoxFuture;

use crate::laws::{
    attempts, claim, content, due, effects, fence, foreign, group_ends, group_keys, group_stress, groups,
    handoff, locks, operator, pools, purge, recovery, settle, sweeps, unanswered,
};
use crate::subject::Subject;
use crate::test_case::TestCase;
use crate::test_table::TestedStore;

/// One rule that every store obeys for every contract.
pub struct Law {
    /// The module of the law, such as `claim`.
    pub theme: &'static str,
    /// The name in tests and in the generated table.
    pub name: &'static str,
    /// The rules of `docs/rules.md` that it proves.
    pub rules: &'static [&'static str],
    /// What holds, as a sentence.
    pub sentence: &'static str,
    /// Returns why the law does not apply to this contract or store; `None` where it applies.
    pub not_applicable: fn(&Subject, TestedStore) -> Option<&'static str>,
    /// Runs the law; panics if it is broken.
    pub run: for<'a> fn(&'a TestCase) -> BoxFuture<'a, ()>,
}

macro_rules! laws {
    ($($group:ident :: $name:ident [$not_applicable:expr] [$($rule:ident)*] $sentence:literal;)*) => {
        /// All laws, in the order of a row's life.
        pub static LAWS: &[Law] = &[$(Law {
            theme: stringify!($group),
            name: stringify!($name),
            rules: &[$(stringify!($rule)),*],
            sentence: $sentence,
            not_applicable: $not_applicable,
            run: |case| Box::pin($group::$name(case)),
        }),*];
    };
}

impl Law {
    /// Whether the law is about ordered groups.
    pub fn is_about_groups(&self) -> bool {
        self.theme.starts_with("group")
    }
}

/// The law applies to every contract and store.
fn always(_: &Subject, _: TestedStore) -> Option<&'static str> {
    None
}

laws! {
    claim::exclusive_claim [always] [M1 N1 E3 O1] "Eight workers claim at once: every row is claimed, and by one of them.";
    claim::claim_limit [always] [M1 O1] "A claim returns at most as many rows as it requests.";
    claim::claim_order [always] [M1 J8 E3 O1] "Rows are claimed in the contract's order.";
    claim::claim_marks_the_row [always] [M1 J2 N1 E1 O1] "A claim moves the row to its claimed state, records the worker and the time, and counts no attempt.";
    claim::other_states_are_left_alone [always] [M6 J2 E1] "No verb of the stage changes a row that is in none of its states, in particular no finished row.";
    claim::minimum_age [claim::no_minimum_age] [O1] "A row younger than the minimum age is not claimed.";
    claim::rows_about_to_be_swept [claim::no_blocking_sweeps] [J7 N11] "A row that a sweep is about to end is no longer claimed.";
    claim::counts_of_matching_rows [claim::no_counts] [N8 N11] "A claimed row carries the number of rows that match it: in a state, within a time, or claimed before it.";
    claim::producer_row [claim::no_defaults] [M2 J1 N0 E6 O7] "A row with only the columns that a producer must write is claimed.";
    due::future_rows_wait [always] [M1 J7 O1] "A row is claimed when it is due, and not before.";
    due::null_due_is_now [due::null_is_not_now] [J3 N4] "NULL in the due column means now.";
    due::requested_delays_are_kept [due::no_requested_delay] [N4] "A delay that a target requested is kept if it is longer than the schedule; a text that is not JSON requests none.";
    due::next_due_is_exact [always] [G5 O3] "The next due time is exact: none, now, or the time until then.";
    attempts::spent_rows_are_not_claimed [always] [M1 M6 N6] "A ready row without an attempt left is not claimed.";
    attempts::spent_rows_are_swept [always] [M6 N6] "A ready row without an attempt left is swept to the dead state with a reason; others are not.";
    attempts::attempts_exact [always] [G1 M3 J6 N2 O2] "Each end of a claim increments the counter exactly as the contract defines; release and deferral do not.";
    attempts::last_failure [always] [M6 J6 N6 O2] "The n-th failure is the last: the row is dead, its counter is exact, and it is never claimed again.";
    attempts::backoff [always] [M4 J6 N4 E8 O5] "The n-th retry waits as the contract defines, by the database's clock.";
    attempts::own_maximum [attempts::no_own_maximum] [J6] "A row's own maximum replaces the contract's.";
    fence::stale_after_reclaim [always] [G2] "A worker that lost its lease to another can neither settle nor extend nor release, and changes nothing.";
    fence::stale_within_a_tick [always] [G2] "Claim, release, claim without a pause: the first claim's lease is void.";
    fence::every_part_of_the_fence_counts [always] [G2 E2 O7] "A lease that differs from the row in any one fence column is void.";
    fence::claim_time_increases [fence::claim_time_cleared] [G2] "A claim time is later than the previous one, even if the clock was set back.";
    fence::repeated_settlement_is_lost [always] [G2] "A repeated settlement returns Lost and changes nothing.";
    fence::unfenced_state_is_refused [always] [G2 E2] "A row that another program moved to another state is not settled, whatever its fence contains.";
    recovery::crash_is_recovered [always] [G2 M7 J2 N13 E10 O5] "After a crash between delivery and settlement the row is reclaimed and delivered again; the crash counts as an attempt if the contract counts recovery.";
    recovery::live_lease_is_left_alone [always] [G2] "A reclaim leaves rows alone whose lease is still valid.";
    recovery::held_rows_come_back_free [always] [G2 M7 J2 N13 E10 O5] "A row that a dead worker held but had not begun is reclaimed at no cost: no attempt, no error, due at once, and no crash counted.";
    unanswered::lost_claims_are_released [unanswered::no_owner] [G2] "Rows of a claim whose answer was lost are released at once and at no cost; rows that are held, and those of other workers, stay where they are.";
    recovery::begin_checks_the_lease [always] [G2] "Marking a row as begun does not change the row, and returns Lost if its lease has ended or another worker has it.";
    recovery::begun_marks_survive_extension [always] [G2] "A begun row is still marked as begun after its lease was extended.";
    recovery::completed_tries_clear_crashes [always] [G2] "Crashes are counted separately from attempts; a completed attempt clears them, a release does not.";
    recovery::poison_guard [recovery::no_poison_guard] [G2 M7 J2 E10] "A row whose deliveries keep killing their worker ends dead, after as many crashes as it has attempts and seven at least.";
    recovery::crashes_never_spend_the_last_attempt [recovery::no_poison_guard] [G2 M7] "A crash never spends a row's last attempt.";
    recovery::takeovers_are_counted [recovery::no_takeovers] [N13] "If recovery costs no attempt, it is counted in the JSON of the error, and the row ends when the limit is reached.";
    recovery::deferral_is_no_takeover [recovery::no_takeovers] [N13] "A lock that means \"not before\" expires without being counted.";
    recovery::foreign_claims_expire [recovery::no_foreign_claims] [M7 N13 O5] "A claim of another program, which writes no lease, is reclaimed after the longer time.";
    recovery::claims_without_a_time_expire [recovery::no_claims_without_a_time] [O5] "A claim without a time counts from when it is first seen (O5), and is reclaimed one lease later.";
    recovery::extension_keeps_the_lease [always] [G2] "An extended lease is valid beyond its first end, and the row can be settled.";
    settle::delivered [always] [M3 J2 N3 E1 O2] "Success moves the row on, clears the lease and the error, and records the time.";
    settle::failures_keep_their_reason [always] [G7 M3 N5 O2] "Retry, dead, rejected and skipped lead to their states and store the reason.";
    settle::release_is_free [always] [G1 G3] "A released row is claimable at once, as if it had never been claimed.";
    settle::deferral_waits [always] [G1 N11] "A deferred row waits until its time, and nothing is counted.";
    settle::recipients_are_remembered [settle::no_mail] [M9 E8] "The recipients that accepted a mail are returned by the next claims (M9, E8); a settle that the fence rejects does not change them.";
    settle::mixed_batch [always] [G2] "One call with every kind of settlement and some stale ones returns a result for each, in order.";
    effects::effects_with_the_move [effects::no_effects] [J1 N3 E2] "An effect inserts one row with each move that it names, and none with others.";
    effects::no_effect_without_the_fence [effects::no_effects] [N3 E2] "A move that the fence rejects has no effect.";
    sweeps::sweeps_move_their_rows [sweeps::no_sweeps] [J3 J7 N11] "Each sweep moves the rows that are due for it, records the reason, and leaves the others.";
    operator::requeue [operator::no_requeue] [M6 J6 N6 E9] "Requeue resets the attempts of rows in its states only; a second one moves nothing.";
    operator::cancel [operator::no_cancel] [J14] "Cancel moves the row and wins over a concurrent settle; a second one moves nothing.";
    operator::no_cancel_without_a_state [operator::has_cancel] [J14] "If the contract has no cancelled state, cancel is an error and changes nothing.";
    operator::census_and_pages [always] [J16] "Census, pages and single rows show the content of the table.";
    purge::purge_spares_live_rows [always] [G6 O5] "A purge deletes finished rows past their retention, and nothing else.";
    content::unmapped_columns [always] [G4] "No verb writes a column that the contract does not map.";
    content::text_is_verbatim [content::no_message_text] [G5 O9] "Quotes, backslashes, newlines and four-byte characters are read and written unchanged.";
    content::large_rows [content::no_large_column] [M8 O9] "A large row is claimed without its fields, which can be loaded.";
    content::unreadable_row [content::nothing_unreadable] [G5] "A row that cannot be read does not stop the claim of others.";
    groups::group_in_order [groups::no_group] [J8 O8] "Rows of one group are claimed together and in order, and carry their group and mode.";
    group_stress::group_order_under_stress [groups::no_group] [J8 O8] "With four workers, and failures that hand back the rest of a run, each group is delivered completely, in order, one row at a time.";
    groups::failed_head_holds_its_group_alone [groups::no_group] [J8 O8] "A row that is retried holds back its own group and no other; the rows handed back have used no attempt.";
    groups::late_head_holds [groups::no_group] [J8 O8] "A row that is not due holds back the later rows of its group, whether it is the first or in the middle of a run.";
    groups::spent_head_holds [groups::no_group] [J8 O8] "A row without an attempt left holds back the later rows of its group until it is swept.";
    groups::young_row_waits [groups::no_young_rows] [J8 O8] "A row younger than the minimum age is not claimed, nor are the later rows of its group.";
    groups::row_in_flight_holds [groups::no_group] [J8 O8] "While a row of a group is in flight, no other row of the group is claimed.";
    groups::held_groups_hide_no_free_one [groups::no_group] [J8 O8] "A free group is found behind hundreds of held groups.";
    groups::dead_head_blocks [groups::no_block] [J8 O8] "In mode `block` a dead row holds its own group until an operator requeues or cancels it.";
    groups::expired_head_releases [groups::no_expiry] [J8 O8] "In mode `block` a dead row that has expired releases the group.";
    groups::dead_head_releases [groups::no_wait] [J8 O8] "In mode `wait` a dead row releases the group; after a requeue it is the first again.";
    groups::next_goes_after_a_failure [groups::no_next] [J8 O8] "In mode `next` the next row is delivered after the first failure, still one at a time.";
    groups::rows_without_a_group_are_free [groups::no_group] [J8 O8] "Rows without a group, or of mode `parallel`, are free, and carry no group.";
    groups::capacity_is_shared [groups::no_group] [J8 O8] "A claim is split equally between ordered and free rows; either kind can use the capacity that the other leaves.";
    group_ends::crashed_run_is_recovered_in_order [groups::no_group] [J8 O8] "The run of a crashed worker is claimed again, in order, only when all of it was reclaimed.";
    group_ends::released_run_comes_again [groups::no_group] [J8 O8] "A run that is handed back, completely or in part, is claimed again in order, and has used no attempt.";
    group_ends::deferred_head_holds [groups::no_group] [J8 O8] "A deferred row was not tried: it stays the first of its group in every mode.";
    group_ends::lost_head_hands_back_the_rest [groups::no_group] [J8 O8] "A worker that lost the first row of a run still hands back the others, once.";
    group_ends::lost_rest_stays_with_its_new_owner [groups::no_group] [J8 O8] "Handing back a run whose leases were lost changes nothing.";
    group_ends::cancelled_head_releases [group_ends::no_cancel] [J8 O8] "A cancelled row holds back no other; the rest of a run in flight still does.";
    group_ends::rejected_head [groups::no_group] [J8 O8] "A rejected or skipped row releases its group, except in mode `block` if an operator must act.";
    group_keys::unusual_keys [groups::no_group] [J8 O8] "Any text is a valid key: quotes, blanks, four-byte characters, long and empty texts.";
    group_keys::every_group_is_delivered [groups::no_group] [J8 O8] "Each group is delivered completely and in order, even if there are more groups than a claim has rows.";
    group_keys::new_group_among_held_ones [groups::no_group] [J8 O8] "A new group is found at once, however many held groups come before it.";
    groups::runs_grow_when_few_groups_are_free [groups::no_group] [J8 O8] "A single free group fills a whole claim.";
    pools::full_pool_delays_no_other [pools::no_pools] [J9] "Rows of a full pool wait unchanged, whatever their number, and delay no others; an unknown pool has no limit.";
    pools::pool_limit_over_workers [pools::no_pools] [J9] "The rows of a pool in flight never exceed its limit, however many workers claim at once.";
    pools::paused_pool_waits [pools::no_pools] [J9] "Rows of a paused pool wait unchanged, and are claimed after it is resumed.";
    pools::rate_over_workers [pools::no_pools] [J9] "A pool's rate holds for all workers together, determines the next due time, and counts only attempts.";
    pools::postponed_row_counts [pools::no_pools] [J5 J9] "A row that its receiver postpones counts against the pool's rate; one that was never sent does not.";
    pools::clients_are_served_round_robin [pools::no_fairness] [J9] "A claim includes rows of every client, however many rows of one client wait.";
    pools::ordered_rows_need_permits [pools::no_ordered_pools] [J9] "Ordered rows need permits of their pool and stay in order; a full pool holds back only its own groups.";
    pools::run_ends_at_its_pools_limit [pools::no_ordered_pools] [J9] "A row that its pool holds back is not overtaken by rows of its group that need no pool.";
    handoff::named_rows_are_claimed [handoff::no_queue] [J3] "A claim by key claims the named rows and no others; a second one claims nothing.";
    handoff::one_of_many_gets_a_named_row [handoff::no_queue] [J3] "Of several workers with a pointer to a row, exactly one claims it.";
    handoff::named_claims_keep_every_condition [handoff::no_queue] [J3] "A pointer does not claim a row that cannot be claimed: not due, without attempts left, or in another state.";
    handoff::no_queue_carries_order_or_pools [handoff::no_unqueueable_rows] [J3] "Rows of ordered groups and of pools are claimed only from the table, others only by their pointers.";
    handoff::due_rows_are_published_once [handoff::no_queue] [J3] "A ready row that is due and not on the queue is published once; a row that the queue lost is published again.";
    handoff::only_lost_rows_are_stale [handoff::no_unqueueable_rows] [J3] "A row that waits for its time, its group or its pool is not stale, however old.";
    handoff::refused_rows_are_recalled [handoff::no_queue] [J3] "A row that the queue refused waits to be published again; a claimed row is unchanged.";
    handoff::rows_that_come_back_are_published_again [handoff::no_queue] [J3] "Rows that are released, deferred, retried or reclaimed are published when they are due.";
    foreign::foreign_worker [foreign::no_foreign_worker] [M1] "A worker that runs the specification's own SQL at the same time is safe: no row is claimed by both.";
    locks::locks_are_exclusive [always] [O5] "A named lock has one owner, which can renew and release it; it expires.";
    locks::pause_is_shared [always] [J17] "A pause applies to every worker on the database.";
}
