//! The agent loop: runs one turn of a conversation.

mod active_turns;
mod caller;
mod capability;
mod config;
mod content;
mod context;
mod error;
mod event;
mod execution;
mod reply;
mod round;
mod turn;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tracing::Instrument;
use trunkline::Rpc;
use trunkline::protocol::excerpt;
use trunkline_storage::StoreError;
use uuid::Uuid;

use crate::conversation::{
    ConversationError, Conversations, PendingCall, SavedTurn, Summary, Transcript,
};
use crate::model::{self, Model};
use crate::spans;

pub use caller::Caller;
pub use capability::{CapabilityDescription, RefreshReport};
pub use config::AgentConfig;
pub use error::{Error, RefreshError};
pub use event::{Event, EventSender};
pub use reply::{ChatReply, ChatRequest, Metadata, Pending, Step, StepError, Stop, Usage};

use active_turns::ActiveTurns;
use capability::Capabilities;
use error::truncate_name;
use execution::{Budget, Executor};
use turn::{Turn, TurnResult};

/// Offers the operations of a service to a language model, and executes the calls that the model requests. Without
/// a model, [`chat`](Self::chat) fails; the other methods work. Cloning is cheap.
///
/// Calls run with the identity of the caller: with its principal, in its trace, through all layers.
#[derive(Clone)]
pub struct Agent {
    inner: Arc<Inner>,
    refresh: Option<Refresh>,
}

struct Inner {
    executor: Executor,
    model: Option<Model>,
    conversations: Conversations,
    config: Arc<AgentConfig>,
    capabilities: Mutex<Arc<Capabilities>>,
    active_turns: ActiveTurns,
}

/// The callback of [`Agent::on_refresh`].
type Refresh = Arc<dyn Fn(&Caller) -> RefreshFuture + Send + Sync>;

type RefreshFuture = Pin<Box<dyn Future<Output = Result<(), RefreshError>> + Send>>;

impl Agent {
    /// An agent over the operations of `rpc`.
    #[must_use]
    pub fn new(
        rpc: Rpc,
        model: Option<Model>,
        conversations: Conversations,
        config: AgentConfig,
    ) -> Self {
        let config = Arc::new(config);
        let capabilities = Capabilities::new(rpc.operations(), &config);
        if model.is_some() {
            capabilities.warn_of_omitted(&config);
        }
        let capabilities = Mutex::new(Arc::new(capabilities));
        let executor = Executor::new(rpc, &config);
        let active_turns = ActiveTurns::new(config.max_turns);
        let inner = Inner { executor, model, conversations, config, capabilities, active_turns };
        Self { inner: Arc::new(inner), refresh: None }
    }

    /// The model, if there is one.
    #[must_use]
    pub fn model(&self) -> Option<&Model> {
        self.inner.model.as_ref()
    }

    /// Sets a callback that [`refresh`](Self::refresh) runs first, such as one that reads a tool folder again, for
    /// this value and its later clones. It decides whether the caller may do that.
    #[must_use]
    pub fn on_refresh<F>(mut self, refresh: impl Fn(&Caller) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), RefreshError>> + Send + 'static,
    {
        self.refresh = Some(Arc::new(move |caller| Box::pin(refresh(caller))));
        self
    }

    /// The maximum duration of a call of the agent's operations: a turn, saving it, and sending its last events.
    /// The service with these operations needs a
    /// [`Limits::call_timeout`](trunkline::Limits::call_timeout) of at least this.
    #[must_use]
    pub fn call_timeout(&self) -> Duration {
        const SAVE_TIMEOUT: Duration = Duration::from_secs(20);
        self.inner.config.timeout.saturating_add(SAVE_TIMEOUT)
    }

    /// The minimum [`AgentConfig::context_tokens`] that fits every request: the current tools in brief, the
    /// instructions, and 512 tokens of conversation. With less, requests are still sent, and the endpoint
    /// truncates or rejects them.
    #[must_use]
    pub fn required_context_tokens(&self) -> u64 {
        self.capabilities().catalog().required_tokens
    }

    /// Answers a message: calls the model, executes the tool calls that it requests, and repeats this until the
    /// model is done, a limit is reached, or a call needs confirmation. The turn is saved before the reply is
    /// returned.
    ///
    /// # Errors
    /// If the request is invalid, no model is configured, the model fails, or the turn cannot be saved. Errors of
    /// tool calls are in the steps of the turn.
    ///
    /// # Cancel safety
    /// Dropping the future cancels running calls and discards the turn; completed calls are not undone.
    pub async fn chat(&self, request: ChatRequest, caller: &Caller) -> Result<ChatReply, Error> {
        let ChatRequest { message, conversation_id, confirm } = request;
        let message = message.filter(|message| !message.trim().is_empty());
        self.check(message.as_deref(), conversation_id.as_deref(), confirm.as_deref())?;
        let no_model = || Error::NoModel { remedy: self.inner.config.model_setup.clone() };
        let model = self.inner.model.as_ref().ok_or_else(no_model)?;
        let owner = caller.key();
        let is_new = conversation_id.is_none();
        let conversation = conversation_id.unwrap_or_else(|| Uuid::now_v7().to_string());
        let _guard = self.inner.active_turns.begin(&owner, &conversation)?;
        let Transcript { messages: history, last_turn } = match is_new {
            true => Transcript::default(),
            false => self.transcript(&owner, &conversation).await?,
        };
        let confirmed = match &confirm {
            Some(token) => Some(self.take_confirmed(&owner, &conversation, token).await?),
            None => None,
        };
        let title = is_new.then(|| title(message.as_deref().unwrap_or_default()));

        let capabilities = self.capabilities_for(caller);
        let mut turn = Turn::begin(&self.inner.executor, model, caller, capabilities, history);
        let span = spans::agent("trunkline", &conversation, model.name());
        let outcome = Box::pin(turn.run(message, confirmed)).instrument(span.span()).await;
        if span.is_enabled() {
            spans::record_tokens(&span, turn.usage.prompt_tokens, turn.usage.completion_tokens);
        }
        if let Err(error) = &outcome {
            span.fail(match error {
                Error::Model { source, .. } => source.kind(),
                _ => "turn_failed",
            });
        }
        drop(span);
        if let Err(error) = outcome {
            let mut exists = !is_new;
            // Executed calls are saved even if the turn has no answer.
            if let Some(messages) = turn.take_failed_messages(&error) {
                let saved = SavedTurn {
                    caller: owner,
                    conversation: conversation.clone(),
                    title,
                    last_turn,
                    messages,
                    pending: None,
                };
                exists = match self.inner.conversations.save(saved).await {
                    Ok(()) => true,
                    Err(error) => {
                        if !error.is_outage() {
                            tracing::error!(%error, "failed to save a failed turn");
                        }
                        // The write may still succeed.
                        let may_be_saved =
                            matches!(error, ConversationError::Store(StoreError::Unconfirmed));
                        exists || may_be_saved
                    }
                };
            }
            return Err(turn.with_steps(error, exists.then_some(conversation)));
        }
        let TurnResult { mut reply, messages, pending } = turn.finish()?;
        reply.conversation_id.clone_from(&conversation);
        let saved = SavedTurn { caller: owner, conversation, title, last_turn, messages, pending };
        if let Err(source) = self.inner.conversations.save(saved).await {
            let ChatReply { steps, conversation_id, .. } = reply;
            return Err(Error::NotSaved { source, steps, conversation_id });
        }
        caller.events().send(|| Event::Done(Box::new(reply.clone()))).await;
        Ok(reply)
    }

    /// Executes one call chosen by the caller, without the model and without confirmation. Nothing is saved.
    ///
    /// # Errors
    /// If the tool is unknown, its arguments are invalid, or the call fails.
    pub async fn execute_tool(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        caller: &Caller,
    ) -> Result<Step, Error> {
        let capabilities = self.capabilities();
        let unknown = || Error::UnknownTool { name: truncate_name(tool) };
        let capability = capabilities.find(tool).ok_or_else(unknown)?;
        let arguments = capability.convert(arguments);
        capability.check(&arguments).map_err(Error::Call)?;
        let id = model::id();
        caller.events().send(|| Event::call(&id, capability.name(), &arguments)).await;
        let budget = Budget::new(self.inner.config.max_result_bytes);
        let outcome = self.inner.executor.call(capability, arguments, caller, &budget).await;
        caller.events().send(|| outcome.event(&id)).await;
        outcome.into_result().map_err(Error::Call)
    }

    /// Returns the tools that the agent can call now.
    #[must_use]
    pub fn list_capabilities(&self) -> Vec<CapabilityDescription> {
        self.capabilities().descriptions()
    }

    /// The same without those that the role of the caller forbids, or permits with certain params only. The model sees
    /// these tools only.
    #[must_use]
    pub fn list_capabilities_for(&self, caller: &Caller) -> Vec<CapabilityDescription> {
        self.capabilities_for(caller).descriptions()
    }

    /// Runs the callback of [`on_refresh`](Self::on_refresh), and returns the caller's tools and their changes. Changes
    /// of dynamic operations take effect without it.
    ///
    /// # Errors
    /// If the callback fails.
    pub async fn refresh(&self, caller: &Caller) -> Result<RefreshReport, Error> {
        let before = self.list_capabilities_for(caller);
        if let Some(refresh) = &self.refresh {
            refresh(caller).await.map_err(Error::Refresh)?;
        }
        Ok(RefreshReport::between(&before, self.list_capabilities_for(caller)))
    }

    /// Returns the caller's conversations, most recently updated first.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn list_conversations(&self, caller: &Caller) -> Result<Vec<Summary>, Error> {
        Ok(self.inner.conversations.list(&caller.key()).await?)
    }

    /// Deletes one of the caller's conversations.
    ///
    /// # Errors
    /// If the conversation is unknown or has a running turn, or the storage fails.
    pub async fn delete_conversation(&self, id: &str, caller: &Caller) -> Result<(), Error> {
        let owner = caller.key();
        let _guard = self.inner.active_turns.begin(&owner, id)?;
        match self.inner.conversations.delete(&owner, id).await? {
            true => Ok(()),
            false => Err(Error::UnknownConversation { id: truncate_name(id) }),
        }
    }

    fn check(
        &self,
        message: Option<&str>,
        conversation: Option<&str>,
        confirm: Option<&str>,
    ) -> Result<(), Error> {
        let limit = self.inner.config.max_message_bytes;
        let invalid = |param, reason: String| Err(Error::Invalid { param, reason });
        match (message, conversation, confirm) {
            (None, _, None) => {
                invalid("message", "`message` is required unless `confirm` is set".to_owned())
            }
            (Some(message), _, _) if message.len() > limit => {
                invalid("message", format!("`message` exceeds {limit} bytes"))
            }
            (_, None, Some(_)) => invalid(
                "conversation_id",
                "`conversation_id` is required with `confirm`".to_owned(),
            ),
            _ => Ok(()),
        }
    }

    async fn transcript(&self, owner: &str, conversation: &str) -> Result<Transcript, Error> {
        let transcript = self.inner.conversations.transcript(owner, conversation).await?;
        transcript.ok_or_else(|| Error::UnknownConversation { id: truncate_name(conversation) })
    }

    async fn take_confirmed(
        &self,
        owner: &str,
        conversation: &str,
        token: &str,
    ) -> Result<PendingCall, Error> {
        let pending = self.inner.conversations.take_pending(owner, conversation, token).await?;
        pending.ok_or(Error::UnknownConfirmation)
    }

    fn capabilities_for(&self, caller: &Caller) -> Arc<Capabilities> {
        self.capabilities().visible_to(caller, &self.inner.config)
    }

    /// The capabilities of the current operations, rebuilt after the operations have changed.
    fn capabilities(&self) -> Arc<Capabilities> {
        let Inner { executor, capabilities, config, model, .. } = &*self.inner;
        let operations = executor.rpc.operations();
        let mut known = capabilities.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.is_snapshot_of(&operations) {
            *known = Arc::new(Capabilities::new(operations, config));
            if model.is_some() {
                known.warn_of_omitted(config);
            }
            let (required, context) = (known.catalog().required_tokens, config.context_tokens);
            if model.is_some() && required > context {
                tracing::warn!(required, context, "the model's context is too small for the tools");
            }
        }
        Arc::clone(&known)
    }
}

/// The title of a new conversation: the beginning of its first message.
fn title(message: &str) -> String {
    const MAX_CHARS: usize = 80;
    excerpt(&message.split_whitespace().collect::<Vec<_>>().join(" "), MAX_CHARS).into_owned()
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("model", &self.inner.model).finish_non_exhaustive()
    }
}
