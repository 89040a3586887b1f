//! One trait for both sides: `Math` is served over HTTP and called with `MathClient`.
//!
//! ```text
//! cargo run -p trunkline --example typed_client
//! ```
#![expect(clippy::print_stdout, reason = "examples print their results")]

use trunkline::client::{Error, Http};
use trunkline::{RpcError, Server, rpc};

#[rpc(namespace = "math")]
trait Math {
    /// Divides two numbers.
    #[rpc(read_only)]
    async fn divide(
        &self,
        dividend: f64,
        #[param(default = 2.0)] divisor: f64,
    ) -> Result<f64, MathError>;

    async fn sum(&self, #[param(variadic)] numbers: Vec<i64>) -> i64;
}

#[derive(Debug, RpcError)]
enum MathError {
    #[rpc(code = 1, message = "division by zero")]
    DivisionByZero,
}

struct Calculator;

impl Math for Calculator {
    async fn divide(&self, dividend: f64, divisor: f64) -> Result<f64, MathError> {
        if divisor == 0.0 { Err(MathError::DivisionByZero) } else { Ok(dividend / divisor) }
    }

    async fn sum(&self, numbers: Vec<i64>) -> i64 {
        numbers.iter().sum()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server =
        Server::bind("127.0.0.1:0").serve(Calculator.into_router().build()?.http()).await?;
    let math = MathClient::new(Http::connect(&format!("http://{}", server.local_addr()))?);

    println!("7 / 2 = {}", math.divide(7.0, 2.0).await?);
    println!("7 / the default = {}", math.divide(7.0, None).await?);
    if let Err(Error::Application(MathError::DivisionByZero)) = math.divide(7.0, 0.0).await {
        println!("7 / 0 is an application error");
    }

    let mut batch = math.client().batch();
    let (half, sum) = (batch.add(math.divide(1.0, 2.0)), batch.add(math.sum(vec![1, 2, 3])));
    let mut replies = batch.send().await?;
    println!("in one message: {} and {}", replies.take(half)?, replies.take(sum)?);

    server.stop().await;
    Ok(())
}
