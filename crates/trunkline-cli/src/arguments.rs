//! The command line: flags, then the environment, then defaults.

use clap::{Parser, Subcommand};

use crate::commands::{call, chat, edn, execute, monitor, openrpc, resources, tools};
use crate::server::{command_tools, serve, stdio};

/// Serves a SQLite database, and records of declared types, over JSON-RPC 2.0, the Model Context
/// Protocol and native commands.
#[derive(Parser)]
#[command(name = "trunkline", version, args_conflicts_with_subcommands = true)]
struct Line {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: serve::Serve,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Answers calls over HTTP. This is what happens without a subcommand, too.
    Serve(Box<serve::Serve>),
    /// Speaks the Model Context Protocol on stdin and stdout, for clients that start their servers.
    /// There are resources only with --resources or --expose.
    Mcp(stdio::Stdio),
    /// Calls a method of a JSON-RPC 2.0 server, and prints its result.
    Call(call::Arguments),
    /// Lists the tools of an MCP server, or calls one.
    Tools(tools::Arguments),
    /// Sends a native command to a server, and prints its result.
    Execute(execute::Arguments),
    /// Shows the types of resources of a file, or of a server.
    Resources(resources::Arguments),
    /// Prints what a JSON-RPC 2.0 server says of itself: its OpenRPC document.
    Openrpc(openrpc::Arguments),
    /// Shows the calls of a server as they come.
    Monitor(monitor::Arguments),
    /// Talks with the agent of a server.
    Chat(chat::Arguments),
    /// Converts documents between EDN and JSON, from stdin to stdout.
    Edn(edn::Arguments),
    /// Runs the commands of tools.
    #[command(subcommand, hide = true)]
    Tool(command_tools::Launch),
}

/// Reads the command line. Ends the process with a usage message (exit code 2) if it is wrong.
pub(crate) fn parse() -> Command {
    let line = Line::parse();
    line.command.unwrap_or(Command::Serve(Box::new(line.serve)))
}
