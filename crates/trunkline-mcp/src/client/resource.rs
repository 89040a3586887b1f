use futures_util::Stream;

use super::cache::Key;
use super::client::Client;
use super::connection::RequestParts;
use super::error::Error;
use super::input;
use super::list::{Item, List};
use super::message::Params;
use super::options::CallOptions;
use crate::model::{Contents, Received, Resource, ResourceTemplate};
use crate::protocol::method;

impl Client {
    /// Lists all resources.
    ///
    /// # Errors
    /// When a request fails, a page is malformed, or the list is too long.
    pub async fn list_resources(&self) -> Result<List<Received<Resource>>, Error> {
        self.list().await
    }

    /// The resources, page by page.
    pub fn resource_pages(
        &self,
    ) -> impl Stream<Item = Result<List<Received<Resource>>, Error>> + Send + use<> {
        self.pages()
    }

    /// Lists all templates for URIs of resources.
    ///
    /// # Errors
    /// As for [`list_resources`](Self::list_resources).
    pub async fn list_resource_templates(&self) -> Result<List<Received<ResourceTemplate>>, Error> {
        self.list().await
    }

    /// The templates for URIs of resources, page by page.
    pub fn resource_template_pages(
        &self,
    ) -> impl Stream<Item = Result<List<Received<ResourceTemplate>>, Error>> + Send + use<> {
        self.pages()
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// When the request fails, its result is malformed, or the server requires input that the handler does not provide.
    pub async fn read_resource(&self, uri: &str) -> Result<Received<Contents>, Error> {
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
    ) -> Result<Received<Contents>, Error> {
        const METHOD: &str = method::RESOURCES_READ;
        let key = Key { method: METHOD, selector: Some(uri.to_owned()) };
        let request = async {
            let params = Params { uri: Some(uri), ..Params::default() };
            let mut parts = RequestParts { options, ..RequestParts::of(params) };
            input::request(&self.core, METHOD, &mut parts).await
        };
        let result = self.core.cached(key, request).await?;
        Received::read(result).map_err(|error| Error::malformed(METHOD, error))
    }
}

impl Item for Resource {
    const METHOD: &'static str = method::RESOURCES_LIST;
    const MEMBER: &'static str = "resources";
    const NAME: &'static str = "uri";
}

impl Item for ResourceTemplate {
    const METHOD: &'static str = method::TEMPLATES_LIST;
    const MEMBER: &'static str = "resourceTemplates";
    const NAME: &'static str = "uriTemplate";
}
