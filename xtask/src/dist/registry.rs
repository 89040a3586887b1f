//! `server.json`: the description of the server for the MCP registry.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::release::{Release, file_name};
use crate::workspace::{command, output};

/// Writes the description, with the checksum of the bundle.
pub(super) fn write(release: &mut Release<'_>, bundle: &Path) -> Result<()> {
    let sum = output(&mut command!(release.workspace, "sha256sum", bundle))?;
    let sum = sum.split_whitespace().next().context("unexpected output of sha256sum")?;
    write_with(release, bundle, sum)
}

/// The same, with this checksum.
pub(super) fn write_with(release: &mut Release<'_>, bundle: &Path, sum: &str) -> Result<()> {
    release.set("mcpb_sha256", sum.to_owned());
    release.set("mcpb_url", release.url(&file_name(bundle)?));
    let file = release.file("server.json");
    release.write("mcp-registry/server.json", &file)?;
    check(&serde_json::from_str(&std::fs::read_to_string(&file)?)?).context("server.json")
}

/// Checks the rules of the registry: of its schema of 2025-12-11, and of the checks at publishing.
fn check(server: &Value) -> Result<()> {
    let text = |value: &'_ Value| value.as_str().unwrap_or_default().to_owned();
    let length = text(&server["description"]).chars().count();
    ensure!((1..=100).contains(&length), "description has {length} of 1 to 100 characters");
    ensure!(is_name(&text(&server["name"])), "invalid name {}", server["name"]);
    let (version, repository) = (&server["version"], &server["repository"]);
    ensure!(is_version(&text(version)), "invalid version {version}");
    let is_valid = text(&repository["url"]).starts_with("https://");
    ensure!(is_valid && repository["source"] == "github", "invalid repository {repository}");
    let packages = server["packages"].as_array().context("no packages")?;
    ensure!(!packages.is_empty(), "no packages");
    for package in packages {
        let kind = text(&package["registryType"]);
        ensure!(package["transport"]["type"] == "stdio", "{kind}: the transport is not stdio");
        ensure!(package["version"] == *version, "{kind}: another version than the server");
        let (base, file) = (&package["registryBaseUrl"], text(&package["identifier"]));
        let is_release =
            file.starts_with("https://github.com/") && file.contains("/releases/download/");
        let sum = text(&package["fileSha256"]);
        let is_sum = sum.len() == 64 && sum.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
        ensure!(
            match &*kind {
                "npm" => base == "https://registry.npmjs.org",
                "pypi" => base == "https://pypi.org",
                "mcpb" => is_release && is_sum,
                _ => false,
            },
            "{kind}: invalid registry, file of a release or checksum: {package}"
        );
        let inputs = |key: &str| package[key].as_array().cloned().unwrap_or_default();
        for argument in inputs("packageArguments") {
            let has = |key: &str| argument[key].is_string();
            let is_valid = match argument["type"].as_str() {
                Some("positional") => has("value") || has("valueHint"),
                Some("named") => has("name"),
                _ => false,
            };
            ensure!(is_valid && is_input(&argument), "{kind}: invalid argument {argument}");
        }
        for variable in inputs("environmentVariables") {
            let is_valid = variable["name"].is_string() && is_input(&variable);
            ensure!(is_valid, "{kind}: invalid variable {variable}");
        }
    }
    Ok(())
}

/// `NAMESPACE/NAME`.
fn is_name(name: &str) -> bool {
    let is_valid = |part: &str, others: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
    };
    let parts = name.split_once('/');
    let are_valid =
        parts.is_some_and(|(space, name)| is_valid(space, ".-") && is_valid(name, "._-"));
    (3..=200).contains(&name.len()) && are_valid
}

/// A version, not a range.
fn is_version(version: &str) -> bool {
    let numbers = version.split(['-', '+']).next().unwrap_or_default();
    numbers.split('.').count() == 3 && numbers.split('.').all(|part| part.parse::<u64>().is_ok())
}

/// Values and defaults are texts, also those of numbers and booleans.
fn is_input(input: &Value) -> bool {
    let is_text = |key: &str| input.get(key).is_none_or(Value::is_string);
    let format = input["format"].as_str().unwrap_or("string");
    let is_known = ["string", "number", "boolean", "filepath"].contains(&format);
    is_text("default") && is_text("value") && is_text("format") && is_known
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_rule(pointer: &str, value: Value, expected: Option<&str>) {
        let npm = json!({
            "registryType": "npm", "registryBaseUrl": "https://registry.npmjs.org", "identifier": "x",
            "version": "1.0.0", "transport": {"type": "stdio"},
            "packageArguments": [{"type": "positional", "value": "mcp"}, {"type": "named", "name": "--db"}],
            "environmentVariables": [{"name": "A", "format": "boolean", "default": "false"}],
        });
        let mcpb = json!({
            "registryType": "mcpb", "identifier": "https://github.com/o/n/releases/download/v1.0.0/x.mcpb",
            "version": "1.0.0", "fileSha256": "a".repeat(64), "transport": {"type": "stdio"},
        });
        let mut server = json!({
            "name": "io.github.o/n", "description": "A server", "version": "1.0.0",
            "repository": {"url": "https://github.com/o/n", "source": "github"}, "packages": [npm, mcpb],
        });
        *server.pointer_mut(pointer).unwrap() = value;
        let found = check(&server).err().map(|error| error.to_string());
        let is_expected = match expected {
            Some(part) => found.as_ref().is_some_and(|found| found.contains(part)),
            None => found.is_none(),
        };
        assert!(is_expected, "{pointer}: {found:?}");
    }

    #[test]
    fn rules_of_the_registry() {
        check_rule("/description", json!("Another server"), None);
        check_rule("/description", json!("a".repeat(101)), Some("has 101 of 1 to 100 characters"));
        check_rule("/name", json!("trunkline"), Some("invalid name \"trunkline\""));
        check_rule("/name", json!("io.github.o/n/m"), Some("invalid name"));
        check_rule("/version", json!("^1.0.0"), Some("invalid version"));
        check_rule("/packages/0/version", json!("1.0.1"), Some("npm: another version"));
        check_rule("/packages/0/transport/type", json!("sse"), Some("npm: the transport"));
        let registry = json!("https://npm.example");
        check_rule("/packages/0/registryBaseUrl", registry, Some("npm: invalid registry"));
        check_rule("/packages/1/fileSha256", json!("A"), Some("mcpb: invalid registry"));
        let file = json!("https://example.com/x.mcpb");
        check_rule("/packages/1/identifier", file, Some("mcpb: invalid registry"));
        let boolean = json!([{"name": "A", "default": false}]);
        check_rule("/packages/0/environmentVariables", boolean, Some("npm: invalid variable"));
        let argument = json!([{"type": "positional"}]);
        check_rule("/packages/0/packageArguments", argument, Some("npm: invalid argument"));
    }
}
