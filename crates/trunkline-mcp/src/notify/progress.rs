use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use trunkline::{Call, ErrorObject, FromCall};

use super::{Notifications, Outlet};
use crate::protocol::method;

/// Extracts a way to tell the client how far its call has come. Clients that did not ask for it
/// (`_meta.progressToken`), and those of other doors, are told nothing.
///
/// ```
/// # use trunkline::{Operation, Router};
/// # use trunkline_mcp::Progress;
/// let import = Operation::new("import", async |progress: Progress| {
///     progress.report(50.0, Some(100.0), Some("half of it"));
///     "imported"
/// });
/// # Router::<()>::new().operation(import).build().unwrap();
/// ```
#[derive(Debug, Clone, Default)]
pub struct Progress(Option<Arc<Reporter>>);

#[derive(Debug)]
struct Reporter {
    outlet: Arc<Outlet>,
    token: Bytes,
    reached: Mutex<f64>,
}

impl Progress {
    /// Reports that `progress` of `total` is done. It has to increase: what does not is left out, as
    /// the protocol wants it, and so is what is no finite number.
    pub fn report(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(reporter) = &self.0 else {
            return;
        };
        let mut reached = reporter.reached.lock().unwrap_or_else(PoisonError::into_inner);
        if progress.is_finite() && progress > *reached {
            *reached = progress;
            let total = total.filter(|total| total.is_finite());
            reporter.put(&Params { progress_token: None, progress, total, message });
        }
    }
}

impl Reporter {
    fn put(&self, params: &Params<'_>) {
        let token = std::str::from_utf8(&self.token).ok();
        let token = token.and_then(|token| serde_json::from_str::<&RawValue>(token).ok());
        let params = Params { progress_token: token, ..*params };
        let message = Message { jsonrpc: "2.0", method: method::PROGRESS, params: &params };
        if let Ok(json) = serde_json::to_vec(&message) {
            self.outlet.put(json);
        }
    }
}

#[derive(Serialize)]
struct Message<'a> {
    jsonrpc: &'static str,
    method: &'static str,
    params: &'a Params<'a>,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    progress_token: Option<&'a RawValue>,
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl<S> FromCall<S> for Progress {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        let Some(notifications) = call.extensions().get::<Notifications>() else {
            return Ok(Self::default());
        };
        let reporter = notifications.token.clone().map(|token| {
            let outlet = Arc::clone(&notifications.outlet);
            Arc::new(Reporter { outlet, token, reached: Mutex::new(f64::NEG_INFINITY) })
        });
        Ok(Self(reporter))
    }
}
