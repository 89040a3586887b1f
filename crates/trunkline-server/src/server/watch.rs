//! The state and start time of the current wait of a connection, monitored by a single timer.
//!
//! Setting a timer for each request would cost more than the other bookkeeping of the request. Instead, a request
//! stores a time; the timer of the connection checks it when it fires, and sleeps for the remaining time.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::config::ServerConfig;

/// The state that a connection waits in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Waiting for the next request.
    Idle = 0,
    /// Waiting for the rest of the headers of a request.
    Head = 1,
    /// Reading a body or running a call, which have their own timers.
    Call = 2,
}

/// A timeout that has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overdue {
    /// The client has not sent a further request.
    Request,
    /// The client has not sent the rest of the headers.
    Head,
    /// The client does not read the reply.
    Write,
}

/// The watch of a connection. Its stream and its requests update it, and its timer reads it.
#[derive(Debug)]
pub(super) struct Watch {
    opened: Instant,
    /// The start of the wait in milliseconds since `opened`, with the [`Wait`] in the two lowest bits.
    state: AtomicU64,
    /// The number of running requests; several with HTTP/2.
    running: AtomicUsize,
    /// The time since which writing makes no progress, in milliseconds since `opened` plus one. 0 while writing
    /// makes progress.
    stalled: AtomicU64,
    /// The number of replies with a part being sent and more parts to follow.
    pending_parts: AtomicUsize,
    /// The time when the last such part was passed to hyper, in milliseconds since `opened`.
    pending_since: AtomicU64,
    /// Whether the last reply was sent while the client may still be sending.
    cut_short: AtomicBool,
}

impl Watch {
    pub(super) fn new() -> Self {
        Self {
            opened: Instant::now(),
            state: AtomicU64::new(Wait::Idle as u64),
            running: AtomicUsize::new(0),
            stalled: AtomicU64::new(0),
            pending_parts: AtomicUsize::new(0),
            pending_since: AtomicU64::new(0),
            cut_short: AtomicBool::new(false),
        }
    }

    /// Changes the state and its start time.
    fn set(&self, wait: Wait) {
        let millis = self.opened.elapsed().as_millis() as u64;
        self.state.store(millis << 2 | wait as u64, Ordering::Relaxed);
    }

    /// Changes the state, keeping the start time. Reading the clock is the most expensive part of `set`.
    fn set_state(&self, wait: Wait) {
        let state = self.state.load(Ordering::Relaxed);
        self.state.store(state & !3 | wait as u64, Ordering::Relaxed);
    }

    /// Bytes were received.
    pub(super) fn received(&self) {
        if self.wait().0 == Wait::Idle {
            self.set(Wait::Head);
        }
    }

    /// Whether nothing was received.
    pub(super) fn is_new(&self) -> bool {
        self.state.load(Ordering::Relaxed) == Wait::Idle as u64
    }

    /// The received bytes are the HTTP/2 preface.
    pub(super) fn is_http2(&self) {
        self.set_state(Wait::Idle);
    }

    /// The socket does not accept further bytes.
    pub(super) fn write_stalled(&self) {
        if self.stalled.load(Ordering::Relaxed) == 0 {
            let millis = self.opened.elapsed().as_millis() as u64;
            self.stalled.store(millis + 1, Ordering::Relaxed);
        }
    }

    /// The socket has accepted bytes.
    pub(super) fn write_progressed(&self) {
        if self.stalled.load(Ordering::Relaxed) != 0 {
            self.stalled.store(0, Ordering::Relaxed);
        }
    }

    /// A part of a reply was passed to hyper, and more parts follow.
    pub(super) fn part_pending(&self) {
        // The time first, so that the timer does not read the count with an old one.
        self.pending_since.store(self.opened.elapsed().as_millis() as u64, Ordering::Relaxed);
        self.pending_parts.fetch_add(1, Ordering::Release);
    }

    /// A pending part was sent.
    pub(super) fn part_sent(&self) {
        self.pending_parts.fetch_sub(1, Ordering::Relaxed);
    }

    /// The reason why the connection waits, and the time since when.
    fn wait(&self) -> (Wait, u64) {
        let state = self.state.load(Ordering::Relaxed);
        let wait = match state & 3 {
            0 => Wait::Idle,
            1 => Wait::Head,
            _ => Wait::Call,
        };
        (wait, state >> 2)
    }

    pub(super) fn request_started(&self) {
        self.running.fetch_add(1, Ordering::Relaxed);
        self.set_state(Wait::Call);
    }

    pub(super) fn request_ended(&self) {
        if self.running.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.set(Wait::Idle);
        }
    }

    /// The last reply was sent before the client has sent its whole request.
    pub(super) fn cut_short(&self) {
        self.cut_short.store(true, Ordering::Relaxed);
    }

    /// Whether the client may still be sending the rest of a request, or of headers that hyper has refused.
    pub(super) fn is_cut_short(&self) -> bool {
        self.cut_short.load(Ordering::Relaxed) || self.wait().0 == Wait::Head
    }

    /// The time that the timer may sleep, or the timeout that has expired.
    pub(super) fn left(&self, settings: &ServerConfig) -> Result<Duration, Overdue> {
        let now = self.opened.elapsed();
        let left = |since: u64, allowed: Duration, overdue| {
            let left = allowed.saturating_sub(now.saturating_sub(Duration::from_millis(since)));
            if left.is_zero() { Err(overdue) } else { Ok(left) }
        };
        let mut sleep = Self::longest_sleep(settings);
        if let Some(since) = self.stalled.load(Ordering::Relaxed).checked_sub(1) {
            sleep = sleep.min(left(since, settings.write_timeout, Overdue::Write)?);
        }
        if self.pending_parts.load(Ordering::Acquire) > 0 {
            let since = self.pending_since.load(Ordering::Relaxed);
            sleep = sleep.min(left(since, settings.write_timeout, Overdue::Write)?);
        }
        let (wait, since) = self.wait();
        match wait {
            // With HTTP/2, one request may begin while the last one before it ends.
            Wait::Idle if self.running.load(Ordering::Relaxed) > 0 => {}
            Wait::Idle => sleep = sleep.min(left(since, settings.idle_timeout, Overdue::Request)?),
            Wait::Head => sleep = sleep.min(left(since, settings.head_timeout, Overdue::Head)?),
            Wait::Call => {}
        }
        Ok(sleep.max(Duration::from_millis(1)))
    }

    /// The shortest timeout, since a wait with any of them may start while the timer sleeps.
    pub(super) fn longest_sleep(settings: &ServerConfig) -> Duration {
        settings.head_timeout.min(settings.idle_timeout).min(settings.write_timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_with_a_running_request_is_not_idle() {
        let watch = Watch::new();
        let settings = ServerConfig { idle_timeout: Duration::ZERO, ..Default::default() };
        watch.request_started();
        // A request that ended before, on another thread.
        watch.set(Wait::Idle);
        assert!(watch.left(&settings).is_ok());
        watch.request_ended();
        assert_eq!(watch.left(&settings), Err(Overdue::Request));
    }
}
