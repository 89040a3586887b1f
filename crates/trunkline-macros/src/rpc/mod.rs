//! `#[rpc]` on an inherent `impl` block or on a trait.
//!
//! The item is parsed into a [`Service`], which is independent of the generated code, and rewritten so that the
//! compiler accepts it. From the service, [`server`] generates `into_router`, and [`client`] the typed client of a
//! trait.

mod attributes;
mod client;
mod model;
mod rewrite;
mod server;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{ImplItem, Item, ItemImpl, ItemTrait, TraitItem};

use self::{attributes::ServiceAttributes, model::Service};

/// Expands to the item without its helper attributes, and to `into_router` or a compile error.
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
            "`#[rpc]` on an error type must follow its `#[derive(RpcError)]`; \
             to register methods, put it on their `impl` block or trait"
        }
        _ => "`#[rpc]` must be on an inherent `impl` block or on a trait",
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

/// A stub of `into_router`, so that its callers cause no further errors. An implementation of a trait gets none, since
/// its type may belong to another crate.
fn stub_impl(block: &ItemImpl) -> Option<TokenStream> {
    let exists = block
        .items
        .iter()
        .any(|item| matches!(item, ImplItem::Fn(function) if function.sig.ident == "into_router"));
    if block.trait_.is_some() || exists {
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
            let exists = definition.items.iter().any(
                |item| matches!(item, TraitItem::Fn(function) if function.sig.ident == "into_router"),
            );
            if !exists {
                let stub = server::stub(&TokenStream::new());
                definition.items.push(TraitItem::Verbatim(stub));
            }
            let error = error.into_compile_error();
            quote!(#error #definition)
        }
    }
}
