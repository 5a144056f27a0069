//! Tests the store on an emulator, together with a second client, boto3, that knows only the specification.

mod clock;
mod fixtures;
mod guards;
mod layout;
mod lost_answers;
mod migrate;
mod network;
mod reached_at;
mod second_client;
mod throttled;
