//! The service of the transport tests. Calls return all that a test checks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use trunkline::{ErrorObject, Params, RawParams, Router, code};

/// Counters of calls. Clones share them.
#[derive(Clone)]
pub(crate) struct CallCounts(Arc<Counts>);

struct Counts {
    entered: AtomicUsize,
    cancelled: AtomicUsize,
    noted: AtomicUsize,
    open: Semaphore,
}

/// A call that is counted as cancelled if it is dropped before its end.
struct Entered<'a>(Option<&'a Counts>);

#[derive(Deserialize)]
struct Subtract {
    minuend: i64,
    subtrahend: i64,
}

#[derive(Deserialize)]
struct Fail {
    code: i64,
}

impl CallCounts {
    pub(crate) fn new() -> Self {
        let (entered, cancelled, noted) = Default::default();
        Self(Arc::new(Counts { entered, cancelled, noted, open: Semaphore::new(0) }))
    }

    /// The methods. `echo` returns its params, `wait` returns after `open`, `work` never returns.
    pub(crate) fn router(&self) -> Router {
        let [wait, work, note, counts, open] = [(); 5].map(|()| self.clone());
        Router::new()
            .method("subtract", |Params(Subtract { minuend, subtrahend }): Params<Subtract>| {
                minuend - subtrahend
            })
            .method("echo", |RawParams(params): RawParams| params)
            .method("fail", |Params(Fail { code }): Params<Fail>| -> Result<(), ErrorObject> {
                Err(ErrorObject::new(code, "it failed").with_data(&"for a reason"))
            })
            .method("panic", || -> () { panic!("on purpose") })
            .method("length", |Params([text]): Params<[String; 1]>| text.len())
            .method("repeat", |Params((text, times)): Params<(String, usize)>| text.repeat(times))
            .method("pretty", || {
                RawValue::from_string("{\n  \"a\": [\r\n    1\n  ]\n}".to_owned())
                    .map_err(|error| ErrorObject::new(code::INTERNAL_ERROR, error.to_string()))
            })
            .method("wait", move || {
                let counts = wait.clone();
                async move { counts.wait().await }
            })
            .method("work", move || {
                let counts = work.clone();
                async move {
                    let _entered = counts.enter();
                    std::future::pending::<()>().await;
                }
            })
            .method("note", move |_: RawParams| {
                note.0.noted.fetch_add(1, Ordering::SeqCst);
            })
            .method("open", move || open.0.open.add_permits(1))
            .method("counts", move || {
                let [entered, cancelled, noted] =
                    [&counts.0.entered, &counts.0.cancelled, &counts.0.noted]
                        .map(|count| count.load(Ordering::SeqCst));
                (entered, cancelled, noted)
            })
    }

    async fn wait(&self) -> &'static str {
        let mut entered = self.enter();
        if let Ok(permit) = self.0.open.acquire().await {
            permit.forget();
        }
        entered.0 = None;
        "done"
    }

    fn enter(&self) -> Entered<'_> {
        self.0.entered.fetch_add(1, Ordering::SeqCst);
        Entered(Some(&self.0))
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Some(counts) = self.0 {
            counts.cancelled.fetch_add(1, Ordering::SeqCst);
        }
    }
}
