//! Runs the queries of operators: searches, pages, one row, its history, its place in group and pool, previews.

pub(crate) mod bounds;
mod search;
mod statements;

use std::collections::BTreeMap;

use postrider_contract::ColumnRole;
use postrider_seams::inspect::{
    COUNT_LIMIT, HistoryEntry, Matching, OperatorAction, Page, PoolStanding, Preview, Query, RowPosition,
    RowView, SearchBy, Searchable, SelectedRows,
};
use postrider_seams::row::Value;
use postrider_seams::store::Error;

use self::bounds::Within;
use self::search::SearchScope;
use crate::Dialect;
use crate::bind;
use crate::driver::execute::{Execute, Statement};
use crate::open_table::{OpenTable, taken_text};
use crate::render::table::Table;

/// Maximum number of parts of a table that a page reads until it has a row.
const PARTS: usize = 8;

impl OpenTable {
    pub(crate) fn table(&self, dialect: Dialect) -> Table<'_> {
        Table::new(&self.contract, &self.stage, dialect, &self.shape)
            .expect("the same contract was rendered for the same table before")
    }

    /// Returns the searches that this table supports.
    pub fn searches(&self, dialect: Dialect) -> Vec<Searchable> {
        let table = self.table(dialect);
        let offered = |by: SearchBy| {
            let column = by.column(&self.contract)?;
            let kind =
                self.shape.column(&column).map(|column| crate::render::column::Kind::of(&column.sql_type))?;
            let texts = matches!(kind, crate::render::column::Kind::Text);
            let indexed = table.search_scope(by, Matching::Exact) == SearchScope::All;
            Some(Searchable {
                by,
                exact: by != SearchBy::Error,
                prefix: texts && by != SearchBy::Error,
                indexed,
            })
        };
        SearchBy::ALL.into_iter().filter_map(offered).collect()
    }

    /// Returns a page of rows; errs if the state or the search is unknown.
    pub async fn list(&self, on: &dyn Execute, query: &Query) -> Result<Page, Error> {
        if query.state.as_deref().is_some_and(|state| self.contract.state_named(state).is_none()) {
            return Err(self.no_state(query.state.as_deref()));
        }
        let table = self.table(on.dialect());
        if let Some(search) = &query.search
            && !self.searches(on.dialect()).iter().any(|known| known.by == search.by)
        {
            return Err(crate::inspect::not_searched(&self.contract.name, search.by.name()));
        }
        let mut query = query.clone();
        for _ in 1..PARTS {
            let (page, read_to) = self.part(on, &table, &query).await?;
            match read_to {
                Some(_) if page.rows.is_empty() => query.after = read_to,
                _ => return Ok(page),
            }
        }
        Ok(self.part(on, &table, &query).await?.0)
    }

    /// Returns a page, and the key to which it has read if it has read only a part of the table.
    async fn part(
        &self,
        on: &dyn Execute,
        table: &Table<'_>,
        query: &Query,
    ) -> Result<(Page, Option<String>), Error> {
        let within = self.within(on, table, query).await?;
        let Some(statement) = table.page(query, &within) else {
            return Ok((Page { rows: Vec::new(), next: None, note: None }, None));
        };
        let rows = asked(on, "list rows", statement).await?;
        let rows: Vec<RowView> = rows.into_iter().map(|row| viewed(table, query.brief, row)).collect();
        let note = note(table, query);
        if rows.len() >= query.limit as usize {
            let next = rows.last().map(|row| row.id.clone());
            return Ok((Page { rows, next, note }, None));
        }
        match within {
            Within::From(last) if query.search.is_none() => {
                let note = Some("Only a part of the table was read; the next page reads on.".to_owned());
                Ok((Page { rows, next: Some(last.clone()), note }, Some(last)))
            }
            _ => Ok((Page { rows, next: None, note }, None)),
        }
    }

    /// Decides which rows a page reads.
    async fn within(&self, on: &dyn Execute, table: &Table<'_>, query: &Query) -> Result<Within, Error> {
        let Some(state) = table.state_by_key(query) else { return Ok(Within::Index) };
        let ready = table.of_ready_state(state).filter(|_| query.search.is_none());
        if let Some(ready) = ready
            && first_cell(asked(on, "count ready rows", ready.few_ready()).await?)
                .is_some_and(|rows| bind::count(&rows) <= COUNT_LIMIT)
        {
            return Ok(Within::FewReady);
        }
        let Some(statement) = table.last_key(query) else { return Ok(Within::Index) };
        let last = first_cell(asked(on, "find the last row of a page", statement).await?);
        Ok(last.and_then(taken_text).map_or(Within::Index, Within::From))
    }

    /// Returns a row with all its columns; `None` if no row has this key.
    pub async fn show(&self, on: &dyn Execute, id: &str) -> Result<Option<RowView>, Error> {
        let table = self.table(on.dialect());
        let Some(statement) = table.shown_row(id) else { return Ok(None) };
        let rows = asked(on, "show a row", statement).await?;
        Ok(rows.into_iter().next().map(|row| viewed(&table, false, row)))
    }

    /// Returns the records of a row, oldest first.
    pub async fn history(&self, on: &dyn Execute, id: &str) -> Result<Vec<HistoryEntry>, Error> {
        let mut found = Vec::new();
        for (name, columns, statement) in self.table(on.dialect()).records(id) {
            for row in asked(on, "read what happened to a row", statement).await? {
                let mut row = row.into_iter();
                let (clock, age) =
                    (row.next().as_ref().and_then(bind::whole), row.next().as_ref().and_then(bind::whole));
                let at = clock.zip(age).map(|(clock, age)| clock - age);
                let columns = columns.iter().cloned().zip(row.map(taken_text)).collect();
                found.push(HistoryEntry { table: name.clone(), at, columns });
            }
        }
        found.sort_by_key(|record| record.at);
        Ok(found)
    }

    /// Returns what a row waits for: the head of its group and the limits of its pool.
    pub async fn standing(&self, on: &dyn Execute, row: &RowView) -> Result<RowPosition, Error> {
        let table = self.table(on.dialect());
        let mut standing = RowPosition::default();
        if let Some(statement) = table.group_of(&row.id)
            && let Some(group) =
                first_cell(asked(on, "find a row's group", statement).await?).and_then(taken_text)
            && let Some(statement) = table.head_of(&group)
        {
            let head =
                first_cell(asked(on, "find the first row of a group", statement).await?).and_then(taken_text);
            standing.behind = head.filter(|head| *head != row.id);
        }
        let pool = self.contract.column(ColumnRole::Pool).and_then(|column| row.column(column));
        if let Some(name) = pool
            && let Some(statement) = table.pool_of(name)
            && let Some(found) = asked(on, "read a row's pool", statement).await?.first()
        {
            let number =
                |at: usize| found.get(at).and_then(bind::whole).and_then(|number| u64::try_from(number).ok());
            standing.pool = Some(PoolStanding {
                name: name.to_owned(),
                paused: number(0) == Some(1),
                concurrency: number(1),
                in_flight: number(2).unwrap_or(0),
                rate: number(3),
            });
        }
        Ok(standing)
    }

    /// Returns how many rows an action would move; an error if the state is unknown.
    pub async fn preview(
        &self,
        on: &dyn Execute,
        action: OperatorAction,
        which: &SelectedRows,
    ) -> Result<Preview, Error> {
        let moves = action.moves(&self.contract, &self.stage);
        let mut from: Vec<_> = moves.into_iter().map(|(from, _)| from).collect();
        if let SelectedRows::State { state, .. } = which {
            let named = self.contract.state_named(state).ok_or_else(|| self.no_state(Some(state)))?;
            from.retain(|state| *state == named);
        }
        if from.is_empty() {
            return Ok(Preview::default());
        }
        let statement = self.table(on.dialect()).preview(&from, which);
        let rows = asked(on, "count rows", statement).await?;
        let count = rows.first().and_then(|row| row.first()).map_or(0, bind::count);
        Ok(Preview::counted(count))
    }
}

fn viewed(table: &Table<'_>, brief: bool, row: Vec<Value>) -> RowView {
    let mut row = row.into_iter();
    let mut next = || row.next().unwrap_or_default();
    let (state, id) = (taken_text(next()), taken_text(next()).unwrap_or_default());
    let read_at = bind::whole(&next()).unwrap_or(0);
    let due_in = bind::whole(&next());
    let mut times = BTreeMap::new();
    for role in table.view_times() {
        if let Some(age) = bind::whole(&next()) {
            times.insert(role, read_at - age);
        }
    }
    let names = table.view_columns(brief);
    let columns = names.into_iter().map(|name| (name.to_owned(), taken_text(next()))).collect();
    RowView { id, state, columns, times, due_in, read_at }
}

fn first_cell(rows: Vec<Vec<Value>>) -> Option<Value> {
    rows.into_iter().next().and_then(|row| row.into_iter().next())
}

async fn asked(on: &dyn Execute, doing: &str, statement: Statement) -> Result<Vec<Vec<Value>>, Error> {
    Ok(on.transact(doing, &[statement]).await?.pop().unwrap_or_default().rows)
}

fn note(table: &Table<'_>, query: &Query) -> Option<String> {
    let search = query.search.as_ref()?;
    if table.search_scope(search.by, search.matching) == SearchScope::All {
        return None;
    }
    if search.by == SearchBy::Error {
        return Some("Only the newest 10,000 failed rows were searched.".to_owned());
    }
    let cause = search
        .by
        .column(table.contract)
        .map(|column| format!(": {column} has no index. `postrider migrate --search` creates one"));
    Some(format!("Only the newest 10,000 rows were searched{}.", cause.unwrap_or_default()))
}
