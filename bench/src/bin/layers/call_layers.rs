//! The layers around calls, and the history.

use anyhow::Result;
use serde_json::json;
use trunkline::access::Principal;
use trunkline::history::{History, HistoryConfig, Redaction};
use trunkline::layers::authorize::{Rules, scope};
use trunkline::layers::rate_limit::Rate;
use trunkline::layers::{Defaults, Next, RateLimitLayer, ValidateLayer, from_fn};
use trunkline::{Call, Extensions, Limits, Operation, Params, Router, Rpc};
use trunkline_bench::{Add, call_trunkline, trunkline_router};

use crate::turn::{Subject, Turn, insist, measure, wait_once};

pub(crate) fn subjects() -> Result<Vec<Subject>> {
    Ok([alone()?, waiting()?, on_top()?, validating()?].into_iter().flatten().collect())
}

const NONE: Defaults = Defaults { trace: false, metrics: false, catch_panic: false };

/// Each default layer without the others, and all of them.
fn alone() -> Result<Vec<Subject>> {
    let subject = |what, defaults, limits| {
        let router = trunkline_router().default_layers(defaults).limits(limits);
        let turn = turn(router.build()?, Extensions::new());
        Ok(Subject { group: "default layers alone", what, turn })
    };
    [
        subject("no layers", NONE, unlimited()),
        subject("trace, no subscriber", Defaults { trace: true, ..NONE }, unlimited()),
        subject("metrics", Defaults { metrics: true, ..NONE }, unlimited()),
        subject("catch_panic", Defaults { catch_panic: true, ..NONE }, unlimited()),
        subject("timeout", NONE, timeout()),
        subject("concurrency_limit", NONE, concurrency_limit()),
        subject("all defaults", Defaults::default(), Limits::default()),
    ]
    .into_iter()
    .collect()
}

/// The two layers that do nothing for a handler that is not async.
fn waiting() -> Result<Vec<Subject>> {
    let subject = |what, limits| {
        let router = Router::new().method("add", |Params(Add { a, b }): Params<Add>| async move {
            wait_once().await;
            a + b
        });
        let router = router.default_layers(NONE).limits(limits);
        let turn = turn(router.build()?, Extensions::new());
        Ok(Subject { group: "default layers alone, a handler that waits", what, turn })
    };
    [
        subject("no layers", unlimited()),
        subject("timeout", timeout()),
        subject("concurrency_limit", concurrency_limit()),
    ]
    .into_iter()
    .collect()
}

fn on_top() -> Result<Vec<Subject>> {
    let rules = Rules::new().require("add", scope("calc.write"));
    // The limits are never reached.
    let rate_limit = RateLimitLayer::new(Rate { calls: u32::MAX, ..Rate::default() });
    let pass = from_fn(|call: Call, next: Next| next.run(call));
    let recorded = |redact| {
        let history = History::new(HistoryConfig { redact, ..HistoryConfig::default() });
        Ok(trunkline_router().build()?.with_history(history))
    };
    let subject = |what, rpc: Result<Rpc>| {
        let turn = turn(rpc?, known_caller());
        Ok(Subject { group: "on top of all defaults, a known caller", what, turn })
    };
    [
        subject("all defaults", built(trunkline_router())),
        subject("authorize", built(trunkline_router().authorize(rules))),
        subject("rate_limit", built(trunkline_router().layer(rate_limit))),
        subject("from_fn", built(trunkline_router().layer(pass))),
        subject("history", recorded(Redaction::default())),
        subject("history, Redaction::none()", recorded(Redaction::none())),
    ]
    .into_iter()
    .collect()
}

/// A separate group, because validated params have a schema.
fn validating() -> Result<Vec<Subject>> {
    let router = || {
        let add = |Params(add): Params<Add>| add.a + add.b;
        Router::new().operation(Operation::new("add", add).input::<Add>())
    };
    let subject = |what, router| {
        let turn = turn(built(router)?, known_caller());
        Ok(Subject { group: "on top of all defaults, a struct of params", what, turn })
    };
    [subject("all defaults", router()), subject("validation", router().layer(ValidateLayer::new()))]
        .into_iter()
        .collect()
}

fn unlimited() -> Limits {
    Limits { call_timeout: None, concurrent_calls: None, ..Limits::default() }
}

fn timeout() -> Limits {
    Limits { concurrent_calls: None, ..Limits::default() }
}

fn concurrency_limit() -> Limits {
    Limits { call_timeout: None, ..Limits::default() }
}

fn built(router: Router) -> Result<Rpc> {
    Ok(router.build()?)
}

/// The extensions of an authenticated caller.
fn known_caller() -> Extensions {
    let claims = [("scope".to_owned(), json!("calc.read calc.write"))];
    let mut extensions = Extensions::new();
    extensions.insert(Principal::new("ada").with_claims(claims.into_iter().collect()));
    extensions
}

fn turn(rpc: Rpc, extensions: Extensions) -> Turn {
    Box::new(move || {
        let (rpc, extensions) = (rpc.clone(), extensions.clone());
        Box::pin(async move {
            measure(async || insist(call_trunkline(&rpc, extensions.clone())).await).await
        })
    })
}
