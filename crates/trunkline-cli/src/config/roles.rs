//! `role` of `[databases.NAME]`.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

/// The roles of the callers of a PostgreSQL database.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub(crate) enum RoleConfig {
    /// All callers have the same role.
    Fixed(String),
    /// A claim decides.
    Claim(RoleClaim),
}

/// `{ claim = "role", allow = ["app_reader"] }`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoleClaim {
    /// The name of the claim.
    pub(crate) claim: String,
    /// Values of the claim that are names of roles.
    #[serde(default)]
    pub(crate) allow: Vec<String>,
    /// The roles of other values.
    #[serde(default)]
    pub(crate) map: BTreeMap<String, String>,
    /// The role of callers without the claim.
    pub(crate) default: Option<String>,
}

impl RoleConfig {
    /// The reason why the setting cannot be used.
    pub(super) fn problem(&self) -> Option<String> {
        match self {
            Self::Fixed(role) if role.is_empty() => Some("the name is empty".to_owned()),
            Self::Fixed(_) => None,
            Self::Claim(rule) if rule.claim.is_empty() => Some("`claim` is empty".to_owned()),
            Self::Claim(RoleClaim { allow, map, default, .. }) => {
                let mut roles = allow.iter().chain(map.values()).chain(default);
                if allow.is_empty() && map.is_empty() {
                    return Some("`allow` or `map` is required".to_owned());
                }
                if roles.any(String::is_empty) {
                    return Some("the name of a role is empty".to_owned());
                }
                let duplicate = allow.iter().find(|role| map.contains_key(*role))?;
                Some(format!("`allow` and `map` contain the same value `{duplicate}`"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for RoleConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RoleVisitor)
    }
}

struct RoleVisitor;

impl<'de> Visitor<'de> for RoleVisitor {
    type Value = RoleConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a role, or { claim = \"NAME\", allow = [\"ROLE\"] }")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<RoleConfig, E> {
        Ok(RoleConfig::Fixed(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RoleConfig, A::Error> {
        RoleClaim::deserialize(MapAccessDeserializer::new(map)).map(RoleConfig::Claim)
    }
}
