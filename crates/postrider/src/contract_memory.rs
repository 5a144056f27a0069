//! Remembers in a lane's database which contracts are known to be good, and which stopped their lane.
//!
//! They are kept beside the paused lanes, under names that no lane has. Without that table nothing is remembered: the
//! first rows are then judged at each start.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_contract::Contract;
use postrider_seams::ContractMemory;
use postrider_seams::store::Error;

use crate::settings::LaneSettings;
use crate::wiring::LaneTable;

/// The memory about one contract.
pub struct LaneContract {
    store: Arc<dyn LaneTable>,
    hash: String,
}

impl LaneContract {
    /// Returns the memory about the lane's contract; `None` for an unchanged built-in contract, which is good.
    pub fn of(lane: &LaneSettings, store: Arc<dyn LaneTable>) -> Option<Self> {
        let contract = &*lane.contract;
        let hash = format!("{:016x}", fnv(format!("{contract:?}").as_bytes()));
        (!is_built_in(contract)).then_some(Self { store, hash })
    }

    fn good(&self) -> String {
        format!("contract {} is good", self.hash)
    }

    fn stopped(&self) -> String {
        format!("contract {} stopped", self.hash)
    }

    /// Whether a lane stopped because of the contract.
    pub async fn has_stopped(&self) -> Result<bool, Error> {
        Ok(self.store.paused(&self.stopped()).await? && !self.is_good().await?)
    }
}

#[async_trait]
impl ContractMemory for LaneContract {
    async fn is_good(&self) -> Result<bool, Error> {
        self.store.paused(&self.good()).await
    }

    async fn remember_good(&self) -> Result<(), Error> {
        self.store.set_paused(&self.good(), true).await
    }

    async fn remember_stopped(&self) -> Result<(), Error> {
        self.store.set_paused(&self.stopped(), true).await
    }
}

fn is_built_in(contract: &Contract) -> bool {
    let Some(text) = Contract::builtin(&contract.name) else { return false };
    let Ok(built_in) = Contract::parse(&contract.name, text) else { return false };
    *contract == built_in || *contract == built_in.with_queue()
}

/// Computes FNV-1a, which is stable over versions and machines.
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
