//! What a connection waits for and since when, so that one coarse timer can watch it.
//!
//! A timer armed for each request costs more than the request's own bookkeeping. Here a request
//! writes down a time; the connection's one timer looks at it when it fires, and sleeps for what
//! is left.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::config::ServerConfig;

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// The next request.
    Idle = 0,
    /// The rest of a request's head.
    Head = 1,
    /// Nothing that the connection itself limits: body and call have timers of their own.
    Call = 2,
}

/// What has lasted too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overdue {
    /// The client sends no further request.
    Request,
    /// It sends the rest of a head too slowly.
    Head,
    /// It takes nothing of what it is sent.
    Write,
}

/// Written by the connection's stream and its requests, read by its timer.
#[derive(Debug)]
pub(super) struct Watch {
    opened: Instant,
    /// Milliseconds since `opened`, and the wait in the two lowest bits.
    state: AtomicU64,
    /// Requests whose reply is not yet handed over; HTTP/2 has several.
    running: AtomicUsize,
    /// Since when the client takes nothing, in milliseconds since `opened`, plus one; 0 while it
    /// does.
    stalled: AtomicU64,
    /// Replies of which a part is on its way while more is to come.
    handed: AtomicUsize,
    /// When the last such part was handed over, in milliseconds since `opened`.
    handed_at: AtomicU64,
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
            handed: AtomicUsize::new(0),
            handed_at: AtomicU64::new(0),
            cut_short: AtomicBool::new(false),
        }
    }

    /// From now on the connection waits for something else.
    fn set(&self, wait: Wait) {
        let millis = self.opened.elapsed().as_millis() as u64;
        self.state.store(millis << 2 | wait as u64, Ordering::Relaxed);
    }

    /// The same from the time that is written down already: looking at the clock costs more than
    /// all else here.
    fn turn(&self, wait: Wait) {
        let state = self.state.load(Ordering::Relaxed);
        self.state.store(state & !3 | wait as u64, Ordering::Relaxed);
    }

    /// Bytes have come.
    pub(super) fn received(&self) {
        if self.wait() == Wait::Idle {
            self.set(Wait::Head);
        }
    }

    /// What came was no head.
    pub(super) fn is_http2(&self) {
        self.turn(Wait::Idle);
    }

    /// The client has no room for what it is sent.
    pub(super) fn stalled(&self) {
        if self.stalled.load(Ordering::Relaxed) == 0 {
            let millis = self.opened.elapsed().as_millis() as u64;
            self.stalled.store(millis + 1, Ordering::Relaxed);
        }
    }

    /// It has taken some of it.
    pub(super) fn taken(&self) {
        if self.stalled.load(Ordering::Relaxed) != 0 {
            self.stalled.store(0, Ordering::Relaxed);
        }
    }

    /// A part of a reply goes on its way, and more is to come.
    pub(super) fn handed(&self) {
        self.handed.fetch_add(1, Ordering::Relaxed);
        self.handed_at.store(self.opened.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// It has been taken.
    pub(super) fn part_taken(&self) {
        self.handed.fetch_sub(1, Ordering::Relaxed);
    }

    fn wait(&self) -> Wait {
        match self.state.load(Ordering::Relaxed) & 3 {
            0 => Wait::Idle,
            1 => Wait::Head,
            _ => Wait::Call,
        }
    }

    pub(super) fn request_begun(&self) {
        self.running.fetch_add(1, Ordering::Relaxed);
        self.turn(Wait::Call);
    }

    pub(super) fn request_ended(&self) {
        if self.running.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.set(Wait::Idle);
        }
    }

    /// A reply ends the connection before the client has sent all of its request.
    pub(super) fn cut_short(&self) {
        self.cut_short.store(true, Ordering::Relaxed);
    }

    /// Whether the client may still be sending: the rest of a request, or of a head that hyper has
    /// refused.
    pub(super) fn is_cut_short(&self) -> bool {
        self.cut_short.load(Ordering::Relaxed) || self.wait() == Wait::Head
    }

    /// How long the timer may sleep, or what has lasted too long.
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
        if self.handed.load(Ordering::Relaxed) > 0 {
            let since = self.handed_at.load(Ordering::Relaxed);
            sleep = sleep.min(left(since, settings.write_timeout, Overdue::Write)?);
        }
        let since = self.state.load(Ordering::Relaxed) >> 2;
        match self.wait() {
            Wait::Idle => sleep = sleep.min(left(since, settings.idle_timeout, Overdue::Request)?),
            Wait::Head => sleep = sleep.min(left(since, settings.head_timeout, Overdue::Head)?),
            Wait::Call => {}
        }
        Ok(sleep.max(Duration::from_millis(1)))
    }

    /// A shorter wait may begin while the timer sleeps for a longer one.
    pub(super) fn longest_sleep(settings: &ServerConfig) -> Duration {
        settings.head_timeout.min(settings.idle_timeout).min(settings.write_timeout)
    }
}
