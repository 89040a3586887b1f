//! Methods that a test blocks, releases and counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;
use trunkline::{CancellationToken, Router, blocking};

/// Controls the methods of [`Gate::router`].
#[derive(Clone)]
pub(crate) struct Gate(Arc<Inner>);

struct Inner {
    open: Semaphore,
    entered: AtomicUsize,
    cancelled: AtomicUsize,
}

pub(crate) const WAIT: &str = r#"{"jsonrpc":"2.0","method":"wait","id":1}"#;
pub(crate) const DONE: &str = r#"{"jsonrpc":"2.0","result":"done","id":1}"#;

impl Gate {
    pub(crate) fn new() -> Self {
        let (entered, cancelled) = Default::default();
        Self(Arc::new(Inner { open: Semaphore::new(0), entered, cancelled }))
    }

    /// Lets `count` calls pass.
    pub(crate) fn open(&self, count: usize) {
        self.0.open.add_permits(count);
    }

    /// The number of calls that have reached a handler.
    pub(crate) fn entered(&self) -> usize {
        self.0.entered.load(Ordering::SeqCst)
    }

    /// The number of handlers that were cancelled.
    pub(crate) fn cancelled(&self) -> usize {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    fn enter(&self) -> &Self {
        self.0.entered.fetch_add(1, Ordering::SeqCst);
        self
    }

    fn cancel(&self) {
        self.0.cancelled.fetch_add(1, Ordering::SeqCst);
    }

    async fn pass(&self) -> &'static str {
        self.enter().0.open.acquire().await.unwrap().forget();
        "done"
    }

    /// Blocks a thread, like a query.
    fn block(&self, token: &CancellationToken) {
        self.enter();
        while !token.is_cancelled() {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.cancel();
    }

    /// Methods: `wait` ends when the gate is open, `work` and `block` end when they are cancelled.
    pub(crate) fn router(&self) -> Router {
        let [wait, work, block] = [self, self, self].map(Self::clone);
        Router::new()
            .method("ping", || "pong")
            .method("wait", move || {
                let gate = wait.clone();
                async move { gate.pass().await }
            })
            .method("work", move |token: CancellationToken| {
                let gate = work.clone();
                tokio::spawn(async move {
                    token.cancelled().await;
                    gate.cancel();
                });
                work.enter();
                std::future::pending::<()>()
            })
            .method("block", blocking(move |token: CancellationToken| block.block(&token)))
    }
}
