//! The compared libraries, used as documented. Their results are checked first.

use std::fmt::Debug;
use std::hint::black_box;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clojure_reader::edn::{Edn, read_string};
use trunkline_bench::clock::thread_cpu_time;
use trunkline_edn::Value;

use crate::Subject;
use crate::data::Data;

/// Reading, including the drop of the value.
const READ: &str = "read";
/// Reading, without the drop.
const READ_AND_KEEP: &str = "read and keep";
const WRITE: &str = "write";

pub(crate) fn subjects(data: Data) -> Result<Vec<Subject>> {
    // Values are read until the end.
    let (edn, json): (&'static str, &'static str) = (data.edn.leak(), data.json.leak());
    let ours: Value = edn.parse()?;
    ensure!(ours.to_string() == edn, "trunkline-edn does not write what was read");
    let clojure: Edn<'static> = read_string(edn).map_err(failed)?;
    ensure!(clojure.to_string().parse::<Value>()? == ours, "clojure-reader differs");
    let format = edn_format::parse_str(edn).map_err(failed)?;
    ensure!(edn_format::emit_str(&format).parse::<Value>()? == ours, "edn-format differs");
    let serde: serde_json::Value = serde_json::from_str(json)?;
    let records = serde.as_array().context("the data is not an array")?.len();
    ensure!(ours.as_sequence().map(<[_]>::len) == Some(records), "JSON and EDN differ");

    let (text, length) = (edn, edn.len());
    let mut subjects = Vec::new();
    for (task, measure) in [(READ, Drop::Timed), (READ_AND_KEEP, Drop::Untimed)] {
        let read = |of, bytes, turn| Subject { task, of, bytes, turn };
        subjects.extend([
            read("trunkline-edn", length, turn(measure, move || text.parse::<Value>())),
            read("clojure-reader", length, turn(measure, move || read_string(text))),
            read("edn-format", length, turn(measure, move || edn_format::parse_str(text))),
            read("serde_json", json.len(), {
                turn(measure, move || serde_json::from_str::<serde_json::Value>(json))
            }),
        ]);
    }
    let write = |of, bytes, turn| Subject { task: WRITE, of, bytes, turn };
    subjects.extend([
        write("trunkline-edn", length, turn(Drop::Timed, move || ours.to_string())),
        write("clojure-reader", length, turn(Drop::Timed, move || clojure.to_string())),
        write("edn-format", length, turn(Drop::Timed, move || edn_format::emit_str(&format))),
        write("serde_json", json.len(), {
            turn(Drop::Timed, move || serde_json::to_string(&serde))
        }),
    ]);
    Ok(subjects)
}

/// Whether the time includes dropping the result.
#[derive(Clone, Copy)]
enum Drop {
    Timed,
    Untimed,
}

fn turn<T: 'static>(drop: Drop, make: impl Fn() -> T + 'static) -> Box<dyn Fn() -> Duration> {
    Box::new(move || {
        let start = thread_cpu_time();
        let made = black_box(make());
        match drop {
            Drop::Timed => {
                std::mem::drop(made);
                thread_cpu_time() - start
            }
            Drop::Untimed => thread_cpu_time() - start,
        }
    })
}

/// Their errors do not implement `std::error::Error`.
fn failed(error: impl Debug) -> anyhow::Error {
    anyhow::anyhow!("{error:?}")
}
