//! Writes the cases of tests to the initial corpora of the fuzzer:
//! `cargo run --manifest-path fuzz/Cargo.toml --example seeds`.

use std::path::Path;
use std::{fs, io};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::de::DeserializeOwned;

/// A JSON-RPC body.
#[derive(serde::Deserialize)]
struct Body {
    body: Option<String>,
    body_b64: Option<String>,
}

/// A text in EDN.
#[derive(serde::Deserialize)]
struct Text {
    text: String,
}

fn main() -> io::Result<()> {
    write("envelope", "trunkline/tests/data/jsonrpc.jsonl", |case: Body| match case.body_b64 {
        Some(body) => BASE64_STANDARD.decode(body).map_err(io::Error::other),
        None => Ok(case.body.unwrap_or_default().into_bytes()),
    })?;
    write("edn", "trunkline-edn/tests/data/reading.jsonl", |case: Text| Ok(case.text.into_bytes()))
}

/// Writes the case of each line of a file to the corpus of a target.
fn write<T: DeserializeOwned>(
    target: &str,
    cases: &str,
    input: impl Fn(T) -> io::Result<Vec<u8>>,
) -> io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpus = here.join("corpus").join(target);
    fs::create_dir_all(&corpus)?;
    for (number, line) in
        fs::read_to_string(here.join("../crates").join(cases))?.lines().enumerate()
    {
        fs::write(corpus.join(format!("case-{number:03}")), input(serde_json::from_str(line)?)?)?;
    }
    Ok(())
}
