//! The CLI of MCP Inspector as a client: calls every tool of the `trunkline` binary, over HTTP and stdio. Other features are
//! those of the SDK for TypeScript, which the step `sdk` uses.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;

use crate::peers::Node;
use crate::server_process::{ServerProcess, Stage};
use crate::workspace::{self, Workspace};

const PACKAGES: &str = "crates/trunkline-cli/tests/sdk/inspector";

/// Deadline of one run of the CLI, which takes about a second.
const DEADLINE: Duration = Duration::from_secs(60);

struct Inspector {
    name: &'static str,
    /// The script of its CLI, in the folder of the packages.
    script: &'static str,
    /// Arguments before the server's address or command.
    flags: &'static [&'static str],
    /// Arguments of `tools/list`.
    list_flags: &'static [&'static str],
    /// Exit code when the result of a tool is an error.
    tool_error_code: i32,
}

/// `--strict` fails on schemas that other clients cannot read.
const INSPECTOR_2: Inspector = Inspector {
    name: "inspector-2",
    script: "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
    flags: &["--cli"],
    list_flags: &["--strict", "--quiet"],
    tool_error_code: 5,
};

const INSPECTORS: [Inspector; 3] = [
    Inspector {
        name: "inspector-0.15",
        script: "node_modules/@modelcontextprotocol/inspector-cli/build/index.js",
        flags: &[],
        list_flags: &[],
        tool_error_code: 0,
    },
    INSPECTOR_2,
    Inspector {
        name: "inspector-2-modern",
        flags: &["--cli", "--protocol-era", "modern"],
        ..INSPECTOR_2
    },
];

/// The tools of a writable server, sorted.
const TOOLS: &str = "create_table delete_record describe_table execute_raw_query insert_record list_tables \
    query_records update_record";

/// On the TPC-H sample, in this order: later calls see what earlier ones wrote. A tool and its arguments, which have all types
/// of JSON; Inspector 0.15 sends a union of object and array as a string. Then JSON pointers into the result, with the JSON
/// there, or a part of the text. `error` is a failure, whose text has this part.
const CALLS: &str = r#"
list_tables | pattern=n% | kind=table => /structuredContent/tables/0/name nation ; /structuredContent/tables/0/columns 4
describe_table | table_name=region | sample_rows=2 => /content/0/text 2 sample rows
query_records | table_name=nation | columns=["n_name","n_regionkey"] | filters={"n_regionkey":{"gte":3},"n_name":{"like":"%A%"}} | order_by=n_name desc | limit=2 | offset=1 | format=json => /structuredContent/rows [["RUSSIA",3],["ROMANIA",3]] ; /structuredContent/row_count 2
query_records | table_name=region => /structuredContent/row_count 5 ; /structuredContent/rows/4/1 MIDDLE EAST
execute_raw_query | query=SELECT count(*) AS n FROM nation | read_only=true | max_rows=1 | timeout_ms=5000 => /structuredContent/columns/0/name n ; /structuredContent/rows [[25]]
execute_raw_query | query=SELECT r_name FROM region WHERE r_regionkey = ? | params=[2] => /structuredContent/rows [["ASIA"]]
create_table | table_name=Gig | schema={"GigId":"INTEGER","City":"TEXT NOT NULL","Seats":"INTEGER"} | primary_key=["GigId"] | if_not_exists=false => /structuredContent/table Gig ; /structuredContent/created true
execute_raw_query | query=INSERT INTO Gig (City, Seats) VALUES ('Oslo', 10), ('São Paulo', 20) | read_only=false | max_affected=2 => /structuredContent/rows_affected 2
insert_record | table_name=Gig | data={"City":"東京","Seats":7} | on_conflict=ignore | returning=true => /structuredContent/rows_affected 1 ; /structuredContent/id 3 ; /structuredContent/rows/rows [[3,"東京",7]]
insert_record | table_name=Gig | data=[{"City":"Rome"},{"City":"Lyon","Seats":null}] | returning=true => /structuredContent/rows_affected 2 ; /structuredContent/rows/rows [[4,"Rome",null],[5,"Lyon",null]]
update_record | table_name=Gig | filters={"City":"São Paulo"} | data={"Seats":30} | dry_run=false | max_affected=1 => /structuredContent/rows_affected 1
delete_record | table_name=Gig | filters={"Seats":{"in":[10,30]}} | all=false => /structuredContent/rows_affected 2
describe_table | table_name=Gigs => error Gigs
query_records | table_name=region | limit=-1 => error limit
update_record | table_name=region => error filters
"#;

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let node = Node::with(workspace, "inspector", PACKAGES)?;
    let stage = Stage::new(workspace, "inspector")?;
    // Each session has its own server and database; nearly all of the time is spent starting Node.
    std::thread::scope(|scope| {
        let sessions =
            INSPECTORS.iter().flat_map(|inspector| [(inspector, false), (inspector, true)]);
        let spawn = |(inspector, is_stdio): (&'static Inspector, bool)| {
            let transport = if is_stdio { "stdio" } else { "http" };
            let folder = stage.folder.join(format!("{}-{transport}", inspector.name));
            let session = Session { stage: &stage, node: &node, inspector, is_stdio, folder };
            scope.spawn(move || session.run().context(session.folder.display().to_string()))
        };
        let sessions: Vec<_> = sessions.map(spawn).collect();
        let results = sessions
            .into_iter()
            .map(|session| session.join().unwrap_or_else(|_| Err(anyhow!("a session panicked"))));
        results.collect()
    })
}

/// All calls of one Inspector over one transport, in order, on the same database.
struct Session<'s> {
    stage: &'s Stage<'s>,
    node: &'s Node,
    inspector: &'static Inspector,
    is_stdio: bool,
    folder: PathBuf,
}

impl Session<'_> {
    fn run(&self) -> Result<()> {
        fs::create_dir(&self.folder)?;
        let database = self.folder.join("sample.db");
        let flags = ["--sample", "--writable", "--output-schemas", "--db"];
        if self.is_stdio {
            let data = self.folder.join("data");
            let mut program = self.stage.command(&["mcp"]);
            program.args(flags).arg(database).arg("--data-dir").arg(data);
            let words = std::iter::once(program.get_program()).chain(program.get_args());
            return self.check_all(&words.map(|it| it.display().to_string()).collect::<Vec<_>>());
        }
        let mut serve = self.stage.serve(&database, &flags[..3]);
        let server = ServerProcess::start(&mut serve, &self.folder.join("server.log"))?;
        server.explain(self.check_all(&[format!("{}/mcp", server.url)]))
    }

    /// Uses the address of a server, or the command that starts one.
    fn check_all(&self, server: &[String]) -> Result<()> {
        let (code, listed) = self.output(server, "tools/list", self.inspector.list_flags)?;
        ensure!(code == 0, "tools/list: exit code {code}, expected 0");
        let tools = listed["tools"].as_array().context("`tools` is missing")?;
        let mut names: Vec<_> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        names.sort_unstable();
        ensure!(names.join(" ") == TOOLS, "tools/list: got {names:?}, expected {TOOLS}");
        for row in CALLS.trim().lines() {
            let (call, expected) = row.split_once(" => ").context("a row has a result")?;
            let (tool, arguments) = call.split_once(" | ").context("a call has arguments")?;
            let mut flags = vec!["--tool-name", tool];
            flags.extend(arguments.split(" | ").flat_map(|argument| ["--tool-arg", argument]));
            let is_error = expected.starts_with("error ");
            let (code, result) = self.output(server, "tools/call", &flags)?;
            let expected_code = if is_error { self.inspector.tool_error_code } else { 0 };
            ensure!(code == expected_code, "{call}: exit code {code}: {result}");
            let found = result["isError"].as_bool().unwrap_or(false);
            ensure!(found == is_error, "{call}: unexpected `isError`: {result}");
            check(&result, &expected.replace("error ", "/content/0/text ")).context(call)?;
        }
        Ok(())
    }

    /// Exit code and result. The CLI prints the result to stdout, also when it is an error of the tool.
    fn output(&self, server: &[String], method: &str, flags: &[&str]) -> Result<(i32, Value)> {
        let mut command = self.node.command(self.stage.workspace, self.inspector.script);
        command.args(self.inspector.flags).args(server).args(["--method", method]).args(flags);
        let [stdout, stderr] = ["stdout.json", "stderr.log"].map(|name| self.folder.join(name));
        command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
        let status = workspace::status_within(DEADLINE, &mut command)?;
        let code = status.code().with_context(|| format!("the CLI failed ({status})"))?;
        let [printed, log] = [stdout, stderr].map(fs::read_to_string);
        let (printed, log) = (printed?, log?);
        let missing = || format!("{method}: no JSON (exit code {code}): {printed}{log}");
        Ok((code, serde_json::from_str(&printed).with_context(missing)?))
    }
}

/// Checks the values at pointers: JSON, or a part of a text.
fn check(result: &Value, expected: &str) -> Result<()> {
    for expected in expected.split(" ; ") {
        let (pointer, expected) = expected.split_once(' ').context("a pointer has a value")?;
        let found = result.pointer(pointer).unwrap_or(&Value::Null);
        let is_expected = match found {
            Value::String(text) => text.contains(expected),
            value => serde_json::from_str::<Value>(expected).is_ok_and(|json| json == *value),
        };
        ensure!(is_expected, "`{pointer}`: expected {expected}, got {result}");
    }
    Ok(())
}
