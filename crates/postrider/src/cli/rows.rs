//! Arguments of the commands about a lane and its rows.

use clap::Args;

#[derive(Debug, Args)]
pub struct LaneArgs {
    /// Name of the lane
    pub lane: String,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Name of the lane
    pub lane: String,
    /// Only rows in this state
    #[arg(long, value_name = "STATE")]
    pub state: Option<String>,
    /// Maximum number of rows
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub limit: u32,
    /// Only rows that match: id=7, key=order-1, recipient=ada@, group=acme, error=timeout
    #[arg(long, value_name = "BY=TEXT")]
    pub search: Option<String>,
    /// Match values that start with the text of --search
    #[arg(long, requires = "search")]
    pub prefix: bool,
    /// List the oldest rows first
    #[arg(long)]
    pub oldest: bool,
    /// Cursor of the next page, as the previous page printed it
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
    /// Print one JSON object per row
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Name of the lane
    pub lane: String,
    /// Id of the row
    pub id: String,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct MoveArgs {
    /// Name of the lane
    pub lane: String,
    /// Ids of the rows
    #[arg(required_unless_present = "state", conflicts_with = "state")]
    pub ids: Vec<String>,
    /// All rows in this state
    #[arg(long, value_name = "STATE")]
    pub state: Option<String>,
    /// Only rows that changed within this time: 30m, 12h, 7d
    #[arg(long, value_name = "AGE", requires = "state")]
    pub since: Option<String>,
    /// Only count the rows; change nothing
    #[arg(long)]
    pub preview: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct PreviewArgs {
    /// Name of the lane
    pub lane: String,
    /// Maximum number of rows that wait for delivery, the oldest first
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rows: u32,
    /// Also compose as many finished rows, the newest first
    #[arg(long)]
    pub finished: bool,
    /// Print one JSON object per row, and one with the counts
    #[arg(long)]
    pub json: bool,
}
