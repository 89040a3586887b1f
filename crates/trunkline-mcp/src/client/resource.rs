use futures_util::Stream;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::cache::Key;
use super::client::Client;
use super::connection::{CallOptions, RequestParts};
use super::error::Error;
use super::input;
use super::list::{Item, List, name_of};
use super::message::Params;
use crate::protocol::method;

/// A resource of a server. Its texts are the server's, and not trusted.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Resource {
    /// The URI.
    pub uri: String,
    /// The name.
    pub name: String,
    /// The title for display.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The media type.
    pub mime_type: Option<String>,
    /// The size, in bytes.
    pub size: Option<u64>,
    /// The whole object, as received.
    #[serde(skip, default = "null")]
    pub object: Box<RawValue>,
}

/// A template for the URIs of resources (RFC 6570).
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceTemplate {
    /// The template.
    pub uri_template: String,
    /// The name.
    pub name: String,
    /// The title for display.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The media type, if all resources have the same.
    pub mime_type: Option<String>,
    /// The whole object, as received.
    #[serde(skip, default = "null")]
    pub object: Box<RawValue>,
}

/// The content of a resource.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct ReadResult {
    /// The parts.
    pub contents: Vec<ResourceContents>,
    /// The whole result, as received.
    #[serde(skip, default = "null")]
    pub object: Box<RawValue>,
}

/// A part of the content of a resource: a text, or bytes.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceContents {
    /// The URI.
    pub uri: String,
    /// The media type.
    pub mime_type: Option<String>,
    /// The text.
    pub text: Option<String>,
    /// The bytes, in base64.
    pub blob: Option<String>,
}

fn null() -> Box<RawValue> {
    RawValue::NULL.to_owned()
}

impl Client {
    /// Lists all resources.
    ///
    /// # Errors
    /// When a request fails, a page is malformed, or the list is too long.
    pub async fn list_resources(&self) -> Result<List<Resource>, Error> {
        self.list().await
    }

    /// The resources, page by page.
    pub fn resource_pages(
        &self,
    ) -> impl Stream<Item = Result<List<Resource>, Error>> + Send + use<> {
        self.pages()
    }

    /// Lists all templates for URIs of resources.
    ///
    /// # Errors
    /// As for [`list_resources`](Self::list_resources).
    pub async fn list_resource_templates(&self) -> Result<List<ResourceTemplate>, Error> {
        self.list().await
    }

    /// The templates for URIs of resources, page by page.
    pub fn resource_template_pages(
        &self,
    ) -> impl Stream<Item = Result<List<ResourceTemplate>, Error>> + Send + use<> {
        self.pages()
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// When the request fails, its result is malformed, or the server requires input that the handler does not provide.
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResult, Error> {
        self.read_resource_with(uri, CallOptions::default()).await
    }

    /// Like [`read_resource`](Self::read_resource), with options.
    ///
    /// # Errors
    /// As for [`read_resource`](Self::read_resource).
    pub async fn read_resource_with(
        &self,
        uri: &str,
        options: CallOptions,
    ) -> Result<ReadResult, Error> {
        const METHOD: &str = method::RESOURCES_READ;
        let cache = &self.core.inbox().cache;
        let key = Key { method: METHOD, selector: Some(uri.to_owned()) };
        let result = match self.core.cached(&key).await? {
            Ok(result) => result,
            Err(generation) => {
                let params = Params { uri: Some(uri), ..Params::default() };
                let mut parts = RequestParts { options, ..RequestParts::of(params) };
                let (result, has_input) = input::request(&self.core, METHOD, &mut parts).await?;
                if !has_input {
                    cache.put(key, &result, generation);
                }
                result
            }
        };
        let read = serde_json::from_str(result.get());
        let read: ReadResult = read.map_err(|error| Error::malformed(METHOD, error))?;
        Ok(ReadResult { object: result, ..read })
    }
}

impl Item for Resource {
    const METHOD: &'static str = method::RESOURCES_LIST;
    const MEMBER: &'static str = "resources";

    fn read(object: Box<RawValue>, _is_strict: bool) -> Result<Self, (String, String)> {
        let item = serde_json::from_str(object.get());
        let item: Self = item.map_err(|error| (name_of(&object, "uri"), error.to_string()))?;
        Ok(Self { object, ..item })
    }
}

impl Item for ResourceTemplate {
    const METHOD: &'static str = method::TEMPLATES_LIST;
    const MEMBER: &'static str = "resourceTemplates";

    fn read(object: Box<RawValue>, _is_strict: bool) -> Result<Self, (String, String)> {
        let item = serde_json::from_str(object.get());
        let item: Self =
            item.map_err(|error| (name_of(&object, "uriTemplate"), error.to_string()))?;
        Ok(Self { object, ..item })
    }
}
