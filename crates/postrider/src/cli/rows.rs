//! Commands about a lane and its rows.

use clap::Args;

#[derive(Debug, Args)]
pub struct LaneArgs {
    pub lane: String,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    pub lane: String,
    /// Only rows in this state
    #[arg(long, value_name = "STATE")]
    pub state: Option<String>,
    /// At most this many rows
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub limit: u32,
    /// Only rows with this: id=7, key=order-1, recipient=ada@, group=acme, error=timeout
    #[arg(long, value_name = "BY=TEXT")]
    pub search: Option<String>,
    /// The search is for how it begins
    #[arg(long, requires = "search")]
    pub prefix: bool,
    /// Oldest first
    #[arg(long)]
    pub oldest: bool,
    /// Where the page before ended
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
    /// One JSON object a row
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    pub lane: String,
    pub id: String,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct MoveArgs {
    pub lane: String,
    /// The rows' ids
    #[arg(required_unless_present = "state", conflicts_with = "state")]
    pub ids: Vec<String>,
    /// All rows in this state
    #[arg(long, value_name = "STATE")]
    pub state: Option<String>,
    /// Only those that changed within this time: 30m, 12h, 7d
    #[arg(long, value_name = "AGE", requires = "state")]
    pub since: Option<String>,
    /// Only say how many rows it would move
    #[arg(long)]
    pub preview: bool,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}
