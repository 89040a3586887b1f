use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::param_headers::{self, InvalidParamHeader, ParamHeader};

/// A tool of a server. Its texts are the server's, and not trusted.
#[derive(Debug)]
#[non_exhaustive]
pub struct Tool {
    /// The name that calls use.
    pub name: String,
    /// The description, or the title if it is missing.
    pub description: String,
    /// The hint that the tool changes nothing.
    pub is_read_only: Option<bool>,
    /// The hint that the tool may delete or overwrite something.
    pub is_destructive: Option<bool>,
    /// The JSON Schema of the arguments, as received.
    pub input_schema: Box<RawValue>,
    /// The whole object, as received.
    pub object: Box<RawValue>,
    pub(super) param_headers: Result<Vec<ParamHeader>, InvalidParamHeader>,
}

/// The result of a tool.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolResult {
    /// The content blocks, as received.
    pub content: Vec<Value>,
    /// The structured content, as received.
    pub structured: Option<Box<RawValue>>,
    /// Whether the tool has failed.
    pub is_error: bool,
    /// `complete`, or the kind of input that the tool requires.
    pub kind: String,
    /// The whole object, as received.
    pub object: Box<RawValue>,
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
struct ResultMembers {
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
            input_schema: members.input_schema,
            object,
            param_headers: param_headers::find(&schema),
        })
    }
}

impl ToolResult {
    pub(super) fn read(object: Box<RawValue>) -> Result<Self, serde_json::Error> {
        let members: ResultMembers = serde_json::from_str(object.get())?;
        Ok(Self {
            content: members.content,
            structured: members.structured_content,
            is_error: members.is_error,
            kind: members.result_type.unwrap_or_else(|| "complete".to_owned()),
            object,
        })
    }
}
