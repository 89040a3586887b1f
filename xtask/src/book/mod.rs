//! The documentation: built by mdBook, with each `console` block executed.

mod console;
mod expect;
mod page;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use self::page::Page;
use crate::tools;
use crate::workspace::{Workspace, output, run as run_command};

/// The page with the help texts of the program, which this step generates.
const COMMAND_LINE: &str = "docs/reference/command-line.md";

/// The commands whose long help is on that page.
const COMMANDS: [&[&str]; 10] = [
    &[],
    &["serve"],
    &["mcp"],
    &["call"],
    &["tools"],
    &["execute"],
    &["chat"],
    &["monitor"],
    &["openrpc"],
    &["edn"],
];

/// Builds the book and executes the `console` blocks of the README and of its pages.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let program = workspace.build("trunkline")?;
    let mdbook = tools::MDBOOK.ensure(workspace)?;
    let mut build = workspace.command(mdbook);
    run_command(build.args(["build", "docs", "--dest-dir"]).arg(workspace.path("target/book")))?;

    let folder = workspace.fresh_folder("target/console")?;
    let mut blocks = 0;
    let mut failures = Vec::new();
    if workspace.read(Path::new(COMMAND_LINE))? != command_line(workspace, &program)? {
        failures.push(format!(
            "{COMMAND_LINE} is out of date; update it with `cargo xtask book-update`"
        ));
    }
    for path in pages(workspace)? {
        let page = Page::parse(&workspace.read(&path)?);
        if page.commands.is_empty() {
            continue;
        }
        println!("{}: {} commands", path.display(), page.commands.len());
        blocks += page.commands.len();
        let name = path.to_string_lossy().replace('/', "-");
        let sandbox = console::Sandbox::new(&folder.join(name), &program)?;
        failures.extend(
            sandbox.run(&page).into_iter().map(|failure| format!("{}:{failure}", path.display())),
        );
    }
    println!("{blocks} commands were executed");
    if !failures.is_empty() {
        bail!("{}", failures.join("\n\n"));
    }
    Ok(())
}

/// Writes the generated page.
pub(crate) fn update(workspace: &Workspace) -> Result<()> {
    let program = workspace.build("trunkline")?;
    let path = workspace.path(COMMAND_LINE);
    fs::write(&path, command_line(workspace, &program)?)
        .with_context(|| format!("cannot write {}", path.display()))
}

fn pages(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let mut pages = workspace.files("md")?;
    pages.retain(|path| path == Path::new("README.md") || path.starts_with("docs"));
    pages.sort();
    Ok(pages)
}

fn command_line(workspace: &Workspace, program: &Path) -> Result<String> {
    let mut page = String::from(
        "# Command line\n\nGenerated from the program by `cargo xtask book-update`: the output of `--help` of each command.\n",
    );
    for command in COMMANDS {
        let title = ["trunkline"].iter().chain(command).copied().collect::<Vec<_>>().join(" ");
        let mut help = workspace.command(program);
        let help = output(help.args(command).arg("--help").env("COLUMNS", "100"))?;
        page += &format!("\n## {title}\n\n```text\n{}\n```\n", help.trim_end());
    }
    Ok(page)
}
