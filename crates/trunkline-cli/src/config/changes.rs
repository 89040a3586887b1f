//! Changes between two readings of the configuration.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Value;
use toml::de::{DeTable, ValueDeserializer};

use super::flags::EffectiveSetting;
use super::folder::Folder;
use super::secret::Secret;
use super::settings::SETTINGS;

/// The sections with names whose change a running server applies.
const LIVE_SECTIONS: [&str; 2] = ["queries", "roles"];

/// The section with names whose tables a running server replaces, but does not add or remove.
const REPLACED_SECTION: &str = "upstreams";

/// The values of a configuration, by key. It contains secrets, and is only compared.
#[derive(Default)]
pub(crate) struct Snapshot(BTreeMap<String, String>);

/// The keys of changed values.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Those that a running server applies.
    pub(crate) live: Vec<String>,
    /// Those that require a restart.
    pub(crate) fixed: Vec<String>,
}

/// The values of the tables in sections with names, with the secrets that they refer to.
pub(super) fn sections(
    document: &DeTable<'_>,
    sections: &[&str],
    folder: &Folder,
) -> Vec<(String, String)> {
    let mut values = Vec::new();
    for section in sections {
        let tables = document.get(*section).and_then(|section| section.get_ref().as_table());
        for (name, table) in tables.into_iter().flatten() {
            if let Ok(mut value) = Value::deserialize(ValueDeserializer::from(table.clone())) {
                let key = format!("{section}.{}", name.get_ref());
                // A token in a file is read again when the upstream refuses it: it needs no restart.
                let token = match value.as_table_mut() {
                    Some(table) if *section == REPLACED_SECTION => table.remove("bearer"),
                    _ => None,
                };
                let token = token.map(|token| match Secret::deserialize(token.clone()) {
                    Ok(Secret::File(_)) => token,
                    _ => with_secrets(token, folder),
                });
                values.push((key, format!("{}{token:?}", with_secrets(value, folder))));
            }
        }
    }
    values
}

/// Adds the text of each secret that a value refers to.
fn with_secrets(value: Value, folder: &Folder) -> Value {
    match value {
        Value::Table(table) => {
            let secret = Secret::deserialize(Value::Table(table.clone()));
            let text = secret.ok().and_then(|secret| secret.read(folder).ok());
            let entries = table.into_iter().map(|(key, value)| (key, with_secrets(value, folder)));
            let text = text.map(|text| ("secret".to_owned(), text.get().into()));
            Value::Table(entries.chain(text).collect())
        }
        Value::Array(values) => {
            Value::Array(values.into_iter().map(|value| with_secrets(value, folder)).collect())
        }
        other => other,
    }
}

impl Snapshot {
    pub(super) fn new(settings: &[EffectiveSetting], sections: &[(String, String)]) -> Self {
        let settings = settings.iter().map(|EffectiveSetting { setting, values, .. }| {
            (setting.key.to_owned(), format!("{values:?}"))
        });
        Self(settings.chain(sections.iter().cloned()).collect())
    }

    /// The keys whose values differ.
    pub(crate) fn changes(&self, new: &Self) -> Changes {
        let mut keys: Vec<&String> = self.0.keys().chain(new.0.keys()).collect();
        keys.sort();
        keys.dedup();
        keys.retain(|key| self.0.get(*key) != new.0.get(*key));
        let is_replaced = |key: &String| self.0.contains_key(key) && new.0.contains_key(key);
        let (live, fixed) = keys.into_iter().cloned().partition(|key| {
            is_live(key) || section_of(key) == REPLACED_SECTION && is_replaced(key)
        });
        Changes { live, fixed }
    }

    /// Takes the values of these keys from `new`.
    pub(crate) fn apply(&mut self, keys: &[String], new: &Self) {
        for key in keys {
            match new.0.get(key) {
                Some(value) => self.0.insert(key.clone(), value.clone()),
                None => self.0.remove(key),
            };
        }
    }
}

/// Whether a running server applies a change of this key.
fn is_live(key: &str) -> bool {
    match SETTINGS.iter().find(|setting| setting.key == key) {
        Some(setting) => setting.is_live,
        None => LIVE_SECTIONS.contains(&section_of(key)),
    }
}

fn section_of(key: &str) -> &str {
    key.split('.').next().unwrap_or(key)
}
