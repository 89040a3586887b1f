//! Compares the `trunkline` binary with Google's MCP Toolbox and DBHub, all with default settings, and with a hand-written
//! server: the same rows in SQLite and PostgreSQL, and one client with sequential requests.

mod programs;

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use self::programs::{
    BARE, ENGINES, OURS, Programs, ROW_TEXT, ROWS, SENSORS, SIDES, SQLITE, TOOLBOX, rows_at,
    statements,
};
use super::report::{Figure, Goal, Ratio};
use super::server::{LOAD_CORE, Server, all_contenders, free_address, pinned};
use crate::workspace::{self, Workspace};

/// A name, the number of rows of each reply, and whether the transport is stdio.
type Case = (&'static str, u32, bool);

const FIVE_ROWS: Case = ("5 rows, HTTP", 5, false);
const FIVE_ROWS_STDIO: Case = ("5 rows, stdio", 5, true);
const THOUSAND_ROWS: Case = ("1,000 rows, HTTP", 1_000, false);

const CPU: &str = "CPU us/call";
const CALLS: &str = "calls/s";
const START: &str = "ms to listening";
const MEMORY: &str = "idle memory, MB";
const SIZE: &str = "program, MB";

pub(super) fn ratios() -> Vec<Ratio> {
    let mut ratios = Vec::new();
    let mut add = |engine: &str, name: &str, figure, over, goal| {
        let table = format!("{engine}, {name}");
        ratios.push(Ratio::new((&table, figure), OURS, over, Some(goal)));
    };
    for engine in ENGINES {
        add(engine, FIVE_ROWS.0, CPU, TOOLBOX, Goal::AtMost(0.2));
        add(engine, THOUSAND_ROWS.0, CPU, TOOLBOX, Goal::AtMost(0.1));
        add(engine, FIVE_ROWS.0, CPU, BARE, Goal::AtMost(2.0));
        add(engine, THOUSAND_ROWS.0, CPU, BARE, Goal::AtMost(2.0));
    }
    add(SQLITE, FIVE_ROWS.0, CALLS, TOOLBOX, Goal::AtLeast(5.0));
    add(SQLITE, FIVE_ROWS_STDIO.0, CALLS, TOOLBOX, Goal::AtLeast(3.0));
    add(SQLITE, THOUSAND_ROWS.0, CALLS, TOOLBOX, Goal::AtLeast(10.0));
    add(SQLITE, "program", START, TOOLBOX, Goal::AtMost(0.2));
    add(SQLITE, "program", MEMORY, "", Goal::AtMost(15.0));
    add(SQLITE, "program", SIZE, "", Goal::AtMost(15.0));
    ratios
}

/// Measures all sides in sequence.
pub(super) fn rounds(
    workspace: &Workspace,
    seconds: u32,
) -> Result<impl FnMut() -> Result<Vec<Figure>>> {
    let programs = Programs::provide(workspace)?;
    let client = all_contenders(workspace)?.join("sql_client");
    Ok(move || {
        let mut figures = Vec::new();
        for engine in ENGINES {
            for side in SIDES {
                let pair = Pair {
                    programs: &programs,
                    client: pinned(LOAD_CORE, &client),
                    side,
                    engine,
                    seconds,
                };
                let measured = pair.measure();
                figures.extend(measured.with_context(|| format!("{side} with {engine}"))?);
            }
        }
        // Tables are complete when they are printed.
        figures.sort_by(|a: &Figure, b| a.table().cmp(b.table()));
        Ok(figures)
    })
}

/// A server of a database.
struct Pair<'p> {
    programs: &'p Programs,
    client: Command,
    side: &'static str,
    engine: &'static str,
    seconds: u32,
}

impl Pair<'_> {
    fn measure(&self) -> Result<Vec<Figure>> {
        let &Self { programs, side, engine, seconds, .. } = self;
        let address = free_address()?;
        let http = Some(&*address);
        let begun = Instant::now();
        let server = Server::listening(&mut programs.command(side, engine, http)?, &address)?;
        let start = begun.elapsed();
        let mut figures = Vec::new();
        let mut add = |table: &str, name, value| {
            figures.push(Figure::new(&format!("{engine}, {table}"), side, name, value));
        };
        add("program", START, start.as_secs_f64() * 1e3);
        // Includes memory that is allocated by the first calls.
        self.ask(FIVE_ROWS, 0, http)?;
        add("program", MEMORY, server.resident_bytes()? / 1e6);
        for case in [FIVE_ROWS, THOUSAND_ROWS] {
            let before = server.cpu_micros()?;
            let (calls, micros) = self.ask(case, seconds, http)?;
            add(case.0, CALLS, calls * 1e6 / micros);
            add(case.0, CPU, (server.cpu_micros()? - before) / calls);
        }
        drop(server);
        if side != BARE {
            let (calls, micros) = self.ask(FIVE_ROWS_STDIO, seconds, None)?;
            add(FIVE_ROWS_STDIO.0, CALLS, calls * 1e6 / micros);
        }
        if let Some(size) = programs.megabytes(side)? {
            add("program", SIZE, size);
        }
        Ok(figures)
    }

    /// The number of calls of the client, and their time in µs. Over stdio, the server is a child of the client.
    fn ask(&self, (_, rows, _): Case, seconds: u32, address: Option<&str>) -> Result<(f64, f64)> {
        let Self { programs, side, engine, .. } = self;
        let [rows_of_sensor, rows_from] = statements(engine);
        // The names of tools in `bench/toolbox` and `bench/dbhub`.
        let (statement, tool, keys) = if rows == 5 {
            (rows_of_sensor, "rows_of_sensor", SENSORS)
        } else {
            (rows_from, "rows_from", ROWS - rows)
        };
        // The client replaces the text by a different number in each request.
        let key = "$KEY";
        let params = match *side {
            OURS => json!({
                "name": "execute_raw_query",
                "arguments": { "query": statement, "params": [key], "max_rows": rows },
            }),
            _ => json!({ "name": tool, "arguments": { "key": key } }),
        };
        let request =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let mut client = Command::new(self.client.get_program());
        client.args(self.client.get_args()).arg(request.to_string());
        client.args(["--keys", &keys.to_string(), "--rows", &rows.to_string()]);
        client.args(["--rows-at", rows_at(side), "--row-text", ROW_TEXT]);
        client.args(["--seconds", &seconds.to_string()]);
        match address {
            Some(address) => _ = client.args(["http", address]),
            None => {
                let server = programs.command(side, engine, None)?;
                client.arg("stdio").arg(server.get_program()).args(server.get_args());
                client.envs(server.get_envs().filter_map(|(name, value)| Some((name, value?))));
            }
        }
        let asked: Value = serde_json::from_str(&workspace::output(&mut client)?)?;
        let number = |name: &str| asked[name].as_f64().context("unexpected output of the client");
        Ok((number("calls")?, number("micros")?))
    }
}
