use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline_core::error::ErrorObject;
use trunkline_core::operation::IntoOutcome;
use trunkline_core::outcome::Outcome;
use trunkline_edn::rpc::{Edn, unconvertible};
use trunkline_edn::{Map, Step, Value, from_value, json};

use crate::router::Router;

/// A map from method names to functions from EDN to EDN, for [`create_server`](crate::server::create_server).
///
/// A function receives the params, or nil without params, and returns a map: `{:result …}`, or
/// `{:error {:code 1, :message "…", :data …}}`. Any other value is -32603, and logged.
///
/// ```
/// use trunkline::edn::{Handlers, edn};
/// use trunkline::server::{Config, create_server};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let handlers = Handlers::new()
///     .on("echo", |params| edn!({:result ~params}))
///     .on("get-config", |_| edn!({:result {:features [:a :b :c], :updated-at #inst "2024"}}));
/// let server = create_server(Config { port: 0, handlers: handlers.into() }).await?;
/// server.stop().await;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Handlers(BTreeMap<String, Function>);

type Function = Box<dyn Fn(Value) -> Value + Send + Sync>;

impl Handlers {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the function for a method, replacing any previous one.
    #[must_use]
    pub fn on(
        mut self,
        method: impl Into<String>,
        function: impl Fn(Value) -> Value + Send + Sync + 'static,
    ) -> Self {
        self.0.insert(method.into(), Box::new(function));
        self
    }
}

impl<N: Into<String>> FromIterator<(N, Function)> for Handlers {
    fn from_iter<T: IntoIterator<Item = (N, Function)>>(functions: T) -> Self {
        Self(functions.into_iter().map(|(name, function)| (name.into(), function)).collect())
    }
}

impl From<Handlers> for Router {
    fn from(handlers: Handlers) -> Self {
        handlers.0.into_iter().fold(Self::new(), |router, (name, function)| {
            router.method(name, move |Edn(params): Edn<Value>| outcome_of(function(params)))
        })
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Converts the value that a function returns.
fn outcome_of(returned: Value) -> Outcome {
    let Value::Map(map) = returned else { return Outcome::error(invalid_return_value()) };
    match single(map) {
        Some((name, value)) if name == "result" => value.into_outcome(),
        Some((name, value)) if name == "error" => {
            Outcome::error(from_value(value).map_or_else(|_| invalid_return_value(), error))
        }
        _ => Outcome::error(invalid_return_value()),
    }
}

/// The only entry of a map.
fn single(map: Map) -> Option<(String, Value)> {
    let mut entries = map.into_entries();
    let (key, value) = entries.pop().filter(|_| entries.is_empty())?;
    Some((json::key_text(&key).ok()?, value))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    code: i64,
    message: String,
    data: Option<Value>,
}

fn error(failure: Failure) -> ErrorObject {
    let error = ErrorObject::new(failure.code, failure.message);
    let Some(data) = failure.data else { return error };
    match json::to_string(&data) {
        // The text is valid JSON.
        Ok(json) => match RawValue::from_string(json) {
            Ok(data) => error.with_data(&data),
            Err(fault) => ErrorObject::internal(&fault),
        },
        Err(fault) => unconvertible(fault.within(Step::key("data")), Some("error")),
    }
}

fn invalid_return_value() -> ErrorObject {
    ErrorObject::internal(
        &"an EDN handler must return a map with :result, or with :error that has :code and :message",
    )
}
