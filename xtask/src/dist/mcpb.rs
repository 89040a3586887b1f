//! A bundle of an MCP server, which desktop clients install with two clicks.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::format::{Installed, timed};
use super::program::Program;
use super::release::{Release, copy};
use super::session;
use super::tools::Tools;
use crate::workspace::run;

pub(super) fn build(
    release: &Release<'_>,
    program: &Program,
    tools: &Tools,
) -> Result<Vec<PathBuf>> {
    let file = file(release);
    let content = stage(release, program, tools.mcpb(release.workspace))?;
    run(tools.mcpb(release.workspace).arg("pack").args([&content, &file]))?;
    Ok(vec![file])
}

/// The file of the bundle.
pub(super) fn file(release: &Release<'_>) -> PathBuf {
    let (version, platform) = (release.get("version"), release.get("npm_cpu"));
    release.file(&format!("trunkline-{version}-linux-{platform}.mcpb"))
}

/// Writes the content of the bundle to a folder, and validates its manifest.
pub(super) fn stage(
    release: &Release<'_>,
    program: &Program,
    mut mcpb: Command,
) -> Result<PathBuf> {
    let content = release.staging("mcpb")?;
    let manifest = content.join("manifest.json");
    release.write("mcpb/manifest.json", &manifest)?;
    copy(&program.path, &content.join("server/trunkline"))?;
    release.copy_licences(&content)?;
    run(mcpb.arg("validate").arg(&manifest)).context("npm or the manifest failed")?;
    Ok(content)
}

/// Unpacks the bundle, and starts its server as a client does.
pub(super) fn check(release: &Release<'_>, tools: &Tools, files: &[PathBuf]) -> Result<Installed> {
    let [file] = files else { unreachable!("`build` returns one file") };
    let workspace = release.workspace;
    let folder = release.staging("mcpb-installed")?;
    let content = folder.join("content");
    let install = timed(|| run(tools.mcpb(workspace).arg("unpack").args([file, &content])))?;
    let database = session::database(&folder)?;
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(content.join("manifest.json"))?)?;
    let value = |text: &Value| {
        let text = text.as_str().context("an argument is not a text")?;
        let text = text.replace("${__dirname}", &content.to_string_lossy());
        let text = text.replace("${user_config.database}", &database.to_string_lossy());
        anyhow::Ok(text.replace("${user_config.writable}", "false"))
    };
    let config = &manifest["server"]["mcp_config"];
    let mut server = workspace.command(value(&config["command"])?);
    for argument in config["args"].as_array().context("no args")? {
        server.arg(value(argument)?);
    }
    for (name, text) in config["env"].as_object().context("no env")? {
        server.env(name, value(text)?);
    }
    let first_answer = session::mcp(&mut server)?;
    Ok(Installed { install, first_answer })
}
