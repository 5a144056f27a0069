//! Tests the store on an emulator, together with a second client, boto3, that knows only the specification.

mod clock;
mod cut;
mod guards;
mod layout;
mod migrate;
mod network;
mod reached;
mod second_client;
mod throttled;
mod world;
