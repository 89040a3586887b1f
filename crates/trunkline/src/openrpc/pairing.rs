use serde::Serialize;
use serde_json::Value;
use trunkline_core::call;

use super::content::Content;

/// "Example Pairing Object": params and the result that they lead to.
#[derive(Debug, Serialize)]
pub(super) struct Pairing {
    name: String,
    params: Vec<Example>,
    result: Example,
}

/// "Example Object".
#[derive(Debug, Serialize)]
struct Example {
    name: String,
    value: Value,
}

impl Pairing {
    /// `params` are those of the method, whose order the example's have.
    pub(super) fn new(example: &call::Example, params: &[Content]) -> Self {
        let mut values: Vec<_> = example.params.iter().collect();
        let place = |name: &str| params.iter().position(|param| param.name == name);
        values.sort_by_key(|(name, _)| place(name).unwrap_or(params.len()));
        let one =
            |(name, value): (&String, &Value)| Example { name: name.clone(), value: value.clone() };
        Self {
            name: example.name.clone(),
            params: values.into_iter().map(one).collect(),
            result: Example { name: "result".to_owned(), value: example.result.clone() },
        }
    }
}
