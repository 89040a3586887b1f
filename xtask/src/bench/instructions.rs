//! User instructions per request, counted by callgrind. They are reproducible within a percent.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::connection::{Connection, Request};
use super::load::{AXUM, CALLS, Case, HYPER, JSON_RPC, JSONRPSEE, MCP, OURS, RMCP, TOOLS};
use super::report::{Figure, Goal, Ratio};
use super::server::{self, PAIR, Server};
use crate::workspace::{self, Workspace};

/// A case, and the instructions of trunkline divided by those of axum.
///
/// `cargo xtask instructions` prints the current ratios. Update them here after each improvement; an increase needs a
/// reason in the commit message.
///
/// The profile `instructions` of `bench/` is built without LTO, which takes less time. With thin LTO and one codegen unit,
/// both servers need fewer instructions, and the ratios were 1.03 and 0.92.
const RECORDED: [(&Case, f64); 2] = [(&CALLS[0], 1.03), (&CALLS[1], 0.91)];
/// The tolerance, which is larger than the differences between runs.
const TOLERANCE: f64 = 0.03;

const INSTRUCTIONS: &str = "instructions";
const ABOVE_HYPER: &str = "instructions above hyper";
const ABOVE_UNKNOWN: &str = "instructions above an unknown method";

const SERVE: &str = "trunkline serve";
const NO_HISTORY: &str = "trunkline serve --no-history";
/// Nothing listens on this port. The cost includes the serialization of spans, but not their transfer.
const COLLECTOR: &str = "http://127.0.0.1:9";
const SERVERS: [(&str, &[&str]); 4] = [
    (SERVE, &[]),
    (NO_HISTORY, &["--no-history"]),
    ("trunkline serve, traces and metrics by OTLP", &["--otlp-endpoint", COLLECTOR]),
    ("trunkline serve, metrics by OTLP", &["--otlp-endpoint", COLLECTOR, "--sample-ratio", "0"]),
];

const UNKNOWN: &str = "unknown method";
const UNKNOWN_BODY: &str =
    r#"{"jsonrpc":"2.0","method":"unknown.method","params":{"a":40,"b":2},"id":1}"#;
const SELECT: &str = "5-row SELECT";
const SELECT_BODY: &str = r#"{"jsonrpc":"2.0","method":"db.execute_raw_query","params":{"query":"SELECT c_custkey, c_name, c_acctbal FROM customer LIMIT 5"},"id":1}"#;

/// A request that is sent repeatedly over one connection.
struct Load {
    case: &'static str,
    request: Request,
    /// The number of counted requests.
    count: u32,
}

/// The step of `cargo xtask ci`: fails if requests need more instructions than recorded.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    println!("building two servers with optimization");
    let binaries = server::contenders(workspace, "instructions", &[PAIR])?;
    let loads = loads(workspace, &CALLS, 200)?;
    let mut figures = Vec::new();
    for server in JSON_RPC.iter().filter(|(name, _)| [OURS, AXUM].contains(name)) {
        figures.extend(count(workspace, &binaries, *server, &loads)?);
    }
    let mut worse = Vec::new();
    for (case, recorded) in RECORDED {
        let count = |row| Figure::find(&figures, case.name, row, INSTRUCTIONS).context("no count");
        let (ours, axum) = (count(OURS)?, count(AXUM)?);
        let ratio = ours / axum;
        let text = format!("{}, trunkline / axum: {ratio:.3}, recorded {recorded:.3}", case.name);
        println!("{text} ({ours:.0} and {axum:.0} instructions per request)");
        if ratio < recorded * (1.0 - TOLERANCE) {
            println!("  lower than recorded: write it to xtask/src/bench/instructions.rs");
        }
        worse.extend((ratio > recorded * (1.0 + TOLERANCE)).then_some(text));
    }
    ensure!(
        worse.is_empty(),
        "more instructions per request than recorded: {}; up to {:.0} % more are accepted; reproduce \
         with `cargo xtask instructions`, or with `cargo xtask bench --only instructions` for more \
         servers; the recorded ratios are in xtask/src/bench/instructions.rs",
        worse.join("; "),
        TOLERANCE * 100.0
    );
    Ok(())
}

/// Measures the servers of `bench/`, and the binary.
pub(super) fn round(workspace: &Workspace) -> Result<Vec<Figure>> {
    let binaries = server::all_contenders(workspace)?;
    let unknown = || load(UNKNOWN, UNKNOWN_BODY, "-32601");
    let mut figures = Vec::new();
    for &server in JSON_RPC {
        let mut loads = loads(workspace, &CALLS, 1_000)?;
        loads.extend((server.0 == OURS).then(unknown));
        figures.extend(count(workspace, &binaries, server, &loads)?);
    }
    for &server in MCP {
        figures.extend(count(workspace, &binaries, server, &loads(workspace, &TOOLS, 1_000)?)?);
    }
    let binary = server::ours(workspace, &["--package=trunkline-cli"])?.join("trunkline");
    for (name, flags) in SERVERS {
        let folder = workspace.fresh_folder("target/bench/instructions")?;
        let address = server::free_address()?;
        let out = workspace.path("target/bench/callgrind.serve");
        let mut command = callgrind(&out)?;
        command.arg(&binary).args(["serve", "--sample", "--listen", &address]).args(flags);
        command.arg("--db").arg(folder.join("sample.db"));
        command.arg("--data-dir").arg(folder.join("data"));
        // With this variable, the server does not restart itself to set it.
        command.env("MALLOC_TRIM_THRESHOLD_", "1048576").stdout(Stdio::null());
        let server = Server::listening(&mut command, &address)?;
        let loads = [unknown(), load(SELECT, SELECT_BODY, "\"result\"")];
        figures.extend(count_all(name, &server, &out, &loads)?);
    }
    let above = |table: &str, row: &str, name, base: &str, base_row: &str| {
        let of = |table, row| Figure::find(&figures, table, row, INSTRUCTIONS);
        Some(Figure::new(table, row, name, of(table, row)? - of(base, base_row)?))
    };
    let mut differences = Vec::new();
    for case in &TOOLS {
        for (row, _) in MCP {
            differences.extend(above(case.name, row, ABOVE_HYPER, CALLS[0].name, HYPER));
        }
    }
    differences.extend(above(SELECT, NO_HISTORY, ABOVE_UNKNOWN, UNKNOWN, NO_HISTORY));
    figures.extend(differences);
    Ok(figures)
}

pub(super) fn ratios() -> Vec<Ratio> {
    let [single, batch] = &CALLS;
    let at_most = |table, of, over, goal| {
        Ratio::new((table, INSTRUCTIONS), of, over, Some(Goal::AtMost(goal)))
    };
    let tools = TOOLS
        .iter()
        .map(|case| Ratio::new((case.name, ABOVE_HYPER), OURS, RMCP, Some(Goal::AtMost(0.20))));
    [
        at_most(single.name, OURS, AXUM, 1.10),
        at_most(batch.name, OURS, AXUM, 1.00),
        at_most(batch.name, OURS, JSONRPSEE, 0.24),
        at_most(UNKNOWN, SERVE, OURS, 1.5),
        at_most(SELECT, SERVE, NO_HISTORY, 1.15),
        Ratio::new((SELECT, ABOVE_UNKNOWN), NO_HISTORY, "", Some(Goal::AtMost(40_000.0))),
    ]
    .into_iter()
    .chain(tools)
    .collect()
}

/// This number of single calls, or a tenth of it for batches.
fn loads(workspace: &Workspace, cases: &[Case], singles: u32) -> Result<Vec<Load>> {
    let load = |case: &Case| {
        let count = if case.name == CALLS[1].name { singles / 10 } else { singles };
        Ok(Load { case: case.name, request: case.request(workspace)?, count })
    };
    cases.iter().map(load).collect()
}

fn load(case: &'static str, body: &str, expected: &'static str) -> Load {
    let line = "POST /".to_owned();
    Load {
        case,
        request: Request { line, headers: &[], body: body.to_owned(), expected },
        count: 1_000,
    }
}

/// Starts a server of `bench/` under callgrind, and counts the instructions of each load.
fn count(
    workspace: &Workspace,
    binaries: &Path,
    (name, program): (&str, &str),
    loads: &[Load],
) -> Result<Vec<Figure>> {
    let out = workspace.path("target/bench").join(format!("callgrind.{program}"));
    let mut command = callgrind(&out)?;
    command.arg(binaries.join(program)).args(["--listen", "127.0.0.1:0"]);
    let server = Server::announcing(&mut command).context("`apt-get install valgrind`")?;
    count_all(name, &server, &out, loads)
}

/// A command without its program. Dumps are files named `out` with a number.
fn callgrind(out: &Path) -> Result<Command> {
    fs::create_dir_all(out.parent().context("a file has a folder")?)?;
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", out.display()));
    command.stderr(File::create(out.with_extension("log"))?);
    Ok(command)
}

/// Counts after a warm-up with half as many requests.
fn count_all(name: &str, server: &Server, out: &Path, loads: &[Load]) -> Result<Vec<Figure>> {
    let mut dumps = 0;
    let mut dump = || {
        workspace::output(Command::new("callgrind_control").args(["--dump", &server.id()]))?;
        dumps += 1;
        let path = PathBuf::from(format!("{}.{dumps}", out.display()));
        let text = fs::read_to_string(&path).with_context(|| format!("no {}", path.display()))?;
        fs::remove_file(&path)?;
        total(&text).with_context(|| format!("{} has no total", path.display()))
    };
    let mut figures = Vec::new();
    for Load { case, request, count } in loads {
        let mut connection = Connection::open(&server.address, request)?;
        (0..count / 2).try_for_each(|_| connection.exchange().map(drop))?;
        dump()?;
        (0..*count).try_for_each(|_| connection.exchange().map(drop))?;
        figures.push(Figure::new(case, name, INSTRUCTIONS, dump()? / f64::from(*count)));
    }
    Ok(figures)
}

/// The sum of all costs in a dump.
fn total(dump: &str) -> Option<f64> {
    dump.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_of_a_dump() {
        assert_eq!(total("events: Ir\nfn=(1)\n1 2\ntotals: 697542\n"), Some(697_542.0));
        assert_eq!(total("events: Ir\n"), None);
    }
}
