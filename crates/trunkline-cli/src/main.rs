//! The `trunkline` binary.

mod arguments;
mod client;
mod commands;
mod config;
#[cfg(test)]
mod documentation;
mod oauth;
mod server;
mod shell;
mod telemetry;
mod terminal;

use std::process::ExitCode;

use arguments::Command;
use commands::{
    call, chat, database, edn, execute, health, logout, monitor, openrpc, prompts, records,
    resources, tools,
};
use config::Config;
use server::{command_tools, doctor, init, serve, stdio};
use terminal::output;

fn main() -> ExitCode {
    if let Some(code) = init::first_process() {
        return code;
    }
    config::remove_blank_variables(arguments::command);
    let (command, config) = arguments::parse();
    let telemetry = match telemetry::start(command.telemetry()) {
        Ok(telemetry) => telemetry,
        Err(error) => {
            output::error(&error);
            return ExitCode::FAILURE;
        }
    };
    let code = run(command, &config);
    telemetry.stop();
    code
}

fn run(command: Command, config: &Config) -> ExitCode {
    let outcome = match command {
        Command::Serve(arguments) => serve::run(&arguments, config, arguments::reread),
        Command::Mcp(arguments) => stdio::run(&arguments, config),
        Command::Config(command) => commands::config::run(&command, config, &arguments::command()),
        Command::Doctor(arguments) => match doctor::run(&arguments, config) {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        Command::Health(arguments) => match health::run(&arguments) {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        Command::Call(arguments) => return call::run(&arguments),
        Command::Tools(arguments) => return tools::run(&arguments),
        Command::Prompts(arguments) => return prompts::run(&arguments),
        Command::Execute(arguments) => return execute::run(&arguments),
        Command::Resources(arguments) => return resources::run(&arguments),
        Command::Records(command) => return records::run(&command),
        Command::Logout(arguments) => return logout::run(&arguments),
        Command::Openrpc(arguments) => return openrpc::run(&arguments),
        Command::Monitor(arguments) => return monitor::run(&arguments),
        Command::Chat(arguments) => return chat::run(&arguments),
        Command::Edn(arguments) => return edn::run(&arguments),
        Command::Export(arguments) => return database::export(&arguments),
        Command::Import(arguments) => return database::import(&arguments),
        Command::Backup(arguments) => return database::backup(&arguments),
        Command::Completions(arguments) => {
            return shell::print_completions(&arguments, arguments::command());
        }
        Command::Man(arguments) => shell::write_man_pages(&arguments, arguments::command()),
        Command::Tool(arguments) => return command_tools::run(arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error);
            match error.is::<config::ConfigError>() {
                true => ExitCode::from(2),
                false => ExitCode::FAILURE,
            }
        }
    }
}
