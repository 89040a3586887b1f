//! The loop: a turn of a conversation, step by step.

mod caller;
mod capability;
mod config;
mod context;
mod error;
mod event;
mod execution;
mod patterns;
mod reply;
mod round;
mod running;
mod turn;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use trunkline::Rpc;
use trunkline::protocol::excerpt;
use trunkline_storage::StoreError;
use uuid::Uuid;

use crate::conversation::{
    ConversationError, Conversations, PendingCall, Summary, Turn as KeptTurn,
};
use crate::model::{self, Message, Model};

pub use caller::Caller;
pub use capability::{CapabilityDescription, Refreshed};
pub use config::AgentConfig;
pub use error::{Error, RefreshError};
pub use event::{Event, Events};
pub use patterns::Patterns;
pub use reply::{ChatReply, ChatRequest, Metadata, Pending, Step, StepError, Stop, Usage};

use capability::Capabilities;
use error::shortened;
use execution::{Budget, Executor};
use running::Running;
use turn::{Finished, Turn};

/// Offers the operations of a service to a language model, and makes the calls that the model requests. Without a
/// model, [`chat`](Self::chat) fails; the other methods work. Cloning is cheap.
///
/// Calls are made as if the caller had made them: with their principal, in their trace, through all layers.
#[derive(Clone)]
pub struct Agent {
    inner: Arc<Inner>,
}

struct Inner {
    executor: Executor,
    model: Option<Model>,
    conversations: Conversations,
    config: Arc<AgentConfig>,
    capabilities: Mutex<Arc<Capabilities>>,
    running: Running,
    refresh: Option<Refresh>,
}

/// What looks for tools anew.
type Refresh = Box<dyn Fn() -> Refreshing + Send + Sync>;

type Refreshing = Pin<Box<dyn Future<Output = Result<(), RefreshError>> + Send>>;

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
        let capabilities = Mutex::new(Arc::new(Capabilities::of(rpc.operations(), &config)));
        let executor = Executor::new(rpc, &config);
        let running = Running::new(config.max_turns);
        let inner =
            Inner { executor, model, conversations, config, capabilities, running, refresh: None };
        Self { inner: Arc::new(inner) }
    }

    /// The same agent with something that [`refresh`](Self::refresh) does before it looks: read a folder of
    /// tools again, as a rule. To be said before the agent is cloned; later it says nothing.
    #[must_use]
    pub fn refreshing<F>(mut self, refresh: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), RefreshError>> + Send + 'static,
    {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.refresh = Some(Box::new(move || Box::pin(refresh())));
        }
        self
    }

    /// How long a call of its operations may take: a turn, what keeping it takes, and telling those who listen
    /// how it ended. The service that they are in has to let them
    /// ([`Limits::call_timeout`](trunkline::Limits::call_timeout)).
    #[must_use]
    pub fn call_timeout(&self) -> Duration {
        const KEEPING: Duration = Duration::from_secs(20);
        self.inner.config.timeout.saturating_add(KEEPING)
    }

    /// The least [`AgentConfig::context_tokens`] that can hold each question: the current tools in brief, the
    /// instructions, and 512 tokens of conversation. With less, the model is asked all the same, and its
    /// endpoint truncates or refuses the question.
    #[must_use]
    pub fn required_context_tokens(&self) -> u64 {
        self.capabilities().offered().required_tokens
    }

    /// Answers a message: asks the model, makes the calls that it wants, and so on until it is done, or a
    /// limit is reached, or a call wants to be confirmed. The turn is kept before it is answered.
    ///
    /// # Errors
    /// If no model is configured or the model fails. Errors of calls are in the steps of the turn.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the calls that run, and the turn is forgotten; calls that have ended stay
    /// done.
    pub async fn chat(&self, request: ChatRequest, caller: &Caller) -> Result<ChatReply, Error> {
        let ChatRequest { message, conversation_id, confirm } = request;
        let message = message.filter(|message| !message.trim().is_empty());
        self.check(message.as_deref(), conversation_id.as_deref(), confirm.as_deref())?;
        let no_model = || Error::NoModel { remedy: self.inner.config.model_setup.clone() };
        let model = self.inner.model.as_ref().ok_or_else(no_model)?;
        let owner = caller.key();
        let is_new = conversation_id.is_none();
        let conversation = conversation_id.unwrap_or_else(|| Uuid::now_v7().to_string());
        let _running = self.inner.running.begin(&owner, &conversation)?;
        let history = if is_new { Vec::new() } else { self.history(&owner, &conversation).await? };
        let confirmed = match &confirm {
            Some(token) => Some(self.confirmed(&owner, &conversation, token).await?),
            None => None,
        };
        let title = is_new.then(|| title(message.as_deref().unwrap_or_default()));

        let mut turn =
            Turn::begin(&self.inner.executor, model, caller, self.capabilities(), history);
        let outcome = Box::pin(turn.run(message, confirmed)).await;
        if let Err(error) = outcome {
            let mut is_there = !is_new;
            // What was done is remembered, though nobody has answered.
            if let Some(messages) = turn.broken_off(&error) {
                let id = conversation.clone();
                let kept =
                    KeptTurn { caller: owner, conversation: id, title, messages, pending: None };
                is_there = match self.inner.conversations.keep(kept).await {
                    Ok(()) => true,
                    Err(error) => {
                        tracing::error!(%error, "a turn that has failed could not be kept");
                        // It may have been done later.
                        let unconfirmed =
                            matches!(error, ConversationError::Store(StoreError::Unconfirmed));
                        is_there || unconfirmed
                    }
                };
            }
            return Err(turn.with_steps(error, is_there.then_some(conversation)));
        }
        let Finished { mut reply, messages, pending } = turn.finish()?;
        reply.conversation_id.clone_from(&conversation);
        let kept = KeptTurn { caller: owner, conversation, title, messages, pending };
        if let Err(source) = self.inner.conversations.keep(kept).await {
            let ChatReply { steps, conversation_id, .. } = reply;
            return Err(Error::Unkept { source, steps, conversation_id });
        }
        caller.events().send(|| Event::Done(Box::new(reply.clone()))).await;
        Ok(reply)
    }

    /// Makes one call, which the caller has chosen: nothing is asked, confirmed or kept.
    ///
    /// # Errors
    /// When there is no such tool, when the arguments do not fit it, and the call's own error.
    pub async fn execute_tool(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        caller: &Caller,
    ) -> Result<Step, Error> {
        let capabilities = self.capabilities();
        let unknown = || Error::UnknownTool { name: shortened(tool) };
        let capability = capabilities.find(tool).ok_or_else(unknown)?;
        capability.check(&arguments).map_err(Error::Call)?;
        let id = model::id();
        caller.events().send(|| Event::call(&id, capability.name(), &arguments)).await;
        let budget = Budget::new(self.inner.config.max_result_bytes);
        let executed = self.inner.executor.call(capability, arguments, caller, &budget).await;
        caller.events().send(|| executed.event(&id)).await;
        executed.into_result().map_err(Error::Call)
    }

    /// What the agent can do now.
    #[must_use]
    pub fn list_capabilities(&self) -> Vec<CapabilityDescription> {
        self.capabilities().descriptions()
    }

    /// Looks anew what the agent can do, and tells what has changed meanwhile. Operations that come and go
    /// are noticed without it.
    ///
    /// # Errors
    /// When what it does [before it looks](Self::refreshing) fails.
    pub async fn refresh(&self) -> Result<Refreshed, Error> {
        let before = self.list_capabilities();
        if let Some(refresh) = &self.inner.refresh {
            refresh().await.map_err(Error::Refresh)?;
        }
        Ok(Refreshed::between(&before, self.list_capabilities()))
    }

    /// The caller's conversations, the one with the newest turn first.
    ///
    /// # Errors
    /// When the storage fails.
    pub async fn list_conversations(&self, caller: &Caller) -> Result<Vec<Summary>, Error> {
        Ok(self.inner.conversations.list(&caller.key()).await?)
    }

    /// Deletes a conversation of the caller's.
    ///
    /// # Errors
    /// When there is none of this id, when a turn of it is not over, and when the storage fails.
    pub async fn delete_conversation(&self, id: &str, caller: &Caller) -> Result<(), Error> {
        let owner = caller.key();
        let _running = self.inner.running.begin(&owner, id)?;
        match self.inner.conversations.delete(&owner, id).await? {
            true => Ok(()),
            false => Err(Error::UnknownConversation { id: shortened(id) }),
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
            (None, _, None) => invalid("message", "say something, or confirm a call".to_owned()),
            (Some(message), _, _) if message.len() > limit => {
                invalid("message", format!("it has more than {limit} bytes"))
            }
            (_, None, Some(_)) => invalid(
                "conversation_id",
                "name the conversation whose call you confirm".to_owned(),
            ),
            _ => Ok(()),
        }
    }

    async fn history(&self, owner: &str, conversation: &str) -> Result<Vec<Message>, Error> {
        let messages = self.inner.conversations.messages(owner, conversation).await?;
        messages.ok_or_else(|| Error::UnknownConversation { id: shortened(conversation) })
    }

    async fn confirmed(
        &self,
        owner: &str,
        conversation: &str,
        token: &str,
    ) -> Result<PendingCall, Error> {
        let pending = self.inner.conversations.take_pending(owner, conversation, token).await?;
        pending.ok_or(Error::UnknownConfirmation)
    }

    /// Those of the operations that there are now.
    fn capabilities(&self) -> Arc<Capabilities> {
        let Inner { executor, capabilities, config, model, .. } = &*self.inner;
        let operations = executor.rpc.operations();
        let mut known = capabilities.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.are_of(&operations) {
            *known = Arc::new(Capabilities::of(operations, config));
            let (required, context) = (known.offered().required_tokens, config.context_tokens);
            if model.is_some() && required > context {
                tracing::warn!(required, context, "the model's context is too small for the tools");
            }
        }
        Arc::clone(&known)
    }
}

/// How a conversation begins, in few words.
fn title(message: &str) -> String {
    const LONGEST: usize = 80;
    excerpt(&message.split_whitespace().collect::<Vec<_>>().join(" "), LONGEST).into_owned()
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("model", &self.inner.model).finish_non_exhaustive()
    }
}
