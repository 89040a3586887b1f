//! The cost of a schema: the number of subschemas that are applied to one value.
//!
//! References and nested `allOf`s multiply: eight levels of ten references each are 10^8 subschemas, in a
//! schema of 2 KiB. A schema that refers to itself twice from one member doubles its cost with each level
//! of the value. Both are found by applying the schema to all values that it distinguishes: each member and
//! each element is a step, and steps are followed until none leads to other subschemas.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ptr;

use serde_json::{Map, Value};

/// The maximum number of subschemas that are applied to one value.
pub(super) const MAX: usize = 1_000;
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// The maximum depth of a schema.
const MAX_DEPTH: usize = 128;
/// The maximum work that finding the cost takes.
const MAX_WORK: usize = 1_000_000;

/// The cost of a schema: the maximum number of subschemas that are applied to one value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// For finding out whether a value fits, where the results of recursive references are cached.
    pub(super) of_check: usize,
    /// For listing all faults, where nothing is cached. `None` if it is over [`MAX`].
    pub(super) of_list: Option<usize>,
}

impl Cost {
    /// The cost of a schema.
    ///
    /// # Errors
    /// When that of a check is over [`MAX`], or cannot be found.
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        if !is_within(schema, MAX_DEPTH) {
            return Err(format!("nested deeper than {MAX_DEPTH}"));
        }
        let mut index = Index::of(schema);
        let of_list = cost(schema, &index).ok();
        if let Some(of_list) = of_list {
            return Ok(Self { of_check: of_list, of_list: Some(of_list) });
        }
        index.find_recursive()?;
        Ok(Self { of_check: cost(schema, &index)?, of_list: None })
    }
}

fn cost(schema: &Value, index: &Index<'_>) -> Result<usize, String> {
    let (mut seen, mut open) = (HashSet::new(), vec![vec![schema]]);
    let (mut cost, mut work) = (0, 0);
    while let Some(schemas) = open.pop() {
        // Nothing is cached of values that are not arrays or objects.
        let applied = index.applied(schemas.clone(), &HashSet::new())?;
        cost = cost.max(applied.len());
        work += applied.len();
        let applied = match index.recursive.is_empty() {
            true => applied,
            false => index.applied(schemas, &index.recursive)?,
        };
        for place in places(&applied) {
            let next: Vec<&Value> =
                applied.iter().flat_map(|keywords| inner(keywords, place)).collect();
            work += applied.len();
            if work > MAX_WORK {
                return Err(too_many_references());
            }
            let mut key: Vec<usize> = next.iter().map(|schema| address(schema)).collect();
            key.sort_unstable();
            if !next.is_empty() && seen.insert(key) {
                open.push(next);
            }
        }
    }
    Ok(cost)
}

fn is_within(schema: &Value, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    match schema {
        Value::Array(elements) => elements.iter().all(|one| is_within(one, depth)),
        Value::Object(members) => members.values().all(|one| is_within(one, depth)),
        _ => true,
    }
}

fn too_many_references() -> String {
    "too many references; use fewer".to_owned()
}

/// Identifies a part of the schema.
fn address(part: &Value) -> usize {
    ptr::from_ref(part).addr()
}

type Keywords = Map<String, Value>;

/// The targets of references.
struct Index<'s> {
    root: &'s Value,
    schemas: Vec<&'s Value>,
    /// The schemas with an `$id`.
    ids: HashMap<&'s str, &'s Value>,
    anchors: HashMap<&'s str, Vec<&'s Value>>,
    /// The schema with an `$id` around a schema.
    resources: HashMap<usize, &'s Value>,
    /// The schemas that refer to themselves, if their results are cached.
    recursive: HashSet<usize>,
}

impl<'s> Index<'s> {
    fn of(root: &'s Value) -> Self {
        let (schemas, ids, anchors, resources, recursive) = Default::default();
        let mut index = Self { root, schemas, ids, anchors, resources, recursive };
        index.add(root, root);
        index
    }

    fn add(&mut self, part: &'s Value, resource: &'s Value) {
        let Value::Object(keywords) = part else { return };
        let text = |keyword| keywords.get(keyword).and_then(Value::as_str);
        let mut resource = resource;
        if let Some(id) = text("$id") {
            resource = part;
            self.ids.insert(id.trim_end_matches('#'), part);
        }
        for anchor in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
            self.anchors.entry(anchor).or_default().push(part);
        }
        self.schemas.push(part);
        self.resources.insert(address(part), resource);
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("enum" | "const" | "default" | "examples", _) => {}
                (
                    "properties" | "patternProperties" | "$defs" | "definitions"
                    | "dependentSchemas" | "dependencies",
                    Value::Object(schemas),
                ) => schemas.values().for_each(|schema| self.add(schema, resource)),
                (_, Value::Array(schemas)) => {
                    schemas.iter().for_each(|schema| self.add(schema, resource));
                }
                (_, schema) => self.add(schema, resource),
            }
        }
    }

    /// Finds the schemas that references lead back to.
    fn find_recursive(&mut self) -> Result<(), String> {
        let mut targets: HashMap<usize, Vec<&'s Value>> = HashMap::new();
        for schema in &self.schemas {
            for keyword in REFERENCES {
                if let Some(Value::String(reference)) = schema.get(keyword) {
                    let found = self.targets(reference, schema)?;
                    targets.entry(address(schema)).or_default().extend(found);
                }
            }
        }
        let mut work = 0;
        for target in targets.values().flatten() {
            let (mut seen, mut open) = (HashSet::new(), vec![*target]);
            while let Some(part) = open.pop() {
                let mut next: Vec<&Value> = match part {
                    Value::Array(elements) => elements.iter().collect(),
                    Value::Object(members) => members.values().collect(),
                    _ => Vec::new(),
                };
                next.extend(targets.get(&address(part)).into_iter().flatten());
                work += 1 + next.len();
                if work > MAX_WORK {
                    return Err(too_many_references());
                }
                if next.iter().any(|part| ptr::eq(*part, *target)) {
                    self.recursive.insert(address(target));
                    break;
                }
                open.extend(next.into_iter().filter(|part| seen.insert(address(part))));
            }
        }
        Ok(())
    }

    /// All subschemas that are applied to the value to which these are, `once` at most those of these
    /// addresses.
    fn applied(
        &self,
        schemas: Vec<&'s Value>,
        once: &HashSet<usize>,
    ) -> Result<Vec<&'s Keywords>, String> {
        let (mut applied, mut open) = (Vec::new(), schemas);
        let mut seen = HashSet::new();
        while let Some(schema) = open.pop() {
            let Value::Object(keywords) = schema else { continue };
            let address = address(schema);
            if once.contains(&address) && !seen.insert(address) {
                continue;
            }
            applied.push(keywords);
            // Unevaluated parts are found by applying the other keywords a second time.
            let is_twice = ["unevaluatedProperties", "unevaluatedItems"]
                .iter()
                .any(|keyword| keywords.contains_key(*keyword));
            for _ in 0..=usize::from(is_twice) {
                for (keyword, value) in keywords {
                    self.open(keyword, value, schema, &mut open)?;
                }
            }
            if applied.len() + open.len() > MAX {
                return Err(format!(
                    "more than {MAX} subschemas apply to one value; use fewer references and \
                     alternatives (`$ref`, `allOf`, `anyOf`, `oneOf`)"
                ));
            }
        }
        Ok(applied)
    }

    fn open(
        &self,
        keyword: &str,
        value: &'s Value,
        schema: &'s Value,
        open: &mut Vec<&'s Value>,
    ) -> Result<(), String> {
        match (keyword, value) {
            (keyword, Value::String(reference)) if REFERENCES.contains(&keyword) => {
                open.extend(self.targets(reference, schema)?);
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => open.extend(schemas),
            ("not" | "if" | "then" | "else", schema) => open.push(schema),
            ("dependentSchemas" | "dependencies", Value::Object(schemas)) => {
                open.extend(schemas.values());
            }
            _ => {}
        }
        Ok(())
    }

    fn targets(&self, reference: &str, from: &Value) -> Result<Vec<&'s Value>, String> {
        let unknown = || {
            format!(
                "unknown target `{reference}` of a `$ref`; refer to a part of the schema by a JSON \
                 Pointer (`#/$defs/…`), an `$anchor` or an `$id`"
            )
        };
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = match base {
            "" => self.resources.get(&address(from)).copied().unwrap_or(self.root),
            base => self.ids.get(base).copied().ok_or_else(unknown)?,
        };
        if fragment.is_empty() {
            return Ok(vec![resource]);
        }
        if let Some(anchored) = self.anchors.get(fragment) {
            return Ok(anchored.clone());
        }
        let found = resource.pointer(&decoded(fragment)).or_else(|| resource.pointer(fragment));
        found.map(|target| vec![target]).ok_or_else(unknown)
    }
}

/// A fragment of a URI without its percent escapes.
fn decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = after.get(..2).filter(|_| first == b'%');
        let escaped = escaped.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A step from a value to a part of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place<'s> {
    Member(&'s str),
    OtherMember,
    MemberName,
    Element(usize),
    OtherElement,
}

/// The steps that lead to subschemas.
fn places<'s>(applied: &[&'s Keywords]) -> BTreeSet<Place<'s>> {
    let mut places = BTreeSet::from([Place::OtherMember, Place::MemberName, Place::OtherElement]);
    for keywords in applied {
        if let Some(Value::Object(properties)) = keywords.get("properties") {
            places.extend(properties.keys().map(|name| Place::Member(name)));
        }
        for keyword in ["prefixItems", "items"] {
            if let Some(Value::Array(schemas)) = keywords.get(keyword) {
                places.extend((0..schemas.len()).map(Place::Element));
            }
        }
    }
    places
}

/// The subschemas of a schema that are applied to a part. Patterns are assumed to match all names.
fn inner<'s>(keywords: &'s Keywords, place: Place<'_>) -> Vec<&'s Value> {
    let mut found = Vec::new();
    let mut add = |keyword: &str| found.extend(keywords.get(keyword));
    let list = |keyword: &str| keywords.get(keyword).and_then(Value::as_array);
    match place {
        Place::MemberName => add("propertyNames"),
        Place::Member(_) | Place::OtherMember => {
            add("additionalProperties");
            add("unevaluatedProperties");
            if let Some(Value::Object(patterns)) = keywords.get("patternProperties") {
                found.extend(patterns.values());
            }
            if let (Place::Member(name), Some(Value::Object(properties))) =
                (place, keywords.get("properties"))
            {
                found.extend(properties.get(name));
            }
        }
        Place::Element(_) | Place::OtherElement => {
            ["additionalItems", "contains", "unevaluatedItems"].into_iter().for_each(&mut add);
            match (place, list("prefixItems").or_else(|| list("items"))) {
                (Place::Element(index), Some(first)) if index < first.len() => {
                    found.extend(first.get(index));
                }
                _ => found.extend(keywords.get("items").filter(|items| !items.is_array())),
            }
        }
    }
    found
}
