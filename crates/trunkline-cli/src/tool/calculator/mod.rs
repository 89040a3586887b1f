//! `trunkline tool calculator`: arithmetic, exactly.

mod expression;
mod number;
#[cfg(test)]
mod tests;

use std::io::{Read, stdin};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::output;

/// The most bytes of what stands on stdin.
const MAX_INPUT: u64 = 64 << 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    expression: String,
}

#[derive(Debug, PartialEq, Serialize)]
struct Answer {
    /// A decimal.
    result: String,
    /// Whether that is the value, and not one near it.
    exact: bool,
    /// The value, if it has no decimal that ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    fraction: Option<String>,
}

pub(crate) fn run() -> ExitCode {
    match answer() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error);
            ExitCode::FAILURE
        }
    }
}

fn answer() -> Result<()> {
    let mut text = String::new();
    stdin().take(MAX_INPUT + 1).read_to_string(&mut text).context("cannot read stdin")?;
    ensure!(text.len() as u64 <= MAX_INPUT, "there are more than {MAX_INPUT} bytes on stdin");
    let input: Input = serde_json::from_str(&text)
        .context("write {\"expression\": \"…\"} to stdin, as one JSON object")?;
    let answer = calculate(&input.expression).map_err(anyhow::Error::msg)?;
    output::data(&format!("{}\n", serde_json::to_string(&answer)?)).context("cannot write stdout")
}

/// The value of an expression, or what is wrong with it, for people.
fn calculate(expression: &str) -> Result<Answer, String> {
    let value = expression::value(expression)?;
    Ok(match value.decimal() {
        Some(result) => Answer { result, exact: true, fraction: None },
        None => Answer { result: value.rounded(), exact: false, fraction: Some(value.to_string()) },
    })
}
