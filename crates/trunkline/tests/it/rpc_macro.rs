//! `#[rpc]` on `impl` blocks and traits.

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::task::yield_now;
use trunkline::{Call, CallId, ErrorObject, FromCall, Router, Rpc, RpcError, code, rpc};

/// Calls `method` and compares the result or the error code.
#[track_caller]
fn check(
    rpc: &Rpc,
    method: &str,
    params: Value,
    expected: Result<Value, i64>,
) -> impl Future<Output = ()> {
    let place = Location::caller();
    async move {
        let found = rpc.call::<Value>(method, &params).await.map_err(|error| error.code());
        assert_eq!(found, expected, "{method} with {params}, expected at {place}");
    }
}

const REFUSED: Result<Value, i64> = Err(code::INVALID_PARAMS);
const UNKNOWN: Result<Value, i64> = Err(code::METHOD_NOT_FOUND);

fn built(router: Router) -> Rpc {
    router.build().expect("unique names")
}

#[derive(Debug, RpcError)]
enum MathError {
    #[rpc(code = 1, message = "division by zero")]
    DivisionByZero,
}

#[derive(Debug, Default)]
struct Calculator {
    cleared: Arc<AtomicU64>,
}

#[rpc(namespace = "math")]
impl Calculator {
    /// Adds two numbers.
    ///
    /// The sum wraps around.
    fn add(&self, a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }

    #[rpc(name = "Divide")]
    async fn divide(
        &self,
        dividend: f64,
        #[param(default = f64::from(2_u8))] divisor: f64,
    ) -> Result<f64, MathError> {
        yield_now().await;
        if divisor == 0.0 {
            return Err(MathError::DivisionByZero);
        }
        Ok(dividend / divisor)
    }

    async fn sum(&self, start: i64, #[param(variadic)] numbers: Vec<i64>) -> i64 {
        yield_now().await;
        start + numbers.iter().sum::<i64>()
    }

    #[rpc(blocking)]
    fn thread(&self) -> bool {
        std::thread::current().name().is_some_and(|name| name.contains("tokio"))
    }

    #[rpc(blocking)]
    fn root(&self, number: i64) -> Result<i64, MathError> {
        number.checked_isqrt().ok_or(MathError::DivisionByZero)
    }

    #[notification]
    async fn clear(&self) {
        yield_now().await;
        self.cleared.fetch_add(1, Ordering::Relaxed);
    }

    #[cfg(any())]
    fn absent(&self, of: NoSuchType) -> NoSuchType {
        of
    }

    #[rpc(skip)]
    fn cleared(&self) -> u64 {
        self.cleared.load(Ordering::Relaxed)
    }

    #[rpc(skip)]
    fn new() -> Self {
        Self::default()
    }
}

#[tokio::test]
async fn params_come_by_name_and_by_position() {
    let rpc = built(Calculator::new().into_router());
    check(&rpc, "math.add", json!([1, 2]), Ok(json!(3))).await;
    check(&rpc, "math.add", json!({"b": 2, "a": 1}), Ok(json!(3))).await;
    check(&rpc, "math.add", json!([1]), REFUSED).await;
    check(&rpc, "math.add", json!([1, 2, 3]), REFUSED).await;
    check(&rpc, "math.add", json!({"a": 1}), REFUSED).await;
    check(&rpc, "math.add", json!({"a": 1, "b": 2, "c": 3}), REFUSED).await;
    check(&rpc, "math.add", json!(["1", 2]), REFUSED).await;
    check(&rpc, "math.add", json!([null, 2]), REFUSED).await;
    check(&rpc, "math.add", json!([1.0, 2]), Ok(json!(3))).await;
    check(&rpc, "add", json!([1, 2]), UNKNOWN).await;
}

#[tokio::test]
async fn a_missing_param_has_its_default() {
    let rpc = built(Calculator::new().into_router());
    check(&rpc, "math.Divide", json!([6]), Ok(json!(3.0))).await;
    check(&rpc, "math.Divide", json!({"dividend": 6}), Ok(json!(3.0))).await;
    check(&rpc, "math.Divide", json!([6, 3]), Ok(json!(2.0))).await;
    check(&rpc, "math.Divide", json!([6, null]), Ok(json!(3.0))).await;
    check(&rpc, "math.Divide", json!({"dividend": 6, "divisor": null}), Ok(json!(3.0))).await;
    check(&rpc, "math.Divide", json!({"dividend": null, "divisor": 3}), REFUSED).await;
    check(&rpc, "math.Divide", json!({"divisor": 3, "dividend": 6}), Ok(json!(2.0))).await;
    check(&rpc, "math.Divide", json!([6, 0]), Err(1)).await;
    check(&rpc, "math.Divide", json!([]), REFUSED).await;
    check(&rpc, "math.divide", json!([6, 3]), UNKNOWN).await;
}

#[tokio::test]
async fn a_variadic_param_takes_the_remaining_positions() {
    let rpc = built(Calculator::new().into_router());
    check(&rpc, "math.sum", json!([1]), Ok(json!(1))).await;
    check(&rpc, "math.sum", json!([1, 2, 3]), Ok(json!(6))).await;
    check(&rpc, "math.sum", json!({"start": 1}), Ok(json!(1))).await;
    check(&rpc, "math.sum", json!({"start": 1, "numbers": [2, 3]}), Ok(json!(6))).await;
    check(&rpc, "math.sum", json!([]), REFUSED).await;
    check(&rpc, "math.sum", json!([1, [2, 3]]), REFUSED).await;
}

#[tokio::test]
async fn supports_sync_async_and_blocking_methods() {
    let rpc = built(Calculator::new().into_router());
    check(&rpc, "math.root", json!([10]), Ok(json!(3))).await;
    check(&rpc, "math.root", json!([-1]), Err(1)).await;
    check(&rpc, "math.thread", json!([]), Ok(json!(true))).await;
    check(&rpc, "math.thread", json!([1]), REFUSED).await;
    check(&rpc, "math.thread", json!({"x": 1}), REFUSED).await;
}

#[tokio::test]
async fn only_methods_are_registered() {
    let calculator = Calculator::new();
    let counter = Calculator { cleared: Arc::clone(&calculator.cleared) };
    let rpc = built(calculator.into_router());
    check(&rpc, "math.clear", json!([]), Ok(Value::Null)).await;
    assert_eq!(counter.cleared(), 1);
    for absent in ["math.absent", "math.cleared", "math.new", "math.into_router"] {
        check(&rpc, absent, json!([]), UNKNOWN).await;
    }
}

#[test]
fn a_doc_comment_is_the_description() {
    let rpc = built(Calculator::new().into_router());
    let text = |name| {
        let operations = rpc.operations();
        let operation = operations.iter().find(|operation| operation.name() == name);
        operation.unwrap().description().text.clone()
    };
    let add = "Adds two numbers.\n\nThe sum wraps around.";
    assert_eq!(text("math.add").as_deref(), Some(add));
    assert_eq!(text("math.sum"), None);
}

#[test]
fn the_source_location_of_a_registration_is_the_method() {
    let duplicate =
        Router::new().merge(Calculator::new().into_router()).merge(Calculator::new().into_router());
    let error = duplicate.build().unwrap_err().to_string();
    let line =
        include_str!("rpc_macro.rs").lines().position(|line| line.contains("fn add(")).unwrap();
    let place = format!("rpc_macro.rs:{}:8", line + 1);
    assert_eq!(error.matches(&place).count(), 2, "{error} has no {place}");
}

/// The caller.
struct Caller(String);

impl<S> FromCall<S> for Caller {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(Self(call.method().to_string()))
    }
}

#[derive(Serialize, Deserialize)]
struct SendParams {
    size: u8,
}

/// Names that the generated code uses, and names of `Arc` and of traits in the prelude.
#[derive(Clone)]
struct Mail;

#[rpc]
impl Mail {
    fn send(
        &self,
        #[param(name = "from")] service: String,
        r#type: Option<SendParams>,
        #[param(default = default_router())] mut router: u8,
        #[extract] params: CallId,
    ) -> String {
        router += 1;
        let size = r#type.map(|params| params.size);
        let called = params.0.is_some();
        format!("{service} {size:?} {router} {called}")
    }

    fn whoami(&self, #[extract] Caller(name): Caller, #[extract] Caller(again): Caller) -> String {
        name + &again
    }

    fn clone(&self, from: String) -> String {
        from
    }

    fn r#loop(&self, #[param(variadic)] r#in: Vec<u8>) -> usize {
        r#in.len()
    }

    async fn unit(&self) -> Result<(), ErrorObject> {
        yield_now().await;
        Ok(())
    }

    fn fixed(&self) -> &'static str {
        "fixed"
    }
}

fn default_router() -> u8 {
    1
}

#[tokio::test]
async fn allows_any_names() {
    let rpc = built(Mail.into_router());
    let full = json!({"from": "ada", "type": {"size": 3}, "router": 8});
    check(&rpc, "send", full, Ok(json!("ada Some(3) 9 true"))).await;
    check(&rpc, "send", json!(["ada"]), Ok(json!("ada None 2 true"))).await;
    check(&rpc, "send", json!(["ada", null, 4]), Ok(json!("ada None 5 true"))).await;
    check(&rpc, "send", json!({"service": "ada"}), REFUSED).await;
    check(&rpc, "whoami", json!([]), Ok(json!("whoamiwhoami"))).await;
    check(&rpc, "whoami", json!([1]), REFUSED).await;
    check(&rpc, "clone", json!(["git"]), Ok(json!("git"))).await;
    check(&rpc, "loop", json!([1, 2]), Ok(json!(2))).await;
    check(&rpc, "loop", json!({"in": [1]}), Ok(json!(1))).await;
    check(&rpc, "loop", json!([]), Ok(json!(0))).await;
    check(&rpc, "unit", json!([]), Ok(Value::Null)).await;
    check(&rpc, "fixed", json!([]), Ok(json!("fixed"))).await;
}

/// A trait for the type parameter of a service.
trait Database: Send + Sync + 'static {
    fn rows(&self, query: &str) -> Vec<String>;
}

struct Echo;

impl Database for Echo {
    fn rows(&self, query: &str) -> Vec<String> {
        vec![query.to_owned()]
    }
}

struct Search<S> {
    database: S,
}

#[rpc(namespace = "search")]
impl<S: Database> Search<S> {
    async fn find(&self, query: String) -> Vec<String> {
        yield_now().await;
        self.database.rows(&query)
    }
}

#[tokio::test]
async fn a_service_may_be_generic() {
    let rpc = built(Search { database: Echo }.into_router());
    check(&rpc, "search.find", json!(["a"]), Ok(json!(["a"]))).await;
}

/// A trait with methods with and without a default implementation.
#[rpc(namespace = "shop")]
trait Shop {
    async fn price(
        &self,
        item: String,
        #[param(default = 1)] count: u64,
    ) -> Result<u64, ErrorObject>;

    /// Prices several items.
    async fn prices(&self, #[param(variadic)] items: Vec<String>) -> Result<Vec<u64>, ErrorObject> {
        let mut prices = Vec::new();
        for item in items {
            prices.push(self.price(item, 1).await?);
        }
        Ok(prices)
    }

    #[notification]
    async fn log(&self, line: String);

    fn currency(&self) -> String {
        "EUR".to_owned()
    }

    fn city(&self) -> String;

    #[rpc(skip)]
    async fn discount(&self, item: &str) -> u64 {
        item.len() as u64
    }
}

struct Corner;

impl Shop for Corner {
    async fn price(&self, item: String, count: u64) -> Result<u64, ErrorObject> {
        let price = match item.as_str() {
            "apple" => 3,
            _ => return Err(ErrorObject::new(4, "out of stock")),
        };
        // A pending future holds its arguments.
        yield_now().await;
        Ok(price * count - self.discount("").await)
    }

    async fn log(&self, line: String) {
        assert!(!line.is_empty());
    }

    fn city(&self) -> String {
        "Bonn".to_owned()
    }
}

#[tokio::test]
async fn serves_any_implementation_of_a_trait() {
    let rpc = built(Shop::into_router(Corner));
    check(&rpc, "shop.price", json!(["apple"]), Ok(json!(3))).await;
    check(&rpc, "shop.price", json!({"item": "apple", "count": 2}), Ok(json!(6))).await;
    check(&rpc, "shop.price", json!(["pear"]), Err(4)).await;
    check(&rpc, "shop.prices", json!(["apple", "apple"]), Ok(json!([3, 3]))).await;
    check(&rpc, "shop.prices", json!(["apple", "pear"]), Err(4)).await;
    check(&rpc, "shop.log", json!(["closed"]), Ok(Value::Null)).await;
    check(&rpc, "shop.currency", json!([]), Ok(json!("EUR"))).await;
    check(&rpc, "shop.city", json!([]), Ok(json!("Bonn"))).await;
    check(&rpc, "shop.discount", json!(["a"]), UNKNOWN).await;
}

/// A second service of the same type.
#[rpc(namespace = "office")]
trait Office {
    fn city(&self) -> String;
}

impl Office for Corner {
    fn city(&self) -> String {
        "Ulm".to_owned()
    }
}

#[tokio::test]
async fn a_type_may_serve_several_traits() {
    let rpc =
        built(Router::new().merge(Shop::into_router(Corner)).merge(Office::into_router(Corner)));
    check(&rpc, "shop.city", json!([]), Ok(json!("Bonn"))).await;
    check(&rpc, "office.city", json!([]), Ok(json!("Ulm"))).await;
}
