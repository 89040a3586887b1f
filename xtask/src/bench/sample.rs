use super::contender::{Case, Contender};

/// One server under one load, once.
pub(super) struct Sample {
    pub(super) contender: Contender,
    pub(super) case: Case,
    pub(super) cpu_micros_per_request: f64,
    pub(super) requests_per_second: f64,
}
