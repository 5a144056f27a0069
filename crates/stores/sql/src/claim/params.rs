//! What a claim binds in addition to the parameters of its kind: on MySQL, the claim time that it writes.

use postrider_seams::row::Value;

use crate::typed::{Accepted, Bound, Params, Row};
use crate::{Dialect, Layout, Param, Step};

/// The parameters of a claim.
#[derive(Debug, Clone)]
pub struct Claiming<P> {
    pub params: P,
    /// MySQL: the column in which the pick step yields the claim time of each row.
    column: Option<usize>,
    /// MySQL: the latest of them, which the claim writes into all rows.
    pub(crate) time: Option<String>,
}

impl<P> Claiming<P> {
    /// The parameters of a claim whose rows have this layout.
    pub fn new(layout: &Layout, params: P) -> Self {
        // The key is the first column.
        Self { params, column: layout.claim_time.map(|fence| fence + 1), time: None }
    }

    fn set_time(&mut self, column: usize, rows: &mut [Row]) {
        let times = rows.iter().filter_map(|row| row.get(column)?.as_text());
        self.time = times.max().map(str::to_owned);
        if let Some(time) = &self.time {
            for row in rows {
                row[column] = Value::Text(time.clone());
            }
        }
    }
}

impl<P: Params> Params for Claiming<P> {
    fn value(&self, param: &Param, dialect: Dialect) -> Option<Bound<'_>> {
        match param {
            Param::ClaimTime => Some(Bound::text(self.time.as_deref()?)),
            _ => self.params.value(param, dialect),
        }
    }

    fn turns(&self, step: &Step) -> usize {
        self.params.turns(step)
    }

    fn before(&mut self, step: &Step, turn: usize, rows: &mut [Row]) {
        if let Some(column) = self.column.filter(|_| step.params.contains(&Param::ClaimTime)) {
            self.set_time(column, rows);
        }
        self.params.before(step, turn, rows);
    }

    fn accept(&mut self, step: &Step, rows: Vec<Row>) -> Accepted {
        self.params.accept(step, rows)
    }
}
