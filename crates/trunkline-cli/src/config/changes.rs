//! Changes between two readings of the configuration.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Value;
use toml::de::{DeTable, ValueDeserializer};
#[cfg(feature = "postgres")]
use trunkline_sql::postgres::PostgresUrl;

use super::flags::EffectiveSetting;
use super::folder::Folder;
use super::secret::{Secret, SecretFile};
use super::settings::{Kind, SETTINGS};

/// The sections with names whose change a running server applies.
const LIVE_SECTIONS: [&str; 3] = ["queries", "roles", UPSTREAMS];

const UPSTREAMS: &str = "upstreams";

/// The sections with names, and their keys, whose secrets are read again.
const REREAD: [(&str, &str); 2] = [("databases", "url"), (UPSTREAMS, "bearer")];

/// The settings whose secrets are read again.
const REREAD_SETTINGS: [&str; 2] = ["store.url", "telemetry.otlp_headers"];

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
                let reread = REREAD.iter().find(|(reread, _)| reread == section);
                let reread = reread.and_then(|(_, name)| value.as_table_mut()?.remove(*name));
                let reread = reread.map(|value| reread_value(section, value, folder));
                values.push((key, format!("{}{reread:?}", with_secrets(value, folder))));
            }
        }
    }
    values
}

/// A value whose user and password, or token, need no restart if they are in a file: for new connections to a database,
/// and when an upstream refuses a token, the file is read again.
fn reread_value(section: &str, value: Value, folder: &Folder) -> Value {
    match Secret::deserialize(value.clone()) {
        Ok(Secret::File(_)) if section == UPSTREAMS => value,
        Ok(secret @ Secret::File(_)) => {
            let text = secret.read(folder).ok();
            let text = text.map(|text| Value::String(without_credentials(text.get())));
            Value::Array([Some(value), text].into_iter().flatten().collect())
        }
        _ => with_secrets(value, folder),
    }
}

/// A URL of PostgreSQL without the user and the password. Other texts are not changed.
fn without_credentials(text: &str) -> String {
    #[cfg(feature = "postgres")]
    if let Ok(url) = text.parse::<PostgresUrl>() {
        return url.without_credentials();
    }
    text.to_owned()
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
    /// `file` returns the file of a setting that is a secret.
    pub(super) fn new(
        settings: &[EffectiveSetting],
        sections: &[(String, String)],
        file: impl Fn(&str) -> Option<SecretFile>,
    ) -> Self {
        let settings = settings.iter().map(|EffectiveSetting { setting, values, .. }| {
            let file = file(setting.key).filter(|_| REREAD_SETTINGS.contains(&setting.key));
            let text = match (file, &**values) {
                (Some(file), [url]) if setting.kind == Kind::Url => {
                    format!("{file:?} {:?}", without_credentials(url))
                }
                (Some(file), _) => format!("{file:?}"),
                _ => format!("{values:?}"),
            };
            (setting.key.to_owned(), text)
        });
        Self(settings.chain(sections.iter().cloned()).collect())
    }

    /// The keys whose values differ.
    pub(crate) fn changes(&self, new: &Self) -> Changes {
        let mut keys: Vec<&String> = self.0.keys().chain(new.0.keys()).collect();
        keys.sort();
        keys.dedup();
        keys.retain(|key| self.0.get(*key) != new.0.get(*key));
        let (live, fixed) = keys.into_iter().cloned().partition(|key| is_live(key));
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
