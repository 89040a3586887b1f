use std::sync::Arc;

use serde::Serialize;
use trunkline::{Call, ErrorObject, FromCall};

use super::{Notifications, Outlet};
use crate::log_level::LogLevel;
use crate::protocol::method;

/// Extracts a way to send log messages to the client of a call, as far as it wants them. They are not
/// the server's own log.
#[derive(Debug, Clone, Default)]
pub struct Log(Option<(Arc<Outlet>, LogLevel)>);

impl Log {
    /// Sends a message. What does not serialise is left out.
    pub fn send(&self, level: LogLevel, data: &(impl Serialize + ?Sized)) {
        let Some((outlet, least)) = &self.0 else {
            return;
        };
        if level < *least {
            return;
        }
        let message =
            Message { jsonrpc: "2.0", method: method::MESSAGE, params: Params { level, data } };
        match serde_json::to_vec(&message) {
            Ok(json) => outlet.put(json),
            Err(error) => tracing::error!(%error, "a log message does not serialise"),
        }
    }
}

#[derive(Serialize)]
struct Message<'a, T: ?Sized> {
    jsonrpc: &'static str,
    method: &'static str,
    params: Params<'a, T>,
}

#[derive(Serialize)]
struct Params<'a, T: ?Sized> {
    level: LogLevel,
    data: &'a T,
}

impl<S> FromCall<S> for Log {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        let notifications = call.extensions().get::<Notifications>();
        Ok(Self(notifications.and_then(|all| Some((Arc::clone(&all.outlet), all.level?)))))
    }
}
