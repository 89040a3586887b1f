use std::collections::BTreeMap;

use futures_util::Stream;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::client::Client;
use super::connection::{CallOptions, RequestParts};
use super::error::Error;
use super::input;
use super::list::{Item, List, name_of};
use super::message::{Params, raw};
use crate::protocol::method;

/// A prompt of a server. Its texts are the server's, and not trusted.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Prompt {
    /// The name.
    pub name: String,
    /// The title for display.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The arguments.
    #[serde(default)]
    pub arguments: Vec<PromptArgument>,
    /// The whole object, as received.
    #[serde(skip, default = "null")]
    pub object: Box<RawValue>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct PromptArgument {
    /// The name.
    pub name: String,
    /// The description.
    pub description: Option<String>,
    /// Whether the argument is required.
    #[serde(default)]
    pub required: bool,
}

/// The messages of a prompt.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct PromptResult {
    /// The description.
    pub description: Option<String>,
    /// The messages.
    pub messages: Vec<PromptMessage>,
    /// The whole result, as received.
    #[serde(skip, default = "null")]
    pub object: Box<RawValue>,
}

/// A message of a prompt.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct PromptMessage {
    /// The role: `user` or `assistant`.
    pub role: String,
    /// The content block, as received.
    pub content: Value,
}

/// The prompt or resource template whose argument is completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionTarget<'t> {
    /// The prompt with this name.
    Prompt(&'t str),
    /// The resource with this URI or template.
    Resource(&'t str),
}

/// Suggestions for an argument.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Completion {
    /// The values, at most 100.
    pub values: Vec<String>,
    /// The number of all values.
    pub total: Option<u64>,
    /// Whether there are more values.
    #[serde(default)]
    pub has_more: bool,
}

fn null() -> Box<RawValue> {
    RawValue::NULL.to_owned()
}

impl Client {
    /// Lists all prompts.
    ///
    /// # Errors
    /// When a request fails, a page is malformed, or the list is too long.
    pub async fn list_prompts(&self) -> Result<List<Prompt>, Error> {
        self.list().await
    }

    /// The prompts, page by page.
    pub fn prompt_pages(&self) -> impl Stream<Item = Result<List<Prompt>, Error>> + Send + use<> {
        self.pages()
    }

    /// Returns the messages of a prompt.
    ///
    /// # Errors
    /// When the request fails, its result is malformed, or the server requires input that the handler does not provide.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<PromptResult, Error> {
        self.get_prompt_with(name, arguments, CallOptions::default()).await
    }

    /// Like [`get_prompt`](Self::get_prompt), with options.
    ///
    /// # Errors
    /// As for [`get_prompt`](Self::get_prompt).
    pub async fn get_prompt_with(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
        options: CallOptions,
    ) -> Result<PromptResult, Error> {
        const METHOD: &str = method::PROMPTS_GET;
        let arguments = (!arguments.is_empty()).then(|| raw(arguments));
        let params =
            Params { name: Some(name), arguments: arguments.as_deref(), ..Params::default() };
        let mut parts = RequestParts { options, ..RequestParts::of(params) };
        let (result, _) = input::request(&self.core, METHOD, &mut parts).await?;
        let prompt = serde_json::from_str(result.get());
        let prompt: PromptResult = prompt.map_err(|error| Error::malformed(METHOD, error))?;
        Ok(PromptResult { object: result, ..prompt })
    }

    /// Suggests values for an argument, which begin with `value`. `context` has the values of other arguments.
    ///
    /// # Errors
    /// When the request fails, or its result is malformed.
    pub async fn complete(
        &self,
        target: CompletionTarget<'_>,
        (argument, value): (&str, &str),
        context: &BTreeMap<String, String>,
    ) -> Result<Completion, Error> {
        #[derive(Deserialize)]
        struct Members {
            completion: Completion,
        }
        const METHOD: &str = method::COMPLETE;
        const MAX_VALUES: usize = 100;
        let target = match target {
            CompletionTarget::Prompt(name) => json!({ "type": "ref/prompt", "name": name }),
            CompletionTarget::Resource(uri) => json!({ "type": "ref/resource", "uri": uri }),
        };
        let params = Params {
            r#ref: Some(target),
            argument: Some(json!({ "name": argument, "value": value })),
            context: (!context.is_empty()).then(|| json!({ "arguments": context })),
            ..Params::default()
        };
        let answer = self.core.request(METHOD, &mut RequestParts::of(params)).await?;
        let members = serde_json::from_str(answer.result.get());
        let Members { mut completion } =
            members.map_err(|error| Error::malformed(METHOD, error))?;
        completion.has_more |= completion.values.len() > MAX_VALUES;
        completion.values.truncate(MAX_VALUES);
        Ok(completion)
    }
}

impl Item for Prompt {
    const METHOD: &'static str = method::PROMPTS_LIST;
    const MEMBER: &'static str = "prompts";

    fn read(object: Box<RawValue>, _is_strict: bool) -> Result<Self, (String, String)> {
        let item = serde_json::from_str(object.get());
        let item: Self = item.map_err(|error| (name_of(&object, "name"), error.to_string()))?;
        Ok(Self { object, ..item })
    }
}
