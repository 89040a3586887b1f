//! The documentation: built by mdBook, with each `console` block executed.

mod console;
mod expect;
mod page;

use std::fs;
use std::iter;
use std::path::Path;

use anyhow::{Result, ensure};

use self::console::Sandbox;
use self::page::Page;
use crate::peers;
use crate::workspace::{Workspace, command, output, run as run_command};

/// The page with the help texts of the program, which this step generates.
const COMMAND_LINE: &str = "docs/reference/command-line.md";

/// Builds the book and executes the `console` blocks of the README and of its pages.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let program = workspace.build("trunkline")?;
    let mdbook = peers::cargo_tool(workspace, "mdbook", "0.5.4")?;
    let target = workspace.path("target/book");
    run_command(&mut command!(workspace, mdbook, "build", "docs", "--dest-dir", target))?;

    let folder = workspace.fresh_folder("target/console")?;
    let mut blocks = 0;
    let mut failures = Vec::new();
    if workspace.read(Path::new(COMMAND_LINE))? != command_line(workspace, &program)? {
        failures.push(format!(
            "{COMMAND_LINE} is out of date; update it with `cargo xtask book-update`"
        ));
    }
    for path in workspace.files("md")? {
        if path != Path::new("README.md") && !path.starts_with("docs") {
            continue;
        }
        let page = Page::parse(&workspace.read(&path)?);
        blocks += page.commands.len();
        if !page.commands.is_empty() {
            println!("{}: {} commands", path.display(), page.commands.len());
            let name = path.to_string_lossy().replace('/', "-");
            let failed = Sandbox::new(&folder.join(name), &program)?.run(&page)?;
            failures.extend(failed.iter().map(|failure| format!("{}:{failure}", path.display())));
        }
    }
    println!("{blocks} commands were executed");
    ensure!(failures.is_empty(), "{}", failures.join("\n\n"));
    Ok(())
}

/// Writes the generated page.
pub(crate) fn update(workspace: &Workspace) -> Result<()> {
    let page = command_line(workspace, &workspace.build("trunkline")?)?;
    Ok(fs::write(workspace.path(COMMAND_LINE), page)?)
}

fn command_line(workspace: &Workspace, program: &Path) -> Result<String> {
    let help = |subcommand: &str| {
        let mut command = workspace.command(program);
        command.args(subcommand.split_whitespace()).arg("--help").env("COLUMNS", "100");
        output(&mut command)
    };
    let mut page = String::from(
        "# Command line\n\nGenerated from the program by `cargo xtask book-update`: the output of `--help` of each command. The flags of\n`trunkline serve` are those of `trunkline`.\n",
    );
    for subcommand in iter::once("").chain(subcommands(&help("")?)) {
        let title = format!("trunkline {subcommand}");
        let help = help(subcommand)?;
        page += &format!("\n## {}\n\n```text\n{}\n```\n", title.trim_end(), help.trim_end());
    }
    Ok(page)
}

/// The names under `Commands:`, without `help`, and without `serve`, whose flags are those of the program.
fn subcommands(help: &str) -> impl Iterator<Item = &str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed.map_while(|line| line.split_whitespace().next());
    names.filter(|name| !["help", "serve"].contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subcommands_are_listed_in_help() {
        let help = "Serve\n\nCommands:\n  serve  Serve (the default)\n  call   Call\n  help   Print\n\nOptions:\n  -h\n";
        assert_eq!(subcommands(help).collect::<Vec<_>>(), ["call"]);
    }
}
