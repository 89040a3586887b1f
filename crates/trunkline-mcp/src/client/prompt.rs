use std::collections::BTreeMap;

use futures_util::Stream;
use serde::Deserialize;
use serde_json::json;

use super::client::Client;
use super::connection::RequestParts;
use super::error::Error;
use super::input;
use super::list::{Item, List};
use super::message::Params;
use super::options::CallOptions;
use crate::model::{CompletionTarget, CompletionValues, Prompt, PromptResult, Received, raw};
use crate::protocol::method;

impl Client {
    /// Lists all prompts.
    ///
    /// # Errors
    /// When a request fails, a page is malformed, or the list is too long.
    pub async fn list_prompts(&self) -> Result<List<Received<Prompt>>, Error> {
        self.list().await
    }

    /// The prompts, page by page.
    pub fn prompt_pages(
        &self,
    ) -> impl Stream<Item = Result<List<Received<Prompt>>, Error>> + Send + use<> {
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
    ) -> Result<Received<PromptResult>, Error> {
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
    ) -> Result<Received<PromptResult>, Error> {
        const METHOD: &str = method::PROMPTS_GET;
        let arguments = (!arguments.is_empty()).then(|| raw(arguments));
        let params =
            Params { name: Some(name), arguments: arguments.as_deref(), ..Params::default() };
        let mut parts = RequestParts { options, ..RequestParts::of(params) };
        let (result, _) = input::request(&self.core, METHOD, &mut parts).await?;
        Received::read(result).map_err(|error| Error::malformed(METHOD, error))
    }

    /// Suggests values for an argument, which begin with `value`. `context` has the values of other arguments.
    ///
    /// # Errors
    /// When the request fails, or its result is malformed.
    pub async fn complete(
        &self,
        target: &CompletionTarget,
        (argument, value): (&str, &str),
        context: &BTreeMap<String, String>,
    ) -> Result<CompletionValues, Error> {
        #[derive(Deserialize)]
        struct Members {
            completion: CompletionValues,
        }
        const METHOD: &str = method::COMPLETE;
        let params = Params {
            r#ref: Some(json!(target)),
            argument: Some(json!({ "name": argument, "value": value })),
            context: (!context.is_empty()).then(|| json!({ "arguments": context })),
            ..Params::default()
        };
        let answer = self.core.request(METHOD, &mut RequestParts::of(params)).await?;
        let members = serde_json::from_str(answer.result.get());
        let Members { completion } = members.map_err(|error| Error::malformed(METHOD, error))?;
        Ok(completion.limited())
    }
}

impl Item for Prompt {
    const METHOD: &'static str = method::PROMPTS_LIST;
    const MEMBER: &'static str = "prompts";
    const NAME: &'static str = "name";
}
