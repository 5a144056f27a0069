//! Named locks and paused lanes, in two internal tables. Without these tables, every lock is granted and no lane is
//! paused.

use std::time::Duration;

use postrider_seams::row::Value;
use postrider_seams::store::{Class, Error};

use crate::driver::Driver;
use crate::internal;

/// Takes or renews a lock and returns whether it is held; without the table it always is.
pub async fn take(on: &impl Driver, name: &str, ttl: Duration) -> Result<bool, Error> {
    let (name, owner) = (Value::Text(name.to_owned()), Value::Text(on.owner().to_owned()));
    let args = vec![name.clone(), owner.clone(), Value::Float(ttl.as_secs_f64())];
    if on.query("acquire a lock", internal::lock_take(on.dialect()), args).await?.is_none() {
        return Ok(true);
    }
    let holder = on.query("read who holds a lock", internal::lock_owner(on.dialect()), vec![name]).await?;
    Ok(holder.is_none_or(|rows| rows.first().and_then(|row| row.first()) == Some(&owner)))
}

/// Whether there is a table of locks, so that a lock excludes other workers.
pub async fn exist(on: &impl Driver) -> Result<bool, Error> {
    let nobody = vec![Value::Text(String::new())];
    let rows = on.query("find the table of locks", internal::lock_owner(on.dialect()), nobody).await?;
    Ok(rows.is_some())
}

/// Releases a lock.
pub async fn give(on: &impl Driver, name: &str) -> Result<(), Error> {
    let args = vec![Value::Text(name.to_owned()), Value::Text(on.owner().to_owned())];
    on.query("release a lock", internal::lock_give(on.dialect()), args).await.map(|_| ())
}

/// Whether an operator paused the lane.
pub async fn paused(on: &impl Driver, lane: &str) -> Result<bool, Error> {
    let args = vec![Value::Text(lane.to_owned())];
    let rows = on.query("read whether the lane is paused", internal::lane_paused(on.dialect()), args).await?;
    let flag = rows.unwrap_or_default().into_iter().flatten().next();
    Ok(matches!(flag, Some(Value::Int(1) | Value::Bool(true))))
}

/// Pauses or resumes the lane.
pub async fn set_paused(on: &impl Driver, lane: &str, paused: bool) -> Result<(), Error> {
    let args = vec![Value::Text(lane.to_owned()), Value::Bool(paused)];
    match on.query("pause or resume the lane", internal::lane_set(on.dialect()), args).await? {
        Some(_) => Ok(()),
        None => Err(Error::new(
            Class::Misconfigured,
            format!("there is no table {} to keep a pause in: run `postrider migrate`", internal::LANES),
        )),
    }
}
