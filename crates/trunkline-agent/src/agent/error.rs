use crate::conversation::ConversationError;
use crate::model::ModelError;
use trunkline::protocol::excerpt;
use trunkline_storage::StoreError;

use super::reply::Step;

/// Why what looks for tools anew has failed.
pub type RefreshError = Box<dyn std::error::Error + Send + Sync>;

/// Why a turn has no reply, or a tool no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was asked makes no sense.
    #[error("{reason}")]
    Invalid {
        /// The param that is wrong.
        param: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The caller has no such conversation: it was never there, deleted, or is another's.
    #[error("there is no conversation {id:?}")]
    UnknownConversation {
        /// The id that was asked for.
        id: String,
    },
    /// Nothing waits to be confirmed by this token: it was used, has expired, or is another conversation's.
    #[error("nothing waits to be confirmed by this token")]
    UnknownConfirmation,
    /// There is no such tool, or it is not offered.
    #[error("there is no tool {name:?}")]
    UnknownTool {
        /// The name that was asked for.
        name: String,
    },
    /// A turn of the conversation is not over. Nothing was done.
    #[error("another turn of this conversation is not over")]
    TurnRunning,
    /// Too many turns are not over. Nothing was done.
    #[error("{limit} turns are not over")]
    TooManyTurns {
        /// How many there may be.
        limit: usize,
    },
    /// No model is configured.
    #[error("no model is configured{}{remedy}", if remedy.is_empty() { "" } else { "; " })]
    NoModel {
        /// How to configure one: [`AgentConfig::model_setup`](super::AgentConfig::model_setup).
        remedy: String,
    },
    /// The model has not answered.
    #[error("the model has not answered")]
    Model {
        /// Why.
        source: ModelError,
        /// The calls that were made before: they are done.
        steps: Vec<Step>,
        /// The conversation, if there is one: a new one is there if something was done in it.
        conversation_id: Option<String>,
    },
    /// The conversation could not be read, or deleted.
    #[error(transparent)]
    Conversation(#[from] ConversationError),
    /// The turn is over, and could not be kept: the conversation is as it was before, unless it is said that
    /// it took too long.
    #[error("{}", unkept(source))]
    Unkept {
        /// Why.
        source: ConversationError,
        /// The calls that were made in it: they are done.
        steps: Vec<Step>,
        /// The conversation, which may be there, or have become longer, if it took too long.
        conversation_id: String,
    },
    /// What looks for tools anew has failed. Those of before are still there.
    #[error("the tools could not be looked for: {0}; they are those of before")]
    Refresh(#[source] RefreshError),
    /// A call has ended in an error.
    #[error(transparent)]
    Call(trunkline::ErrorObject),
    /// The system gives no random numbers, which tokens are made of.
    #[error("there are no random numbers")]
    Random,
}

impl From<ModelError> for Error {
    fn from(source: ModelError) -> Self {
        Self::Model { source, steps: Vec::new(), conversation_id: None }
    }
}

fn unkept(source: &ConversationError) -> String {
    match source {
        ConversationError::Store(StoreError::Unconfirmed) => {
            "it took too long to keep the turn: it may be kept, or not".to_owned()
        }
        source => format!("the turn could not be kept: {source}"),
    }
}

/// The beginning of a name, for messages.
pub(super) fn shortened(name: &str) -> String {
    const LONGEST: usize = 128;
    excerpt(name, LONGEST).into_owned()
}
