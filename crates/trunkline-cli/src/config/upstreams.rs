//! `[upstreams.NAME]`, and `--upstream`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use trunkline::Pattern;
use trunkline::client::http::Url;
use trunkline_gateway::{
    CommandTarget, HttpTarget, Target, ToolFilter, UpstreamConfig, UpstreamName,
};

use super::command::split;
use super::folder::Folder;
use super::problem::Problems;
use super::quantity::Period;
use super::secret::Secret;
use super::token_file::TokenFile;
use super::value::Value;

/// The upstream servers, by name.
pub(crate) type Upstreams = IndexMap<UpstreamName, UpstreamConfig>;

/// An MCP server whose tools are served.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct UpstreamSection {
    #[schemars(with = "Option<String>")]
    url: Option<Spanned<String>>,
    #[schemars(with = "Option<Secret>")]
    bearer: Option<Spanned<Secret>>,
    #[schemars(with = "BTreeMap<String, Value>")]
    headers: IndexMap<String, Spanned<Value>>,
    #[schemars(with = "Vec<String>")]
    redirects: Vec<Spanned<String>>,
    #[schemars(with = "Option<Vec<String>>")]
    command: Option<Spanned<Vec<String>>>,
    #[schemars(with = "BTreeMap<String, Value>")]
    env: IndexMap<String, Spanned<Value>>,
    #[schemars(with = "Option<PathBuf>")]
    folder: Option<Spanned<PathBuf>>,
    allow: Vec<String>,
    deny: Vec<String>,
    pin: bool,
    #[schemars(with = "bool", extend("default" = true))]
    rewrite_schemas: Option<bool>,
    #[schemars(with = "Option<Period>")]
    timeout: Option<Spanned<Period>>,
    #[schemars(with = "Option<Period>")]
    connect_timeout: Option<Spanned<Period>>,
}

/// The valid upstreams of the file. The others are among the problems.
pub(super) fn read(
    sections: IndexMap<Spanned<String>, UpstreamSection>,
    folder: &Folder,
    problems: &mut Problems<'_>,
) -> Upstreams {
    let mut upstreams = Upstreams::new();
    for (name, section) in sections {
        let span = name.span();
        let name = name.into_inner();
        match name.parse::<UpstreamName>() {
            Ok(parsed) => {
                let mut reader = Reader { name: &name, span, folder, problems };
                if let Some(config) = reader.upstream(section) {
                    upstreams.insert(parsed, config);
                }
            }
            Err(error) => {
                problems.add(&span, format!("invalid name `{name}` in `upstreams`: {error}"));
            }
        }
    }
    upstreams
}

/// An upstream of the command line: `NAME=URL` or `NAME=COMMAND`.
pub(crate) fn parse(text: &str) -> Result<(UpstreamName, UpstreamConfig), String> {
    const FORMAT: &str = "the format is NAME=URL or NAME=COMMAND";
    let (name, target) = text.split_once('=').ok_or(FORMAT)?;
    let name = name.trim().parse().map_err(|error| format!("{error}; {FORMAT}"))?;
    let target = target.trim();
    let is_url = ["http://", "https://"].iter().any(|scheme| target.starts_with(scheme));
    let target = if is_url {
        let url: Result<Url, _> = target.parse();
        Target::Http(HttpTarget::new(url.map_err(|error| error.to_string())?))
    } else {
        let command = split(target)?.into_iter().map(Into::into);
        Target::Command(CommandTarget::new(command).map_err(|error| error.to_string())?)
    };
    Ok((name, UpstreamConfig::new(target)))
}

/// The reader of one section.
struct Reader<'r, 't> {
    name: &'r str,
    /// The place of the name.
    span: Range<usize>,
    folder: &'r Folder,
    problems: &'r mut Problems<'t>,
}

impl Reader<'_, '_> {
    fn upstream(&mut self, section: UpstreamSection) -> Option<UpstreamConfig> {
        let patterns = |texts: &[String]| texts.iter().map(|text| Pattern::new(text)).collect();
        let tools = ToolFilter { allow: patterns(&section.allow), deny: patterns(&section.deny) };
        let (pin, rewrite_schemas) = (section.pin, section.rewrite_schemas.unwrap_or(true));
        let timeout = self.time("timeout", section.timeout.as_ref());
        let connect_timeout = self.time("connect_timeout", section.connect_timeout.as_ref());
        let mut config = UpstreamConfig::new(self.target(section)?);
        (config.tools, config.pin) = (tools, pin);
        config.rewrite_schemas = rewrite_schemas;
        config.call_timeout = timeout.unwrap_or(config.call_timeout);
        config.connect_timeout = connect_timeout.unwrap_or(config.connect_timeout);
        Some(config)
    }

    fn time(&mut self, key: &str, period: Option<&Spanned<Period>>) -> Option<Duration> {
        let period = period?;
        let time = period.get_ref().0;
        if time.is_zero() {
            self.problem(&period.span(), key, "the time must be longer than 0");
        }
        Some(time)
    }

    fn target(&mut self, section: UpstreamSection) -> Option<Target> {
        match (&section.url, &section.command) {
            (Some(_), None) => self.http(section).map(Target::Http),
            (None, Some(_)) => self.command(section).map(Target::Command),
            (Some(_), Some(command)) => {
                self.problem(
                    &command.span(),
                    "command",
                    "an upstream has either `url` or `command`",
                );
                None
            }
            (None, None) => {
                let keys = ["url", "command"].map(|key| format!("upstreams.{}.{key}", self.name));
                if !keys.iter().any(|key| self.problems.concern(key)) {
                    let message = format!("`upstreams.{}` requires `url` or `command`", self.name);
                    self.problems.add(&self.span, message);
                }
                None
            }
        }
    }

    fn http(&mut self, section: UpstreamSection) -> Option<HttpTarget> {
        let env = section.env.values().next().map(Spanned::span);
        self.refuse("env", env, "command");
        self.refuse("folder", section.folder.map(|folder| folder.span()), "command");
        let url = section.url.and_then(|url| self.url("url", &url));
        let redirects = section.redirects.iter();
        let redirects = redirects.filter_map(|url| self.url("redirects", url)).collect();
        let mut token_source = None;
        let bearer = section.bearer.and_then(|secret| {
            let token = self.secret(&secret.span(), "bearer", secret.get_ref())?;
            let parsed = token.parse();
            let bearer = self.valid(&secret.span(), "bearer", parsed)?;
            match secret.get_ref().file(self.folder) {
                None => Some(bearer),
                Some(file) => {
                    token_source = Some(Arc::new(TokenFile::new(file, token)) as _);
                    None
                }
            }
        });
        let mut target = HttpTarget::new(url?);
        for (name, value) in section.headers {
            let span = value.span();
            if let Some(value) = self.value(&span, "headers", value.into_inner()) {
                let with_header = target.clone().header(&name, &value);
                target = self.valid(&span, "headers", with_header).unwrap_or(target);
            }
        }
        (target.bearer, target.redirects) = (bearer, redirects);
        target.token_source = token_source;
        Some(target)
    }

    fn command(&mut self, section: UpstreamSection) -> Option<CommandTarget> {
        let headers = section.headers.values().next().map(Spanned::span);
        self.refuse("bearer", section.bearer.map(|secret| secret.span()), "url");
        self.refuse("headers", headers, "url");
        self.refuse("redirects", section.redirects.first().map(Spanned::span), "url");
        let command = section.command?;
        let span = command.span();
        let target = CommandTarget::new(command.into_inner().into_iter().map(Into::into));
        let mut target = self.valid(&span, "command", target)?;
        for (name, value) in section.env {
            let span = value.span();
            if let Some(value) = self.value(&span, "env", value.into_inner()) {
                target.environment.push((name.into(), value.into()));
            }
        }
        target.folder = section.folder.map(|folder| self.folder.path(folder.get_ref()));
        Some(target)
    }

    /// Refuses a key that applies to the other kind of upstream.
    fn refuse(&mut self, key: &str, span: Option<Range<usize>>, kind: &str) {
        if let Some(span) = span {
            self.problem(&span, key, &format!("the key applies to upstreams with a `{kind}`"));
        }
    }

    fn url(&mut self, key: &str, url: &Spanned<String>) -> Option<Url> {
        let parsed = url.get_ref().parse();
        self.valid(&url.span(), key, parsed)
    }

    fn value(&mut self, span: &Range<usize>, key: &str, value: Value) -> Option<String> {
        let text = value.read(self.folder);
        self.valid(span, key, text)
    }

    fn secret(&mut self, span: &Range<usize>, key: &str, secret: &Secret) -> Option<String> {
        let text = secret.read(self.folder);
        self.valid(span, key, text).map(|text| text.get().to_owned())
    }

    fn valid<T>(
        &mut self,
        span: &Range<usize>,
        key: &str,
        value: Result<T, impl ToString>,
    ) -> Option<T> {
        value.map_err(|error| self.problem(span, key, &error.to_string())).ok()
    }

    fn problem(&mut self, span: &Range<usize>, key: &str, reason: &str) {
        self.problems.add(span, format!("`upstreams.{}.{key}`: {reason}", self.name));
    }
}
