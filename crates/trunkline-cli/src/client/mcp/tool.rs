use http::HeaderName;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::parameter_headers::{self, Path};
use super::schema::{self, Property};

/// A tool that a server offers. All texts are the server's: they may say anything.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) is_read_only: Option<bool>,
    pub(crate) is_destructive: Option<bool>,
    pub(crate) properties: Vec<Property>,
    /// The whole, as it was received.
    pub(crate) object: Box<RawValue>,
    /// Or why the tool must not be used.
    pub(super) parameter_headers: Result<Vec<(HeaderName, Path)>, String>,
}

/// What a tool has answered.
#[derive(Debug)]
pub(crate) struct ToolAnswer {
    pub(crate) content: Vec<Content>,
    pub(crate) structured: Option<Box<RawValue>>,
    pub(crate) is_error: bool,
    /// `complete`, or what the tool waits for.
    pub(crate) kind: String,
    /// The whole, as it was received.
    pub(crate) object: Box<RawValue>,
}

/// A part of an answer, for people.
#[derive(Debug)]
pub(crate) enum Content {
    Text(String),
    /// Anything that a terminal does not show, in a few words.
    Other(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolMembers {
    name: String,
    title: Option<String>,
    description: Option<String>,
    input_schema: Box<RawValue>,
    annotations: Option<Annotations>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Annotations {
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnswerMembers {
    #[serde(default)]
    content: Vec<Value>,
    structured_content: Option<Box<RawValue>>,
    #[serde(default)]
    is_error: bool,
    result_type: Option<String>,
}

impl Tool {
    pub(super) fn read(object: Box<RawValue>) -> Result<Self, serde_json::Error> {
        let members: ToolMembers = serde_json::from_str(object.get())?;
        let schema: Value = serde_json::from_str(members.input_schema.get())?;
        let annotations = members.annotations.unwrap_or_default();
        Ok(Self {
            name: members.name,
            description: members.description.or(members.title).unwrap_or_default(),
            is_read_only: annotations.read_only_hint,
            is_destructive: annotations.destructive_hint,
            properties: schema::properties(&members.input_schema),
            object,
            parameter_headers: parameter_headers::find(&schema),
        })
    }
}

impl ToolAnswer {
    pub(super) fn read(object: Box<RawValue>) -> Result<Self, serde_json::Error> {
        let members: AnswerMembers = serde_json::from_str(object.get())?;
        Ok(Self {
            content: members.content.iter().map(content).collect(),
            structured: members.structured_content,
            is_error: members.is_error,
            kind: members.result_type.unwrap_or_else(|| "complete".to_owned()),
            object,
        })
    }
}

fn content(block: &Value) -> Content {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let kind = text(&block["type"]);
    match (kind.as_str(), &block["resource"]) {
        ("text", _) => Content::Text(text(&block["text"])),
        ("image" | "audio", _) => {
            let bytes = block["data"].as_str().map_or(0, |data| data.len() / 4 * 3);
            let media_type = text(&block["mimeType"]);
            Content::Other(format!("{kind}: {media_type}, about {bytes} bytes"))
        }
        ("resource_link", _) => Content::Other(format!("resource: {}", text(&block["uri"]))),
        ("resource", resource) => match resource["text"].as_str() {
            Some(text) => Content::Text(text.to_owned()),
            None => Content::Other(format!("resource: {}", text(&resource["uri"]))),
        },
        (other, _) => Content::Other(other.to_owned()),
    }
}
