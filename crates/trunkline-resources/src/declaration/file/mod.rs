//! Types as TOML declares them.

mod node;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::equality::json_equal;
use super::error::{Fault, TypesError};
use super::field::{Field, FieldType};
use super::nearest::nearest_name;
use super::types::{ResourceType, ResourceTypes};
use node::Node;

/// Names that records and commands use besides the fields.
const RESERVED: [&str; 5] = ["id", "metadata", "version", "createdAt", "updatedAt"];

impl ResourceTypes {
    /// The types that a file's text declares.
    ///
    /// # Errors
    /// The first fault, with its place.
    pub fn parse(toml: &str) -> Result<Self, TypesError> {
        // Editors do not count a byte order mark as a character of its line.
        let toml = toml.strip_prefix('\u{feff}').unwrap_or(toml);
        types(toml).map_err(|fault| fault.in_text(toml))
    }

    /// The types that a file of at most [`MAX_BYTES`](Self::MAX_BYTES) declares.
    ///
    /// # Errors
    /// If the file cannot be read; its first fault, with its place.
    pub fn read(path: &Path) -> Result<Self, TypesError> {
        let unreadable = |source| TypesError::Unreadable { file: path.to_owned(), source };
        let mut bytes = Vec::new();
        // One byte more than the maximum, to detect a file that is too large.
        let bound = Self::MAX_BYTES as u64 + 1;
        File::open(path)
            .and_then(|file| file.take(bound).read_to_end(&mut bytes))
            .map_err(unreadable)?;
        if bytes.len() > Self::MAX_BYTES {
            return Err(TypesError::TooLarge { file: path.to_owned() });
        }
        text(&bytes).and_then(Self::parse).map_err(|error| error.in_file(path))
    }
}

impl Default for ResourceTypes {
    /// The one type `todo`.
    fn default() -> Self {
        Self::parse(include_str!("../default.toml")).expect("a test parses this very file")
    }
}

/// A file's text, which is UTF-8.
fn text(bytes: &[u8]) -> Result<&str, TypesError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let (before, _) = bytes.split_at(error.valid_up_to());
        let fault = Fault {
            at: before.len(),
            path: String::new(),
            reason: "this is not UTF-8, which TOML is written in".to_owned(),
        };
        fault.in_text(&String::from_utf8_lossy(before))
    })
}

/// The types that a text declares.
fn types(text: &str) -> Result<ResourceTypes, Fault> {
    let document = DeTable::parse(text).map_err(|error| Fault {
        at: error.span().map_or(0, |span| span.start),
        path: String::new(),
        reason: format!("this is not TOML: {}", error.message()),
    })?;
    let document = DeValue::Table(document.into_inner());
    let mut resources = Vec::new();
    for member in Node::root(&document).members()? {
        match member.key() {
            "resources" => resources = member.members()?,
            _ => return Err(member.unknown("a file of types", &["resources"])),
        }
    }
    if let Some(one) = resources.get(ResourceTypes::MAX_TYPES) {
        return Err(
            one.misplaced(format!("there are more than {} resources", ResourceTypes::MAX_TYPES))
        );
    }
    if resources.is_empty() {
        return Err(
            Node::root(&document).misplaced("there is no resource: add [resources.NAME.fields]")
        );
    }
    let types: Result<_, Fault> = resources.iter().map(resource).collect();
    Ok(ResourceTypes::new(types?))
}

fn resource(node: &Node<'_>) -> Result<ResourceType, Fault> {
    let name = resource_name(node)?;
    let mut description = None;
    let mut fields = Vec::new();
    for member in node.members()? {
        match member.key() {
            "description" => description = Some(member.text()?.to_owned()),
            "fields" => fields = member.members()?,
            _ => {
                return Err(match nested(&member) {
                    Some(rest) => node.misplaced(format!(
                        "a name with dots stands in quotes: [resources.\"{name}.{rest}\"]"
                    )),
                    None => member.unknown("a resource", &["description", "fields"]),
                });
            }
        }
    }
    if let Some(one) = fields.get(ResourceType::MAX_FIELDS) {
        return Err(
            one.misplaced(format!("{name} has more than {} fields", ResourceType::MAX_FIELDS))
        );
    }
    if fields.is_empty() {
        let table = node.path();
        return Err(node
            .misplaced(format!("a resource has at least one field: add it in [{table}.fields]")));
    }
    let fields: Result<_, Fault> = fields.iter().map(field).collect();
    Ok(ResourceType::new(name.to_owned(), description, fields?))
}

fn resource_name<'t>(node: &Node<'t>) -> Result<&'t str, Fault> {
    let name = node.key();
    if name.len() > ResourceType::MAX_NAME {
        let most = ResourceType::MAX_NAME;
        return Err(node.misplaced(format!(
            "a resource's name has at most {most} bytes: {} are too many",
            name.len()
        )));
    }
    let is_segment = |segment: &str| {
        segment.starts_with(|c: char| c.is_ascii_alphabetic()) && segment.bytes().all(is_name_byte)
    };
    if !name.split('.').all(is_segment) {
        return Err(node.misplaced(
            "a resource's name is of letters of ASCII, digits, _ and -, and begins with a letter; \
             namespaces end with a dot, as in \"crm.todo\"",
        ));
    }
    // The methods of such a resource could not be registered (JSON-RPC 2.0, section 8).
    if name.split('.').next() == Some("rpc") {
        return Err(node.misplaced("rpc is reserved: begin the name otherwise"));
    }
    Ok(name)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The rest of a resource's name that was written without quotes, as in `[resources.crm.todo.fields]`: from
/// this member on.
fn nested(member: &Node<'_>) -> Option<String> {
    let members = member.members().ok()?;
    let is_resource = |one: &Node<'_>| match one.key() {
        "fields" => one.members().is_ok(),
        "description" => one.text().is_ok(),
        _ => false,
    };
    if members.iter().any(is_resource) {
        return Some(member.key().to_owned());
    }
    let rest = members.iter().find_map(nested)?;
    Some(format!("{}.{rest}", member.key()))
}

fn field(node: &Node<'_>) -> Result<Field, Fault> {
    let name = field_name(node)?;
    let mut kind = None;
    let mut required = None;
    let mut default = None;
    let mut allowed = None;
    let mut description = None;
    let members = node.members();
    for member in
        members.map_err(|_| node.wrong("a field is a table: write { type = \"string\" }"))?
    {
        match member.key() {
            "type" => kind = Some(field_type(&member)?),
            "required" => required = Some(member.flag()?),
            "default" => default = Some((member.json()?, member)),
            "enum" => allowed = Some(member),
            "description" => description = Some(member.text()?.to_owned()),
            _ => {
                let known = ["type", "required", "default", "enum", "description"];
                return Err(member.unknown("a field", &known));
            }
        }
    }
    let kind = kind.ok_or_else(|| node.misplaced("a field has a type: add type = \"string\""))?;
    let required = required.unwrap_or_default();
    let mut field =
        Field { name: name.to_owned(), kind, required, default: None, allowed: None, description };
    if let Some(node) = allowed {
        field.allowed = Some(values(&node, &field)?);
    }
    if let Some((value, node)) = default {
        if required {
            return Err(node.misplaced("a required field has no default: leave out one of the two"));
        }
        field.check(&value).map_err(|reason| node.wrong(reason))?;
        field.default = Some(value);
    }
    Ok(field)
}

fn field_name<'t>(node: &Node<'t>) -> Result<&'t str, Fault> {
    let name = node.key();
    if name.len() > Field::MAX_NAME {
        let most = Field::MAX_NAME;
        return Err(node.misplaced(format!(
            "a field's name has at most {most} bytes: {} are too many",
            name.len()
        )));
    }
    let begins = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    if !begins || !name.bytes().all(is_name_byte) {
        return Err(node.misplaced(
            "a field's name is of letters of ASCII, digits, _ and -, and begins with a letter or _",
        ));
    }
    if RESERVED.contains(&name) {
        let reserved = RESERVED.join(", ");
        return Err(node.misplaced(format!(
            "this name is reserved, as all of {reserved} are: give the field another name"
        )));
    }
    Ok(name)
}

fn field_type(node: &Node<'_>) -> Result<FieldType, Fault> {
    let name = node.text()?;
    FieldType::parse(name).ok_or_else(|| {
        let known = FieldType::ALL.map(FieldType::as_str);
        node.wrong(match nearest_name(name, known.into_iter()) {
            Some(meant) => format!("there is no such type: did you mean {meant}?"),
            None => format!("there is no such type: it is one of {}", known.join(", ")),
        })
    })
}

/// The values of a field's `enum`.
fn values(node: &Node<'_>, field: &Field) -> Result<Vec<Value>, Fault> {
    let elements = node.elements()?;
    if let Some(one) = elements.get(Field::MAX_VALUES) {
        return Err(one.wrong(format!("an enum has at most {} values", Field::MAX_VALUES)));
    }
    let mut values: Vec<Value> = Vec::new();
    for element in elements {
        let value = element.json()?;
        field.check(&value).map_err(|reason| element.wrong(reason))?;
        if values.iter().any(|one| json_equal(one, &value)) {
            return Err(element.wrong("this value stands here already: leave it out"));
        }
        values.push(value);
    }
    if values.is_empty() {
        return Err(node.wrong("an enum has at least one value: add one, or leave the enum out"));
    }
    Ok(values)
}
