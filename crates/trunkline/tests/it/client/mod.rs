//! The client, against servers as they should be and against others.

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
mod peer;
mod retries;
mod scripted;
