//! The methods that the protocol cases call.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Number, Value};
use trunkline::{ErrorObject, Json, Limits, Params, RawParams, Router, VariadicParams};

/// The router of all methods.
pub(crate) fn router(limits: Limits) -> Router {
    Router::new()
        .method("subtract", subtract)
        .method("sum", sum)
        .method("get_data", || ("hello", 5))
        .method("update", |_: RawParams| ())
        .method("notify_hello", |_: RawParams| ())
        .method("notify_sum", |_: RawParams| ())
        .method("echo", |RawParams(params): RawParams| params)
        .method("fail", |Params(fail): Params<Fail>| -> Result<(), ErrorObject> {
            Err(fail.into())
        })
        .method("null", || Json(()))
        .info("spec_server", env!("CARGO_PKG_VERSION"))
        .limits(limits)
}

#[derive(Deserialize)]
struct Subtract {
    minuend: Number,
    subtrahend: Number,
}

fn subtract(Params(Subtract { minuend, subtrahend }): Params<Subtract>) -> Value {
    combine(&minuend, &subtrahend, i64::checked_sub, |a, b| a - b)
}

#[derive(Deserialize)]
struct Sum {
    numbers: Vec<Number>,
}

fn sum(VariadicParams(Sum { numbers }): VariadicParams<Sum>) -> Value {
    let zero = Number::from(0);
    let add = |sum: Number, next: &Number| match combine(&sum, next, i64::checked_add, |a, b| a + b)
    {
        Value::Number(sum) => sum,
        _ => sum,
    };
    Value::Number(numbers.iter().fold(zero, add))
}

/// Exact for integers, otherwise in floating point.
fn combine(
    a: &Number,
    b: &Number,
    exact: fn(i64, i64) -> Option<i64>,
    float: fn(f64, f64) -> f64,
) -> Value {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64())
        && let Some(result) = exact(a, b)
    {
        return result.into();
    }
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => float(a, b).into(),
        _ => Value::Null,
    }
}

#[derive(Deserialize)]
struct Fail {
    code: i64,
    message: String,
    /// An explicit `null` is data too.
    #[serde(default, deserialize_with = "present")]
    data: Option<Box<RawValue>>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

impl From<Fail> for ErrorObject {
    fn from(fail: Fail) -> Self {
        let error = Self::new(fail.code, fail.message);
        match &fail.data {
            Some(data) => error.with_data(data),
            None => error,
        }
    }
}
