use std::fmt;
use std::ops::Deref;

use serde::de::DeserializeOwned;
use serde_json::json;
use trunkline_core::call::Call;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::extract::FromCall;

use super::principal::Principal;

/// Extracts what the caller's token says, as a type of yours.
///
/// A call without credentials ends with -32007. One whose claims do not fit `T` ends with -32008,
/// and is told the name of a claim that is missing, but no value; for a claim that tokens may lack, use
/// an `Option`.
///
/// ```
/// # use trunkline::{Router, access::Claims};
/// #[derive(serde::Deserialize)]
/// struct Tenant { tenant: String }
///
/// let router: Router = Router::new()
///     .method("whose", |Claims(Tenant { tenant }): Claims<Tenant>| tenant);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Claims<T>(pub T);

impl<S, T: DeserializeOwned> FromCall<S> for Claims<T> {
    fn from_call(call: &mut Call, state: &S) -> Result<Self, ErrorObject> {
        let principal = Principal::from_call(call, state)?;
        T::deserialize(principal.claims()).map(Self).map_err(|error| {
            let reason = "the claims of the token do not fit";
            let data = match missing(&error.to_string()) {
                Some(field) => json!({ "reason": format!("{reason}: missing field `{field}`") }),
                None => json!({ "reason": reason }),
            };
            ErrorObject::new(code::FORBIDDEN, "Forbidden").with_data(&data)
        })
    }
}

/// The name of a missing field, the one thing that serde tells without a value.
fn missing(error: &str) -> Option<&str> {
    let field = error.strip_prefix("missing field `")?.strip_suffix('`')?;
    (!field.contains('`')).then_some(field)
}

impl<T> Deref for Claims<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Shows no claims: they may be personal.
impl<T> fmt::Debug for Claims<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Claims")
    }
}
