//! A client without an SDK that sends sequential requests to any server, over HTTP or stdio.
//!
//! `sql_client REQUEST --keys N --rows N --rows-at POINTER --row-text TEXT --seconds S http ADDR`
//! `sql_client … stdio PROGRAM [ARG...]`
//!
//! `"$KEY"` in the request is replaced by a different number below `--keys` each time. In the first reply, the array at
//! the JSON pointer must have `--rows` rows; a second pointer, after a space, applies to the JSON text at the first one. Later replies must contain the text of the rows as often as the first one.
//! The time of these checks is not included.

mod http;
mod stdio;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use memchr::memmem;
use serde_json::{Value, json};

use crate::http::Http;
use crate::stdio::Stdio;

const WARM_UP: u64 = 20;

/// Distance between successive keys, a prime.
const STRIDE: u64 = 7919;

struct Options {
    request: String,
    keys: u64,
    rows: usize,
    rows_at: String,
    row_text: String,
    duration: Duration,
}

/// A connection with one request at a time.
trait Connection {
    /// Sends a message and reads the reply into the buffer.
    fn exchange(&mut self, request: &[u8], reply: &mut Vec<u8>) -> Result<()>;
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let options = Options::take(&mut args)?;
    let transport = args.next().context("missing transport: http or stdio")?;
    let rest: Vec<String> = args.collect();
    let mut connection: Box<dyn Connection> = match (transport.as_str(), &*rest) {
        ("http", [address]) => Box::new(Http::connect(address)?),
        ("stdio", [program, args @ ..]) => Box::new(Stdio::start(program, args)?),
        _ => bail!("http ADDR, or stdio PROGRAM [ARG...]"),
    };
    let (calls, waited) = options.run(&mut *connection)?;
    println!("{}", json!({ "calls": calls, "micros": waited.as_micros() as u64 }));
    Ok(())
}

impl Options {
    fn take(args: &mut impl Iterator<Item = String>) -> Result<Self> {
        let request = args.next().context("which request?")?;
        let mut option = |name: &str| {
            let given = args.next();
            ensure!(given.as_deref() == Some(name), "expected {name}, got {given:?}");
            args.next().with_context(|| format!("{name} needs a value"))
        };
        Ok(Self {
            request,
            keys: option("--keys")?.parse()?,
            rows: option("--rows")?.parse()?,
            rows_at: option("--rows-at")?,
            row_text: option("--row-text")?,
            duration: Duration::from_secs(option("--seconds")?.parse()?),
        })
    }

    /// Number of calls, and the total waiting time.
    fn run(&self, connection: &mut dyn Connection) -> Result<(u64, Duration)> {
        let finder = memmem::Finder::new(&self.row_text);
        let mut reply = Vec::new();
        connection.exchange(&self.request_of(0), &mut reply)?;
        let rows = self.rows_of(&reply)?;
        ensure!(rows == self.rows, "got {rows} rows, expected {}", self.rows);
        let texts = finder.find_iter(&reply).count();
        ensure!(texts >= rows, "no row contains {:?}", self.row_text);

        let (mut calls, mut waited) = (0, Duration::ZERO);
        for number in 1.. {
            let request = self.request_of(number);
            let start = Instant::now();
            connection.exchange(&request, &mut reply)?;
            let took = start.elapsed();
            let found = finder.find_iter(&reply).count();
            ensure!(found == texts, "reply {number} contains {found} texts, expected {texts}");
            if number > WARM_UP {
                calls += 1;
                waited += took;
            }
            if waited >= self.duration {
                break;
            }
        }
        Ok((calls, waited))
    }

    fn request_of(&self, number: u64) -> Vec<u8> {
        let key = number.wrapping_mul(STRIDE) % self.keys;
        self.request.replace("\"$KEY\"", &key.to_string()).into_bytes()
    }

    fn rows_of(&self, reply: &[u8]) -> Result<usize> {
        let reply = String::from_utf8_lossy(reply);
        // Some servers always reply with an event stream.
        let json = reply.split_once("data: ").filter(|_| reply.starts_with("event: "));
        let json = json.map_or(&*reply, |(_, data)| data);
        let mut value: Value = serde_json::from_str(json)
            .with_context(|| format!("the reply is not JSON: {reply}"))?;
        let missing = || format!("nothing at {}: {reply}", self.rows_at);
        for (number, pointer) in self.rows_at.split(' ').enumerate() {
            if number > 0 {
                value = serde_json::from_str(value.as_str().with_context(missing)?)?;
            }
            value = value.pointer(pointer).with_context(missing)?.clone();
        }
        Ok(value.as_array().with_context(missing)?.len())
    }
}
