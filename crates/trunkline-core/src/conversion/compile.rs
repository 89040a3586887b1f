//! Compilation of a schema.

use std::collections::HashMap;
use std::ptr;

use serde_json::{Map, Value};

use super::types::{self, ALL, ARRAY, NULL, OBJECT};
use super::{Member, Node};
use crate::schema::Schema;

/// The nodes of a schema, and the index of that of the whole schema.
pub(super) struct Compiled {
    pub(super) nodes: Vec<Node>,
    pub(super) root: usize,
}

/// The maximum number of nodes. Further parts of the schema have unknown types.
const MAX_NODES: usize = 10_000;

/// The maximum number of members of an object, one for each bit of a set. Further ones have unknown types.
pub(super) const MAX_MEMBERS: usize = 128;

/// The maximum depth of the parts of a schema, and of references that follow each other.
const MAX_DEPTH: usize = 128;

/// The maximum depth of combined schemas whose types are computed, and the number of these schemas in total.
const MAX_COMBINED: usize = 8;
const MAX_STEPS: usize = 100_000;

struct Compiler<'a> {
    schema: &'a Value,
    nodes: Vec<Node>,
    /// The nodes of parts, by their addresses. Schemas may refer to themselves.
    known: HashMap<*const Value, usize>,
    steps: usize,
}

/// The node of a value of unknown type.
const UNKNOWN: usize = 0;

impl Compiled {
    pub(super) fn of(schema: Option<&Schema>) -> Self {
        let mut compiled = Self { nodes: vec![Node::default(); 2], root: 1 };
        let Some(schema) = schema else { return compiled };
        let mut compiler = Compiler {
            schema: schema.as_value(),
            nodes: vec![Node::default()],
            known: HashMap::new(),
            steps: MAX_STEPS,
        };
        compiled.root = compiler.node(schema.as_value(), Some(schema.validated()), 0);
        compiled.nodes = compiler.nodes;
        if compiled.root == UNKNOWN {
            return Self { nodes: vec![Node::default(); 2], root: 1 };
        }
        compiled.follow_delegates();
        compiled
    }

    /// Replaces the schemas that others refer to by those which declare the members and items.
    fn follow_delegates(&mut self) {
        let follow =
            |start: usize, next: fn(&Node) -> Option<usize>, declares: fn(&Node) -> bool| {
                let mut at = start;
                for _ in 0..MAX_COMBINED {
                    if declares(&self.nodes[at]) {
                        return Some(at);
                    }
                    at = next(&self.nodes[at])?;
                }
                None
            };
        let resolved: Vec<_> = (0..self.nodes.len())
            .map(|index| {
                (
                    follow(index, |node| node.object, |node| !node.members.is_empty()),
                    follow(index, |node| node.array, |node| node.items.is_some()),
                )
            })
            .collect();
        for (node, (object, array)) in self.nodes.iter_mut().zip(resolved) {
            (node.object, node.array) = (object, array);
        }
    }
}

impl<'a> Compiler<'a> {
    /// The node of a part of the published schema. `validated` is the same part of the validated one, if it has the part.
    fn node(&mut self, schema: &'a Value, validated: Option<&'a Value>, depth: usize) -> usize {
        if let Some(known) = self.known.get(&ptr::from_ref(schema)) {
            return *known;
        }
        let Value::Object(keywords) = schema else { return UNKNOWN };
        if depth == MAX_DEPTH || self.nodes.len() >= MAX_NODES {
            return UNKNOWN;
        }
        let index = self.nodes.len();
        self.nodes.push(Node::default());
        self.known.insert(schema, index);
        let types = self.types(schema, MAX_COMBINED);
        let mut node = Node { types, ..Node::default() };
        if types & OBJECT != 0 {
            match keywords.get("properties") {
                Some(Value::Object(properties)) => {
                    let required = keywords.get("required").and_then(Value::as_array);
                    let is_required =
                        |name: &String| required.into_iter().flatten().any(|one| one == name);
                    let validated = validated.and_then(|all| part(all, "properties"));
                    for (name, schema) in properties.iter().take(MAX_MEMBERS) {
                        let validated = validated.and_then(|members| members.get(name));
                        let drops_null = !is_required(name) && !self.allows_null(schema, validated);
                        let node_index = self.node(schema, validated, depth + 1);
                        let name = name.clone();
                        node.members.push(Member { name, node: node_index, drops_null });
                    }
                }
                _ => {
                    let delegate = self.delegate(keywords, OBJECT);
                    node.object = delegate.map(|schema| self.node(schema, validated, depth + 1));
                }
            }
        }
        if types & ARRAY != 0 {
            match keywords.get("items") {
                // `items` applies to the elements after these.
                _ if keywords.contains_key("prefixItems") => {}
                Some(schema) => {
                    let validated = validated.and_then(|all| part(all, "items"));
                    node.items = Some(self.node(schema, validated, depth + 1));
                }
                None => {
                    let delegate = self.delegate(keywords, ARRAY);
                    node.array = delegate.map(|schema| self.node(schema, validated, depth + 1));
                }
            }
        }
        self.nodes[index] = node;
        index
    }

    /// Whether `null` is a value of an optional member. The published schema omits it, see [`Schema`].
    fn allows_null(&mut self, schema: &'a Value, validated: Option<&'a Value>) -> bool {
        let published = self.types(schema, MAX_COMBINED);
        let validated = validated.map_or(ALL, |schema| self.types(schema, MAX_COMBINED));
        // A member that allows all types may be one that the handler checks itself.
        published == 0 || published & NULL != 0 || validated != ALL && validated & NULL != 0
    }

    /// The types that a schema allows. `combined` limits the depth of schemas that are applied to the same value.
    fn types(&mut self, schema: &'a Value, combined: usize) -> u8 {
        let Value::Object(keywords) = schema else {
            return if *schema == Value::Bool(false) { 0 } else { ALL };
        };
        if combined == 0 || self.steps == 0 {
            return ALL;
        }
        self.steps -= 1;
        let mut allowed = keywords.get("type").map_or(ALL, types::named);
        if let Some(Value::Array(values)) = keywords.get("enum") {
            allowed &= values.iter().fold(0, |all, value| all | types::of(value));
        }
        if let Some(value) = keywords.get("const") {
            allowed &= types::of(value);
        }
        if let Some(target) = self.target(keywords) {
            allowed &= self.types(target, combined - 1);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(schemas)) = keywords.get(keyword) {
                allowed &=
                    schemas.iter().fold(0, |all, schema| all | self.types(schema, combined - 1));
            }
        }
        if let Some(Value::Array(schemas)) = keywords.get("allOf") {
            allowed =
                schemas.iter().fold(allowed, |all, schema| all & self.types(schema, combined - 1));
        }
        allowed
    }

    /// The schema that `$ref` refers to, if it is a part of this one.
    fn target(&self, keywords: &Map<String, Value>) -> Option<&'a Value> {
        let pointer = keywords.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.schema.pointer(pointer)
    }

    /// The only schema that may declare members or items of a value, among those that are combined.
    fn delegate(&mut self, keywords: &'a Map<String, Value>, kind: u8) -> Option<&'a Value> {
        let mut found: Vec<&Value> = self.target(keywords).into_iter().collect();
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let Some(Value::Array(schemas)) = keywords.get(keyword) else { continue };
            for schema in schemas {
                if self.types(schema, MAX_COMBINED) & kind != 0 {
                    found.push(schema);
                }
            }
        }
        match found[..] {
            [only] => Some(only),
            _ => None,
        }
    }
}

/// The value of a keyword. An optional member has it in the schema of the value, next to that of `null`.
fn part<'a>(schema: &'a Value, keyword: &str) -> Option<&'a Value> {
    schema.get(keyword).or_else(|| {
        let alternatives = ["anyOf", "oneOf"].iter().filter_map(|one| schema.get(one)?.as_array());
        alternatives.flatten().find_map(|schema| schema.get(keyword))
    })
}
