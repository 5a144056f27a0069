//! The ordered groups of a run: which rows are in a group, and in which order the target must receive them.

use std::collections::{BTreeMap, BTreeSet};

use postrider_contract::{Contract, GroupMode, OnError, Transition};
use postrider_seams::Value;
use postrider_store_memory::Row;

use super::journal::Event;

/// The number of groups of a run; every fifth row has no group.
const GROUPS: i64 = 6;

/// The place of a row: its group, and what its failure does to later rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupPlace {
    pub group: String,
    pub hold: GroupMode,
}

/// Places by row number, which is also the order. Empty if the contract has no group order.
#[derive(Debug, Default)]
pub(crate) struct GroupOrder(BTreeMap<i64, GroupPlace>);

impl GroupOrder {
    /// Assigns the rows 1 to `rows` to groups and modes of the contract.
    pub fn of(contract: &Contract, rows: i64) -> Self {
        let Some(group) = contract.group.as_ref().filter(|group| group.keeps_order()) else {
            return Self::default();
        };
        let holds: Vec<GroupMode> = [GroupMode::Next, GroupMode::Wait, GroupMode::Block]
            .into_iter()
            .filter(|hold| group.allows(*hold))
            .collect();
        let place = |n: i64| {
            let number = n % GROUPS;
            let hold = holds[usize::try_from(number).expect("not negative") % holds.len()];
            (n, GroupPlace { group: format!("g{number}"), hold })
        };
        Self((1..=rows).filter(|n| n % 5 != 0).map(place).collect())
    }

    /// Whether no row is in an ordered group.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the place of a row; `None` if it has no group.
    pub fn place(&self, row: &str) -> Option<&GroupPlace> {
        self.0.get(&row.parse().ok()?)
    }

    /// Sets the group's columns, as a producer writes them.
    pub fn write(&self, contract: &Contract, n: i64, now: i64, row: &mut Row) {
        let (Some(group), Some(place)) = (&contract.group, self.0.get(&n)) else { return };
        row.insert(group.by.clone(), Value::Text(place.group.clone()));
        for column in &group.sequence {
            row.insert(column.clone(), Value::Int(now - 60_000_000 + n));
        }
        if let OnError::ByColumn { column, values } = &group.on_error
            && let Some((value, _)) = values.iter().find(|(_, hold)| **hold == place.hold)
        {
            row.insert(column.clone(), Value::Text(value.clone()));
        }
    }

    /// Returns the earlier rows of the same group.
    fn before<'a>(&'a self, row: i64, place: &'a GroupPlace) -> impl Iterator<Item = i64> + 'a {
        self.0.range(..row).filter(|(_, other)| other.group == place.group).map(|(n, _)| *n)
    }

    /// Whether the row waits for an operator, behind one of these dead rows.
    pub fn is_blocked(&self, row: &str, dead: &BTreeSet<String>) -> bool {
        let (Some(place), Ok(n)) = (self.place(row), row.parse()) else { return false };
        place.hold == GroupMode::Block
            && self.before(n, place).any(|earlier| dead.contains(&earlier.to_string()))
    }

    /// Checks that the target first received each group in order: before a row, all earlier ones were accepted or
    /// finally rejected. In mode `Next` rows may overtake.
    pub fn check(&self, events: &[Event]) -> Result<(), String> {
        let mut passed: BTreeSet<i64> = BTreeSet::new();
        for event in events {
            match event {
                Event::Accepted { row } => {
                    let (Some(place), Ok(n)) = (self.place(row), row.parse()) else { continue };
                    let skipped = self.before(n, place).find(|earlier| !passed.contains(earlier));
                    if let (Some(earlier), false) =
                        (skipped, passed.contains(&n) || place.hold == GroupMode::Next)
                    {
                        return Err(format!("row {row} overtook row {earlier} of its group {}", place.group));
                    }
                    passed.insert(n);
                }
                Event::FinallyRejected { row }
                | Event::Moved { row, died: true, .. }
                | Event::Moved { row, transition: Transition::Dead, .. } => {
                    let (Some(place), Ok(n)) = (self.place(row), row.parse()) else { continue };
                    if place.hold != GroupMode::Block {
                        passed.insert(n);
                    }
                }
                Event::Moved { .. }
                | Event::SettlementLost { .. }
                | Event::Unanswered { .. }
                | Event::Crashed { .. }
                | Event::LeaseExpired { .. }
                | Event::GuaranteeBroken { .. } => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(hold: GroupMode) -> GroupOrder {
        let place = || GroupPlace { group: "a".to_owned(), hold };
        GroupOrder(BTreeMap::from([(1, place()), (2, place())]))
    }

    fn taken(row: &str) -> Event {
        Event::Accepted { row: row.to_owned() }
    }

    fn dead(row: &str) -> Event {
        Event::FinallyRejected { row: row.to_owned() }
    }

    #[test]
    fn overtaking_requests_are_reported() {
        assert!(order(GroupMode::Wait).check(&[taken("2"), taken("1")]).is_err());
        assert_eq!(order(GroupMode::Wait).check(&[taken("1"), taken("2"), taken("1")]), Ok(()));
        assert_eq!(order(GroupMode::Next).check(&[taken("2"), taken("1")]), Ok(()));
    }

    #[test]
    fn a_dead_row_blocks_its_group_only_if_configured() {
        assert_eq!(order(GroupMode::Wait).check(&[dead("1"), taken("2")]), Ok(()));
        assert!(order(GroupMode::Block).check(&[dead("1"), taken("2")]).is_err());
    }
}
