//! Schemas as they stand in the document, where the root is another than the one that they refer to.

use std::collections::BTreeMap;

use schemars::transform::{
    RecursiveTransform, RemoveRefSiblings, ReplacePrefixItems, ReplaceUnevaluatedProperties,
    Transform,
};
use serde::Serialize;
use serde_json::{Value, json};

use trunkline_core::schema::Schema;

const SCHEMAS: &str = "#/components/schemas/";

/// "Components Object": what schemas of the document refer to.
#[derive(Debug, Default, Serialize)]
pub(super) struct Components {
    schemas: BTreeMap<String, Value>,
    /// Schemas that had something to share, and what they have become.
    #[serde(skip)]
    known: Vec<(Schema, Value)>,
}

/// What becomes a schema of its own among the components.
struct Part {
    /// What refers to it begins with this.
    pointer: String,
    name: String,
    schema: Value,
}

impl Components {
    pub(super) fn is_empty(&self) -> bool {
        self.schemas.is_empty()
    }

    /// The schema as it stands in the document. `place` names what is shared and has no name.
    pub(super) fn schema(&mut self, place: &str, schema: &Schema) -> Value {
        if let Some((_, known)) = self.known.iter().find(|(known, _)| known == schema) {
            return known.clone();
        }
        let mut root = schema.as_value().clone();
        let mut parts = definitions(&mut root);
        root = draft_7(root);
        let mut pointers = pointers(&mut root);
        for part in &mut parts {
            pointers.extend(self::pointers(&mut part.schema));
        }
        if pointers.is_empty() && parts.is_empty() {
            return root;
        }
        if pointers.iter().any(|pointer| parts.iter().all(|part| part.rest(pointer).is_none())) {
            let named = root.get("title").and_then(Value::as_str).unwrap_or(place);
            let (pointer, name) = ("#".to_owned(), type_name(named));
            parts.push(Part { pointer, name, schema: root });
            root = json!({ "$ref": "#" });
        }
        for (name, schema) in self.fitting(&mut root, &parts) {
            self.schemas.insert(name, schema);
        }
        self.known.push((schema.clone(), root.clone()));
        root
    }

    /// The schema that this one refers to, if it does nothing else.
    pub(super) fn resolve<'a>(&'a self, mut schema: &'a Value) -> &'a Value {
        // A chain of references is no longer than there are schemas, unless it is a circle.
        for _ in 0..=self.schemas.len() {
            let pointer = schema.get("$ref").and_then(Value::as_str);
            let name = pointer.and_then(|pointer| pointer.strip_prefix(SCHEMAS));
            match name.and_then(|name| self.schemas.get(name)) {
                Some(target) => schema = target,
                None => break,
            }
        }
        schema
    }

    /// The parts under names that are free or stand for the very same, and `root` referring to them.
    fn fitting(&self, root: &mut Value, parts: &[Part]) -> Vec<(String, Value)> {
        let mut number = 1;
        loop {
            let names = names(parts, number);
            let renamed = |schema: &Value| {
                let mut schema = schema.clone();
                refer(&mut schema, |pointer| {
                    let mut renamed = parts.iter().zip(&names);
                    renamed.find_map(|(part, name)| {
                        part.rest(pointer).map(|rest| format!("{SCHEMAS}{name}{rest}"))
                    })
                });
                schema
            };
            let schemas: Vec<_> = parts.iter().map(|part| renamed(&part.schema)).collect();
            let mut named = names.iter().zip(&schemas);
            let is_free =
                |(name, schema)| self.schemas.get(name).is_none_or(|known| known == schema);
            if named.all(is_free) {
                *root = renamed(root);
                return names.into_iter().zip(schemas).collect();
            }
            number += 1;
        }
    }
}

impl Part {
    /// What of a pointer leads on inside this part, if it leads to it.
    fn rest<'p>(&self, pointer: &'p str) -> Option<&'p str> {
        let rest = pointer.strip_prefix(&self.pointer)?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    }
}

/// "The Schema Objects MUST follow" draft 7, which knows no `prefixItems`, and nothing beside a `$ref`.
fn draft_7(schema: Value) -> Value {
    let Ok(mut schema) = schemars::Schema::try_from(schema) else {
        return Value::Bool(true);
    };
    ReplaceUnevaluatedProperties::default().transform(&mut schema);
    RemoveRefSiblings::default().transform(&mut schema);
    ReplacePrefixItems::default().transform(&mut schema);
    schema.to_value()
}

/// Takes the definitions out of a schema.
fn definitions(root: &mut Value) -> Vec<Part> {
    let mut parts = Vec::new();
    for key in ["$defs", "definitions"] {
        let taken = root.as_object_mut().and_then(|root| root.remove(key));
        let Some(Value::Object(definitions)) = taken else {
            continue;
        };
        for (name, schema) in definitions {
            let token = name.replace('~', "~0").replace('/', "~1");
            let name = name.replace(|c| !is_key(c), "_");
            let pointer = format!("#/{key}/{token}");
            parts.push(Part { pointer, name, schema: draft_7(schema) });
        }
    }
    parts
}

/// What a component's key consists of ("Components Object").
fn is_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-".contains(c)
}

/// The names of the parts when each has this number, and no two the same name.
fn names(parts: &[Part], number: usize) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(parts.len());
    for part in parts {
        let mut name = part.name.clone();
        if number > 1 {
            name += &number.to_string();
        }
        while names.contains(&name) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

/// `math.tree.result` as generators name types: `MathTreeResult`.
fn type_name(place: &str) -> String {
    let words = place.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}

/// The pointers into its own root that a schema has.
fn pointers(schema: &mut Value) -> Vec<String> {
    let mut pointers = Vec::new();
    refer(schema, |pointer| {
        pointers.push(pointer.to_owned());
        None
    });
    pointers
}

/// Gives every reference into the schema's own root another target, where there is one.
fn refer(schema: &mut Value, mut target: impl FnMut(&str) -> Option<String>) {
    let Ok(schema) = <&mut schemars::Schema>::try_from(schema) else {
        return;
    };
    let mut transform = RecursiveTransform(|schema: &mut schemars::Schema| {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let Some(pointer) = reference.filter(|text| *text == "#" || text.starts_with("#/")) else {
            return;
        };
        if let Some(target) = target(&percent_decoded(pointer)) {
            schema.insert("$ref".to_owned(), target.into());
        }
    });
    transform.transform(schema);
}

/// A pointer in a URL has its unusual characters encoded (RFC 6901, section 6).
fn percent_decoded(pointer: &str) -> String {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| str::from_utf8(digits).ok());
        let encoded = digits.filter(|_| first == b'%');
        match encoded.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
