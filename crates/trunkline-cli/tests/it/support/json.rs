use serde::de::DeserializeOwned;
use serde_json::Value;

/// The rows of a data file: one JSON object per line.
pub(crate) fn cases<T: DeserializeOwned>(file: &str) -> Vec<T> {
    let read =
        |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
    file.lines().map(read).collect()
}

/// The first difference between `actual` and the expected parts. Objects may have more members than expected; arrays
/// and scalars must be equal. `{"$has": "text"}` matches any string that contains the text.
pub(crate) fn mismatch(actual: &Value, expected: &Value) -> Option<String> {
    if let Some(part) = expected.get("$has").and_then(Value::as_str) {
        let has = actual.as_str().is_some_and(|text| text.contains(part));
        return (!has).then(|| format!(": {actual} has no {part:?}"));
    }
    match (actual, expected) {
        (Value::Object(actual), Value::Object(expected)) => {
            expected.iter().find_map(|(name, expected)| match actual.get(name) {
                None => Some(format!(".{name} is missing")),
                Some(actual) => mismatch(actual, expected).map(|at| format!(".{name}{at}")),
            })
        }
        (Value::Array(actual), Value::Array(expected)) if actual.len() == expected.len() => {
            let pairs = actual.iter().zip(expected).enumerate();
            pairs
                .filter_map(|(index, (actual, expected))| {
                    mismatch(actual, expected).map(|at| format!("[{index}]{at}"))
                })
                .next()
        }
        _ => (actual != expected).then(|| format!(": {actual} is not {expected}")),
    }
}
