//! Without a model.

use serde_json::{Value, json};

use crate::house::{Plan, includes, told};

async fn check(message: &str, expected: Value) {
    let house = Plan::offline().build().await;
    let found = told(house.chat(&json!({ "message": message })).await);
    includes(message, &found, &expected);
    includes(message, &found["response"], &json!("…No model is configured"));
    assert_eq!(house.seen.erased.load(std::sync::atomic::Ordering::SeqCst), 0, "{message}");
    let again = told(house.chat(&json!({ "message": message })).await);
    assert_eq!(again["response"], found["response"], "the same message leads to the same");
}

#[tokio::test]
async fn words_are_matched() {
    let add = json!({ "tool": "add", "arguments": { "a": 1, "b": 2 }, "result": 3 });
    check(
        "Please add the numbers a=1 b=2",
        json!({ "steps": [&add], "metadata": { "model": null } }),
    )
    .await;
    let greet = json!({ "tool": "greet_person", "result": "Hello Ann Lee" });
    check("greet 'Ann Lee'", json!({ "steps": [&greet], "response": "…sure" })).await;
    check("add numbers", json!({ "steps": [], "response": "…it needs a, b" })).await;
    check("add numbers a=x b=2", json!({ "steps": [], "response": "…does not fit" })).await;
    check("erase the note name=x", json!({ "steps": [], "response": "…more than read" })).await;
    check("unsaid", json!({ "steps": [], "response": "…more than read" })).await;
    // A param that is named tells what is wanted, and so does most of a word.
    check("a=1 b=2", json!({ "steps": [&add], "response": "…3" })).await;
    check("greeting \"Ann Lee\"", json!({ "steps": [greet] })).await;
    check("Sing!", json!({ "steps": [], "response": "…Nothing that I can do", "metadata": { "confidence": 0.0 } }))
        .await;
}
