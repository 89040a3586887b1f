use serde::Deserialize;
use trunkline::Params;

/// Params by name and by position.
#[derive(Deserialize)]
pub(crate) struct Add {
    a: i64,
    b: i64,
}

/// The method `add`.
pub(crate) fn add(Params(Add { a, b }): Params<Add>) -> i64 {
    a + b
}

/// Params with a secret.
#[derive(Deserialize)]
pub(crate) struct Login {
    user: String,
    #[serde(rename = "password")]
    _password: String,
}

/// The method `login`, which returns the name.
pub(crate) fn login(Params(login): Params<Login>) -> String {
    login.user
}
