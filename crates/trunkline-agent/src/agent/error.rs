use crate::conversation::ConversationError;
use crate::model::ModelError;
use trunkline::protocol::excerpt;
use trunkline_storage::StoreError;

use super::reply::Step;

/// The error of the callback of [`Agent::on_refresh`](super::Agent::on_refresh).
pub type RefreshError = Box<dyn std::error::Error + Send + Sync>;

/// The error of an agent's method.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A param of the request is invalid.
    #[error("{reason}")]
    Invalid {
        /// The name of the param.
        param: &'static str,
        /// The problem.
        reason: String,
    },
    /// The caller has no such conversation: it never existed, was deleted, or belongs to another caller.
    #[error("unknown conversation {id:?}")]
    UnknownConversation {
        /// The requested id.
        id: String,
    },
    /// The token confirms no pending call: it was used, has expired, or belongs to another conversation.
    #[error("invalid or expired confirmation token")]
    UnknownConfirmation,
    /// The tool does not exist, or is not offered.
    #[error("unknown tool {name:?}")]
    UnknownTool {
        /// The requested name.
        name: String,
    },
    /// Another turn of the conversation is running. Nothing was done.
    #[error("another turn of this conversation is running")]
    TurnRunning,
    /// The limit of concurrent turns is reached. Nothing was done.
    #[error("the limit of {limit} concurrent turns is reached")]
    TooManyTurns {
        /// The limit.
        limit: usize,
    },
    /// No model is configured.
    #[error("no model is configured{}{remedy}", if remedy.is_empty() { "" } else { "; " })]
    NoModel {
        /// How to configure one: [`AgentConfig::model_setup`](super::AgentConfig::model_setup).
        remedy: String,
    },
    /// The model failed.
    #[error("the model failed")]
    Model {
        /// The cause.
        source: ModelError,
        /// The calls that were executed before.
        steps: Vec<Step>,
        /// The conversation, if it exists. A new one exists if a call was executed in it.
        conversation_id: Option<String>,
    },
    /// The conversation could not be read or deleted.
    #[error(transparent)]
    Conversation(#[from] ConversationError),
    /// The turn is complete, but could not be saved. The conversation is unchanged, unless saving timed out: then
    /// it may have been saved.
    #[error("{}", save_error(source))]
    NotSaved {
        /// The cause.
        source: ConversationError,
        /// The calls that were executed in the turn.
        steps: Vec<Step>,
        /// The conversation, which may exist or contain the turn if saving timed out.
        conversation_id: String,
    },
    /// The refresh callback failed. The previous tools stay.
    #[error("tool refresh failed: {0}; keeping the previous tools")]
    Refresh(#[source] RefreshError),
    /// A call failed.
    #[error(transparent)]
    Call(trunkline::ErrorObject),
    /// The system provides no random numbers for tokens.
    #[error("random numbers are unavailable")]
    Random,
}

impl From<ModelError> for Error {
    fn from(source: ModelError) -> Self {
        Self::Model { source, steps: Vec::new(), conversation_id: None }
    }
}

fn save_error(source: &ConversationError) -> String {
    match source {
        ConversationError::Store(StoreError::Unconfirmed) => {
            "saving the turn timed out; it may have been saved".to_owned()
        }
        source => format!("the turn could not be saved: {source}"),
    }
}

/// A name, truncated for error messages.
pub(super) fn truncate_name(name: &str) -> String {
    const MAX_CHARS: usize = 128;
    excerpt(name, MAX_CHARS).into_owned()
}
