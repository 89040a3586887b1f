//! Portable schemas, and their combination.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::kind::Kind;
use crate::protocol::shortened;

/// The data that a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    /// Arguments, which a model writes. `has_headers` is whether clients copy arguments to headers (2026-07-28).
    Arguments { has_headers: bool },
    /// Results, which clients validate.
    Results,
}

/// A portable schema: at most one type, and the keywords that all hosts accept.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Node {
    /// None if values may have any type.
    pub(super) kind: Option<Kind>,
    pub(super) description: Option<String>,
    /// Sentences that replace other keywords.
    notes: Vec<String>,
    /// None if the schema does not name properties.
    properties: Option<BTreeMap<String, Node>>,
    pub(super) required: Vec<String>,
    /// Whether other properties are refused.
    pub(super) is_closed: bool,
    items: Option<Box<Node>>,
    /// The texts that are allowed, if not all are.
    pub(super) texts: Option<Vec<String>>,
    /// The other values that are allowed, if not all are.
    pub(super) values: Option<Vec<Value>>,
    /// The forms of results, of which each matches one.
    alternatives: Vec<Node>,
    /// Keywords that are the same in the portable form.
    pub(super) rest: Map<String, Value>,
}

/// The maximum number of values, alternatives and properties in a sentence.
const MAX_LISTED: usize = 30;

/// The schema of several alternatives.
pub(super) fn any_of(alternatives: Vec<Node>, usage: Usage) -> Node {
    let mut distinct: Vec<Node> = Vec::with_capacity(alternatives.len());
    for node in alternatives {
        if !distinct.contains(&node) {
            distinct.push(node);
        }
    }
    // An argument that may be null can be omitted.
    if usage != Usage::Results && distinct.iter().any(|node| node.kind != Some(Kind::Null)) {
        distinct.retain(|node| node.kind != Some(Kind::Null));
    }
    if distinct.len() <= 1 {
        return distinct.pop().unwrap_or_default();
    }
    if usage == Usage::Results {
        return any_result(distinct);
    }
    // The first of the most specific forms, since the others can often be written in this form, too.
    let Some(best) = distinct.iter().min_by_key(|node| node.rank()) else {
        return Node::default();
    };
    let kind = best.kind;
    let is_same = |node: &Node| node.kind == kind || node.is_number() && kind == Some(Kind::Number);
    let (same, others): (Vec<_>, Vec<_>) = distinct.into_iter().partition(is_same);
    let requirements = requirements(&same);
    let mut node = merged(same, usage);
    node.notes.extend(requirements);
    if !others.is_empty() {
        let forms: Vec<_> = others.iter().map(Node::summary).collect();
        node.note(format!("Also accepts: {}.", sentence(&forms)));
    }
    for other in others {
        node.notes.extend(other.description.map(|text| shortened(&text)));
        node.notes.extend(other.notes);
    }
    node
}

/// The schema of several results, which accepts all of them. APIs of models do not receive it, so it may have
/// alternatives.
fn any_result(alternatives: Vec<Node>) -> Node {
    let kind = alternatives.first().and_then(|node| node.kind);
    let kind = kind.filter(|kind| alternatives.iter().all(|node| node.kind == Some(*kind)));
    match kind {
        Some(Kind::Object | Kind::Array) => Node { kind, alternatives, ..Node::default() },
        Some(_) => merged(alternatives, Usage::Results),
        None if alternatives.iter().any(Node::accepts_all) => Node::default(),
        None => Node { alternatives, ..Node::default() },
    }
}

/// The schema of alternatives of one type.
fn merged(alternatives: Vec<Node>, usage: Usage) -> Node {
    let descriptions: Vec<_> = alternatives.iter().filter_map(Node::described).collect();
    let mut nodes = alternatives.into_iter();
    let first = nodes.next().unwrap_or_default();
    let has_own = first.description.is_some() && first.texts.as_ref().is_none_or(Vec::is_empty);
    let mut node = nodes.fold(first, |node, other| node.or(other, usage));
    if !has_own {
        node.description = None;
    }
    if usage != Usage::Results {
        // The first description is that of the result.
        let described = descriptions.into_iter().skip(usize::from(has_own)).take(MAX_LISTED);
        described.for_each(|text| node.note(text));
    }
    node
}

/// The properties that alternatives require, if they differ.
fn requirements(alternatives: &[Node]) -> Option<String> {
    let is_common = |name: &&String| alternatives.iter().all(|node| node.required.contains(*name));
    let own = |node: &Node| {
        let names = node.required.iter().filter(|name| !is_common(name));
        names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
    };
    let mut all: Vec<_> = alternatives.iter().map(own).collect();
    all.dedup();
    let differ = all.len() > 1 && all.iter().all(|names| !names.is_empty());
    differ.then(|| format!("Requires {}.", all.join(", or ")))
}

impl Node {
    pub(super) fn of(kind: Kind) -> Self {
        Self { kind: Some(kind), ..Self::default() }
    }

    /// Whether values may have any type.
    fn accepts_all(&self) -> bool {
        self.kind.is_none() && self.alternatives.is_empty()
    }

    fn is_number(&self) -> bool {
        matches!(self.kind, Some(Kind::Number | Kind::Integer))
    }

    pub(super) fn set_properties(&mut self, properties: BTreeMap<String, Node>) {
        self.properties = Some(properties);
    }

    pub(super) fn set_items(&mut self, items: Option<Node>) {
        self.items = items.map(Box::new);
    }

    /// Sets the items of an array by their positions. Others may follow.
    pub(super) fn set_tuple(&mut self, items: Vec<Node>, usage: Usage) {
        let forms: Vec<_> = items.iter().map(Node::summary).collect();
        self.note(format!("The first items are: {}.", sentence(&forms)));
        if usage != Usage::Results {
            self.set_items(Some(any_of(items, usage)));
        }
    }

    /// Adds a sentence to the description.
    pub(super) fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    pub(super) fn note_values(&mut self, prefix: &str, values: &Self) {
        if values.kind.is_some() || values.description.is_some() {
            let text = values.description.as_ref().map(|text| format!(": {}", shortened(text)));
            let text = text.unwrap_or_else(|| ".".to_owned());
            self.note(format!("{prefix}: {}{text}", values.summary()));
        }
    }

    /// Requires no property.
    pub(super) fn optional(mut self) -> Self {
        self.required.clear();
        self
    }

    /// Values that match both. Where keywords differ, those of the first count, which accepts more.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.description = self.description.or(other.description);
        other.notes.into_iter().for_each(|text| self.note(text));
        self.kind = match (self.kind, other.kind) {
            (None, kind) | (kind, None) => kind,
            (Some(Kind::Number), Some(Kind::Integer)) => Some(Kind::Integer),
            (Some(kind), Some(other))
                if kind == other || (kind, other) == (Kind::Integer, Kind::Number) =>
            {
                Some(kind)
            }
            // Nothing matches both.
            (Some(_), Some(_)) => return self,
        };
        self.merge_properties(other.properties, Self::and);
        for name in other.required {
            if !self.required.contains(&name) {
                self.required.push(name);
            }
        }
        self.is_closed |= other.is_closed;
        self.items = match (self.items, other.items) {
            (Some(own), Some(other)) => Some(Box::new(own.and(*other))),
            (own, other) => own.or(other),
        };
        if self.alternatives.is_empty() {
            self.alternatives = other.alternatives;
        }
        self.texts = common(self.texts, other.texts);
        self.values = common(self.values, other.values);
        for (keyword, value) in other.rest {
            let is_default = keyword == "default";
            if !is_default || self.kind.is_some_and(|kind| kind.includes(&value)) {
                self.rest.entry(keyword).or_insert(value);
            }
        }
        self
    }

    /// Values of the same type that match one of both. Objects and arrays are arguments.
    fn or(mut self, other: Self, usage: Usage) -> Self {
        if self.kind != other.kind {
            self.kind = Some(Kind::Number);
        }
        self.description = self.description.or(other.description);
        other.notes.into_iter().for_each(|text| self.note(text));
        self.merge_properties(other.properties, |own, other| any_of(vec![own, other], usage));
        self.required.retain(|name| other.required.contains(name));
        self.is_closed &= other.is_closed;
        self.items = match (self.items, other.items) {
            (Some(own), Some(other)) => Some(Box::new(any_of(vec![*own, *other], usage))),
            (own, other) => own.or(other),
        };
        if usage != Usage::Results && self.texts.is_some() != other.texts.is_some() {
            let texts = self.texts.iter().chain(&other.texts).flatten();
            let examples: Vec<_> = texts.map(|text| json!(text).to_string()).collect();
            self.note(format!("For example: {}.", sentence(&examples)));
        }
        self.texts = all_of(self.texts, other.texts);
        self.values = all_of(self.values, other.values);
        self.rest.retain(|keyword, value| other.rest.get(keyword) == Some(value));
        self
    }

    fn merge_properties(
        &mut self,
        others: Option<BTreeMap<String, Self>>,
        merge: impl Fn(Self, Self) -> Self,
    ) {
        let Some(others) = others else { return };
        let properties = self.properties.get_or_insert_default();
        for (name, node) in others {
            let node = match properties.remove(&name) {
                Some(own) => merge(own, node),
                None => node,
            };
            properties.insert(name, node);
        }
    }

    /// The order in which alternatives are chosen, the best first.
    fn rank(&self) -> u8 {
        let has_structure = match self.kind {
            Some(Kind::Object) => self.properties.as_ref().is_some_and(|all| !all.is_empty()),
            Some(Kind::Array) => self.items.as_ref().is_some_and(|items| items.rank() < 3),
            _ => false,
        };
        match self.kind {
            _ if has_structure => 0,
            Some(Kind::String) => 1,
            Some(Kind::Object | Kind::Array) => 3,
            Some(Kind::Number) => 4,
            Some(Kind::Integer) => 5,
            Some(Kind::Boolean) => 6,
            Some(Kind::Null) => 7,
            None => 8,
        }
    }

    /// A short description of the values.
    fn summary(&self) -> String {
        if let Some(texts) = &self.texts {
            let texts: Vec<_> = texts.iter().map(|text| json!(text).to_string()).collect();
            return sentence(&texts);
        }
        if let Some(values) = &self.values {
            return sentence(&values.iter().map(Value::to_string).collect::<Vec<_>>());
        }
        match (self.kind, &self.items) {
            (None, _) if !self.alternatives.is_empty() => {
                let forms: Vec<_> = self.alternatives.iter().map(Self::summary).collect();
                forms.join(" or ")
            }
            (None, _) => "any JSON value".to_owned(),
            (Some(Kind::Array), Some(items)) if items.kind.is_some() => {
                format!("array of {}", items.summary())
            }
            (Some(kind), _) => kind.name().to_owned(),
        }
    }

    /// The description of an alternative, with the text that it describes.
    fn described(&self) -> Option<String> {
        let text = shortened(self.description.as_ref()?);
        Some(match self.texts.as_deref() {
            Some([only]) => format!("{}: {text}", json!(only)),
            _ => text,
        })
    }

    pub(super) fn into_value(mut self, usage: Usage) -> Value {
        let is_result = usage == Usage::Results;
        if !is_result && matches!(self.kind, None | Some(Kind::Null)) {
            // An API requires a type.
            self.note(format!("{}.", if self.kind.is_none() { "Any JSON value" } else { "Null" }));
            self.kind = Some(Kind::String);
            self.rest.remove("default");
        }
        let mut schema = std::mem::take(&mut self.rest);
        if let Some(kind) = self.kind {
            schema.insert("type".to_owned(), kind.name().into());
        }
        match self.kind {
            Some(Kind::Object) => self.write_properties(&mut schema, usage),
            Some(Kind::Array) => {
                let items = self.items.take().map(|items| *items);
                let has_kind = items.as_ref().is_some_and(|items| items.kind.is_some());
                if let Some(items) =
                    items.as_ref().filter(|items| !has_kind && !items.alternatives.is_empty())
                {
                    // Some clients require a type of items.
                    self.note(format!("The items are: {}.", items.summary()));
                }
                if has_kind || !is_result {
                    let items = items.unwrap_or_default().into_value(usage);
                    schema.insert("items".to_owned(), items);
                }
            }
            _ => {}
        }
        if !self.alternatives.is_empty() {
            let all = std::mem::take(&mut self.alternatives).into_iter();
            let all: Vec<_> = all.map(|node| node.into_value(usage)).collect();
            schema.insert("anyOf".to_owned(), all.into());
        }
        if let Some(texts) = self.texts.take() {
            schema.insert("enum".to_owned(), texts.into());
        }
        if let Some(values) = self.values.take() {
            let values: Vec<_> = values.iter().map(Value::to_string).collect();
            self.note(format!("One of: {}.", sentence(&values)));
        }
        if let Some(text) = self.text() {
            schema.insert("description".to_owned(), text.into());
        }
        schema.into()
    }

    fn write_properties(&mut self, schema: &mut Map<String, Value>, usage: Usage) {
        let all = self.properties.take().unwrap_or_default();
        let (properties, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
            all.into_iter().partition(|(name, _)| usage == Usage::Results || is_portable(name));
        for (name, node) in others.iter().take(MAX_LISTED) {
            self.note_values(
                &format!("Also accepts the property {}", shortened(&json!(name).to_string())),
                node,
            );
        }
        self.required.retain(|name| properties.contains_key(name));
        if !self.required.is_empty() {
            schema.insert("required".to_owned(), std::mem::take(&mut self.required).into());
        }
        if self.is_closed && others.is_empty() {
            schema.insert("additionalProperties".to_owned(), false.into());
        }
        let properties = properties.into_iter();
        let properties = properties.map(|(name, node)| (name, node.into_value(usage)));
        schema.insert("properties".to_owned(), Value::Object(properties.collect()));
    }

    /// The description, followed by the notes.
    fn text(&mut self) -> Option<String> {
        let mut text = self.description.take().unwrap_or_default();
        for note in &self.notes {
            if !text.is_empty() {
                let end = if text.ends_with(['.', '!', '?', ':', ';']) { " " } else { ". " };
                text += end;
            }
            text += note;
        }
        (!text.is_empty()).then_some(text)
    }
}

/// Whether APIs accept the name of a property.
fn is_portable(name: &str) -> bool {
    const MAX: usize = 64;
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=MAX).contains(&name.len()) && name.bytes().all(is_allowed)
}

/// The values that both allow.
fn common<T: PartialEq>(one: Option<Vec<T>>, other: Option<Vec<T>>) -> Option<Vec<T>> {
    match (one, other) {
        (Some(mut one), Some(other)) => {
            if one.iter().any(|value| other.contains(value)) {
                one.retain(|value| other.contains(value));
            }
            Some(one)
        }
        (one, other) => one.or(other),
    }
}

/// The values that one of both allows.
fn all_of<T: PartialEq>(one: Option<Vec<T>>, other: Option<Vec<T>>) -> Option<Vec<T>> {
    let (mut all, other) = (one?, other?);
    for value in other {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    Some(all)
}

/// Texts with commas between them.
pub(super) fn sentence(texts: &[String]) -> String {
    let mut all = String::new();
    for (index, text) in texts.iter().take(MAX_LISTED).enumerate() {
        all += if index > 0 { ", " } else { "" };
        all += &shortened(text);
    }
    if texts.len() > MAX_LISTED {
        // Writing to a string never fails.
        let _ = write!(all, " and {} more", texts.len() - MAX_LISTED);
    }
    all
}
