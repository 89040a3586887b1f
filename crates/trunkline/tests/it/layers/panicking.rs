//! A panic fails only the call of the handler.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};

use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::task::yield_now;
use trunkline::layers::{Defaults, Next, from_fn};
use trunkline::{Call, ErrorObject, FromCall, Limits, Router, blocking};

struct Panics;

impl<S> FromCall<S> for Panics {
    fn from_call(_call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        panic!("a secret of the extractor")
    }
}

#[test]
fn panics_are_internal_errors() {
    let rpc = Router::new()
        .method("now, &str", || -> () { panic!("a secret") })
        .method("now, String", || -> () { panic!("a secret {}", 1) })
        .method("now, neither", || -> () { panic_any(1) })
        .method("later, &str", async || -> () {
            yield_now().await;
            panic!("a secret");
        })
        .method("later, String", async || -> () {
            yield_now().await;
            panic!("a secret {}", 1);
        })
        .method("on a thread, &str", blocking(|| -> () { panic!("a secret") }))
        .method("on a thread, String", blocking(|| -> () { panic!("a secret {}", 1) }))
        .method("extractor", |_: Panics| ())
        .method("function", || -> () { panic!("a secret") })
        .method("layer", || 1)
        .route_layer("layer", from_fn(async |_: Call, _: Next| panic!("a secret of a layer")))
        .method("fine", || 1)
        .limits(Limits { concurrent_calls: Some(1), ..Limits::default() })
        .build()
        .unwrap();
    let operations = rpc.operations();
    let methods: Vec<_> = operations.iter().map(|operation| operation.name()).collect();
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    for method in methods.into_iter().filter(|name| !["fine", "rpc.discover"].contains(name)) {
        let error = runtime.block_on(rpc.call::<i64>(method, &[0; 0])).unwrap_err();
        assert_eq!((error.code(), error.message()), (-32603, "Internal error"), "{method}");
        let data: Value = serde_json::from_str(error.data().unwrap().get()).unwrap();
        assert_eq!(data, json!({ "incident": data["incident"] }), "{method}");
        // The only permit was released.
        assert_eq!(runtime.block_on(rpc.call::<i64>("fine", &[0; 0])), Ok(1), "after {method}");
    }
}

#[test]
fn panics_propagate_if_not_caught() {
    let rpc = Router::new()
        .method("now", || -> () { panic!("not caught") })
        .method("later", async || -> () {
            yield_now().await;
            panic!("not caught");
        })
        .default_layers(Defaults { catch_panic: false, ..Defaults::default() })
        .build()
        .unwrap();
    for method in ["now", "later"] {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let call = || runtime.block_on(rpc.call::<()>(method, &[0; 0]));
        assert!(catch_unwind(AssertUnwindSafe(call)).is_err(), "{method}");
    }
}
