//! The implementation of `RpcError`: conversion to an error object and back.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{WherePredicate, ext::IdentExt, parse_quote, spanned::Spanned};

use super::descriptions::descriptions;
use super::field::Field;
use super::message::Message;
use super::model::{ErrorType, Reply, Style, Variant};
use crate::tokens::find_ident;

pub(super) fn rpc_error(error: &ErrorType) -> TokenStream {
    let ident = &error.ident;
    let descriptions = descriptions(error);
    let encoding = error.variants.iter().map(encoding);
    let decoding = error.variants.iter().filter_map(decoding);
    let mut generics = error.generics.clone();
    if !generics.params.is_empty() {
        let predicates = &mut generics.make_where_clause().predicates;
        predicates.extend(bounds(error));
        // An internal error is logged with its sources.
        let internal =
            error.variants.iter().any(|variant| !matches!(variant.reply, Reply::Code(_)));
        predicates.push(match internal {
            true => parse_quote!(Self: ::core::error::Error + 'static),
            false => parse_quote!(Self: ::core::fmt::Display),
        });
    }
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let (_, type_generics, _) = error.generics.split_for_impl();
    quote! {
        impl #impl_generics ::trunkline::RpcError for #ident #type_generics #where_clause {
            fn into_error_object(self) -> ::trunkline::ErrorObject {
                match &self {
                    #(#encoding)*
                }
            }

            fn from_error_object(
                error: &::trunkline::ErrorObject,
            ) -> ::core::option::Option<Self> {
                match error.code() {
                    #(#decoding)*
                    _ => ::core::option::Option::None,
                }
            }

            #descriptions
        }
    }
}

/// The bounds on type parameters that the serialized fields require.
fn bounds(error: &ErrorType) -> impl Iterator<Item = WherePredicate> {
    error
        .variants
        .iter()
        .filter(|variant| matches!(variant.reply, Reply::Code(_)))
        .flat_map(|variant| &variant.fields)
        .filter(|field| depends_on(error, field))
        .map(|Field { ty, .. }| {
            parse_quote! {
                #ty: ::trunkline::__private::serde::Serialize
                    + ::trunkline::__private::serde::de::DeserializeOwned
            }
        })
}

/// Whether the type of `field` names a parameter of `error`.
pub(super) fn depends_on(error: &ErrorType, field: &Field) -> bool {
    error
        .generics
        .type_params()
        .any(|param| find_ident(&field.ty, &param.ident.to_string()).is_some())
}

fn encoding(variant: &Variant) -> TokenStream {
    let Reply::Code(code) = &variant.reply else {
        let pattern = variant.with_any_fields();
        return quote!(#pattern => ::trunkline::ErrorObject::internal_error(&self),);
    };
    let code = Literal::i64_unsuffixed(code.value);
    let message = match variant.message.as_ref().and_then(Message::fixed) {
        Some(text) => quote!(#text),
        None => quote!(::std::format!("{self}")),
    };
    let object = quote!(::trunkline::ErrorObject::new(#code, #message));
    let bindings: Vec<_> = bindings(variant).collect();
    // With this span, the compiler reports errors at the type.
    let sent: Vec<_> = variant
        .fields
        .iter()
        .map(|Field { binding, ty, .. }| {
            quote_spanned!(ty.span()=> ::trunkline::__private::error_data(#binding))
        })
        .collect();
    let pattern = variant.with_fields();
    match (variant.style, &*bindings) {
        (_, []) => quote!(#pattern => #object,),
        (Style::Named, _) => {
            let names = bindings.iter().map(|binding| binding.unraw().to_string());
            let members = quote!(#(.with(#names, ::core::option::Option::Some(#sent)))*);
            quote! {
                #pattern => #object.with_data(&::trunkline::__private::Members::new() #members),
            }
        }
        (_, [_]) => quote!(#pattern => #object.with_data(&#(#sent)*),),
        (_, _) => quote!(#pattern => #object.with_data(&(#(#sent),*)),),
    }
}

fn decoding(variant: &Variant) -> Option<TokenStream> {
    let Reply::Code(code) = &variant.reply else {
        return None;
    };
    let code = Literal::i64_unsuffixed(code.value);
    let data = quote! {
        ::trunkline::__private::serde_json::from_str(error.data()?.get()).ok()?
    };
    let some = quote!(::core::option::Option::Some);
    let received: Vec<_> = variant
        .fields
        .iter()
        .map(|Field { binding, ty, .. }| {
            quote_spanned!(ty.span()=> ::trunkline::__private::Received(#binding))
        })
        .collect();
    let bindings: Vec<_> = bindings(variant).collect();
    let value = variant.with_fields();
    let pattern = match (variant.style, &*bindings) {
        (_, []) => return Some(quote!(#code => #some(#value),)),
        (Style::Named, _) => quote!(Data { #(#bindings: #received),* }),
        (_, [_]) => quote!(#(#received)*),
        (_, _) => quote!((#(#received),*)),
    };
    let definition = matches!(variant.style, Style::Named).then(|| data_struct(&bindings));
    Some(quote! {
        #code => {
            #definition
            let #pattern = #data;
            #some(#value)
        }
    })
}

fn bindings(variant: &Variant) -> impl Iterator<Item = &Ident> {
    variant.fields.iter().map(|field| &field.binding)
}

/// The struct of received data. The types of its fields are parameters, since the error may have type parameters.
fn data_struct(bindings: &[&Ident]) -> TokenStream {
    let types: Vec<Ident> =
        (0..bindings.len()).map(|position| format_ident!("T{}", position)).collect();
    quote! {
        #[derive(::trunkline::__private::serde::Deserialize)]
        #[serde(crate = "::trunkline::__private::serde")]
        struct Data<#(#types),*> {
            #(#bindings: #types),*
        }
    }
}
