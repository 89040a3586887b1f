//! Handlers: functions of extractors.

use super::reply::IntoReply;
use crate::call::{Call, CallFuture};
use crate::error::ErrorObject;
use crate::extract::FromCall;
use crate::outcome::Outcome;
use crate::params;

/// A function of up to eight [extractors](FromCall), async or not, that answers calls.
///
/// `M` is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a handler",
    note = "a handler is a function whose arguments are extractors (`Params<T>`, `State<S>`, …) and which returns a result or a future of one"
)]
pub trait Handler<M, S>: Send + Sync + 'static {
    /// Answers a call.
    fn call(&self, call: Call, state: &S) -> CallFuture;

    /// The names of the params that the handler takes.
    fn declared(&self) -> Vec<&'static str>;

    /// Whether the last param takes all remaining positions.
    fn is_variadic(&self) -> bool;

    /// Whether the outcome is ready when [`call`](Self::call) returns: the handler is not async.
    fn is_immediate(&self) -> bool;
}

macro_rules! handlers {
    ($($type:ident $value:ident),*) => {
        impl<F, M, R, S, $($type,)*> Handler<(M, R, $($type,)*), S> for F
        where
            F: Fn($($type),*) -> R + Send + Sync + 'static,
            R: IntoReply<M>,
            $($type: FromCall<S>,)*
        {
            fn call(&self, mut call: Call, state: &S) -> CallFuture {
                let ($($value,)*) = match arguments(&mut call, state) {
                    Ok(arguments) => arguments,
                    Err(error) => return refused(error),
                };
                let guard = call.take_cancel_guard();
                drop(call);
                self($($value),*).into_reply().guarded(guard)
            }

            fn declared(&self) -> Vec<&'static str> {
                <($($type,)*) as FromCall<S>>::declared()
            }

            fn is_variadic(&self) -> bool {
                <($($type,)*) as FromCall<S>>::VARIADIC
            }

            fn is_immediate(&self) -> bool {
                R::IMMEDIATE
            }
        }
    };
}

handlers!();
handlers!(A a);
handlers!(A a, B b);
handlers!(A a, B b, C c);
handlers!(A a, B b, C c, D d);
handlers!(A a, B b, C c, D d, E e);
handlers!(A a, B b, C c, D d, E e, G g);
handlers!(A a, B b, C c, D d, E e, G g, H h);
handlers!(A a, B b, C c, D d, E e, G g, H h, I i);

/// Extracts the arguments of a handler. If the handler takes no params, a call with params is rejected.
///
/// # Errors
/// The error object of the first argument that cannot be extracted.
pub fn arguments<A: FromCall<S>, S>(call: &mut Call, state: &S) -> Result<A, ErrorObject> {
    if !A::READS_PARAMS {
        params::refuse_any(call.params())?;
    }
    A::from_call(call, state)
}

fn refused(error: ErrorObject) -> CallFuture {
    CallFuture::ready(Outcome::error(error))
}
