//! Describes a service in OpenRPC, at `GET /openrpc.json` and as the result of `rpc.discover`. Generators create
//! clients in other languages from it.
//!
//! ```text
//! cargo run -p trunkline --example openrpc -- 127.0.0.1:3000
//! curl -s http://127.0.0.1:3000/openrpc.json
//! ```
#![expect(clippy::print_stdout, reason = "callers read the address")]

use std::error::Error;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trunkline::openrpc::Example;
use trunkline::server::{self, Server};
use trunkline::{Json, JsonSchema, Operation, Params, Router, RpcError, VariadicParams};

#[derive(Deserialize, JsonSchema)]
struct Divide {
    /// The number to divide.
    dividend: f64,
    /// The divisor.
    #[serde(default = "one")]
    divisor: f64,
}

fn one() -> f64 {
    1.0
}

#[derive(Deserialize, JsonSchema)]
struct Sum {
    /// The numbers to add. By position, all params are numbers.
    #[serde(default)]
    numbers: Vec<i64>,
}

/// A person and their descendants.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Person {
    /// The name of the person.
    name: String,
    /// The children of the person.
    #[serde(default)]
    children: Vec<Person>,
}

#[derive(Deserialize, JsonSchema)]
struct Family {
    /// The ancestor.
    person: Person,
}

#[derive(Deserialize, JsonSchema)]
struct Line {
    /// The line to log.
    line: String,
}

#[derive(Debug, RpcError)]
enum MathError {
    #[rpc(code = 1, message = "division by zero")]
    DivisionByZero { dividend: f64 },
}

fn math() -> Router {
    let divide = |Params(Divide { dividend, divisor }): Params<Divide>| {
        if divisor == 0.0 {
            return Err(MathError::DivisionByZero { dividend });
        }
        Ok(dividend / divisor)
    };
    let sum = |VariadicParams(Sum { numbers }): VariadicParams<Sum>| -> i64 {
        numbers.iter().fold(0, |sum, number| sum.saturating_add(*number))
    };
    let half = [("dividend", json!(1)), ("divisor", json!(2))];
    Router::new()
        .operation(
            Operation::new("divide", divide)
                .description("Divides one number by another.")
                .input::<Divide>()
                .output::<f64>()
                .errors::<MathError>()
                .example(Example::new("a half", half, 0.5))
                .read_only(),
        )
        .operation(
            Operation::new("sum", sum)
                .title("Sum")
                .description("Adds up any number of integers.")
                .input::<Sum>()
                .output::<i64>()
                .example(Example::new("three", [("numbers", json!([1, 2, 3]))], 6))
                .read_only(),
        )
}

fn family() -> Router {
    let count = |Params(Family { person }): Params<Family>| count(&person);
    let eldest = || Json(Person { name: "Ada".to_owned(), children: Vec::new() });
    Router::new()
        .operation(
            Operation::new("count", count)
                .description("Counts a person and all descendants.")
                .input::<Family>()
                .output::<usize>()
                .read_only(),
        )
        .operation(Operation::new("eldest", eldest).output::<Person>().read_only())
}

fn count(person: &Person) -> usize {
    1 + person.children.iter().map(count).sum::<usize>()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let log = |Params(Line { line }): Params<Line>| println!("{line}");
    let rpc = Router::new()
        .info("Example", env!("CARGO_PKG_VERSION"))
        .nest("math", math())
        .nest("family", family())
        .operation(Operation::new("log", log).input::<Line>().notification())
        .method("echo", |Params(value): Params<Value>| value)
        .build()?;
    let shutdown = server::shutdown_signal()?;
    let service = rpc.http().merge(rpc.openrpc_routes());
    let server = Server::bind(address).serve(service).await?;
    println!("listening http://{}", server.local_addr());
    shutdown.await;
    server.stop().await;
    Ok(())
}
