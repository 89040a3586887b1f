//! The client, with conforming and hostile servers.

mod batches;
mod bounds;
mod calls;
mod cancelling;
mod connections;
mod edn;
mod headers;
mod hostile;
mod hostile_batch;
mod https;
mod layers;
mod networks;
mod peer;
mod retries;
mod scripted;
