//! The code blocks of the documentation: command lines, configuration files and messages, read as the program reads them.
//!
//! | block | check |
//! |---|---|
//! | `rust`, and blocks without a language in the documentation of an API | the page is part of the documentation tests of a crate |
//! | `console` | the page is executed by `cargo xtask book` |
//! | `sh`, and lines after `$ ` in `text` | commands of `trunkline` are parsed; bodies of requests are valid |
//! | `toml`, `yaml` | read as a configuration file, a manifest of a tool, declarations of records, or dependencies |
//! | `json` | parsed |
//! | `sql`, `nginx`, `ini` | executed by the tests that [`EXECUTED`] names |
//!
//! Blocks of other languages are errors.

mod page;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use clap::Command;
use serde_json::Value;
use trunkline_command_tools::{ToolConfig, ToolManifest};
use trunkline_records::RecordTypes;

use self::page::{Block, Page, Words, of_trunkline, pages, read_line, repository};
use crate::arguments::{self, command};
use crate::config::Config;

/// Pages with blocks that other tests execute, and the files of these tests.
const EXECUTED: [(&str, &str, &str); 5] = [
    ("sql", "docs/guides/postgresql.md", "crates/trunkline-cli/tests/it/postgres/guide.rs"),
    ("sql", "docs/operations/nodes.md", "crates/trunkline-cli/tests/it/postgres/guide.rs"),
    ("nginx", "docs/operations/nodes.md", "crates/trunkline-cli/tests/it/nodes/proxy.rs"),
    ("nginx", "docs/operations/proxies.md", "crates/trunkline-cli/tests/it/nodes/guides.rs"),
    ("ini", "docs/operations/systemd.md", "xtask/src/dist/deb.rs"),
];

/// Runs `check` for each block of these languages, and panics with all failures and their places.
#[track_caller]
fn check_blocks(languages: &[&str], mut check: impl FnMut(&Page, &Block) -> Result<(), String>) {
    let mut failures = Vec::new();
    let mut count = 0;
    for page in pages() {
        for block in page.blocks().iter().filter(|block| languages.contains(&block.language())) {
            count += 1;
            if let Err(failure) = check(&page, block) {
                failures.push(format!("{}:{}: {failure}", page.path, block.line));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count > 0, "no page has a block of these languages: {languages:?}");
}

#[test]
fn blocks_have_a_language_that_is_checked() {
    for page in pages() {
        for block in page.blocks() {
            let language = block.language();
            let is_checked = match language {
                "rust" | "sh" | "text" | "toml" | "yaml" | "json" => true,
                "console" => page.path == "README.md" || page.path.starts_with("docs/"),
                language => {
                    let mut executed = EXECUTED.iter();
                    executed.any(|(one, path, _)| (*one, *path) == (language, &*page.path))
                }
            };
            assert!(
                is_checked,
                "{}:{}: no test reads blocks of `{language}` on this page; see `documentation` of trunkline-cli",
                page.path, block.line
            );
        }
    }
    for (language, page, test) in EXECUTED {
        let code = fs::read_to_string(repository().join(test)).unwrap();
        let (_, name) = page.rsplit_once('/').unwrap();
        assert!(code.contains(name), "{test} does not read {language} of {page}");
    }
}

/// An ignored block has a comment before it, which names the file that it is compiled as.
#[test]
fn code_is_compiled() {
    let tested = documentation_tests();
    check_blocks(&["rust"], |page, block| {
        if !block.info.contains("ignore") {
            let is_tested = tested.contains(&page.path);
            let missing = "no crate has this page in its documentation tests";
            return if is_tested { Ok(()) } else { Err(missing.to_owned()) };
        }
        let file = block.before.strip_prefix("<!-- compiled as ");
        let file = file.and_then(|rest| rest.strip_suffix(" -->"));
        let file = file.ok_or("an ignored block has no `<!-- compiled as FILE -->` before it")?;
        let code =
            fs::read_to_string(repository().join(file)).map_err(|error| error.to_string())?;
        // The layout of the page may be more compact.
        let compact = |code: &str| {
            let code: String = code.split_whitespace().collect();
            code.replace(",}", "}")
        };
        if compact(&code) != compact(&block.text) {
            return Err(format!("the block differs from {file}"));
        }
        Ok(())
    });
}

/// The pages that crates include in their documentation.
fn documentation_tests() -> BTreeSet<String> {
    let root = repository().canonicalize().unwrap();
    let mut included = BTreeSet::new();
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        let source = entry.unwrap().path().join("src");
        for name in ["lib.rs", "guide.rs"] {
            let Ok(code) = fs::read_to_string(source.join(name)) else { continue };
            for rest in code.split("#[doc = include_str!(\"").skip(1) {
                let path = source.join(rest.split('"').next().unwrap()).canonicalize().unwrap();
                included.insert(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    included
}

#[test]
fn command_lines_are_valid() {
    check_blocks(&["sh", "console", "text"], |page, block| {
        for words in block.commands() {
            if let Some(words) = of_trunkline(&words) {
                parse(words).map_err(|error| format!("`{}`: {error}", words.join(" ")))?;
                check_params(words)?;
            }
            if words.iter().any(|word| word == "curl") {
                let is_served = words.iter().any(|word| word.contains("127.0.0.1:8080"));
                if is_served && block.language() == "sh" && page.path.starts_with("docs/") {
                    return Err(
                        "a request in an `sh` block is not executed: use `console`".to_owned()
                    );
                }
                check_body(&words)?;
            }
        }
        Ok(())
    });
}

/// Parses a command line as the program does, without a configuration file.
fn parse(words: &[String]) -> Result<(), String> {
    match arguments::check_line(words) {
        Err(error) if error.use_stderr() => Err(error.to_string()),
        _ => Ok(()),
    }
}

/// The environment variables that the help texts name.
fn variables() -> BTreeSet<String> {
    fn add(command: &mut Command, found: &mut BTreeSet<String>) {
        let help = command.render_long_help().to_string();
        found.extend(variables_in(&help).map(str::to_owned));
        command.get_subcommands_mut().for_each(|command| add(command, found));
    }
    let mut found = BTreeSet::new();
    add(&mut command(), &mut found);
    found
}

fn variables_in(text: &str) -> impl Iterator<Item = &str> {
    let names = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    names.filter(|name| name.starts_with("TRUNKLINE_"))
}

/// Checks the params of `trunkline call` and similar commands that are JSON.
fn check_params(words: &[String]) -> Result<(), String> {
    for word in words {
        let json = word.split_once(":=").map(|(_, json)| json).or(Some(&**word));
        let is_json = word.contains(":=") || word.starts_with('{');
        if let Some(json) = json.filter(|_| is_json) {
            serde_json::from_str::<Value>(json).map_err(|error| format!("{json}: {error}"))?;
        }
    }
    Ok(())
}

/// Checks the body of a request.
fn check_body(words: &[String]) -> Result<(), String> {
    let Some(at) = words.iter().position(|word| word == "-d") else { return Ok(()) };
    let body = words.get(at + 1).ok_or("`-d` without a body")?;
    let invalid = |error: &dyn std::fmt::Display| format!("{body}: {error}");
    if words.iter().any(|word| word == "Content-Type: application/edn") {
        return trunkline_edn::read(body).map(drop).map_err(|error| invalid(&error));
    }
    serde_json::from_str::<Value>(body).map(drop).map_err(|error| invalid(&error))
}

/// Commands within sentences have known subcommands and flags; the arguments can be missing. Variables are known, too.
#[test]
fn commands_in_sentences_are_known() {
    let program = command();
    let variables = variables();
    let mut failures = Vec::new();
    for page in pages() {
        for span in page.spans() {
            let mut commands = Vec::new();
            if !span.starts_with("trunkline ") {
                continue;
            }
            read_line(&span, &mut commands);
            for words in commands {
                let words = of_trunkline(&words).unwrap_or_default();
                if let Some(unknown) = unknown(&program, words) {
                    failures.push(format!("{}: `{span}`: unknown {unknown}", page.path));
                }
            }
        }
        for name in variables_in(&page.text) {
            if !variables.contains(name) {
                failures.push(format!("{}: unknown variable `{name}`", page.path));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The first subcommand or flag that the program does not have.
fn unknown(program: &Command, words: &[String]) -> Option<String> {
    let mut command = program;
    for (index, word) in words.iter().enumerate().skip(1).take_while(|(_, word)| *word != "--") {
        if let Some(found) = command.find_subcommand(word) {
            command = found;
        } else if let Some(flag) = word.strip_prefix("--") {
            let flag = flag.split_once('=').map_or(flag, |(flag, _)| flag);
            let is_known =
                command.get_arguments().any(|argument| argument.get_long() == Some(flag));
            if !is_known && !["help", "version"].contains(&flag) {
                return Some(format!("flag `--{flag}`"));
            }
        } else if index == 1 && !word.contains(['.', '/']) && word != "help" {
            return Some(format!("subcommand `{word}`"));
        }
    }
    None
}

/// A file that continues the previous ones of its page has other sections.
#[test]
fn configuration_files_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    let mut before = (String::new(), String::new());
    check_blocks(&["toml", "yaml"], |page, block| {
        let text = match block.language() {
            "toml" => block.text.clone(),
            _ => embedded_configuration(&block.text),
        };
        let table: toml::Table = toml::from_str(&text).map_err(|error| error.to_string())?;
        if table.contains_key("dependencies") {
            return check_dependencies(&table);
        }
        if table.contains_key("command") {
            write_scripts(page, folder.path());
            let config = ToolConfig::default();
            let parsed = ToolManifest::parse(&text, Path::new("t.toml"), folder.path(), &config);
            return parsed.map(drop).map_err(|error| error.to_string());
        }
        if table.contains_key("records") {
            return RecordTypes::parse(&text).map(drop).map_err(|error| error.to_string());
        }
        let continued = format!("{}\n{text}", before.1);
        let continues = before.0 == page.path && toml::from_str::<toml::Table>(&continued).is_ok();
        before = (page.path.clone(), if continues { continued } else { text });
        check_configuration(&before.1, folder.path())
    });
}

/// Reads a configuration file, with files in place of variables, which a test cannot set.
fn check_configuration(text: &str, folder: &Path) -> Result<(), String> {
    let text = text.replace("{ env = \"", "{ file = \"");
    for rest in text.split("{ file = \"").skip(1) {
        let name = rest.split('"').next().unwrap();
        fs::write(folder.join(name), "postgres://trunkline@db.example/shop").unwrap();
    }
    let parsed = Config::parse(folder.join("trunkline.toml"), &text, &command());
    parsed.map(drop).map_err(|error| error.to_string())
}

/// The file `trunkline.toml` in a YAML document, or an empty text.
fn embedded_configuration(yaml: &str) -> String {
    let lines = yaml.lines().skip_while(|line| line.trim() != "trunkline.toml: |").skip(1);
    let lines = lines.map_while(|line| line.strip_prefix("    "));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Writes the scripts of a page, whose second line is a comment with their name.
fn write_scripts(page: &Page, folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    for block in page.blocks().iter().filter(|block| block.text.starts_with("#!")) {
        let name = block.text.lines().nth(1).and_then(|line| line.strip_prefix("# ")).unwrap();
        let path = folder.join(Path::new(name).file_name().unwrap());
        fs::write(&path, &block.text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Checks that crates of this repository exist, with their versions and features.
fn check_dependencies(table: &toml::Table) -> Result<(), String> {
    let dependencies = table["dependencies"].as_table().ok_or("`dependencies` is not a table")?;
    for (name, value) in dependencies.iter().filter(|(name, _)| name.starts_with("trunkline")) {
        let manifest = repository().join("crates").join(name).join("Cargo.toml");
        let manifest = fs::read_to_string(manifest).map_err(|error| format!("{name}: {error}"))?;
        let manifest: toml::Table = toml::from_str(&manifest).unwrap();
        let version = value.as_str().or_else(|| value.get("version")?.as_str());
        if version.is_some_and(|version| !env!("CARGO_PKG_VERSION").starts_with(version)) {
            return Err(format!("{name}: another version than {}", env!("CARGO_PKG_VERSION")));
        }
        let features = value.get("features").and_then(toml::Value::as_array);
        for feature in features.into_iter().flatten().filter_map(toml::Value::as_str) {
            let known = manifest.get("features").and_then(|features| features.get(feature));
            known.ok_or_else(|| format!("{name} has no feature `{feature}`"))?;
        }
    }
    Ok(())
}

/// Members and elements can be omitted: `…`.
#[test]
fn messages_are_valid() {
    check_blocks(&["json"], |_, block| {
        let text = block.text.replace(",…}", "}").replace("{…}", "{}").replace("[…]", "[]");
        let values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        let values = values.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        if values.is_empty() { Err("an empty block".to_owned()) } else { Ok(()) }
    });
}

/// The configuration of a client starts a server.
#[test]
fn configurations_of_clients_are_valid() {
    let page = pages().into_iter().find(|page| page.path == "docs/guides/mcp-clients.md").unwrap();
    let mut count = 0;
    for span in page.spans().iter().filter(|span| span.starts_with("{\"")) {
        let config: Value = serde_json::from_str(span).unwrap_or_else(|e| panic!("{span}: {e}"));
        let server = &config.as_object().unwrap().values().next().unwrap()["shop"];
        if let Some(arguments) = server["args"].as_array() {
            let arguments = arguments.iter().map(|argument| argument.as_str().unwrap().to_owned());
            let words: Words = ["trunkline".to_owned()].into_iter().chain(arguments).collect();
            parse(&words).unwrap_or_else(|error| panic!("{span}: {error}"));
            count += 1;
        }
    }
    assert_eq!(count, 2);
}
