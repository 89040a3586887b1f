//! Checks of the components that a server needs.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

/// Checks of the components without which calls fail, such as a database. The page `/ready` of the
/// [health page](super::Health) runs them concurrently, each for at most 2 seconds. A check that panics fails. Results
/// are reused for a second, so that probes do not load the components. Cloning is cheap.
#[derive(Clone, Default)]
pub struct Readiness {
    checks: Vec<Arc<Check>>,
    /// The last results of these checks, also for clones with the same ones.
    last: Arc<Mutex<Option<(Instant, Failures)>>>,
}

struct Check {
    name: &'static str,
    run: Box<dyn Fn() -> CheckFuture + Send + Sync>,
}

/// The future of a check. An error is the reason why the component does not work. It is public.
pub type CheckFuture = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// The names of the checks that failed, and the reasons.
pub(super) type Failures = Arc<[(&'static str, String)]>;

/// The maximum time of a check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// The time for which results are reused.
const REUSED_FOR: Duration = Duration::from_secs(1);

impl Readiness {
    /// Adds a check of a component. Earlier clones do not have it.
    #[must_use]
    pub fn check(
        mut self,
        name: &'static str,
        run: impl Fn() -> CheckFuture + Send + Sync + 'static,
    ) -> Self {
        self.checks.push(Arc::new(Check { name, run: Box::new(run) }));
        self.last = Arc::default();
        self
    }

    /// The names of all checks.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.checks.iter().map(|check| check.name)
    }

    /// The checks that fail now.
    pub(super) async fn failures(&self) -> Failures {
        // Concurrent probes wait for one run.
        let mut last = self.last.lock().await;
        if let Some((at, failures)) = &*last
            && at.elapsed() < REUSED_FOR
        {
            return Arc::clone(failures);
        }
        let results = join_all(self.checks.iter().map(|check| check.result())).await;
        let failures: Failures = results.into_iter().flatten().collect();
        *last = Some((Instant::now(), Arc::clone(&failures)));
        failures
    }
}

impl Check {
    /// The failure, if there is one.
    async fn result(&self) -> Option<(&'static str, String)> {
        // A panic would end the connection of the probe.
        let run = AssertUnwindSafe(async { (self.run)().await }).catch_unwind();
        let reason = match timeout(CHECK_TIMEOUT, run).await {
            Ok(Ok(result)) => result.err()?,
            Ok(Err(_)) => {
                tracing::error!(check = self.name, "a check of readiness panicked");
                "the check panicked".to_owned()
            }
            Err(_) => format!("no answer within {} s", CHECK_TIMEOUT.as_secs()),
        };
        Some((self.name, reason))
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
