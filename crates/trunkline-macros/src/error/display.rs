//! The implementations of `Display` and `Error` from the messages.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{WherePredicate, parse_quote};

use super::{
    codec::depends_on,
    field::Field,
    message::Message,
    model::{ErrorType, Variant},
};

pub(super) fn display(error: &ErrorType, messages: &[&Message]) -> TokenStream {
    let ident = &error.ident;
    let formatter = Ident::new("formatter", Span::mixed_site());
    let arms = error
        .variants
        .iter()
        .zip(messages)
        .map(|(variant, message)| arm(variant, message, &formatter));

    let mut generics = error.generics.clone();
    let (_, type_generics, _) = error.generics.split_for_impl();
    if !generics.params.is_empty() {
        let predicates = &mut generics.make_where_clause().predicates;
        predicates.extend(bounds(error, messages));
    }
    let (impl_generics, _, display_where) = generics.split_for_impl();
    let error_where = error_where(error);
    quote! {
        impl #impl_generics ::core::fmt::Display for #ident #type_generics #display_where {
            fn fmt(&self, #formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self {
                    #(#arms)*
                }
            }
        }

        impl #impl_generics ::core::error::Error for #ident #type_generics #error_where {}
    }
}

fn arm(variant: &Variant, message: &Message, formatter: &Ident) -> TokenStream {
    if let Some(text) = message.fixed() {
        let pattern = variant.with_any_fields();
        return quote!(#pattern => #formatter.write_str(#text),);
    }
    let (path, format) = (&variant.path, &message.format);
    let shown = |(position, _): &(usize, &Field)| message.mentions(*position);
    let fields: Vec<_> = variant
        .fields
        .iter()
        .enumerate()
        .filter(shown)
        .map(|(_, field)| field.in_variable())
        .collect();
    let rest = (fields.len() < variant.fields.len()).then(|| quote!(, ..));
    quote!(#path { #(#fields),* #rest } => ::core::write!(#formatter, #format),)
}

/// The bounds on type parameters that the displayed fields require.
fn bounds(error: &ErrorType, messages: &[&Message]) -> Vec<WherePredicate> {
    let mut bounds = Vec::new();
    for (variant, message) in error.variants.iter().zip(messages) {
        for placeholder in &message.placeholders {
            let field = &variant.fields[placeholder.field];
            if depends_on(error, field) {
                let ty = &field.ty;
                bounds.push(match placeholder.is_debug {
                    true => parse_quote!(#ty: ::core::fmt::Debug),
                    false => parse_quote!(#ty: ::core::fmt::Display),
                });
            }
        }
    }
    bounds
}

/// The bounds of `Error` on `Self`, which a generic type must state explicitly.
fn error_where(error: &ErrorType) -> Option<syn::WhereClause> {
    let mut generics = error.generics.clone();
    if !generics.params.is_empty() {
        let predicates = &mut generics.make_where_clause().predicates;
        predicates.push(parse_quote!(Self: ::core::fmt::Debug + ::core::fmt::Display));
    }
    generics.where_clause
}
