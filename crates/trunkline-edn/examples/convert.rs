//! Converts one document from stdin to stdout.
//!
//! ```sh
//! echo '{:enabled? true, :since #inst "2024"}' | cargo run --example convert edn-to-json
//! echo '{"enabled?": true}' | cargo run --example convert json-to-edn --keys string
//! ```

use std::io::{Read, Write, stderr, stdin, stdout};
use std::process::ExitCode;

use trunkline_edn::json::{self, FromJson, Keys};

const USAGE: &str = "\
usage: convert edn-to-json
       convert json-to-edn [--keys keyword|string]
";

enum Conversion {
    EdnToJson,
    JsonToEdn(Keys),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let conversion = match arguments.as_slice() {
        ["edn-to-json"] => Conversion::EdnToJson,
        ["json-to-edn"] | ["json-to-edn", "--keys", "keyword"] => {
            Conversion::JsonToEdn(Keys::Keyword)
        }
        ["json-to-edn", "--keys", "string"] => Conversion::JsonToEdn(Keys::String),
        _ => {
            // If this fails, the exit code still reports the error.
            let _ = stderr().write_all(USAGE.as_bytes());
            return ExitCode::from(2);
        }
    };
    match run(conversion) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(conversion: Conversion) -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    stdin().read_to_string(&mut text)?;
    let converted = match conversion {
        Conversion::EdnToJson => {
            let value = trunkline_edn::read(&text)?;
            // Adds the line and the column of the value without a JSON representation.
            json::to_string(&value).map_err(|error| error.located_in(&text))?
        }
        Conversion::JsonToEdn(keys) => {
            let options = FromJson { keys, ..FromJson::default() };
            json::from_str_with(&text, &options)?.to_string()
        }
    };
    let mut out = stdout().lock();
    writeln!(out, "{converted}")?;
    Ok(out.flush()?)
}
