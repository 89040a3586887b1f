//! `#[rpc]` on an inherent `impl` block or on a trait.
//!
//! The item is parsed into a [`Service`], which knows nothing of the code to generate, and
//! rewritten so that the compiler accepts it. From the service, [`server`] generates `into_router`, and
//! [`client`] the typed client of a trait.

mod attributes;
mod client;
mod model;
mod rewrite;
mod server;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{ImplItem, Item, ItemImpl, ItemTrait, TraitItem};

use self::{attributes::ServiceAttributes, model::Service};

/// Expands to the item without its helper attributes, and to `into_router` or what forbids it.
pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    match syn::parse2(item) {
        Ok(Item::Impl(block)) => expand_impl(arguments, block),
        Ok(Item::Trait(definition)) => expand_trait(arguments, definition),
        Ok(other) => {
            let error = syn::Error::new_spanned(&other, misplaced(&other)).into_compile_error();
            quote!(#error #other)
        }
        Err(error) => error.into_compile_error(),
    }
}

fn misplaced(item: &Item) -> &'static str {
    match item {
        Item::Enum(_) | Item::Struct(_) => {
            "`#[rpc]` on an error type comes after its `#[derive(RpcError)]`; \
             to register methods, put it on their `impl` block or trait"
        }
        _ => "`#[rpc]` goes on an inherent `impl` block or on a trait",
    }
}

fn expand_impl(arguments: TokenStream, mut block: ItemImpl) -> TokenStream {
    let service =
        ServiceAttributes::parse(arguments).and_then(|rpc| Service::of_impl(&rpc, &block));
    rewrite::impl_block(&mut block);

    let generated = match service {
        Ok(service) => {
            let into_router = server::into_router(&service);
            let (generics, self_ty) = (&block.generics, &block.self_ty);
            let (impl_generics, _, where_clause) = generics.split_for_impl();
            quote! {
                impl #impl_generics #self_ty #where_clause {
                    #into_router
                }
            }
        }
        Err(error) => {
            let stub = stub_impl(&block);
            let error = error.into_compile_error();
            quote!(#error #stub)
        }
    };
    quote!(#block #generated)
}

/// An `into_router` for callers to compile with, so that the error is the only one. An implementation of a
/// trait gets none: its type may be another crate's.
fn stub_impl(block: &ItemImpl) -> Option<TokenStream> {
    let is_there = block
        .items
        .iter()
        .any(|item| matches!(item, ImplItem::Fn(function) if function.sig.ident == "into_router"));
    if block.trait_.is_some() || is_there {
        return None;
    }
    let (generics, self_ty) = (&block.generics, &block.self_ty);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let into_router = server::stub(&quote!(pub));
    Some(quote! {
        impl #impl_generics #self_ty #where_clause {
            #into_router
        }
    })
}

fn expand_trait(arguments: TokenStream, mut definition: ItemTrait) -> TokenStream {
    let service =
        ServiceAttributes::parse(arguments).and_then(|rpc| Service::of_trait(&rpc, &definition));
    rewrite::trait_definition(&mut definition);

    match service {
        Ok(service) => {
            let into_router = server::into_router(&service);
            definition.items.push(TraitItem::Verbatim(into_router));
            let client = service.client.map(|client| client::client(&client, &service.methods));
            quote!(#definition #client)
        }
        Err(error) => {
            let is_there = definition.items.iter().any(
                |item| matches!(item, TraitItem::Fn(function) if function.sig.ident == "into_router"),
            );
            if !is_there {
                let stub = server::stub(&TokenStream::new());
                definition.items.push(TraitItem::Verbatim(stub));
            }
            let error = error.into_compile_error();
            quote!(#error #definition)
        }
    }
}
