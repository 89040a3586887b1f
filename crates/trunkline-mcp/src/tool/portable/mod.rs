//! The portable form of schemas: the part of JSON Schema that all hosts of language models accept.
//!
//! Hosts pass the schemas of all tools to the API of their model with every request, and the API refuses the request
//! because of one keyword that it does not support. In the portable form, each schema has one type, references are
//! replaced by their targets, and keywords that some API refuses are sentences of the description. Arguments are
//! validated against the full schema, so the portable form may accept more; that of a result never accepts less, since
//! clients validate results.

mod keywords;
mod kind;
mod node;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::era::Era;
use keywords::{kinds_of, list, object_of};
use kind::Kind;
use node::{Node, Usage, any_of};

/// The portable form of an input schema.
pub(crate) fn portable_input(schema: &Value, era: Era) -> Value {
    let usage = Usage::Arguments { has_headers: era == Era::Modern };
    let mut node = Reader::new(schema, usage).read(schema);
    if node.kind != Some(Kind::Object) {
        // Arguments are an object, whatever else a schema allows.
        node = Node::of(Kind::Object);
    }
    // It repeats that of the tool.
    node.description = None;
    node.into_value(usage)
}

/// The portable form of an output schema.
pub(crate) fn portable_output(schema: &Value) -> Value {
    Reader::new(schema, Usage::Results).read(schema).into_value(Usage::Results)
}

/// Reads the schemas of a document.
struct Reader<'s> {
    root: &'s Value,
    usage: Usage,
    /// The references that are being replaced, so that those that contain themselves end.
    open: Vec<&'s str>,
    depth: usize,
    /// The maximum size in bytes of further schemas that replace references: a small document can refer to its parts
    /// many times.
    budget: usize,
}

/// The maximum depth of schemas. Deeper ones have no members.
const MAX_DEPTH: usize = 16;

/// The maximum size in bytes of the schemas that replace references.
const MAX_INLINED: usize = 64 << 10;

/// The size of a schema without its texts.
const SCHEMA_SIZE: usize = 32;

impl<'s> Reader<'s> {
    fn new(root: &'s Value, usage: Usage) -> Self {
        Self { root, usage, open: vec!["#"], depth: 0, budget: MAX_INLINED }
    }

    fn read(&mut self, schema: &'s Value) -> Node {
        // Schemas may be booleans, which accept everything or nothing.
        let Some(members) = schema.as_object() else { return Node::default() };
        if self.depth >= MAX_DEPTH || !self.pay(members) {
            return self.cut(members, "");
        }
        self.depth += 1;
        let node = self.combined(members);
        self.depth -= 1;
        node
    }

    /// Whether the budget permits a further schema. Only schemas that replace references count.
    fn pay(&mut self, members: &Map<String, Value>) -> bool {
        if self.open.len() <= 1 {
            return true;
        }
        let texts = members.values().filter_map(Value::as_str).map(str::len).sum::<usize>();
        let rest = self.budget.checked_sub(SCHEMA_SIZE + texts);
        self.budget = rest.unwrap_or_default();
        rest.is_some()
    }

    /// A schema and those that it combines.
    fn combined(&mut self, members: &'s Map<String, Value>) -> Node {
        let usage = self.usage;
        let mut node = self.own(members);
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(reference) = members.get(keyword).and_then(Value::as_str) {
                node = node.and(self.target(reference));
            }
        }
        for schema in list(members, "allOf") {
            node = node.and(self.read(schema));
        }
        for keyword in ["anyOf", "oneOf"] {
            let alternatives: Vec<_> =
                list(members, keyword).iter().map(|schema| self.read(schema)).collect();
            if !alternatives.is_empty() {
                node = node.and(any_of(alternatives, usage));
            }
        }
        if usage != Usage::Results {
            // Arguments of some cases are optional in general.
            for schema in ["then", "else"].iter().filter_map(|keyword| members.get(*keyword)) {
                node = node.and(self.read(schema).optional());
            }
        }
        node.set_default(members);
        node
    }

    /// The keywords of the schema itself.
    fn own(&mut self, members: &'s Map<String, Value>) -> Node {
        let kinds = kinds_of(members, self.usage);
        let alternatives: Vec<_> =
            kinds.into_iter().map(|kind| self.of_kind(members, kind)).collect();
        let mut node = any_of(alternatives, self.usage);
        node.annotate(members, self.usage);
        node
    }

    /// The keywords that apply to values of a type.
    fn of_kind(&mut self, members: &'s Map<String, Value>, kind: Kind) -> Node {
        let mut node = Node::of(kind);
        match kind {
            Kind::Object => {
                if let Some(properties) = object_of(members, "properties") {
                    let read =
                        |(name, schema): (&'s String, &'s Value)| (name.clone(), self.read(schema));
                    node.set_properties(properties.iter().map(read).collect());
                }
                node.restrict_object(members);
                let others =
                    members.get("additionalProperties").filter(|others| others.is_object());
                if let Some(others) = others {
                    let others = self.read(others);
                    node.note_values("Values", &others);
                }
                for (pattern, schema) in
                    object_of(members, "patternProperties").into_iter().flatten()
                {
                    let values = self.read(schema);
                    node.note_values(&format!("Names that match `{pattern}`"), &values);
                }
            }
            Kind::Array => {
                let tuple = list(members, "prefixItems");
                let tuple = if tuple.is_empty() { list(members, "items") } else { tuple };
                if tuple.is_empty() {
                    let items = members.get("items").map(|items| self.read(items));
                    node.set_items(items);
                } else {
                    let tuple: Vec<_> = tuple.iter().map(|schema| self.read(schema)).collect();
                    node.set_tuple(tuple, self.usage);
                }
                node.restrict_array(members);
            }
            Kind::String => node.restrict_string(members),
            Kind::Number | Kind::Integer => node.restrict_number(members),
            Kind::Boolean | Kind::Null => {}
        }
        node.restrict_values(members, self.usage);
        node
    }

    /// The target of a reference within the document.
    fn target(&mut self, reference: &'s str) -> Node {
        let name = reference.rsplit(['/', '#']).next().unwrap_or_default();
        let Some(target) = self.find(reference) else { return Node::default() };
        let members = target.as_object();
        if self.open.contains(&reference) {
            return members.map_or_else(Node::default, |members| self.cut(members, name));
        }
        self.open.push(reference);
        let node = self.read(target);
        self.open.pop();
        node
    }

    fn find(&self, reference: &str) -> Option<&'s Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }

    /// A schema without its members.
    fn cut(&self, members: &Map<String, Value>, name: &str) -> Node {
        let mut kinds = kinds_of(members, self.usage);
        let kind = match (kinds.pop(), kinds.pop()) {
            (Some(kind), None) => Some(kind),
            _ => (self.usage != Usage::Results).then_some(Kind::Object),
        };
        let mut node = kind.map_or_else(Node::default, Node::of);
        node.annotate(members, self.usage);
        node.note(match name {
            "" => "Nested.".to_owned(),
            name => format!("A nested `{name}`."),
        });
        node
    }
}
