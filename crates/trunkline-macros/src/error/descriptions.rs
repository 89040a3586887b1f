//! The possible errors, for descriptions of operations.

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;

use super::model::{ErrorType, Reply, Style, Variant};
use crate::tokens::space_separated;

/// Generates `RpcError::descriptions`. Internal errors are omitted.
pub(super) fn descriptions(error: &ErrorType) -> TokenStream {
    let descriptions: Vec<_> = error.variants.iter().filter_map(description).collect();
    if descriptions.is_empty() {
        return TokenStream::new();
    }
    quote! {
        fn descriptions() -> ::std::vec::Vec<::trunkline::ErrorDescription> {
            use ::trunkline::__private::Unprobed as _;
            ::std::vec::Vec::from([#(#descriptions),*])
        }
    }
}

fn description(variant: &Variant) -> Option<TokenStream> {
    let Reply::Code(code) = &variant.reply else {
        return None;
    };
    let code = Literal::i64_unsuffixed(code.value);
    let message = message(variant);
    let data = data(variant).map(|schema| quote!(.with_data(#schema)));
    Some(quote!(::trunkline::ErrorDescription::new(#code, #message) #data))
}

fn message(variant: &Variant) -> TokenStream {
    match (&variant.template, variant.style) {
        (Some(template), _) => template.to_token_stream(),
        // The `Display` of the type needs no field values.
        (None, Style::Unit) => {
            let path = &variant.path;
            quote!(::trunkline::RpcError::into_error_object(#path).message())
        }
        (None, Style::Named | Style::Tuple) => {
            space_separated(&variant.ident.unraw().to_string()).into_token_stream()
        }
    }
}

/// The schema of the fields, as serialized.
fn data(variant: &Variant) -> Option<TokenStream> {
    let types: Vec<_> = variant.fields.iter().map(|field| &field.ty).collect();
    let probe = quote!(::trunkline::__private::Probe);
    match (variant.style, &*types) {
        (_, []) => None,
        (Style::Named, _) => {
            let members = variant.fields.iter().map(|field| {
                let (name, ty) = (field.binding.unraw().to_string(), &field.ty);
                quote!(.member(#name, #probe::<#ty>::new().schema()))
            });
            Some(quote! {
                ::core::option::Option::Some(
                    ::trunkline::__private::ObjectSchema::of_data() #(#members)* .into()
                )
            })
        }
        (_, [ty]) => Some(quote!(#probe::<#ty>::new().schema_of_output())),
        (_, types) => Some(quote!(#probe::<(#(#types),*)>::new().schema_of_output())),
    }
}
