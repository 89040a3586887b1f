//! `#[derive(RpcError)]`.

use std::fmt::Debug;

use serde_json::{Value, json};
use trunkline::{ErrorObject, Router, RpcError, code, rpc};

#[derive(Debug, Clone, PartialEq, RpcError)]
enum MathError {
    #[rpc(code = 1, message = "division by zero")]
    DivisionByZero,
    #[rpc(code = 2, message = "{value} is out of range")]
    OutOfRange { value: i64, limit: Option<i64> },
    #[rpc(code = 3, message = "cannot parse {0:?}")]
    Parse(String),
    #[rpc(code = -50, message = "{1:>3} of {{{0}}}")]
    Pair(u8, u8),
    #[rpc(code = 0x10, message = "nothing inside")]
    Empty {},
    #[rpc(code = 17, message = "{{}}")]
    Braces(),
    #[rpc(code = 18, message = "{type}")]
    Raw { r#type: u8 },
    #[rpc(internal, message = "the store failed: {0}")]
    Store(String),
}

/// Converts `error`, compares the object, and converts it back.
#[track_caller]
fn check<E: RpcError + PartialEq + Debug + Clone>(
    error: &E,
    code: i64,
    message: &str,
    data: impl Into<Value>,
) {
    let object = error.clone().into_error_object();
    assert_eq!((object.code(), object.message()), (code, message));
    assert_eq!(data_of(&object), data.into());
    assert_eq!(E::from_error_object(&object).as_ref(), Some(error));
}

fn data_of(object: &ErrorObject) -> Value {
    object.data().map_or(Value::Null, |data| json!(data))
}

#[test]
fn fields_are_data() {
    check(&MathError::DivisionByZero, 1, "division by zero", Value::Null);
    let error = MathError::OutOfRange { value: 12, limit: None };
    check(&error, 2, "12 is out of range", json!({"value": 12, "limit": null}));
    let error = MathError::OutOfRange { value: 12, limit: Some(9) };
    check(&error, 2, "12 is out of range", json!({"value": 12, "limit": 9}));
    check(&MathError::Parse("x".to_owned()), 3, "cannot parse \"x\"", json!("x"));
    check(&MathError::Pair(1, 2), -50, "  2 of {1}", json!([1, 2]));
    check(&MathError::Empty {}, 16, "nothing inside", Value::Null);
    check(&MathError::Braces(), 17, "{}", Value::Null);
    check(&MathError::Raw { r#type: 5 }, 18, "5", json!({"type": 5}));
}

/// Converts an error object to `MathError`.
#[track_caller]
fn check_decoding(code: i64, data: Option<Value>, expected: impl Into<Option<MathError>>) {
    let object = ErrorObject::new(code, "any message");
    let object = match data {
        Some(data) => object.with_data(&data),
        None => object,
    };
    assert_eq!(MathError::from_error_object(&object), expected.into());
}

#[test]
fn rejects_error_objects_that_do_not_match() {
    check_decoding(1, None, Some(MathError::DivisionByZero));
    check_decoding(1, Some(json!({"more": 1})), Some(MathError::DivisionByZero));
    let out_of_range = MathError::OutOfRange { value: 12, limit: None };
    check_decoding(2, Some(json!({"value": 12})), Some(out_of_range));
    check_decoding(2, Some(json!({"value": "12"})), None);
    check_decoding(2, None, None);
    check_decoding(3, Some(json!(3)), None);
    check_decoding(-50, Some(json!([1])), None);
    check_decoding(4, None, None);
    check_decoding(code::INTERNAL_ERROR, None, None);
}

#[test]
fn an_internal_error_keeps_its_cause() {
    let error = MathError::Store("password of root".to_owned());
    assert_eq!(error.to_string(), "the store failed: password of root");
    let object = error.into_error_object();
    assert_eq!((object.code(), object.message()), (code::INTERNAL_ERROR, "Internal error"));
    assert!(!format!("{object:?}").contains("password"), "{object:?}");
    assert_eq!(MathError::from_error_object(&object), None);
}

/// Messages from `thiserror`.
#[derive(Debug, Clone, PartialEq, thiserror::Error, RpcError)]
enum FindError {
    #[error("no table {table}")]
    #[rpc(code = 10)]
    NoTable { table: String },
    #[error("interrupted")]
    #[rpc(code = 11)]
    Interrupted,
}

#[derive(Debug, Clone, PartialEq, RpcError)]
#[rpc(code = -32099, message = "{key} is taken")]
struct Conflict<K> {
    key: K,
    others: Vec<K>,
}

#[derive(Debug, Clone, PartialEq, RpcError)]
#[rpc(code = -32015, message = "gone")]
struct Gone;

#[derive(Debug, Clone, PartialEq, RpcError)]
enum Either<A: Clone, B>
where
    B: Clone,
{
    #[rpc(code = 22, message = "{0}")]
    Left(A),
    #[rpc(code = 23, message = "{right:?}")]
    Right { right: B },
    #[rpc(internal, message = "{0}")]
    Cause(ErrorObject),
}

#[test]
fn other_shapes_of_types() {
    check(&FindError::NoTable { table: "t".to_owned() }, 10, "no table t", json!({"table": "t"}));
    check(&FindError::Interrupted, 11, "interrupted", Value::Null);
    let conflict = Conflict { key: 1, others: vec![2] };
    check(&conflict, -32099, "1 is taken", json!({"key": 1, "others": [2]}));
    check(&Gone, -32015, "gone", Value::Null);
    type Both = Either<String, Vec<u8>>;
    check(&Both::Left("l".to_owned()), 22, "l", json!("l"));
    check(&Both::Right { right: vec![1] }, 23, "[1]", json!({"right": [1]}));
    let cause = Both::Cause(ErrorObject::new(1, "cause"));
    assert_eq!(cause.into_error_object().code(), code::INTERNAL_ERROR);
}

struct Api;

#[rpc]
impl Api {
    fn find(&self, table: String) -> Result<(), FindError> {
        Err(FindError::NoTable { table })
    }
}

#[tokio::test]
async fn a_typed_client_returns_the_error() {
    let rpc = Router::new().merge(Api.into_router()).build().unwrap();
    let error = rpc.call::<()>("find", &["users"]).await.unwrap_err();
    let expected = FindError::NoTable { table: "users".to_owned() };
    assert_eq!(FindError::from_error_object(&error), Some(expected));
}
