//! The parts of a schema that references lead to.

use std::collections::HashMap;
use std::ptr;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::super::faults::escaped;
use super::uri::resolve;

/// The maximum depth of a schema.
const MAX_DEPTH: usize = 128;

/// A schema, with the parts that have names.
pub(super) struct Document<'d> {
    root: &'d Value,
    resources: Vec<Resource<'d>>,
    /// The indices of resources by the address of their schema.
    by_address: HashMap<usize, usize>,
    by_uri: HashMap<String, usize>,
}

/// The whole schema, or a part with an `$id`.
pub(super) struct Resource<'d> {
    uri: String,
    schema: &'d Value,
    anchors: HashMap<&'d str, &'d Value>,
    dynamic_anchors: HashMap<&'d str, &'d Value>,
}

/// Identifies a part of a schema.
pub(super) fn address(part: &Value) -> usize {
    ptr::from_ref(part).addr()
}

/// The parts of an object that are schemas, by keyword.
pub(super) fn subschemas(keywords: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    keywords.iter().flat_map(|(keyword, value)| {
        let (one, list, map) = match (keyword.as_str(), value) {
            (
                "additionalProperties"
                | "propertyNames"
                | "items"
                | "contains"
                | "not"
                | "if"
                | "then"
                | "else"
                | "unevaluatedProperties"
                | "unevaluatedItems"
                | "contentSchema",
                value,
            ) => (Some(value), None, None),
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(list)) => {
                (None, Some(list), None)
            }
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
                | "dependencies",
                Value::Object(map),
            ) => (None, None, Some(map)),
            _ => (None, None, None),
        };
        // `dependencies` also has arrays of names.
        let map = map.into_iter().flat_map(Map::values).filter(|value| !value.is_array());
        one.into_iter().chain(list.into_iter().flatten()).chain(map)
    })
}

impl<'d> Document<'d> {
    /// Finds the names in a schema.
    ///
    /// # Errors
    /// If it is nested deeper than 128.
    pub(super) fn of(root: &'d Value) -> Result<Self, String> {
        if !is_within(root, MAX_DEPTH) {
            return Err(format!("nested deeper than {MAX_DEPTH}"));
        }
        let (resources, by_address, by_uri) = Default::default();
        let mut document = Self { root, resources, by_address, by_uri };
        document.add_resource(root, "");
        document.index(root, 0);
        Ok(document)
    }

    fn add_resource(&mut self, schema: &'d Value, base: &str) -> usize {
        let id = schema.get("$id").and_then(Value::as_str).unwrap_or_default();
        let uri = resolve(base, id.trim_end_matches('#'));
        let index = self.resources.len();
        self.by_address.insert(address(schema), index);
        self.by_uri.entry(uri.clone()).or_insert(index);
        let (anchors, dynamic_anchors) = Default::default();
        self.resources.push(Resource { uri, schema, anchors, dynamic_anchors });
        index
    }

    fn index(&mut self, schema: &'d Value, resource: usize) {
        let Value::Object(keywords) = schema else { return };
        let mut resource = resource;
        let text = |keyword| keywords.get(keyword).and_then(Value::as_str);
        if text("$id").is_some() && !ptr::eq(schema, self.root) {
            let base = self.resources[resource].uri.clone();
            resource = self.add_resource(schema, &base);
        }
        if let Some(name) = text("$anchor") {
            self.resources[resource].anchors.insert(name, schema);
        }
        if let Some(name) = text("$dynamicAnchor") {
            self.resources[resource].dynamic_anchors.insert(name, schema);
        }
        subschemas(keywords).for_each(|schema| self.index(schema, resource));
    }

    /// The resource of a part of a schema of another resource.
    pub(super) fn resource_of(&self, part: &Value, around: usize) -> usize {
        self.by_address.get(&address(part)).copied().unwrap_or(around)
    }

    /// The target of a reference, and its resource.
    ///
    /// # Errors
    /// If it does not exist.
    pub(super) fn target(
        &self,
        reference: &str,
        from: usize,
    ) -> Result<(&'d Value, usize), String> {
        let unknown = || {
            format!(
                "unknown target `{reference}` of a `$ref`; refer to a part of the schema by a JSON \
                 Pointer (`#/$defs/…`), an `$anchor` or an `$id`"
            )
        };
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let index = match uri {
            "" => from,
            uri => {
                let uri = resolve(&self.resources[from].uri, uri);
                self.by_uri.get(&uri).copied().ok_or_else(unknown)?
            }
        };
        let resource = &self.resources[index];
        let fragment = percent_decode_str(fragment).decode_utf8_lossy();
        if fragment.is_empty() {
            return Ok((resource.schema, index));
        }
        if !fragment.starts_with('/') {
            let anchors = resource.anchors.get(&*fragment);
            let anchored = anchors.or_else(|| resource.dynamic_anchors.get(&*fragment));
            return anchored.map(|target| (*target, index)).ok_or_else(unknown);
        }
        let (mut target, mut owner) = (resource.schema, index);
        for token in fragment.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            let part = match target {
                Value::Object(members) => members.get(&token),
                Value::Array(elements) => token.parse().ok().and_then(|at: usize| elements.get(at)),
                _ => None,
            };
            target = part.ok_or_else(unknown)?;
            owner = self.resource_of(target, owner);
        }
        Ok((target, owner))
    }

    /// The resources with a `$dynamicAnchor`, and its schema, if a `$dynamicRef` with this target leads to it: the
    /// target itself has the anchor.
    pub(super) fn dynamic_targets(
        &self,
        reference: &str,
        target: &Value,
    ) -> Vec<(usize, &'d Value)> {
        let anchor = reference.split_once('#').map_or("", |(_, fragment)| fragment);
        if target.get("$dynamicAnchor").and_then(Value::as_str) != Some(anchor) {
            return Vec::new();
        }
        let resources = self.resources.iter().enumerate();
        resources
            .filter_map(|(index, one)| Some((index, *one.dynamic_anchors.get(anchor)?)))
            .collect()
    }

    /// The JSON Pointer of a part.
    pub(super) fn pointer(&self, part: &Value) -> String {
        fn search(at: &Value, part: &Value) -> Option<String> {
            if ptr::eq(at, part) {
                return Some(String::new());
            }
            let inside = |token: &str, value| {
                let rest = search(value, part)?;
                Some(format!("/{}{rest}", escaped(token)))
            };
            match at {
                Value::Object(members) => members.iter().find_map(|(name, one)| inside(name, one)),
                Value::Array(elements) => {
                    let mut elements = elements.iter().enumerate();
                    elements.find_map(|(index, one)| inside(&index.to_string(), one))
                }
                _ => None,
            }
        }
        search(self.root, part).unwrap_or_default()
    }
}

fn is_within(schema: &Value, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    match schema {
        Value::Array(elements) => elements.iter().all(|one| is_within(one, depth)),
        Value::Object(members) => members.values().all(|one| is_within(one, depth)),
        _ => true,
    }
}
