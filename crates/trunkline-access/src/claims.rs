use std::fmt;
use std::ops::Deref;

use serde::de::DeserializeOwned;
use serde_json::json;
use trunkline_core::call::Call;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::extract::FromCall;

use super::principal::Principal;

/// Extracts the claims of the caller's token, deserialised as `T`.
///
/// A call without credentials ends with -32007. A call whose claims do not match `T` ends with -32008; the
/// error names a missing claim, but contains no values. Use an `Option` for a claim that tokens may lack.
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
            let reason = "token claims do not match";
            let data = match missing(&error.to_string()) {
                Some(field) => json!({ "reason": format!("{reason}: missing field `{field}`") }),
                None => json!({ "reason": reason }),
            };
            ErrorObject::new(code::FORBIDDEN, "Forbidden").with_data(&data)
        })
    }
}

/// The name of a missing field. serde's other messages may contain values.
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

/// Omits the claims, which may be personal data.
impl<T> fmt::Debug for Claims<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Claims")
    }
}
