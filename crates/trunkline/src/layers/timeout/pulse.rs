use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::sleep;

/// Keeps the timers of calls from waking the runtime's driver.
///
/// tokio wakes its driver for a timer that is due before all others: a write to an eventfd and a turn
/// of epoll, which cost as much as a small call. Deadlines are far away, so on a server that is asked
/// one call after the other that is each of them. While calls come, a task that sleeps for a short time
/// only is due before them. It ends when no more calls come.
#[derive(Debug, Clone, Default)]
pub(super) struct Pulse(Arc<State>);

#[derive(Debug, Default)]
struct State {
    beats: AtomicBool,
    wanted: AtomicBool,
}

const BEAT: Duration = Duration::from_millis(50);
/// How many beats there are that nobody wanted, until it ends.
const IDLE: u32 = 20;

impl Pulse {
    /// To be called within a runtime, when a timer is about to be set.
    pub(super) fn want(&self) {
        self.0.wanted.store(true, Ordering::Relaxed);
        if !self.0.beats.load(Ordering::Relaxed) && !self.0.beats.swap(true, Ordering::Relaxed) {
            tokio::spawn(beat(Beating(Arc::clone(&self.0))));
        }
    }
}

async fn beat(state: Beating) {
    let mut idle = 0;
    while idle < IDLE {
        sleep(BEAT).await;
        idle = if state.0.wanted.swap(false, Ordering::Relaxed) { 0 } else { idle + 1 };
    }
}

/// However the task ends, another one may begin.
struct Beating(Arc<State>);

impl Drop for Beating {
    fn drop(&mut self) {
        self.0.beats.store(false, Ordering::Relaxed);
    }
}
