//! Requests from a handler to the client of its call: questions to the user, sampling and roots.

mod elicitation;
mod error;
mod requests;
mod rounds;
mod state;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use trunkline::layers::timeout::ClientWait;
use trunkline::{Call, ErrorObject, FromCall, JsonSchema};

use crate::capabilities::ClientCapabilities;
use crate::message_queue::MessageQueue;
use crate::model::{
    CreateMessageRequest, CreateMessageResult, ElicitRequest, ElicitResult, InputRequest,
    ListRootsResult, Root, raw,
};
use crate::on_drop::OnDrop;
use crate::protocol::{Legacy, method};

pub use self::error::PeerError;
pub(crate) use self::requests::ClientRequests;
pub(crate) use self::rounds::{Ended, Rounds, run_round};
pub use self::state::StateKey;
pub(crate) use self::state::{Binding, RoundState, digest_of, now};

/// Extracts the client of a call, to which a handler can send requests.
///
/// ```
/// # use serde::Deserialize;
/// # use trunkline::{JsonSchema, Operation, Router};
/// # use trunkline_mcp::{ElicitResult, Peer, PeerError};
/// #[derive(Deserialize, JsonSchema)]
/// # #[schemars(crate = "trunkline::schemars")]
/// struct Name { name: String }
///
/// let greet = Operation::new("greet", async |client: Peer| {
///     let answer = client.elicit("user_name", "What is your name?").await?;
///     Ok::<_, PeerError>(match answer {
///         ElicitResult::Accept(Name { name }) => format!("Hello, {name}!"),
///         ElicitResult::Decline | ElicitResult::Cancel => "Hello!".to_owned(),
///     })
/// });
/// # Router::<()>::new().operation(greet.tool("greet")).build().unwrap();
/// ```
///
/// The same handler works with clients of all revisions:
///
/// * Up to 2025-11-25, the server sends a request on the stream of the call or on its channel, and the handler waits
///   for the response.
/// * In 2026-07-28, the call ends with the result `input_required`, and the client repeats it with the responses. **The
///   handler then runs from its beginning again**, and the responses that the client has already sent are returned at
///   once. So ask first and change data afterwards. Each request has a key, by which its response is recognised; a
///   request that is sent again with the same key replaces the response. Requests that a handler sends concurrently, as
///   with `tokio::join!`, are sent together.
/// * In a [task](crate::McpOperation::task), the handler waits for the response, which the client sends to the task.
///
/// If the client does not support a request, or the call came over another protocol, the request fails with
/// [`PeerError::Unsupported`]. The time in which a handler waits for its client does not count for the timeout of the
/// call ([`ClientWait`]).
#[derive(Debug, Clone, Default)]
pub struct Peer(Backend);

#[derive(Debug, Clone, Default)]
enum Backend {
    #[default]
    None,
    Connection(Arc<Connection>),
    Rounds(Arc<Rounds>),
}

/// A client that receives requests during a call.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) queue: Arc<MessageQueue>,
    pub(crate) requests: Arc<ClientRequests>,
    pub(crate) capabilities: ClientCapabilities,
    /// The maximum time until the response to a request.
    pub(crate) timeout: Duration,
    pub(crate) wait: ClientWait,
    pub(crate) version: Option<Legacy>,
    /// Cancelled when the client has gone.
    pub(crate) ended: CancellationToken,
}

impl Peer {
    pub(crate) fn connected(connection: Connection) -> Self {
        Self(Backend::Connection(Arc::new(connection)))
    }

    pub(crate) fn in_rounds(rounds: Arc<Rounds>) -> Self {
        Self(Backend::Rounds(rounds))
    }

    /// Shows the user a form with the members of `T`, which must be primitive values or enums (2025-11-25, "Elicitation").
    /// `key` identifies the request among those of the call; concurrent requests need different keys.
    ///
    /// # Errors
    /// See [`PeerError`].
    pub async fn elicit<T>(&self, key: &str, message: &str) -> Result<ElicitResult<T>, PeerError>
    where
        T: DeserializeOwned + JsonSchema,
    {
        self.elicit_form(key, message, elicitation::schema_of::<T>()).await
    }

    /// Shows the user a form with this schema: an object of primitive values and choices.
    ///
    /// The content is completed by the schema: a user who accepts without content the only question of a form, a required
    /// boolean, has answered `true`; a required member that is missing has its default; texts of booleans and numbers are
    /// converted. An unknown action of the client is [`ElicitResult::Decline`].
    ///
    /// # Errors
    /// See [`PeerError`].
    pub async fn elicit_form<T: DeserializeOwned>(
        &self,
        key: &str,
        message: &str,
        schema: Value,
    ) -> Result<ElicitResult<T>, PeerError> {
        let form = elicitation::check(&schema)?;
        self.require("elicitation")?;
        let (message, requested_schema) = (message.to_owned(), raw(&schema));
        let request = ElicitRequest::Form { message, requested_schema };
        elicitation::read(self.ask(key, method::ELICIT, &request).await?, &form)
    }

    /// Asks the user to open a URL, for input that the client must not see, such as credentials (2025-11-25, "URL Mode").
    /// `Accept` means that the user has agreed, not that the interaction is complete.
    ///
    /// # Errors
    /// See [`PeerError`].
    pub async fn elicit_url(
        &self,
        key: &str,
        message: &str,
        url: &str,
    ) -> Result<ElicitResult<()>, PeerError> {
        self.require("elicitation.url")?;
        let elicitation_id = match &self.0 {
            Backend::Connection(client) if client.version == Some(Legacy::V2025_11_25) => {
                Some(format!("{key}-{}", client.requests.unused_id()))
            }
            _ => None,
        };
        let (message, url) = (message.to_owned(), url.to_owned());
        let request = ElicitRequest::Url { message, url, elicitation_id };
        let answer: ElicitResult<Value> = self.ask(key, method::ELICIT, &request).await?;
        Ok(answer.map(drop))
    }

    /// Requests an answer from the language model of the client (2025-11-25, "Sampling").
    ///
    /// # Errors
    /// See [`PeerError`].
    pub async fn sample(
        &self,
        key: &str,
        request: &CreateMessageRequest,
    ) -> Result<CreateMessageResult, PeerError> {
        let has_tools = request.options.contains_key("tools");
        self.require(if has_tools { "sampling.tools" } else { "sampling" })?;
        self.ask(key, method::SAMPLE, request).await
    }

    /// Requests the roots of the client (2025-11-25, "Roots").
    ///
    /// # Errors
    /// See [`PeerError`].
    pub async fn roots(&self, key: &str) -> Result<Vec<Root>, PeerError> {
        self.require("roots")?;
        let ListRootsResult { roots } = self.ask(key, method::ROOTS, &json!({})).await?;
        Ok(roots)
    }

    /// Whether the client supports a request: `elicitation`, `elicitation.url`, `sampling`, `sampling.tools`, `roots`.
    #[must_use]
    pub fn supports(&self, capability: &str) -> bool {
        match capability {
            "elicitation" | "elicitation.form" => {
                self.capabilities().is_some_and(ClientCapabilities::has_forms)
            }
            _ => self.capabilities().is_some_and(|declared| declared.has(capability)),
        }
    }

    /// Closes the stream on which the client waits for the reply to this call. The client reconnects after `retry` and
    /// receives the missed messages (2025-11-25, "Resumability and Redelivery"). Use it in long calls, to free the
    /// connection. Calls of other transports and revisions continue unchanged.
    pub fn close_stream(&self, retry: Duration) {
        if let Backend::Connection(connection) = &self.0
            && connection.version.is_some_and(Legacy::has_priming_events)
        {
            connection.queue.close(retry);
        }
    }

    /// Makes the call a [task](crate::McpOperation::task) now: its client receives the id of the task, and the handler
    /// continues in the background. Without effect if the tool or the client does not support tasks.
    ///
    /// Before, requests end the call, and the handler runs again with their responses. Afterwards, the handler waits
    /// for the responses, which the client sends to the task.
    pub fn start_task(&self) {
        if let Backend::Rounds(rounds) = &self.0 {
            rounds.start_task();
        }
    }

    /// Whether a request to the client ends the call, which the client then repeats with the response (2026-07-28).
    /// Handlers that keep their work between these calls find it by the [keys of the responses](Self::response_keys).
    #[must_use]
    pub fn ends_call(&self) -> bool {
        matches!(self.0, Backend::Rounds(_))
    }

    /// The keys of the responses that the client has sent with the call, of this round and of earlier ones. They are not
    /// trusted: a client may send any.
    pub fn response_keys(&self) -> impl Iterator<Item = &str> {
        let rounds = match &self.0 {
            Backend::Rounds(rounds) => Some(rounds),
            Backend::None | Backend::Connection(_) => None,
        };
        rounds.into_iter().flat_map(|rounds| rounds.response_keys())
    }

    /// The number of the client's session, which no other session of this process has. Calls with the same number are of
    /// one client. `None` if the client has no session, as over HTTP since 2026-07-28, or no capabilities.
    #[must_use]
    pub fn session_number(&self) -> Option<u64> {
        match &self.0 {
            Backend::None => None,
            Backend::Connection(connection) => Some(connection.requests.session),
            Backend::Rounds(rounds) => rounds.session,
        }
    }

    fn capabilities(&self) -> Option<&ClientCapabilities> {
        match &self.0 {
            Backend::None => None,
            Backend::Connection(connection) => Some(&connection.capabilities),
            Backend::Rounds(rounds) => Some(&rounds.capabilities),
        }
    }

    fn require(&self, capability: &str) -> Result<(), PeerError> {
        if self.supports(capability) {
            return Ok(());
        }
        Err(PeerError::unsupported(capability))
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        key: &str,
        method: &'static str,
        params: &(impl Serialize + Sync),
    ) -> Result<T, PeerError> {
        let result = match &self.0 {
            Backend::None => return Err(PeerError::unsupported(method)),
            Backend::Connection(connection) => connection.request(method, params).await?,
            Backend::Rounds(rounds) => rounds.ask(key, InputRequest::new(method, params)).await?,
        };
        read(method, result)
    }
}

impl<S> FromCall<S> for Peer {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(call.extensions().get::<Self>().cloned().unwrap_or_default())
    }
}

impl Connection {
    async fn request(
        &self,
        method: &'static str,
        params: &(impl Serialize + Sync),
    ) -> Result<Value, PeerError> {
        let mut pending = self.requests.begin().ok_or(PeerError::Busy)?;
        let sent = self.queue.request(pending.id, method, params);
        sent.map_err(|_full| PeerError::Busy)?;
        let id = pending.id;
        let cancel = OnDrop::new(|| {
            self.queue.notify(method::CANCELLED, &json!({ "requestId": id }));
        });
        let waiting = self.wait.begin();
        let response = tokio::select! {
            biased;
            response = timeout(self.timeout, pending.response()) => response,
            () = self.ended.cancelled() => return Err(PeerError::Disconnected),
        };
        drop(waiting);
        let Ok(response) = response else {
            return Err(PeerError::Timeout { method, after: self.timeout });
        };
        cancel.disarm();
        let malformed = |reason| PeerError::Malformed { method, reason };
        let outcome = response.ok_or_else(|| malformed("not a response".to_owned()))?;
        match outcome.as_result() {
            Ok(result) => {
                serde_json::from_slice(result).map_err(|error| malformed(error.to_string()))
            }
            Err(error) => Err(PeerError::Refused { method, error: error.clone() }),
        }
    }
}

/// Reads a result, which is an object.
fn read<T: DeserializeOwned>(method: &'static str, result: Value) -> Result<T, PeerError> {
    let malformed = |reason| PeerError::Malformed { method, reason };
    if !result.is_object() {
        return Err(malformed("not an object".to_owned()));
    }
    serde_json::from_value(result).map_err(|error| malformed(error.to_string()))
}

#[cfg(test)]
mod tests;
