//! The macros of [trunkline]: `#[rpc]` registers the methods of a type, and `#[derive(RpcError)]` converts an error
//! type to JSON-RPC error objects and back.
//!
//! Depend on `trunkline`, which re-exports both. The expansion refers to its paths.
//!
//! [trunkline]: https://docs.rs/trunkline

#![forbid(unsafe_code)]

mod diagnostics;
mod error;
mod rpc;
mod tokens;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

#[doc = include_str!("docs/rpc.md")]
#[proc_macro_attribute]
pub fn rpc(arguments: TokenStream, item: TokenStream) -> TokenStream {
    rpc::expand(arguments.into(), item.into()).into()
}

#[doc = include_str!("docs/rpc_error.md")]
#[proc_macro_derive(RpcError, attributes(rpc))]
pub fn derive_rpc_error(input: TokenStream) -> TokenStream {
    error::expand(input.into()).into()
}
