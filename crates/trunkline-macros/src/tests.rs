//! Snapshot tests: the expansion of each `snapshots/*.rs` is `snapshots/*.expanded.rs`.
//!
//! Set `UPDATE_SNAPSHOTS` to update the expansions, then review the diff.

use std::{env, fs, path::Path};

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, Item, Meta};

#[test]
fn rpc_on_an_impl_block() {
    check("impl_block");
}

#[test]
fn rpc_on_a_generic_impl_block() {
    check("generic_impl_block");
}

#[test]
fn rpc_on_a_trait() {
    check("trait");
}

#[test]
fn rpc_on_a_trait_without_a_client() {
    check("server_only_trait");
}

#[test]
fn params_of_every_kind() {
    check("params");
}

#[test]
fn derive_with_messages() {
    check("error_with_messages");
}

#[test]
fn derive_with_custom_display() {
    check("error_with_display");
}

#[test]
fn derive_for_a_generic_struct() {
    check("generic_error");
}

#[track_caller]
fn check(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots");
    let input = fs::read_to_string(folder.join(name).with_extension("rs")).unwrap();
    let found = expand(syn::parse_str(&input).unwrap());
    let found = prettyplease::unparse(&syn::parse2(found).unwrap());

    let path = folder.join(name).with_extension("expanded.rs");
    if env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{} differs from the expansion:\n{found}", path.display());
}

/// Expands the first attribute of an item, like the compiler.
fn expand(mut item: Item) -> TokenStream {
    match take_rpc(&mut item) {
        Some(Meta::List(list)) => crate::rpc::expand(list.tokens, item.into_token_stream()),
        Some(_) => crate::rpc::expand(TokenStream::new(), item.into_token_stream()),
        None => crate::error::expand(item.into_token_stream()),
    }
}

fn take_rpc(item: &mut Item) -> Option<Meta> {
    let attributes: &mut Vec<Attribute> = match item {
        Item::Impl(block) => &mut block.attrs,
        Item::Trait(definition) => &mut definition.attrs,
        _ => return None,
    };
    let position = attributes.iter().position(|attribute| attribute.path().is_ident("rpc"))?;
    Some(attributes.remove(position).meta)
}
