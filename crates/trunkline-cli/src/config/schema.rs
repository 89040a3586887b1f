//! The JSON Schema of the configuration file, for editors.

use std::collections::BTreeMap;

use clap::{Arg, Command};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::caller_roles::RoleSection;
use super::clients::ClientSection;
use super::databases::DatabaseSection;
use super::quantity::{Period, Size};
use super::queries::QuerySection;
use super::secret::Secret;
use super::settings::{Kind, SETTINGS, Setting};
use super::upstreams::UpstreamSection;
use super::value::Value as TextOrSecret;

/// The JSON Schema (2020-12) of a configuration file. `command` has the flags of all settings, which describe them.
pub(crate) fn schema(command: &Command) -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut generator = settings.into_generator();
    let mut root = table();
    for setting in SETTINGS {
        insert(&mut root, setting.key.split('.'), setting.schema(command, &mut generator));
    }
    let named = [
        ("databases", generator.subschema_for::<DatabaseSection>()),
        ("queries", generator.subschema_for::<QuerySection>()),
        ("roles", generator.subschema_for::<RoleSection>()),
        ("upstreams", generator.subschema_for::<UpstreamSection>()),
        ("clients", generator.subschema_for::<ClientSection>()),
    ];
    for (name, section) in named {
        let tables = json!({"type": "object", "additionalProperties": section});
        insert(&mut root, [name].into_iter(), tables);
    }
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("trunkline.toml");
    root
}

fn table() -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": {}})
}

/// Inserts the schema of a key, with the tables that contain it.
fn insert<'p>(into: &mut Value, mut path: impl Iterator<Item = &'p str>, schema: Value) {
    let Some(name) = path.next() else {
        *into = schema;
        return;
    };
    if let Some(properties) = into["properties"].as_object_mut() {
        insert(properties.entry(name).or_insert_with(table), path, schema);
    }
}

impl Setting {
    fn schema(&self, command: &Command, generator: &mut SchemaGenerator) -> Value {
        let mut schema = Value::from(self.kind.schema(generator));
        let (Some(flag), Some(members)) = (self.flag(command), schema.as_object_mut()) else {
            return schema;
        };
        let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
        members.insert("description".to_owned(), help.into());
        let names = flag.get_possible_values();
        if self.kind == Kind::Text && !names.is_empty() {
            let names: Vec<_> = names.iter().map(|value| value.get_name().to_owned()).collect();
            members.insert("enum".to_owned(), names.into());
        }
        if let Some(default) = self.default(flag) {
            members.insert("default".to_owned(), default);
        }
        schema
    }

    /// The default of the flag, in the form of the file.
    fn default(&self, flag: &Arg) -> Option<Value> {
        let texts = flag.get_default_values().iter();
        let texts: Vec<String> = texts.map(|text| text.to_string_lossy().into_owned()).collect();
        match self.kind {
            Kind::List | Kind::Table | Kind::Secrets | Kind::NamedSecrets if texts.is_empty() => {
                None
            }
            kind => serde_json::to_value(kind.value(&texts)?).ok(),
        }
    }
}

impl Kind {
    fn schema(self, generator: &mut SchemaGenerator) -> schemars::Schema {
        match self {
            Self::Text | Self::Path | Self::PathOrUrl => generator.subschema_for::<String>(),
            Self::List => generator.subschema_for::<Vec<String>>(),
            Self::Table => generator.subschema_for::<BTreeMap<String, String>>(),
            Self::Integer => schemars::json_schema!({"type": "integer", "minimum": 0}),
            Self::Number => generator.subschema_for::<f64>(),
            Self::Size => generator.subschema_for::<Size>(),
            Self::Period => generator.subschema_for::<Period>(),
            Self::Boolean | Self::Negated => generator.subschema_for::<bool>(),
            Self::Url => generator.subschema_for::<TextOrSecret>(),
            Self::Secret => generator.subschema_for::<Secret>(),
            Self::NamedSecrets => generator.subschema_for::<BTreeMap<String, Secret>>(),
            Self::Secrets => generator.subschema_for::<Vec<Secret>>(),
        }
    }
}
