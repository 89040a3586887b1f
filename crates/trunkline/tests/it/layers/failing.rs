//! Errors of layers.

use std::fmt;
use std::future::{Ready, ready};
use std::marker::PhantomData;
use std::task::{Context, Poll};

use serde_json::{Value, json};
use tower::layer::util::Stack;
use tower::{Layer, Service};
use trunkline::BoxError;
use trunkline::layers::HandleErrorLayer;
use trunkline::{Call, ErrorObject, Outcome, Router};

use super::{check, paused};

/// A layer whose service fails with the errors that the function makes.
struct FailLayer<E>(fn() -> E);

struct Fail<S, E> {
    make: fn() -> E,
    inner: PhantomData<fn() -> S>,
}

impl<S, E> Layer<S> for FailLayer<E> {
    type Service = Fail<S, E>;

    fn layer(&self, _inner: S) -> Fail<S, E> {
        Fail { make: self.0, inner: PhantomData }
    }
}

impl<S, E> Clone for Fail<S, E> {
    fn clone(&self) -> Self {
        Self { make: self.make, inner: PhantomData }
    }
}

impl<S, E> Service<Call> for Fail<S, E> {
    type Response = Outcome;
    type Error = E;
    type Future = Ready<Result<Outcome, E>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _call: Call) -> Self::Future {
        ready(Err((self.make)()))
    }
}

#[derive(Debug)]
struct Secret;

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the password is 12345")
    }
}

impl std::error::Error for Secret {}

fn router() -> Router {
    Router::new().method("m", || 1)
}

#[test]
fn errors_of_layers_become_error_objects() {
    fn errors() -> [(fn() -> BoxError, Value); 3] {
        [
            (
                || Box::new(ErrorObject::new(7, "mine").with_data(&[1])),
                json!({ "code": 7, "message": "mine", "data": [1] }),
            ),
            (
                || Box::new(tower::timeout::error::Elapsed::new()),
                json!({ "code": -32004, "message": "Call timed out" }),
            ),
            (
                || Box::new(tower::load_shed::error::Overloaded::new()),
                json!({ "code": -32005, "message": "Server is busy" }),
            ),
        ]
    }

    for (make, error) in errors() {
        check(&router().layer(FailLayer(make)).build().unwrap(), "m", Err(error.clone()));
        let documented = Stack::new(FailLayer(make), HandleErrorLayer::documented());
        check(&router().layer(documented).build().unwrap(), "m", Err(error));
    }
}

#[test]
fn hides_the_causes_of_other_errors() {
    for rpc in [
        router().layer(FailLayer(|| Secret)).build().unwrap(),
        router().layer(FailLayer(|| BoxError::from(Secret))).build().unwrap(),
        router().layer(FailLayer(|| BoxError::from("the password is 12345"))).build().unwrap(),
    ] {
        let error = paused().block_on(rpc.call::<i64>("m", &[0; 0])).unwrap_err();
        assert_eq!((error.code(), error.message()), (-32603, "Internal error"));
        let data: Value = serde_json::from_str(error.data().unwrap().get()).unwrap();
        let incident = data["incident"].as_str().unwrap();
        assert!(incident.len() == 16 && incident.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(data, json!({ "incident": incident }), "only the incident is sent");
    }
}

#[test]
fn custom_policies_receive_errors_first() {
    let policy = HandleErrorLayer::new(|error: BoxError| match error.downcast::<Secret>() {
        Ok(_) => Outcome::result("never mind"),
        Err(error) => Outcome::error(ErrorObject::new(9, error.to_string())),
    });
    let stack = Stack::new(FailLayer(|| Secret), policy.clone());
    check(&router().layer(stack).build().unwrap(), "m", Ok(json!("never mind")));
    let stack = Stack::new(FailLayer(|| BoxError::from("plain")), policy.clone());
    let error = json!({ "code": 9, "message": "plain" });
    check(&router().layer(stack).build().unwrap(), "m", Err(error));
    // Error outcomes are not errors of a layer: the policy does not receive them.
    let rpc = Router::new()
        .method("m", || Err::<(), _>(ErrorObject::new(7, "no")))
        .layer(policy)
        .build()
        .unwrap();
    check(&rpc, "m", Err(json!({ "code": 7, "message": "no" })));
}
