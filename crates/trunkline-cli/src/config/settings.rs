//! The keys of the file that have a flag. A key has the values, checks and description of its flag.

use std::ops::Range;
use std::path::PathBuf;

use clap::{Arg, Command};
use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

use super::caller_roles::check_name;
use super::folder::Folder;
use super::quantity::{Period, Size};
use super::secret::Secret;
use super::value::Value as TextOrSecret;

/// A key and its flag.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The path of the key, such as `server.limits.body`.
    pub(crate) key: &'static str,
    /// The id of the flag's argument.
    pub(super) id: &'static str,
    pub(crate) kind: Kind,
    /// Whether a running server applies a change.
    pub(crate) is_live: bool,
}

/// The form of a value in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    /// An array of texts.
    List,
    /// A table of texts: `"db.*" = "scope:read"` is `db.*=scope:read` on the command line.
    Table,
    /// A path, relative to the directory of the file.
    Path,
    /// A path, or a URL.
    PathOrUrl,
    Integer,
    /// A number with a fraction.
    Number,
    /// A number of bytes, or text such as `1MiB`.
    Size,
    /// Text such as `5s`. The flag has milliseconds.
    Period,
    Boolean,
    /// A boolean whose flag means `false`.
    Negated,
    /// `{ env = "NAME" }` or `{ file = "PATH" }`.
    Secret,
    /// An array of secrets.
    Secrets,
    /// A table of secrets: `ci = { env = "NAME" }` is `ci=SECRET` on the command line.
    NamedSecrets,
    /// A URL that may have a password, or a secret.
    Url,
}

/// A setting whose change requires a restart.
const fn setting(key: &'static str, id: &'static str, kind: Kind) -> Setting {
    Setting { key, id, kind, is_live: false }
}

/// A setting whose change a running server applies.
const fn live(key: &'static str, id: &'static str, kind: Kind) -> Setting {
    Setting { key, id, kind, is_live: true }
}

/// All settings, grouped by their sections.
pub(crate) const SETTINGS: &[Setting] = &[
    setting("server.listen", "listen", Kind::Text),
    setting("server.health_listen", "health_listen", Kind::Text),
    live("server.allow_hosts", "allow_host", Kind::List),
    live("server.allow_origins", "allow_origin", Kind::List),
    setting("server.data_dir", "data_dir", Kind::Path),
    setting("server.writable", "writable", Kind::Boolean),
    setting("server.database_tools", "db_tools", Kind::Text),
    setting("server.toolset", "toolset", Kind::Text),
    setting("server.console", "console", Kind::Boolean),
    setting("server.output_schemas", "output_schemas", Kind::Boolean),
    setting("server.max_tool_name", "max_tool_name", Kind::Integer),
    setting("server.confirm_destructive", "confirm_destructive", Kind::Boolean),
    setting("server.confirm_after_cancel", "confirm_after_cancel", Kind::Boolean),
    setting("server.audit_log", "audit_log", Kind::Path),
    setting("server.log_format", "log_format", Kind::Text),
    live("server.tls.cert", "tls_cert", Kind::Path),
    live("server.tls.key", "tls_key", Kind::Path),
    live("server.tls.client_ca", "tls_client_ca", Kind::Path),
    live("server.limits.body", "max_body", Kind::Size),
    setting("server.limits.memory", "max_memory", Kind::Size),
    live("server.limits.calls_per_second", "rate_limit", Kind::Integer),
    setting("server.limits.rows", "max_rows", Kind::Integer),
    setting("server.limits.affected_rows", "max_affected", Kind::Integer),
    setting("server.limits.query_time", "query_timeout_ms", Kind::Period),
    setting("server.limits.export_time", "export_timeout_ms", Kind::Period),
    setting("server.limits.export_rows", "max_export_rows", Kind::Integer),
    setting("server.limits.sqlite_memory", "heap_limit", Kind::Size),
    live("access.bearer", "bearer", Kind::Secrets),
    live("access.tokens", "named_token", Kind::NamedSecrets),
    live("access.jwks", "jwks", Kind::PathOrUrl),
    live("access.audiences", "audience", Kind::List),
    live("access.issuers", "issuer", Kind::List),
    live("access.resource_url", "resource_url", Kind::Text),
    live("access.authorization_servers", "authorization_server", Kind::List),
    live("access.read_scope", "read_scope", Kind::Text),
    live("access.write_scope", "write_scope", Kind::Text),
    live("access.scope_claims", "scope_claim", Kind::List),
    live("access.require", "require", Kind::Table),
    setting("store.url", "store", Kind::Url),
    setting("records.types", "records", Kind::Path),
    setting("records.expose", "expose", Kind::List),
    setting("command_tools.folder", "path", Kind::Path),
    setting("agent.url", "url", Kind::Text),
    setting("agent.model", "model", Kind::Text),
    live("agent.key", "key", Kind::Secret),
    setting("agent.context_tokens", "context", Kind::Integer),
    setting("agent.max_tools", "agent_max_tools", Kind::Integer),
    setting("agent.first_token_time", "agent_first_token_ms", Kind::Period),
    setting("agent.token_time", "agent_token_ms", Kind::Period),
    setting("agent.turn_time", "agent_turn_ms", Kind::Period),
    setting("agent.allow", "allow", Kind::List),
    setting("agent.deny", "deny", Kind::List),
    setting("history.enabled", "no_history", Kind::Negated),
    setting("history.entries", "history_entries", Kind::Integer),
    setting("history.bytes", "history_bytes", Kind::Size),
    setting("history.resources", "history_resources", Kind::Boolean),
    live("history.redact", "history_redact", Kind::List),
    setting("history.log", "log", Kind::Boolean),
    setting("history.log_bytes", "log_bytes", Kind::Size),
    setting("telemetry.otlp_endpoint", "otlp_endpoint", Kind::Text),
    setting("telemetry.otlp_headers", "otlp_headers", Kind::Secret),
    setting("telemetry.service_name", "service_name", Kind::Text),
    setting("telemetry.sample_ratio", "sample_ratio", Kind::Number),
];

/// The message, with the keys of settings instead of the flags of `trunkline serve`.
pub(crate) fn with_keys(message: &str, program: &Command) -> String {
    let serve = program.find_subcommand("serve");
    let key_of = |name: &str| {
        let long = |setting: &Setting| setting.flag(serve?)?.get_long();
        SETTINGS.iter().find(|setting| long(setting) == Some(name)).map(|setting| setting.key)
    };
    let (mut result, mut rest) = (String::new(), message);
    while let Some((before, after)) = rest.split_once("--") {
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let (name, after) = after.split_at(end.unwrap_or(after.len()));
        result += before;
        // Values are not changed, such as the host `a--key`.
        let is_flag = result.is_empty() || result.ends_with([' ', '(']);
        match key_of(name).filter(|_| is_flag) {
            Some(key) => result += key,
            None => result += &format!("--{name}"),
        }
        rest = after;
    }
    result + rest
}

/// The names of the sections that contain settings.
pub(super) fn sections() -> Vec<&'static str> {
    let mut sections: Vec<_> = SETTINGS.iter().map(Setting::section).collect();
    sections.dedup();
    sections
}

/// The keys in the table at a path, in their order.
pub(super) fn keys_of(path: &str) -> Vec<&'static str> {
    let below = |setting: &Setting| setting.key.strip_prefix(path)?.strip_prefix('.');
    let names = SETTINGS.iter().filter_map(below).filter_map(|rest| rest.split('.').next());
    let mut names: Vec<_> = names.collect();
    names.dedup();
    names
}

/// Checks a URL before its flag does, whose errors would contain it.
#[cfg(feature = "postgres")]
fn check_store(url: &str) -> Result<(), String> {
    super::store::StoreUrl::parse(url).map(drop)
}

#[cfg(not(feature = "postgres"))]
fn check_store(_: &str) -> Result<(), String> {
    Err("this build has no support for PostgreSQL".to_owned())
}

/// A number, which may be written without a fraction.
fn toml_number(value: Spanned<DeValue<'_>>) -> Result<f64, toml::de::Error> {
    match value.get_ref() {
        DeValue::Integer(_) => Ok(i32::deserialize_value(value)?.into()),
        _ => f64::deserialize_value(value),
    }
}

/// Reads a value with the deserializer of its type.
pub(super) trait FromValue: DeserializeOwned {
    fn deserialize_value(value: Spanned<DeValue<'_>>) -> Result<Self, toml::de::Error> {
        Self::deserialize(ValueDeserializer::from(value))
    }
}

impl<T: DeserializeOwned> FromValue for T {}

/// The reason why a value is invalid, and the place if it is only a part of the value.
pub(super) struct Invalid {
    pub(super) span: Option<Range<usize>>,
    pub(super) message: String,
}

impl From<toml::de::Error> for Invalid {
    fn from(error: toml::de::Error) -> Self {
        Self { span: error.span(), message: error.message().to_owned() }
    }
}

impl Setting {
    /// The first part of the path.
    pub(crate) fn section(&self) -> &'static str {
        self.key.split('.').next().unwrap_or(self.key)
    }

    /// The flag, if the command has it.
    pub(crate) fn flag<'c>(&self, command: &'c Command) -> Option<&'c Arg> {
        command.get_arguments().find(|argument| argument.get_id() == self.id)
    }
}

impl Kind {
    /// The value as texts of the command line.
    pub(super) fn texts(
        self,
        value: Spanned<DeValue<'_>>,
        folder: &Folder,
    ) -> Result<Vec<String>, Invalid> {
        let secret = |secret: Spanned<Secret>| match secret.get_ref().read(folder) {
            Ok(text) => Ok(text.get().to_owned()),
            Err(message) => Err(Invalid { span: Some(secret.span()), message }),
        };
        let in_folder = |path: PathBuf| folder.path(&path).to_string_lossy().into_owned();
        let text = match self {
            Self::List => return Ok(Vec::<String>::deserialize_value(value)?),
            Self::Table => {
                let table = IndexMap::<String, String>::deserialize_value(value)?;
                return Ok(table
                    .into_iter()
                    .map(|(key, value)| format!("{key}={value}"))
                    .collect());
            }
            Self::Secrets => {
                if matches!(value.get_ref(), DeValue::String(_)) {
                    // The message of another type contains the text, which is probably the secret.
                    secret(Spanned::<Secret>::deserialize_value(value)?)?;
                    return Ok(Vec::new());
                }
                let secrets = Vec::<Spanned<Secret>>::deserialize_value(value)?;
                return secrets.into_iter().map(secret).collect();
            }
            Self::NamedSecrets => {
                let secrets =
                    IndexMap::<Spanned<String>, Spanned<Secret>>::deserialize_value(value)?;
                let named = |(name, value): (Spanned<String>, Spanned<Secret>)| {
                    if let Err(rule) = check_name(name.get_ref()) {
                        let message = format!("invalid name `{}`: {rule}", name.get_ref());
                        return Err(Invalid { span: Some(name.span()), message });
                    }
                    Ok(format!("{}={}", name.get_ref(), secret(value)?))
                };
                return secrets.into_iter().map(named).collect();
            }
            Self::Url => {
                let url = Spanned::<TextOrSecret>::deserialize_value(value)?;
                let read =
                    url.get_ref().read(folder).and_then(|text| check_store(&text).map(|()| text));
                read.map_err(|message| Invalid { span: Some(url.span()), message })?
            }
            Self::Secret => secret(Spanned::<Secret>::deserialize_value(value)?)?,
            Self::Text => String::deserialize_value(value)?,
            Self::Path => in_folder(PathBuf::deserialize_value(value)?),
            Self::PathOrUrl => match String::deserialize_value(value)? {
                url if url.contains("://") => url,
                path => in_folder(path.into()),
            },
            Self::Integer => u64::deserialize_value(value)?.to_string(),
            // `1` and `1.0`.
            Self::Number => toml_number(value)?.to_string(),
            Self::Size => Size::deserialize_value(value)?.0.to_string(),
            Self::Period => Period::deserialize_value(value)?.0.as_millis().to_string(),
            Self::Boolean => bool::deserialize_value(value)?.to_string(),
            Self::Negated => (!bool::deserialize_value(value)?).to_string(),
        };
        Ok(vec![text])
    }
}
