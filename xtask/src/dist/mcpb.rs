//! A bundle of an MCP server, which desktop clients install with two clicks.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use super::program::Program;
use super::release::{Installed, Release, copy, timed};
use super::session;
use crate::workspace::run;

pub(super) fn build(release: &Release<'_>, program: &Program) -> Result<Vec<PathBuf>> {
    let (content, file) = (stage(release, program)?, file(release));
    run(release.mcpb()?.arg("pack").args([&content, &file]))?;
    Ok(vec![file])
}

/// The file of the bundle.
pub(super) fn file(release: &Release<'_>) -> PathBuf {
    let (version, platform) = (release.get("version"), release.get("npm_cpu"));
    release.file(&format!("trunkline-{version}-linux-{platform}.mcpb"))
}

/// Writes the content of the bundle to a folder, and validates its manifest.
pub(super) fn stage(release: &Release<'_>, program: &Program) -> Result<PathBuf> {
    let content = release.staging("mcpb")?;
    let manifest = content.join("manifest.json");
    release.write("mcpb/manifest.json", &manifest)?;
    copy(&program.path, &content.join("server/trunkline"))?;
    release.copy_licences(&content)?;
    run(release.mcpb()?.arg("validate").arg(&manifest)).context("npm or the manifest failed")?;
    Ok(content)
}

/// Unpacks the bundle, and starts its server as a client does.
pub(super) fn check(release: &Release<'_>, files: &[PathBuf]) -> Result<Installed> {
    let folder = release.staging("mcpb-installed")?;
    let content = folder.join("content");
    let ((), install) = timed(|| run(release.mcpb()?.arg("unpack").args(files).arg(&content)))?;
    let database = session::database(&folder)?;
    let manifest = fs::read_to_string(content.join("manifest.json"))?;
    // Paths need no escapes in JSON here.
    let manifest = manifest
        .replace("${__dirname}", &content.to_string_lossy())
        .replace("${user_config.database}", &database.to_string_lossy())
        .replace("${user_config.writable}", "false");
    let manifest: Value = serde_json::from_str(&manifest)?;
    let config = &manifest["server"]["mcp_config"];
    let mut server = release.workspace.command(config["command"].as_str().context("no command")?);
    let arguments = config["args"].as_array().context("no args")?;
    server.args(arguments.iter().filter_map(Value::as_str));
    let variables = config["env"].as_object().context("no env")?;
    server.envs(variables.iter().filter_map(|(name, value)| Some((name, value.as_str()?))));
    Ok(Installed { install, first_answer: session::mcp(&mut server, &folder)? })
}
