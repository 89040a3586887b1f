//! Operations as resources.

mod pattern;
mod result;
mod template;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use trunkline::protocol::RegisteredOperation;
use trunkline::{Call, ErrorObject, FromCall};

use crate::arguments::Arguments;
use crate::error::McpError;
use crate::model::{Caching, Resource, ResourceTemplate};
use pattern::UriPattern;
pub(crate) use result::write_contents;
pub(crate) use template::decoded;
use template::{UriTemplate, check_uri};
pub use template::{uri_text, uri_value};

/// Resources by URI, and all of them in the order of their registration.
#[derive(Debug, Default)]
pub(crate) struct Resources {
    resources: Vec<Arc<Source>>,
    by_uri: BTreeMap<String, Arc<Source>>,
    templates: Vec<Template>,
    /// Operations that return further resources.
    lists: Vec<Arc<RegisteredOperation>>,
}

/// An operation that reads resources.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) operation: Arc<RegisteredOperation>,
    pub(crate) mime_type: Option<String>,
    pub(crate) caching: Caching,
    /// The entry of the list.
    entry: Vec<u8>,
}

#[derive(Debug)]
struct Template {
    text: String,
    matcher: Matcher,
    /// The schema of the variables, if the operation declares one.
    arguments: Option<Arguments>,
    source: Arc<Source>,
}

/// The way to find out whether a URI belongs to a template.
#[derive(Debug)]
enum Matcher {
    /// The variables are params of the operation.
    Values(UriTemplate),
    /// The operation reads the URI itself.
    Whole(UriPattern),
}

impl Matcher {
    fn of(template: &ResourceTemplate) -> Result<Self, &'static str> {
        match UriTemplate::parse(&template.uri_template) {
            Err(_) if template.reads_whole_uri => {
                UriPattern::parse(&template.uri_template).map(Self::Whole)
            }
            parsed => parsed.map(Self::Values),
        }
    }

    /// The names of the variables.
    fn names(&self) -> Vec<&str> {
        match self {
            Self::Values(template) => template.names().collect(),
            Self::Whole(pattern) => pattern.names().collect(),
        }
    }

    /// The values of the variables in a URI that matches.
    fn matches(&self, uri: &str) -> Option<Vec<(&str, String)>> {
        match self {
            Self::Values(template) => template.matches(uri),
            Self::Whole(pattern) => pattern.matches(uri).then(Vec::new),
        }
    }
}

/// The names of the variables of a URI template, in order, each once. Empty if the template is invalid.
///
/// ```
/// # use trunkline_mcp::uri::uri_variables;
/// assert_eq!(uri_variables("docs://{section}/{page}"), ["section", "page"]);
/// ```
#[must_use]
pub fn uri_variables(template: &str) -> Vec<String> {
    let parsed = UriPattern::parse(template);
    parsed.iter().flat_map(UriPattern::names).map(str::to_owned).collect()
}

/// Checks the URI of a resource.
///
/// # Errors
/// The reason why the resource cannot be offered.
pub fn check_resource(resource: &Resource) -> Result<(), &'static str> {
    check_uri(&resource.uri)
}

/// Checks the URI template of a resource template.
///
/// # Errors
/// The reason why the template cannot be offered.
pub fn check_resource_template(template: &ResourceTemplate) -> Result<(), &'static str> {
    Matcher::of(template).map(drop)
}

/// The operation that reads a resource, and its params.
pub(crate) struct Found {
    pub(crate) source: Arc<Source>,
    pub(crate) params: Option<Map<String, Value>>,
}

/// Marks an operation that lists resources. An extension of its description.
#[derive(Clone)]
pub(crate) enum ListsResources {
    /// The result is an array of resources.
    AsResult,
    /// A function reads them from a result.
    By(Arc<ReadPage>),
}

/// Reads resources from the JSON text of a result.
type ReadPage = dyn Fn(&[u8]) -> ResourcePage + Send + Sync;

/// Resources that an operation lists.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ResourcePage {
    /// The resources.
    pub resources: Vec<Resource>,
    /// The params of the call that lists further ones, by name, if there are any.
    pub next: Option<Map<String, Value>>,
}

impl ResourcePage {
    /// The last page.
    pub fn new(resources: impl IntoIterator<Item = Resource>) -> Self {
        Self { resources: resources.into_iter().collect(), next: None }
    }

    /// Sets the params of the call that lists further resources, by name.
    #[must_use]
    pub fn next(mut self, params: Map<String, Value>) -> Self {
        self.next = Some(params);
        self
    }
}

/// The errors of an operation that mean that a resource does not exist. An extension of its description.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MissingIf(pub(crate) fn(&ErrorObject) -> bool);

/// Whether an error of the operation means that the resource does not exist.
pub(crate) fn is_missing(operation: &RegisteredOperation, error: &ErrorObject) -> bool {
    let missing = operation.description().extensions.get::<MissingIf>();
    missing.is_some_and(|MissingIf(is_missing)| is_missing(error))
}

/// The first text that is not blank. The APIs of some models refuse an empty title or description.
pub(crate) fn first_text<const N: usize>(texts: [&Option<String>; N]) -> Option<String> {
    texts.into_iter().flatten().find(|text| !text.trim().is_empty()).cloned()
}

/// Extracts the URI that the client reads. For operations of resources; calls over other protocols fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceUri(pub Arc<str>);

impl<S> FromCall<S> for ResourceUri {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        let uri = call.extensions().get::<Self>().cloned();
        uri.ok_or_else(|| {
            ErrorObject::invalid_params("this method is called by resources/read only")
        })
    }
}

impl Resources {
    /// Adds the resource and the template of an operation, if it has them. `has` is whether other operations have a URI or
    /// a template.
    pub(crate) fn add(
        &mut self,
        operation: &Arc<RegisteredOperation>,
        has: impl Fn(&str) -> bool,
    ) -> Result<(), McpError> {
        let extensions = &operation.description().extensions;
        if extensions.get::<ListsResources>().is_some() {
            self.lists.push(Arc::clone(operation));
        }
        if let Some(resource) = extensions.get::<Resource>() {
            let uri = &resource.uri;
            let failure = |reason| McpError::Resource { uri: uri.clone(), reason };
            check_uri(uri).map_err(failure)?;
            if self.by_uri.contains_key(uri) || has(uri) {
                return Err(failure("another operation has the same URI"));
            }
            let source = Arc::new(Source::of_resource(operation, resource));
            self.by_uri.insert(uri.clone(), Arc::clone(&source));
            self.resources.push(source);
        }
        if let Some(entry) = extensions.get::<ResourceTemplate>() {
            let text = &entry.uri_template;
            let failure = |reason: &str| McpError::Template {
                template: text.clone(),
                reason: reason.to_owned(),
            };
            let matcher = Matcher::of(entry).map_err(failure)?;
            if self.has_template(text) || has(text) {
                return Err(failure("another operation has the same template"));
            }
            let arguments = operation.description().input.as_ref().map(Arguments::of);
            let arguments = arguments.transpose().map_err(|reason| failure(&reason))?;
            let source = Arc::new(Source::of_template(operation, entry));
            self.templates.push(Template { text: text.clone(), matcher, arguments, source });
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.templates.is_empty() && self.lists.is_empty()
    }

    /// Whether a resource has this URI.
    pub(crate) fn has_resource(&self, uri: &str) -> bool {
        self.by_uri.contains_key(uri)
    }

    /// Whether a template has this text.
    pub(crate) fn has_template(&self, text: &str) -> bool {
        self.templates.iter().any(|template| template.text == text)
    }

    /// The variables of the template with this text.
    pub(crate) fn variables(&self, text: &str) -> Option<impl Iterator<Item = &str>> {
        let template = self.templates.iter().find(|template| template.text == text)?;
        Some(template.matcher.names().into_iter())
    }

    /// The resource of this URI.
    pub(crate) fn find(&self, uri: &str) -> Option<Found> {
        let source = self.by_uri.get(uri)?;
        Some(Found { source: Arc::clone(source), params: None })
    }

    /// The first template that matches a URI.
    pub(crate) fn find_template(&self, uri: &str) -> Option<Found> {
        self.templates.iter().find_map(|template| template.find(uri))
    }

    /// The entries of `resources/list`.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Arc<RegisteredOperation>, &[u8])> {
        self.resources.iter().map(|source| (&source.operation, &*source.entry))
    }

    /// The entries of `resources/templates/list`.
    pub(crate) fn template_entries(
        &self,
    ) -> impl Iterator<Item = (&Arc<RegisteredOperation>, &[u8])> {
        let sources = self.templates.iter().map(|template| &template.source);
        sources.map(|source| (&source.operation, &*source.entry))
    }

    /// The operations that return further resources.
    pub(crate) fn lists(&self) -> &[Arc<RegisteredOperation>] {
        &self.lists
    }
}

impl Template {
    fn find(&self, uri: &str) -> Option<Found> {
        let values = self.matcher.matches(uri)?;
        let params = values.into_iter().map(|(name, text)| (name.to_owned(), text.into()));
        let params: Map<String, Value> = params.collect();
        if let Some(arguments) = &self.arguments {
            let text = serde_json::to_vec(&params).expect("JSON values serialise into memory");
            // The call converts them, too.
            let converted = self.source.operation.convert(&text);
            arguments.check(&self.text, converted.as_deref().unwrap_or(&text)).ok()?;
        }
        let params = (!params.is_empty()).then_some(params);
        Some(Found { source: Arc::clone(&self.source), params })
    }
}

impl Source {
    fn of_resource(operation: &Arc<RegisteredOperation>, resource: &Resource) -> Self {
        let mut entry = resource.clone();
        let description = operation.description();
        entry.title = first_text([&entry.title, &description.title]);
        entry.description = first_text([&entry.description, &description.text]);
        Self {
            operation: Arc::clone(operation),
            mime_type: resource.mime_type.clone(),
            caching: resource.caching,
            entry: serde_json::to_vec(&entry).expect("a resource serialises into memory"),
        }
    }

    fn of_template(operation: &Arc<RegisteredOperation>, template: &ResourceTemplate) -> Self {
        let mut entry = template.clone();
        let description = operation.description();
        entry.title = first_text([&entry.title, &description.title]);
        entry.description = first_text([&entry.description, &description.text]);
        Self {
            operation: Arc::clone(operation),
            mime_type: template.mime_type.clone(),
            caching: template.caching,
            entry: serde_json::to_vec(&entry).expect("a template serialises into memory"),
        }
    }
}
