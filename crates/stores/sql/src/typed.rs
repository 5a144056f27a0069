//! Typed statements: a script with the types of what it binds and of what its rows mean.
//!
//! Each statement is a struct beside the code that renders it. Invariant: a parameter for which a call has no value is
//! a bug and panics; it is never bound as NULL.

use std::borrow::Cow;
use std::vec;

use postrider_seams::row::{Lease, RowId, Value};

use crate::bind;
use crate::driver::Access;
use crate::driver::execute::{Arg, Statement};
use crate::driver::list::list;
use crate::{Dialect, Param, Script, Step};

/// The values of one row of a result.
pub type Row = Vec<Value>;

/// A script with the types of what it binds and of its rows.
pub trait TypedScript<P: Params>: Sync {
    /// The meaning of a row of the result.
    type Row: Send;

    /// Returns the steps and the parameters that they name.
    fn script(&self) -> &Script;

    /// Whether the script writes. Most do.
    fn access(&self) -> Access {
        Access::Write
    }

    /// Reads a row of the result; `None` if the row has no usable key.
    fn read(&self, row: Columns) -> Option<Self::Row>;

    /// Sorts rows into the order of the keys that an earlier step yielded, if the caller depends on it.
    fn sort(&self, _rows: &mut [Self::Row], _order: &[RowId]) {}
}

/// The values that the steps of a script bind.
///
/// A call works on a copy: a claim keeps in it what one step returned for the next one, and starts again from the
/// original after a collision.
pub trait Params: Clone + Send + Sync {
    /// Returns the value of a parameter; `None` if there is none, which is a bug of the script or of its type.
    fn value(&self, param: &Param, dialect: Dialect) -> Option<Bound<'_>>;

    /// Returns how often a step runs: once, never if it has nothing to work on, or on MySQL once per group or share.
    fn turns(&self, _step: &Step) -> usize {
        1
    }

    /// Prepares one turn of a step. `rows` is the result so far.
    fn before(&mut self, _step: &Step, _turn: usize, _rows: &mut [Row]) {}

    /// Decides what becomes of the rows that a step yielded.
    fn accept(&mut self, _step: &Step, rows: Vec<Row>) -> Accepted {
        Accepted::Result(rows)
    }
}

/// The use of the rows that a step yielded.
#[derive(Debug)]
pub enum Accepted {
    /// They are the result, instead of those of an earlier step.
    Result(Vec<Row>),
    /// They are added to the result.
    More(Vec<Row>),
    /// The parameters keep what matters of them.
    Kept,
    /// The same, and the result so far is dropped.
    Reset,
}

/// The value of a parameter.
#[derive(Debug)]
pub enum Bound<'a> {
    One(Arg),
    Keys(Cow<'a, [RowId]>),
    Texts(&'a [String]),
}

impl Bound<'_> {
    /// A number.
    pub fn int(number: u32) -> Self {
        Self::One(Arg::Int(Some(i64::from(number))))
    }

    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::One(Arg::Text(Some(text.into())))
    }
}

impl Param {
    fn is_known(&self, dialect: Dialect) -> bool {
        match self {
            Self::Array(_) => dialect == Dialect::Postgres,
            Self::ClaimTime | Self::Group | Self::Share => dialect == Dialect::Mysql,
            Self::Groups => dialect != Dialect::Mysql,
            _ => true,
        }
    }
}

impl Step {
    /// Returns the step with its values. `held` are the keys that the step before yielded.
    pub fn bind_values(
        &self,
        dialect: Dialect,
        owner: &str,
        params: &impl Params,
        held: &[RowId],
    ) -> Statement {
        let mut statement = Statement { sql: self.sql.clone(), args: Vec::with_capacity(self.params.len()) };
        for param in &self.params {
            assert!(param.is_known(dialect), "{dialect:?} has no parameter {param:?}: {}", self.sql);
            let value = match param {
                Param::Owner => Bound::text(owner),
                Param::Held => Bound::Keys(Cow::Borrowed(held)),
                _ => params
                    .value(param, dialect)
                    .unwrap_or_else(|| panic!("there is no value for {param:?}: {}", self.sql)),
            };
            match value {
                Bound::One(arg) => statement.args.push(arg),
                Bound::Keys(keys) => list(dialect, &mut statement, param.marker(), &keys),
                Bound::Texts(texts) => list(dialect, &mut statement, param.marker(), texts),
            }
        }
        statement
    }
}

/// The columns of a row, read from left to right. Past the last one they are NULL.
#[derive(Debug)]
pub struct Columns(vec::IntoIter<Value>);

impl Columns {
    /// The columns of a row.
    pub fn new(row: Row) -> Self {
        Self(row.into_iter())
    }

    /// Reads the next column.
    pub fn value(&mut self) -> Value {
        self.0.next().unwrap_or_default()
    }

    /// Reads the next `count` columns.
    pub fn values(&mut self, count: usize) -> impl Iterator<Item = Value> {
        (0..count).map(|_| self.value())
    }

    /// Reads a key; `None` if the value cannot be one.
    pub fn key(&mut self) -> Option<RowId> {
        bind::key(self.value())
    }

    /// Reads a key and `fences` values of a fence; `None` if the key cannot be one.
    pub fn lease(&mut self, fences: usize) -> Option<Lease> {
        Some(Lease { id: self.key()?, fence: self.values(fences).collect() })
    }

    /// Reads a text; `None` for NULL.
    pub fn text(&mut self) -> Option<String> {
        bind::text(self.value())
    }

    /// Reads a whole number; `None` for NULL and for other values.
    pub fn whole(&mut self) -> Option<i64> {
        bind::whole(&self.value())
    }

    /// Reads a count: 0 for NULL, negative numbers and other values.
    pub fn count(&mut self) -> u64 {
        bind::count(&self.value())
    }

    /// Reads a count that fits 32 bits.
    pub fn small_count(&mut self) -> u32 {
        u32::try_from(self.count()).unwrap_or(u32::MAX)
    }
}

/// Declares a typed script: a struct with a [`Script`], the parameters that it binds, and how its rows are read.
///
/// `pub Name { more: Fields } (Params) -> Row, Read or Write, |this, row| …`; `, sorted …` for [`TypedScript::sort`].
macro_rules! typed_script {
    (
        $(#[$doc:meta])*
        $vis:vis $name:ident $({ $($field:ident: $type:ty),+ })? ($params:ty) -> $row:ty, $access:ident, $read:expr
        $(, sorted $sort:expr)?
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        $vis struct $name {
            pub script: $crate::Script,
            $($(pub $field: $type,)+)?
        }

        impl $crate::typed::TypedScript<$params> for $name {
            type Row = $row;

            fn script(&self) -> &$crate::Script {
                &self.script
            }

            fn access(&self) -> $crate::driver::Access {
                $crate::driver::Access::$access
            }

            fn read(&self, row: $crate::typed::Columns) -> Option<$row> {
                let read: fn(&Self, $crate::typed::Columns) -> Option<$row> = $read;
                read(self, row)
            }

            $(fn sort(&self, rows: &mut [$row], order: &[postrider_seams::row::RowId]) {
                $sort(rows, order);
            })?
        }
    };
}
pub(crate) use typed_script;
