//! Schemas of the document, with their definitions moved to its components and references adapted.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use schemars::transform::{
    RecursiveTransform, RemoveRefSiblings, ReplacePrefixItems, ReplaceUnevaluatedProperties,
    Transform,
};
use serde::Serialize;
use serde_json::{Value, json};

use trunkline_core::schema::Schema;

const SCHEMAS: &str = "#/components/schemas/";

/// "Components Object": the schemas that other schemas of the document refer to.
#[derive(Debug, Default, Serialize)]
pub(super) struct Components {
    schemas: BTreeMap<String, Value>,
    /// Schemas with references, and their converted forms.
    #[serde(skip)]
    known: Vec<(Schema, Value)>,
}

/// A schema that becomes a separate component.
struct Part {
    /// The prefix of references to it.
    pointer: String,
    name: String,
    schema: Value,
}

impl Components {
    pub(super) fn is_empty(&self) -> bool {
        self.schemas.is_empty()
    }

    /// Converts a schema for the document. `place` names components without a title.
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
        for (name, schema) in self.name_parts(&mut root, &parts) {
            self.schemas.insert(name, schema);
        }
        self.known.push((schema.clone(), root.clone()));
        root
    }

    /// Follows references. Returns the schema itself if it is not a reference.
    pub(super) fn resolve<'a>(&'a self, mut schema: &'a Value) -> &'a Value {
        // The number of schemas bounds a chain of references, unless it is circular.
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

    /// Gives the parts names that are free or belong to equal schemas, and adapts the references in `root`.
    fn name_parts(&self, root: &mut Value, parts: &[Part]) -> Vec<(String, Value)> {
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
    /// The rest of a pointer after the pointer of this part, if it refers to this part.
    fn rest<'p>(&self, pointer: &'p str) -> Option<&'p str> {
        let rest = pointer.strip_prefix(&self.pointer)?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    }
}

/// Converts a schema to draft 7, which OpenRPC requires: without `prefixItems`, and without siblings of `$ref`.
fn draft_7(schema: Value) -> Value {
    let Ok(mut schema) = schemars::Schema::try_from(schema) else {
        return Value::Bool(true);
    };
    ReplaceUnevaluatedProperties::default().transform(&mut schema);
    RemoveRefSiblings::default().transform(&mut schema);
    ReplacePrefixItems::default().transform(&mut schema);
    schema.to_value()
}

/// Removes the definitions from a schema and returns them.
fn definitions(root: &mut Value) -> Vec<Part> {
    let mut parts = Vec::new();
    for key in ["$defs", "definitions"] {
        let removed = root.as_object_mut().and_then(|root| root.remove(key));
        let Some(Value::Object(definitions)) = removed else {
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

/// Whether the key of a component may contain this character ("Components Object").
fn is_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-".contains(c)
}

/// Unique names for the parts, with this number as a suffix if it is over 1.
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

/// The type name for a place: `MathTreeResult` for `math.tree.result`.
fn type_name(place: &str) -> String {
    let parts = place.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(|part| part[..1].to_ascii_uppercase() + &part[1..]).collect()
}

/// The references of a schema into its root.
fn pointers(schema: &mut Value) -> Vec<String> {
    let mut pointers = Vec::new();
    refer(schema, |pointer| {
        pointers.push(pointer.to_owned());
        None
    });
    pointers
}

/// Replaces the references of a schema into its root, if `target` returns a new target.
fn refer(schema: &mut Value, mut target: impl FnMut(&str) -> Option<String>) {
    let Ok(schema) = <&mut schemars::Schema>::try_from(schema) else {
        return;
    };
    let mut transform = RecursiveTransform(|schema: &mut schemars::Schema| {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let Some(pointer) = reference.filter(|text| *text == "#" || text.starts_with("#/")) else {
            return;
        };
        // A JSON Pointer in a URI fragment (RFC 6901, section 6).
        if let Some(target) = target(&percent_decode_str(pointer).decode_utf8_lossy()) {
            schema.insert("$ref".to_owned(), target.into());
        }
    });
    transform.transform(schema);
}
