//! `[server]`.

use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::flags::FlagValue;
use super::folder::Folder;
use super::problem::Problems;
use super::quantity::Size;

/// The addresses, TLS and limits of the server. The flags document the values.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ServerSection {
    listen: Option<Spanned<String>>,
    allow_hosts: Option<Spanned<Vec<String>>>,
    allow_origins: Option<Spanned<Vec<String>>>,
    toolset: Option<Spanned<String>>,
    tls: TlsSection,
    limits: LimitSection,
}

/// `tls = { cert = "…", key = "…" }`.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct TlsSection {
    cert: Option<Spanned<PathBuf>>,
    key: Option<Spanned<PathBuf>>,
}

/// `limits = { body = "1MiB", … }`.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct LimitSection {
    body: Option<Spanned<Size>>,
    memory: Option<Spanned<Size>>,
    calls_per_second: Option<Spanned<u32>>,
}

impl ServerSection {
    /// The values, as values of flags.
    pub(super) fn flags(&self, folder: &Folder, problems: &Problems<'_>) -> Vec<FlagValue> {
        let path = |path: &PathBuf| vec![folder.path(path).to_string_lossy().into_owned()];
        let size = |size: &Size| vec![size.0.to_string()];
        let number = |number: &u32| vec![number.to_string()];
        let Self { listen, allow_hosts, allow_origins, toolset, tls, limits } = self;
        let mut flags = Flags { problems, found: Vec::new() };
        flags.add("server.listen", "listen", listen, |address| vec![address.clone()]);
        flags.add("server.allow_hosts", "allow_host", allow_hosts, Vec::clone);
        flags.add("server.allow_origins", "allow_origin", allow_origins, Vec::clone);
        flags.add("server.toolset", "toolset", toolset, |name| vec![name.clone()]);
        flags.add("server.tls.cert", "tls_cert", &tls.cert, path);
        flags.add("server.tls.key", "tls_key", &tls.key, path);
        flags.add("server.limits.body", "max_body", &limits.body, size);
        flags.add("server.limits.memory", "max_memory", &limits.memory, size);
        let calls = &limits.calls_per_second;
        flags.add("server.limits.calls_per_second", "rate_limit", calls, number);
        flags.found
    }
}

struct Flags<'p> {
    problems: &'p Problems<'p>,
    found: Vec<FlagValue>,
}

impl Flags<'_> {
    /// Adds the value of a key for the flag with this id.
    fn add<T>(
        &mut self,
        key: &'static str,
        id: &'static str,
        value: &Option<Spanned<T>>,
        texts: impl Fn(&T) -> Vec<String>,
    ) {
        if let Some(value) = value {
            let position = self.problems.position(value.span().start);
            self.found.push(FlagValue::new(key, id, position, texts(value.get_ref())));
        }
    }
}
