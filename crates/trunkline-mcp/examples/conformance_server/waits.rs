//! Tools for tests of cancellation with SDKs. The suite does not call them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use trunkline::Router;
use trunkline::tool::ToolOperation;
use trunkline_mcp::Block;

use crate::tools::tool;

pub(crate) fn tools() -> Router {
    let calls = Arc::new(Calls::default());
    let waiting = Arc::clone(&calls);
    let wait = move || {
        let call = Call::begin(&waiting);
        async move {
            let _ends_with_the_call = call;
            std::future::pending::<Block>().await
        }
    };
    let count = move || {
        let [running, cancelled] =
            [&calls.running, &calls.cancelled].map(|count| count.load(Ordering::SeqCst));
        Block::text(format!("{running} running, {cancelled} cancelled"))
    };
    Router::new()
        .operation(tool("test_wait", "Never ends by itself.", wait).blocks())
        .operation(tool("test_count_waits", "Counts the calls of test_wait.", count).blocks())
}

#[derive(Default)]
struct Calls {
    running: AtomicUsize,
    cancelled: AtomicUsize,
}

/// A running call, which ends only by cancellation.
struct Call(Arc<Calls>);

impl Call {
    fn begin(calls: &Arc<Calls>) -> Self {
        calls.running.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(calls))
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
        self.0.cancelled.fetch_add(1, Ordering::SeqCst);
    }
}
