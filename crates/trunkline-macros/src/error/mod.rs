//! `#[derive(RpcError)]` on an enum or a struct.
//!
//! The type is parsed into an [`ErrorType`]. [`codec`] generates the conversion to an error object and back,
//! [`descriptions`] the descriptions, and [`display`] the messages.

mod attributes;
mod codec;
mod descriptions;
mod display;
mod field;
mod message;
mod model;

use proc_macro2::TokenStream;
use quote::quote;

use self::model::ErrorType;

/// Expands to the trait implementations, or to a compile error.
pub(crate) fn expand(input: TokenStream) -> TokenStream {
    let error = match syn::parse2(input).and_then(|input| ErrorType::parse(&input)) {
        Ok(error) => error,
        Err(error) => return error.into_compile_error(),
    };
    let rpc_error = codec::rpc_error(&error);
    let display = error.messages().map(|messages| display::display(&error, &messages));
    quote!(#rpc_error #display)
}
