//! The list of laws, with the rule of each in words.

use futures::future::BoxFuture;

use crate::arena::Kind;
use crate::laws::{
    attempts, claim, content, due, effects, fence, foreign, group_ends, group_fire, group_keys, groups,
    handoff, locks, operator, pools, purge, recovery, settle, sweeps, unanswered,
};
use crate::subject::Subject;
use crate::trial::Trial;

/// One rule that every store obeys for every contract.
pub struct Law {
    /// The module of the law, such as `claim`.
    pub theme: &'static str,
    /// The name in tests and in the generated table.
    pub name: &'static str,
    /// The rule as a sentence.
    pub rule: &'static str,
    /// Returns why the law does not apply to this contract or store; `None` where it applies.
    pub silent: fn(&Subject, Kind) -> Option<&'static str>,
    /// Runs the law; panics if it is broken.
    pub run: for<'a> fn(&'a Trial) -> BoxFuture<'a, ()>,
}

macro_rules! laws {
    ($($group:ident :: $name:ident [$silent:expr] $rule:literal;)*) => {
        /// All laws, in the order of a row's life.
        pub static LAWS: &[Law] = &[$(Law {
            theme: stringify!($group),
            name: stringify!($name),
            rule: $rule,
            silent: $silent,
            run: |trial| Box::pin($group::$name(trial)),
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
fn always(_: &Subject, _: Kind) -> Option<&'static str> {
    None
}

laws! {
    claim::exclusive_claim [always] "Eight workers claim at once: every row is claimed, and by one of them.";
    claim::claim_limit [always] "A claim takes at most as many rows as it asks for.";
    claim::claim_order [always] "Rows are claimed in the contract's order.";
    claim::claim_marks_the_row [always] "A claim moves the row to its claimed state, says who and when, and counts nothing.";
    claim::other_states_are_left_alone [always] "No verb of the stage touches a row that is in none of its states, finished ones above all.";
    claim::minimum_age [claim::no_minimum_age] "A row younger than the minimum age is not claimed.";
    claim::barred_rows [claim::no_bars] "A row that a sweep is about to end is not claimed any more.";
    claim::counts_of_others [claim::no_counts] "A claimed row says how many others are like it: in a state, within a time, or claimed before it.";
    claim::producer_row [claim::no_defaults] "A row with only the columns that a producer must write is claimed.";
    due::future_rows_wait [always] "A row is not claimed before it is due, and is once it is.";
    due::null_due_is_now [due::null_is_not_now] "NULL in the due column means now.";
    due::wishes_are_waited_for [due::no_wish] "What a target asked for is waited for, if it is longer than the schedule; what is no JSON asks for nothing.";
    due::next_due_is_exact [always] "The next due time is exact: none, now, or how long.";
    attempts::spent_rows_are_not_claimed [always] "A ready row without an attempt left is not claimed.";
    attempts::spent_rows_are_swept [always] "A ready row without an attempt left is swept to the dead state with a reason; others are not.";
    attempts::attempts_exact [always] "Each end of a claim adds to the counter exactly what the contract says; release and deferral add nothing.";
    attempts::last_failure [always] "The n-th failure is the last: the row is dead, its counter is exact, and it is never claimed again.";
    attempts::backoff [always] "The n-th retry waits as the contract says, from the database's clock.";
    attempts::own_maximum [attempts::no_own_maximum] "A row's own maximum replaces the contract's.";
    fence::stale_after_reclaim [always] "Who lost the lease to another worker can neither settle nor extend nor release, and changes nothing.";
    fence::stale_within_a_tick [always] "Claim, release, claim without a pause: the first claim's lease is void.";
    fence::every_part_of_the_fence_counts [always] "A lease that differs from the row in any one fence column is void.";
    fence::claim_time_moves_on [fence::forgets_claim_times] "A claim time is later than the one before it, even if the clock was set back.";
    fence::settled_is_settled [always] "A repeated settlement answers Lost and changes nothing.";
    fence::unfenced_state_is_refused [always] "A row that another program moved away is not settled, whatever its fence holds.";
    recovery::crash_is_recovered [always] "A crash between delivery and settlement: the row comes back and is delivered again, counted where the contract counts recovery.";
    recovery::live_lease_is_left_alone [always] "A reclaim takes nothing whose lease still runs.";
    recovery::held_rows_come_back_free [always] "A row that a dead worker merely held comes back at no cost: no attempt, no error, due at once, and no crash counted.";
    unanswered::lost_claims_are_released [unanswered::no_owner] "Rows of a claim whose answer was lost are released at once and at no cost; rows that are held, and those of other workers, stay where they are.";
    recovery::begin_checks_the_lease [always] "Marking a row as begun touches nothing of it, and answers Lost where its lease is over or another worker has it.";
    recovery::marks_follow_an_extension [always] "A begun row whose lease was extended is still known as begun.";
    recovery::completed_tries_clear_crashes [always] "Crashes are counted apart from attempts; a completed try clears them, a release does not.";
    recovery::poison_guard [recovery::no_poison_guard] "A row whose deliveries keep killing their worker ends dead, after as many crashes as it has attempts and seven at least.";
    recovery::crashes_never_spend_the_last_attempt [recovery::no_poison_guard] "A crash never spends a row's last attempt.";
    recovery::takeovers_are_noted [recovery::no_takeovers] "Where recovery costs nothing it is noted in the error's JSON, and one time too many ends the row.";
    recovery::deferral_is_no_takeover [recovery::no_takeovers] "A lock that stood for \"not before\" runs out without a note.";
    recovery::foreign_claims_expire [recovery::no_foreign_claims] "A claim of another program, which writes no lease, is taken back after the longer time.";
    recovery::claims_without_a_time_expire [recovery::no_claims_without_a_time] "A claim that left no time counts from the first look at it (O5), and is taken back a lease later.";
    recovery::extension_keeps_the_lease [always] "An extended lease outlives its first end, and settles.";
    settle::delivered [always] "Success moves the row on, clears the lease and the error, and says when.";
    settle::failures_keep_their_reason [always] "Retry, dead, rejected and skipped lead to their states, with the reason.";
    settle::release_is_free [always] "A released row is claimable at once, as if it had never been claimed.";
    settle::deferral_waits [always] "A deferred row waits for its time, and nothing is counted.";
    settle::recipients_are_remembered [settle::no_mail] "Who has a partly accepted mail comes with the next claims (M9, E8); a settle that the fence refuses changes nothing of it.";
    settle::mixed_batch [always] "One call with every kind of settlement and some stale ones answers each in its place.";
    effects::effects_with_the_move [effects::no_effects] "An effect inserts one row with each move that it names, and none with others.";
    effects::no_effect_without_the_fence [effects::no_effects] "What the fence refuses has no effect.";
    sweeps::sweeps_move_their_rows [sweeps::no_sweeps] "Each sweep moves the rows whose time has come, says why, and leaves the others.";
    operator::requeue [operator::no_requeue] "Requeue gives a fresh budget to rows in its states only; a second one moves nothing.";
    operator::cancel [operator::no_cancel] "Cancel moves the row, wins over a settle under way, and a second one moves nothing.";
    operator::no_cancel_without_a_state [operator::has_cancel] "Where the contract has no cancelled state, cancel is an error and changes nothing.";
    operator::census_and_pages [always] "Census, pages and single rows show what is there.";
    purge::purge_spares_live_rows [always] "A purge deletes finished rows past their retention, and nothing else.";
    content::unmapped_columns [always] "No verb writes a column that the contract does not map.";
    content::text_is_verbatim [content::no_message_text] "Quotes, backslashes, newlines and four-byte characters travel unchanged, both ways.";
    content::large_rows [content::no_large_column] "A large row comes without its fields, and loads whole.";
    content::unreadable_row [content::nothing_unreadable] "A row that can't be read does not stop the claim of others.";
    groups::group_in_order [groups::no_group] "Rows of one group are claimed together and in their order, and say their group and mode.";
    group_fire::group_order_under_fire [groups::no_group] "Four workers, failures that hand back the rest of a run: each group is delivered whole, in order, one at a time.";
    groups::failed_head_holds_its_group_alone [groups::no_group] "A row that is tried again holds back its own group and no other; what was handed back has spent nothing.";
    groups::late_head_holds [groups::no_group] "A row that is not due holds back those of its group behind it, be it the first or in the middle of a run.";
    groups::spent_head_holds [groups::no_group] "A row without an attempt left holds back those of its group behind it until it is swept.";
    groups::young_row_waits [groups::no_young_rows] "A row younger than the minimum age is not claimed, and neither are those of its group behind it.";
    groups::row_in_flight_holds [groups::no_group] "While a row of a group is in flight nobody gets another.";
    groups::held_groups_stop_nobody [groups::no_group] "Hundreds of held groups in front hide no free one.";
    groups::dead_head_blocks [groups::no_block] "In mode `block` a dead row holds its own group until an operator requeues or cancels it.";
    groups::expired_head_releases [groups::no_expiry] "In mode `block` a dead row whose time is over lets the group go.";
    groups::dead_head_releases [groups::no_wait] "In mode `wait` a dead row lets the group go; requeued it is the first again.";
    groups::next_goes_after_a_failure [groups::no_next] "In mode `next` the next row goes after the first failure, still one at a time.";
    groups::rows_without_a_group_are_free [groups::no_group] "Rows without a group, or of mode `parallel`, are free, and say that they keep no order.";
    groups::capacity_is_lent [groups::no_group] "A claim is shared half and half with free rows; what one kind leaves, the other takes.";
    group_ends::crashed_run_is_recovered_in_order [groups::no_group] "The run of a crashed worker is claimed again only when all of it was taken back, in order.";
    group_ends::released_run_comes_again [groups::no_group] "A run that is handed back, or half of one, is claimed again in its order, and has spent nothing.";
    group_ends::deferred_head_holds [groups::no_group] "A deferred row was not tried: it stays the first of its group in every mode.";
    group_ends::lost_head_hands_back_the_rest [groups::no_group] "Who lost the first row of a run still hands back the others, once.";
    group_ends::lost_rest_stays_with_its_new_owner [groups::no_group] "Handing back a run whose leases were lost changes nothing.";
    group_ends::cancelled_head_lets_go [group_ends::no_cancel] "A cancelled row holds nobody; the rest of a run in flight still does.";
    group_ends::hopeless_head [groups::no_group] "A rejected or skipped row lets its group go, but in mode `block` where an operator must act.";
    group_keys::odd_keys [groups::no_group] "Any text is a key: quotes, blanks, four-byte characters, long ones and the empty one.";
    group_keys::every_group_has_its_turn [groups::no_group] "However many groups, each is delivered whole and in order by claims smaller than their number.";
    group_keys::new_group_among_held_ones [groups::no_group] "A new group is found at once, however many held ones come before it.";
    groups::runs_grow_when_few_groups_are_free [groups::no_group] "A single free group fills a whole claim.";
    pools::full_pool_delays_no_other [pools::no_pools] "A full pool's rows wait as they are, whatever their number, and delay no others; a pool that nobody knows has no limit.";
    pools::pool_limit_over_workers [pools::no_pools] "However many workers claim at once, no more rows of a pool are in flight than its limit.";
    pools::paused_pool_waits [pools::no_pools] "A paused pool's rows wait, unwritten; resumed, they go.";
    pools::rate_over_workers [pools::no_pools] "A pool's rate holds for all workers together, tells when the next may go, and counts only what was tried.";
    pools::clients_take_turns [pools::no_turns] "However many rows of one client wait, a claim takes those of another as well.";
    pools::ordered_rows_need_permits [pools::no_ordered_pools] "Ordered rows go with their pool's permits, in order; a full pool holds its own groups alone.";
    pools::run_ends_at_its_pools_limit [pools::no_ordered_pools] "A row that its pool holds back is not overtaken by those of its group that need no pool.";
    handoff::named_rows_are_claimed [handoff::no_queue] "A claim by key takes the named rows and no others; a second one finds nothing to do.";
    handoff::one_of_many_gets_a_named_row [handoff::no_queue] "However many workers have a pointer to a row, one of them gets it.";
    handoff::named_claims_keep_every_condition [handoff::no_queue] "A pointer claims no row that may not go: not due, spent, in another state.";
    handoff::no_queue_carries_order_or_pools [handoff::nothing_kept] "Rows of ordered groups and of pools are claimed from the table alone, others by their pointers alone.";
    handoff::due_rows_are_offered_once [handoff::no_queue] "A ready row that is due and not on the queue is offered once; what the queue lost comes again.";
    handoff::stale_is_what_a_queue_lost [handoff::nothing_kept] "A row that waits for its time, its group or its pool is not stale, however old.";
    handoff::refused_rows_are_recalled [handoff::no_queue] "What the queue refused waits to be offered again; a row that somebody has claimed stays as it is.";
    handoff::rows_that_come_back_are_offered_again [handoff::no_queue] "Rows that are handed back, put off, to be tried again or taken from a dead worker are offered when they are due.";
    foreign::foreign_worker [foreign::no_foreign_worker] "A worker that runs the specification's own SQL beside ours is safe: no row goes to both.";
    locks::locks_are_exclusive [always] "A named lock has one owner, who can renew it and give it back; it runs out.";
    locks::pause_is_shared [always] "A pause is seen by every worker on the database.";
}
