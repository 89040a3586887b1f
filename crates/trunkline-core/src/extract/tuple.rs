//! Several extractors are one.

use super::FromCall;
use crate::call::Call;
use crate::error::ErrorObject;

macro_rules! tuples {
    ($($type:ident),*) => {
        impl<S, $($type: FromCall<S>),*> FromCall<S> for ($($type,)*) {
            const READS_PARAMS: bool = false $(|| $type::READS_PARAMS)*;
            const VARIADIC: bool = false $(|| $type::VARIADIC)*;

            fn from_call(call: &mut Call, state: &S) -> Result<Self, ErrorObject> {
                Ok(($($type::from_call(call, state)?,)*))
            }

            fn declared() -> Vec<&'static str> {
                [$($type::declared()),*].concat()
            }
        }
    };
}

impl<S> FromCall<S> for () {
    fn from_call(_call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(())
    }
}

tuples!(A);
tuples!(A, B);
tuples!(A, B, C);
tuples!(A, B, C, D);
tuples!(A, B, C, D, E);
tuples!(A, B, C, D, E, G);
tuples!(A, B, C, D, E, G, H);
tuples!(A, B, C, D, E, G, H, I);
