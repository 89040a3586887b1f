//! Elicitation: requests for information from users.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A request for information from the user.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "mode", try_from = "Members")]
#[serde(rename_all = "lowercase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum ElicitRequest {
    /// The user visits a URL, which the client must show and not open without consent.
    #[non_exhaustive]
    Url {
        /// The purpose, to be shown to the user. Not trusted.
        message: String,
        /// The URL.
        url: String,
        /// The id of the interaction. Only in 2025-11-25.
        #[serde(skip_serializing_if = "Option::is_none")]
        elicitation_id: Option<String>,
    },
    /// The user fills in a form. Secrets must not be requested this way. It is sent without a mode, which clients of
    /// 2025-06-18 do not know.
    #[serde(untagged)]
    #[non_exhaustive]
    Form {
        /// The purpose, to be shown to the user. Not trusted.
        message: String,
        /// The JSON Schema of the content: an object with members of primitive types.
        requested_schema: Box<RawValue>,
    },
}

/// The members of a request, as received. The mode is that of a form if it is missing.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members {
    mode: Option<String>,
    message: String,
    requested_schema: Option<Box<RawValue>>,
    url: Option<String>,
    elicitation_id: Option<String>,
}

impl TryFrom<Members> for ElicitRequest {
    type Error = &'static str;

    fn try_from(members: Members) -> Result<Self, Self::Error> {
        let Members { mode, message, requested_schema, url, elicitation_id } = members;
        match mode.as_deref() {
            None | Some("form") => {
                let requested_schema = requested_schema.ok_or("`requestedSchema` is missing")?;
                Ok(Self::Form { message, requested_schema })
            }
            Some("url") => {
                Ok(Self::Url { message, url: url.ok_or("`url` is missing")?, elicitation_id })
            }
            Some(_) => Err("`mode` is neither `form` nor `url`"),
        }
    }
}

/// The answer to an [`ElicitRequest`], with the content of a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "action", content = "content", rename_all = "lowercase")]
pub enum ElicitResult<T = Map<String, Value>> {
    /// The user has consented, with this content.
    Accept(T),
    /// The user has refused.
    Decline,
    /// The user has made no choice.
    Cancel,
}

impl<T> ElicitResult<T> {
    /// The content, if the user has consented.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accept(content) => Some(content),
            Self::Decline | Self::Cancel => None,
        }
    }

    /// Converts the content.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> ElicitResult<U> {
        match self {
            Self::Accept(content) => ElicitResult::Accept(convert(content)),
            Self::Decline => ElicitResult::Decline,
            Self::Cancel => ElicitResult::Cancel,
        }
    }

    /// Converts the content, or fails.
    pub(crate) fn try_map<U, E>(
        self,
        convert: impl FnOnce(T) -> Result<U, E>,
    ) -> Result<ElicitResult<U>, E> {
        match self.map(convert) {
            ElicitResult::Accept(content) => content.map(ElicitResult::Accept),
            ElicitResult::Decline => Ok(ElicitResult::Decline),
            ElicitResult::Cancel => Ok(ElicitResult::Cancel),
        }
    }
}

/// Only `accept` is consent; an unknown action is a refusal.
impl<'de, T: DeserializeOwned> Deserialize<'de> for ElicitResult<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Members {
            action: String,
            #[serde(default)]
            content: Value,
        }
        let Members { action, content } = Members::deserialize(deserializer)?;
        Ok(match &*action.trim().to_ascii_lowercase() {
            "accept" => Self::Accept(serde_json::from_value(content).map_err(D::Error::custom)?),
            "cancel" | "cancelled" | "canceled" => Self::Cancel,
            _ => Self::Decline,
        })
    }
}
