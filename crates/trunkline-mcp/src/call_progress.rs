//! The progress notifications of a call.

use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::lock::Lock;
use crate::model::{ProgressParams, ProgressUpdate};

/// The progress of a call, which its client has requested.
///
/// While the call is silent, its progress is repeated, since many clients end a call that reports nothing for a minute.
/// The values that a client receives always increase (2025-11-25, "Progress"): a repeated one is slightly higher, and so
/// is one of the handler that does not exceed it.
#[derive(Debug)]
pub(crate) struct CallProgress {
    /// The progress token as JSON.
    token: Bytes,
    /// The time without a notification after which the progress is repeated.
    interval: Duration,
    started: Instant,
    sent: Lock<Sent>,
}

/// The last notification.
#[derive(Debug)]
struct Sent {
    progress: Option<f64>,
    total: Option<f64>,
    at: Instant,
}

/// The params of a notification, whose token is passed on.
type Params<'p> = ProgressParams<Option<&'p RawValue>>;

/// The relative increase of a repeated value. It is visible in numbers of 32 bits, and smaller than the steps of
/// handlers.
const STEP: f64 = 1e-6;

impl CallProgress {
    pub(crate) fn new(token: Bytes, interval: Duration) -> Self {
        let started = Instant::now();
        let sent = Lock::new(Sent { progress: None, total: None, at: started });
        Self { token, interval, started, sent }
    }

    /// Sends progress that a handler reports. Notifications are sent in the order of their values.
    pub(crate) fn report<R>(
        &self,
        mut update: ProgressUpdate,
        send: impl FnOnce(&Params<'_>) -> R,
    ) -> R {
        let mut sent = self.sent.lock();
        if let Some(last) = sent.progress.filter(|last| update.progress <= *last) {
            update.progress = next_after(last);
        }
        let (progress, total) = (Some(update.progress), update.total);
        *sent = Sent { progress, total, at: Instant::now() };
        send(&self.params(update))
    }

    /// Sends the last progress again.
    pub(crate) fn repeat<R>(&self, send: impl FnOnce(&Params<'_>) -> R) -> R {
        let mut sent = self.sent.lock();
        let progress = sent.progress.map_or(0.0, next_after);
        (sent.progress, sent.at) = (Some(progress), Instant::now());
        let total = sent.total.filter(|total| progress <= *total);
        let message = Some(format!("still running ({} s)", self.started.elapsed().as_secs()));
        send(&self.params(ProgressUpdate { progress, total, message }))
    }

    /// The time at which the progress is repeated.
    pub(crate) fn repeat_at(&self) -> Option<Instant> {
        self.sent.lock().at.checked_add(self.interval)
    }

    fn params(&self, update: ProgressUpdate) -> Params<'_> {
        let token = std::str::from_utf8(&self.token).ok();
        let progress_token = token.and_then(|token| serde_json::from_str(token).ok());
        ProgressParams { progress_token, update }
    }
}

fn next_after(progress: f64) -> f64 {
    (progress + (progress.abs() * STEP).max(STEP)).min(f64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;

    use super::{CallProgress, Params, ProgressUpdate};

    fn update(progress: f64, total: Option<f64>) -> ProgressUpdate {
        ProgressUpdate { progress, total, message: None }
    }

    /// Sends the values of a handler, and repeats the progress for `None`. `expected` are the values and totals
    /// that the client receives.
    #[track_caller]
    fn check(total: Option<f64>, steps: &[Option<f64>], expected: &[(f64, Option<f64>)]) {
        let progress = CallProgress::new(Bytes::from_static(b"7"), Duration::from_secs(1));
        let send = |step: &Option<f64>| {
            let read = |params: &Params<'_>| {
                assert_eq!(params.progress_token.unwrap().get(), "7");
                (params.update.progress, params.update.total)
            };
            match step {
                Some(value) => progress.report(update(*value, total), read),
                None => progress.repeat(read),
            }
        };
        let sent: Vec<_> = steps.iter().map(send).collect();
        assert_eq!(sent.len(), expected.len());
        for ((value, total), (expected, expected_total)) in sent.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-9, "{value} instead of {expected} in {steps:?}");
            assert_eq!(total, expected_total, "{steps:?}");
        }
        assert!(sent.windows(2).all(|pair| pair[0].0 < pair[1].0), "{sent:?}");
        let in_32_bits = |value: f64| value as f32;
        assert!(sent.windows(2).all(|pair| in_32_bits(pair[0].0) < in_32_bits(pair[1].0)));
    }

    #[test]
    fn values_increase() {
        let all = Some(100.0);
        check(None, &[None, None, None], &[(0.0, None), (1e-6, None), (2e-6, None)]);
        // The first value of a handler is not lost.
        let first = [(0.0, None), (1e-6, all), (1.0, all)];
        check(all, &[None, Some(0.0), Some(1.0)], &first);
        let between = [(50.0, all), (50.00005, all), (51.0, all)];
        check(all, &[Some(50.0), None, Some(51.0)], &between);
        // A step that is smaller than the increase.
        let small = [(1e6, None), (1e6 + 1.0, None), (1e6 + 2.000_001, None)];
        check(None, &[Some(1e6), None, Some(1e6 + 0.5)], &small);
        // Beyond the total, it is omitted.
        check(all, &[Some(100.0), None], &[(100.0, all), (100.0001, None)]);
        check(None, &[Some(-2.0), None], &[(-2.0, None), (-1.999998, None)]);
    }

    #[test]
    fn the_largest_value_is_finite() {
        let progress = CallProgress::new(Bytes::from_static(b"7"), Duration::MAX);
        progress.report(update(f64::MAX, None), |_| {});
        assert!(progress.repeat(|params| params.update.progress.is_finite()));
        assert_eq!(progress.repeat_at(), None);
    }
}
