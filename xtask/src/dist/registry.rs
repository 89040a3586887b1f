//! `server.json`: the description of the server for the MCP registry.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::archive::{file_name, release_url};
use super::release::Release;
use crate::workspace::output;

/// Writes the description, with the checksum of the bundle.
pub(super) fn write(release: &mut Release<'_>, bundle: &Path) -> Result<()> {
    let sum = output(release.workspace.command("sha256sum").arg(bundle))?;
    let sum = sum.split_whitespace().next().context("unexpected output of sha256sum")?;
    write_with(release, bundle, sum)
}

/// The same, with this checksum.
pub(super) fn write_with(release: &mut Release<'_>, bundle: &Path, sum: &str) -> Result<()> {
    release.set("mcpb_sha256", sum.to_owned());
    release.set("mcpb_url", format!("{}/{}", release_url(release), file_name(bundle)?));
    let file = release.file("server.json");
    release.write("mcp-registry/server.json", &file)?;
    let description: Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
    let faults = faults(&description);
    if !faults.is_empty() {
        bail!("invalid server.json:\n  {}", faults.join("\n  "));
    }
    Ok(())
}

/// Violations of the rules of the registry: of its schema of 2025-12-11, and of the checks at publishing.
fn faults(server: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let mut check = |is_valid: bool, fault: String| {
        if !is_valid {
            faults.push(fault);
        }
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let length = text(&server["description"]).chars().count();
    check((1..=100).contains(&length), format!("description has {length} of 1 to 100 characters"));
    check(is_name(&text(&server["name"])), format!("invalid name {}", server["name"]));
    check(is_version(&server["version"]), format!("invalid version {}", server["version"]));
    let repository = &server["repository"];
    check(is_https(&repository["url"]), format!("invalid repository {repository}"));
    check(repository["source"] == "github", format!("unknown source of {repository}"));
    let packages = server["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    check(!packages.is_empty(), "no packages".to_owned());
    for package in packages {
        let kind = text(&package["registryType"]);
        let mut check = |is_valid: bool, fault: &str| check(is_valid, format!("{kind}: {fault}"));
        check(package["transport"]["type"] == "stdio", "the transport is not stdio");
        check(is_version(&package["version"]), "invalid version");
        check(package["version"] == server["version"], "another version than the server");
        let base = package.get("registryBaseUrl").map(text);
        let is_at = |url: &str| base.as_deref() == Some(url);
        match kind.as_str() {
            "npm" => check(is_at("https://registry.npmjs.org"), "another registry"),
            "pypi" => check(is_at("https://pypi.org"), "another registry"),
            "mcpb" => {
                let url = text(&package["identifier"]);
                let is_release =
                    url.starts_with("https://github.com/") && url.contains("/releases/download/");
                check(is_release, "the identifier is not a file of a release");
                check(is_sha256(&text(&package["fileSha256"])), "invalid fileSha256");
            }
            _ => check(false, "unknown type of registry"),
        }
        let inputs = |key: &str| package[key].as_array().cloned().unwrap_or_default();
        for argument in inputs("packageArguments") {
            let has_name = match argument["type"].as_str() {
                Some("positional") => {
                    argument["value"].is_string() || argument["valueHint"].is_string()
                }
                Some("named") => argument["name"].is_string(),
                _ => false,
            };
            check(has_name, &format!("invalid argument {argument}"));
            check(is_input(&argument), &format!("invalid values of argument {argument}"));
        }
        for variable in inputs("environmentVariables") {
            check(
                variable["name"].is_string() && is_input(&variable),
                &format!("invalid {variable}"),
            );
        }
    }
    faults
}

/// `NAMESPACE/NAME`.
fn is_name(name: &str) -> bool {
    let valid = |part: &str, others: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
    };
    (3..=200).contains(&name.len())
        && name
            .split_once('/')
            .is_some_and(|(space, name)| valid(space, ".-") && valid(name, "._-"))
}

/// A version, not a range.
fn is_version(version: &Value) -> bool {
    let Some(version) = version.as_str() else { return false };
    let numbers = version.split(['-', '+']).next().unwrap_or_default();
    numbers.split('.').count() == 3 && numbers.split('.').all(|part| part.parse::<u64>().is_ok())
}

fn is_https(url: &Value) -> bool {
    url.as_str().is_some_and(|url| url.starts_with("https://"))
}

fn is_sha256(sum: &str) -> bool {
    sum.len() == 64 && sum.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
}

/// Values and defaults are texts, also those of numbers and booleans.
fn is_input(input: &Value) -> bool {
    let is_text = |key: &str| input.get(key).is_none_or(Value::is_string);
    let format = input.get("format").map_or("string", |format| format.as_str().unwrap_or_default());
    is_text("default")
        && is_text("value")
        && ["string", "number", "boolean", "filepath"].contains(&format)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(pointer: &str, value: Value, expected: &[&str]) {
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
        assert_eq!(faults(&server), expected, "{pointer}");
    }

    #[test]
    fn rules_of_the_registry() {
        check("/description", json!("Another server"), &[]);
        check(
            "/description",
            json!("a".repeat(101)),
            &["description has 101 of 1 to 100 characters"],
        );
        check("/name", json!("trunkline"), &["invalid name \"trunkline\""]);
        check("/name", json!("io.github.o/n/m"), &["invalid name \"io.github.o/n/m\""]);
        let range = ["npm: invalid version", "npm: another version than the server"];
        check("/packages/0/version", json!("^1.0.0"), &range);
        check("/packages/0/transport/type", json!("sse"), &["npm: the transport is not stdio"]);
        check(
            "/packages/0/registryBaseUrl",
            json!("https://npm.example"),
            &["npm: another registry"],
        );
        check("/packages/1/fileSha256", json!("A"), &["mcpb: invalid fileSha256"]);
        let other = ["mcpb: the identifier is not a file of a release"];
        check("/packages/1/identifier", json!("https://example.com/x.mcpb"), &other);
        let boolean = json!([{"name": "A", "default": false}]);
        let fault = ["npm: invalid {\"default\":false,\"name\":\"A\"}"];
        check("/packages/0/environmentVariables", boolean, &fault);
        let argument = json!([{"type": "positional"}]);
        let fault = ["npm: invalid argument {\"type\":\"positional\"}"];
        check("/packages/0/packageArguments", argument, &fault);
    }
}
