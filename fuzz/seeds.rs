//! Writes the bodies of the protocol's cases into the corpus that the fuzzer starts from:
//! `cargo run --manifest-path fuzz/Cargo.toml --example seeds`.

use std::path::Path;
use std::{fs, io};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

#[derive(serde::Deserialize)]
struct Case {
    body: Option<String>,
    body_b64: Option<String>,
}

fn main() -> io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = fs::read_to_string(here.join("../crates/trunkline/tests/data/jsonrpc.jsonl"))?;
    let corpus = here.join("corpus/envelope");
    fs::create_dir_all(&corpus)?;
    for (number, line) in cases.lines().enumerate() {
        fs::write(corpus.join(format!("case-{number:03}")), body(line)?)?;
    }
    Ok(())
}

fn body(case: &str) -> io::Result<Vec<u8>> {
    let case: Case = serde_json::from_str(case)?;
    match case.body_b64 {
        Some(body) => BASE64_STANDARD.decode(body).map_err(io::Error::other),
        None => Ok(case.body.unwrap_or_default().into_bytes()),
    }
}
