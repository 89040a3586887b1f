//! The compilation of a schema, which also checks that its keywords have the values that JSON Schema defines.

use std::collections::{HashMap, HashSet, VecDeque};
use std::mem;

use serde_json::{Map, Number, Value};
use trunkline_core::error::excerpt;

use super::assertion::{Assertion, Bound, Choices, Size, Types};
use super::document::{Document, address, subschemas};
use super::number::{compare, is_integer};
use super::pattern::Pattern;
use super::program::{
    Condition, Contains, DynamicTarget, Elements, Keyword, Members, Node, NodeId, Program,
};

/// The maximum number of subschemas that are applied to one value, apart from its parts.
const MAX_APPLIED: usize = 1_000;
/// The maximum length of quoted parts of a schema, in characters.
const MAX_QUOTED: usize = 200;

/// Compiles a schema.
///
/// # Errors
/// The place and the reason of the first fault.
pub(in super::super) fn compile(schema: &Value) -> Result<Program, String> {
    let document = Document::of(schema)?;
    let mut compiler = Compiler::of(&document, patterns(schema));
    compiler.node(schema, 0);
    let located = |Invalid { part, reason }: Invalid<'_>| match document.pointer(part) {
        pointer if pointer.is_empty() => reason,
        pointer => format!("{pointer}: {reason}"),
    };
    compiler.run().map_err(located)?;
    let referenced = compiler.nodes.len();
    compiler.is_referenced = false;
    while !compiler.unreferenced.is_empty() {
        for (schema, resource) in mem::take(&mut compiler.unreferenced) {
            compiler.node(schema, resource);
        }
        compiler.run().map_err(located)?;
    }
    compiler.nodes.truncate(referenced);
    check_cost(&compiler.nodes)?;
    Ok(Program { nodes: compiler.nodes, is_dynamic: compiler.is_dynamic })
}

/// A part of a schema that is not valid.
struct Invalid<'d> {
    part: &'d Value,
    reason: String,
}

fn invalid(part: &Value, reason: impl Into<String>) -> Invalid<'_> {
    Invalid { part, reason: reason.into() }
}

struct Compiler<'c, 'd> {
    document: &'c Document<'d>,
    /// The number of regular expressions.
    patterns: usize,
    nodes: Vec<Node>,
    /// The nodes of schemas, by address.
    ids: HashMap<usize, NodeId>,
    /// The schemas whose nodes are still empty, and their resources.
    queue: VecDeque<(&'d Value, NodeId, usize)>,
    /// Schemas that no value is validated against, unless there are references to them.
    unreferenced: Vec<(&'d Value, usize)>,
    /// Whether values are validated against the schemas of the queue. In others, only the form of keywords is checked.
    is_referenced: bool,
    is_dynamic: bool,
}

/// The keywords of a schema that are evaluated together.
#[derive(Default)]
struct Groups {
    members: Option<Members>,
    elements: Option<Elements>,
    conditions: [Option<NodeId>; 3],
    contains: Option<NodeId>,
    matches: (Option<u64>, Option<u64>),
}

impl<'c, 'd> Compiler<'c, 'd> {
    fn of(document: &'c Document<'d>, patterns: usize) -> Self {
        let (nodes, ids, queue, unreferenced) = Default::default();
        let (is_referenced, is_dynamic) = (true, false);
        Self { document, patterns, nodes, ids, queue, unreferenced, is_referenced, is_dynamic }
    }

    /// The node of a schema, which is compiled later.
    fn node(&mut self, schema: &'d Value, around: usize) -> NodeId {
        let next = self.nodes.len();
        let id = *self.ids.entry(address(schema)).or_insert(next);
        if id == next {
            let resource = self.document.resource_of(schema, around);
            self.nodes.push(Node { resource, ..Node::default() });
            self.queue.push_back((schema, id, resource));
        }
        id
    }

    fn run(&mut self) -> Result<(), Invalid<'d>> {
        while let Some((schema, id, resource)) = self.queue.pop_front() {
            let mut keywords = match schema {
                Value::Bool(true) => Vec::new(),
                Value::Bool(false) => vec![Keyword::Assertion(Assertion::Never)],
                Value::Object(members) => self.keywords(members, resource)?,
                _ => {
                    let reason =
                        format!("{} is not a schema: an object or boolean", quoted(schema));
                    return Err(invalid(schema, reason));
                }
            };
            keywords.sort_by_key(Keyword::rank);
            self.nodes[id].has_unevaluated = keywords.iter().any(|keyword| {
                matches!(keyword, Keyword::UnevaluatedMembers(_) | Keyword::UnevaluatedElements(_))
            });
            self.nodes[id].steps = 1 + keywords.iter().map(Keyword::steps).sum::<usize>();
            self.nodes[id].keywords = keywords;
        }
        Ok(())
    }

    fn keywords(
        &mut self,
        schema: &'d Map<String, Value>,
        resource: usize,
    ) -> Result<Vec<Keyword>, Invalid<'d>> {
        let (mut keywords, mut groups) = (Vec::new(), Groups::default());
        for (name, value) in schema {
            if let Some(keyword) = self.keyword(name, value, resource, &mut groups)? {
                keywords.push(keyword);
            }
        }
        keywords.extend(groups.members.map(Keyword::Members));
        keywords.extend(groups.elements.map(Keyword::Elements));
        if let [Some(test), then, otherwise] = groups.conditions {
            keywords.push(Keyword::If(Condition { test, then, otherwise }));
        }
        if let (Some(schema), (minimum, maximum)) = (groups.contains, groups.matches) {
            let minimum = minimum.unwrap_or(1);
            keywords.push(Keyword::Contains(Contains { schema, minimum, maximum }));
        }
        let others = subschemas(schema).filter(|one| !self.ids.contains_key(&address(one)));
        self.unreferenced.extend(others.map(|one| (one, resource)));
        Ok(keywords)
    }

    /// Compiles a keyword, unless it belongs to a group.
    fn keyword(
        &mut self,
        name: &str,
        value: &'d Value,
        resource: usize,
        groups: &mut Groups,
    ) -> Result<Option<Keyword>, Invalid<'d>> {
        let assertion = |assertion| Ok(Some(Keyword::Assertion(assertion)));
        let size = |size| Ok(Some(Keyword::Assertion(Assertion::Size(size, count(value)?))));
        let bound = |bound| {
            let limit = number(value)?.clone();
            Ok(Some(Keyword::Assertion(Assertion::Bound(bound, limit))))
        };
        match name {
            "type" => return assertion(Assertion::Types(types(value)?)),
            "const" => return assertion(Assertion::Const(value.clone())),
            "enum" => return assertion(Assertion::Enum(Choices::new(list(value)?.clone()))),
            "minimum" => return bound(Bound::Minimum),
            "maximum" => return bound(Bound::Maximum),
            "exclusiveMinimum" => return bound(Bound::ExclusiveMinimum),
            "exclusiveMaximum" => return bound(Bound::ExclusiveMaximum),
            "multipleOf" => {
                let divisor = number(value)?;
                if compare(value, &0.into()).is_le() {
                    return Err(invalid(value, format!("{value} is not greater than 0")));
                }
                return assertion(Assertion::MultipleOf(divisor.clone()));
            }
            "minLength" => return size(Size::MinLength),
            "maxLength" => return size(Size::MaxLength),
            "minItems" => return size(Size::MinItems),
            "maxItems" => return size(Size::MaxItems),
            "minProperties" => return size(Size::MinProperties),
            "maxProperties" => return size(Size::MaxProperties),
            "required" => return Ok(Some(Keyword::Required(names(value)?))),
            "dependentRequired" => {
                let dependents = object(value)?.iter();
                let dependents =
                    dependents.map(|(name, required)| Ok((name.clone(), names(required)?)));
                return Ok(Some(Keyword::DependentRequired(dependents.collect::<Result<_, _>>()?)));
            }
            "pattern" => {
                return Ok(self.pattern(string(value)?, value)?.map(Keyword::Pattern));
            }
            "uniqueItems" => return Ok(boolean(value)?.then_some(Keyword::Unique)),
            "propertyNames" => return Ok(Some(Keyword::Names(self.node(value, resource)))),
            "dependentSchemas" => {
                let schemas = object(value)?.iter();
                let schemas = schemas.map(|(name, one)| (name.clone(), self.node(one, resource)));
                return Ok(Some(Keyword::Dependent(schemas.collect())));
            }
            "dependencies" => return self.dependencies(value, resource).map(Some),
            "allOf" => return Ok(Some(Keyword::All(self.schemas(value, resource)?))),
            "anyOf" => return Ok(Some(Keyword::Any(self.schemas(value, resource)?))),
            "oneOf" => return Ok(Some(Keyword::One(self.schemas(value, resource)?))),
            "not" => return Ok(Some(Keyword::Not(self.node(value, resource), quoted(value)))),
            "$ref" => {
                let target = self.reference(value, resource)?;
                return Ok(target.map(|(_, id)| Keyword::Ref(id)));
            }
            "$dynamicRef" => return self.dynamic_reference(value, resource),
            "unevaluatedProperties" => {
                return Ok(Some(Keyword::UnevaluatedMembers(self.node(value, resource))));
            }
            "unevaluatedItems" => {
                return Ok(Some(Keyword::UnevaluatedElements(self.node(value, resource))));
            }
            name => self.grouped(name, value, resource, groups)?,
        }
        Ok(None)
    }

    /// Compiles a keyword of a group, or checks the form of another one.
    fn grouped(
        &mut self,
        name: &str,
        value: &'d Value,
        resource: usize,
        groups: &mut Groups,
    ) -> Result<(), Invalid<'d>> {
        match name {
            "properties" => {
                let schemas = object(value)?.iter();
                let mut properties: Vec<_> =
                    schemas.map(|(name, one)| (name.clone(), self.node(one, resource))).collect();
                properties.sort_unstable();
                groups.members.get_or_insert_default().properties = properties;
            }
            "patternProperties" => {
                let members = groups.members.get_or_insert_default();
                for (pattern, schema) in object(value)? {
                    let id = self.node(schema, resource);
                    let pattern = self.pattern(pattern, value)?;
                    members.patterns.extend(pattern.map(|pattern| (pattern, id)));
                }
            }
            "additionalProperties" => {
                let additional = self.node(value, resource);
                groups.members.get_or_insert_default().additional = Some(additional);
            }
            "prefixItems" => {
                groups.elements.get_or_insert_default().first = self.schemas(value, resource)?;
            }
            "items" => {
                groups.elements.get_or_insert_default().others = Some(self.node(value, resource));
            }
            "if" => groups.conditions[0] = Some(self.node(value, resource)),
            "then" => groups.conditions[1] = Some(self.node(value, resource)),
            "else" => groups.conditions[2] = Some(self.node(value, resource)),
            "contains" => groups.contains = Some(self.node(value, resource)),
            "minContains" => groups.matches.0 = Some(count(value)?),
            "maxContains" => groups.matches.1 = Some(count(value)?),
            "$defs" | "definitions" | "$vocabulary" => {
                object(value)?;
            }
            "$id" => {
                let (_, fragment) = string(value)?.split_once('#').unwrap_or_default();
                if !fragment.is_empty() {
                    let reason = format!("{} has a fragment; use `$anchor`", quoted(value));
                    return Err(invalid(value, reason));
                }
            }
            "$anchor" | "$dynamicAnchor" => {
                let name = string(value)?;
                let is_valid = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                    && name
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
                if !is_valid {
                    let reason = format!("{} is not the name of an anchor", quoted(value));
                    return Err(invalid(value, reason));
                }
            }
            "$schema" | "$comment" | "$recursiveRef" | "title" | "description" | "format"
            | "contentEncoding" | "contentMediaType" => {
                string(value)?;
            }
            "deprecated" | "readOnly" | "writeOnly" => {
                boolean(value)?;
            }
            "examples" => {
                list(value)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The schemas and names of `dependencies`, of earlier drafts.
    fn dependencies(&mut self, value: &'d Value, resource: usize) -> Result<Keyword, Invalid<'d>> {
        let mut schemas = Vec::new();
        for (name, dependency) in object(value)? {
            let id = match dependency {
                Value::Array(_) => {
                    let keywords = vec![Keyword::Required(names(dependency)?)];
                    self.nodes.push(Node { resource, keywords, steps: 1, ..Node::default() });
                    self.nodes.len() - 1
                }
                schema => self.node(schema, resource),
            };
            schemas.push((name.clone(), id));
        }
        Ok(Keyword::Dependent(schemas))
    }

    /// The nodes of an array of schemas.
    fn schemas(&mut self, value: &'d Value, resource: usize) -> Result<Vec<NodeId>, Invalid<'d>> {
        let schemas = list(value)?;
        if schemas.is_empty() {
            return Err(invalid(value, "an empty array; it needs a schema"));
        }
        Ok(schemas.iter().map(|schema| self.node(schema, resource)).collect())
    }

    fn pattern(&self, source: &'d str, part: &'d Value) -> Result<Option<Pattern>, Invalid<'d>> {
        if !self.is_referenced {
            return Ok(None);
        }
        let pattern = Pattern::new(source, self.patterns).map_err(|reason| {
            let source = excerpt(source, MAX_QUOTED);
            invalid(part, format!("invalid pattern `{source}`: {reason}"))
        });
        pattern.map(Some)
    }

    /// The target of a reference. An unreferenced schema may refer to what does not exist.
    fn reference(
        &mut self,
        value: &'d Value,
        resource: usize,
    ) -> Result<Option<(&'d Value, NodeId)>, Invalid<'d>> {
        let reference = string(value)?;
        match self.document.target(reference, resource) {
            Ok((target, resource)) => {
                let id = self.node(target, resource);
                self.nodes[id].is_target = true;
                Ok(Some((target, id)))
            }
            Err(_) if !self.is_referenced => Ok(None),
            Err(reason) => Err(invalid(value, reason)),
        }
    }

    fn dynamic_reference(
        &mut self,
        value: &'d Value,
        resource: usize,
    ) -> Result<Option<Keyword>, Invalid<'d>> {
        let Some((target, otherwise)) = self.reference(value, resource)? else { return Ok(None) };
        let anchors = self.document.dynamic_targets(string(value)?, target).into_iter();
        let anchors: Vec<_> =
            anchors.map(|(resource, target)| (resource, self.node(target, resource))).collect();
        if anchors.iter().all(|(_, id)| *id == otherwise) {
            return Ok(Some(Keyword::Ref(otherwise)));
        }
        self.is_dynamic = true;
        Ok(Some(Keyword::DynamicRef(DynamicTarget { anchors, otherwise })))
    }
}

/// The number of regular expressions in a part of a schema, at most.
fn patterns(part: &Value) -> usize {
    match part {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| match (&**name, value) {
                ("patternProperties", Value::Object(inner)) => inner.len() + patterns(value),
                ("pattern", Value::String(_)) => 1,
                _ => patterns(value),
            })
            .sum(),
        Value::Array(elements) => elements.iter().map(patterns).sum(),
        _ => 0,
    }
}

/// Checks that few subschemas are applied to one value. References and nested `allOf`s multiply: eight levels of ten
/// references each are 10^8 subschemas, in a schema of 2 KiB.
fn check_cost(nodes: &[Node]) -> Result<(), String> {
    let mut costs = vec![None; nodes.len()];
    let is_cheap = (0..nodes.len()).all(|id| cost(id, nodes, &mut costs, 0) <= MAX_APPLIED);
    is_cheap.then_some(()).ok_or_else(|| {
        format!(
            "more than {MAX_APPLIED} subschemas apply to one value; use fewer references and \
             alternatives (`$ref`, `allOf`, `anyOf`, `oneOf`)"
        )
    })
}

/// The number of subschemas that are applied to a value of a node, at least up to the maximum. A node that refers to
/// itself reaches it.
fn cost(id: NodeId, nodes: &[Node], costs: &mut [Option<usize>], depth: usize) -> usize {
    if depth > MAX_APPLIED {
        return usize::MAX;
    }
    if let Some(cost) = costs[id] {
        return cost;
    }
    let mut sum = 1_usize;
    for next in nodes[id].keywords.iter().flat_map(Keyword::in_place) {
        sum = sum.saturating_add(cost(next, nodes, costs, depth + 1));
        if sum > MAX_APPLIED {
            break;
        }
    }
    costs[id] = Some(sum);
    sum
}

/// A part of the schema in messages.
fn quoted(part: &Value) -> String {
    excerpt(&part.to_string(), MAX_QUOTED).into_owned()
}

fn mismatch<'d>(part: &'d Value, expected: &str) -> Invalid<'d> {
    invalid(part, format!("{} is not {expected}", quoted(part)))
}

fn string(value: &Value) -> Result<&str, Invalid<'_>> {
    value.as_str().ok_or_else(|| mismatch(value, "a string"))
}

fn boolean(value: &Value) -> Result<bool, Invalid<'_>> {
    value.as_bool().ok_or_else(|| mismatch(value, "a boolean"))
}

fn number(value: &Value) -> Result<&Number, Invalid<'_>> {
    value.as_number().ok_or_else(|| mismatch(value, "a number"))
}

fn list(value: &Value) -> Result<&Vec<Value>, Invalid<'_>> {
    value.as_array().ok_or_else(|| mismatch(value, "an array"))
}

fn object(value: &Value) -> Result<&Map<String, Value>, Invalid<'_>> {
    value.as_object().ok_or_else(|| mismatch(value, "an object"))
}

/// A size: an integer that is not negative, in any notation. What exceeds 64 bits is larger than any size.
fn count(value: &Value) -> Result<u64, Invalid<'_>> {
    let is_count = |number: &&Number| is_integer(number) && compare(value, &0.into()).is_ge();
    let number = number(value).ok().filter(is_count);
    let number = number.ok_or_else(|| mismatch(value, "an integer of at least 0"))?;
    Ok(number.as_u64().or(number.as_f64().map(|float| float as u64)).unwrap_or(u64::MAX))
}

/// An array of different names.
fn names(value: &Value) -> Result<Vec<String>, Invalid<'_>> {
    let names = list(value)?.iter().map(|name| Ok(string(name)?.to_owned()));
    let names: Vec<String> = names.collect::<Result<_, _>>()?;
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(*name)) {
        Some(name) => {
            Err(invalid(value, format!("duplicate name `{}`", excerpt(name, MAX_QUOTED))))
        }
        None => Ok(names),
    }
}

/// A type, or an array of different types.
fn types(value: &Value) -> Result<Types, Invalid<'_>> {
    let bit = |name| {
        let unknown = || invalid(name, format!("unknown type {}", quoted(name)));
        Types::bit(name).ok_or_else(unknown)
    };
    let Value::Array(names) = value else { return bit(value).map(Types) };
    let mut types = 0;
    for name in names {
        let bit = bit(name)?;
        if types & bit != 0 {
            return Err(invalid(name, format!("duplicate type {name}")));
        }
        types |= bit;
    }
    if types == 0 {
        return Err(invalid(value, "an empty array; it needs a type"));
    }
    Ok(Types(types))
}
