//! The client of a trait: a struct with a method for each operation.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::attributes::Effect;
use super::model::{Client, Method, Output, Param};
use crate::tokens::{ends_with, owned};

pub(super) fn client(client: &Client, methods: &[Method]) -> TokenStream {
    let Client { ident, of, visibility, cfgs, docs } = client;
    let title = format!(" A client of [`{of}`], over any transport.");
    let methods = methods.iter().map(|method| function(client, method));
    quote! {
        #(#cfgs)*
        #[doc = #title]
        #[doc = ""]
        #(#docs)*
        #[derive(::core::clone::Clone, ::core::fmt::Debug)]
        #[allow(dead_code, reason = "the client may be unused")]
        #visibility struct #ident {
            client: ::trunkline::client::Client,
        }

        #(#cfgs)*
        #[allow(
            dead_code,
            clippy::needless_pass_by_value,
            reason = "methods may be unused; params have their declared types"
        )]
        impl #ident {
            /// Creates a client from a transport or a configured `Client`.
            #visibility fn new(
                client: impl ::core::convert::Into<::trunkline::client::Client>,
            ) -> Self {
                Self { client: ::core::convert::Into::into(client) }
            }

            /// The underlying client, for batches and for other methods.
            #visibility fn client(&self) -> &::trunkline::client::Client {
                &self.client
            }

            #(#methods)*
        }
    }
}

fn function(client: &Client, method: &Method) -> TokenStream {
    let Method { ident, cfgs, .. } = method;
    let visibility = &client.visibility;
    let docs = docs(method);
    let arguments = method.params().map(argument);
    let returned = returned(method);
    let body = body(method);
    quote! {
        #(#cfgs)*
        #docs
        #visibility fn #ident(&self, #(#arguments),*) -> #returned {
            #body
        }
    }
}

fn docs(method: &Method) -> TokenStream {
    let docs = &method.docs;
    let calls = method.description.is_none().then(|| {
        let calls = format!(" Calls `{}`.", method.name);
        quote!(#[doc = #calls])
    });
    quote!(#calls #(#docs)*)
}

fn argument(param: &Param) -> TokenStream {
    let Param { ident, ty, .. } = param;
    match may_be_none(param) {
        true => quote! {
            #ident: impl ::core::convert::Into<::core::option::Option<#ty>>
        },
        false => quote!(#ident: #ty),
    }
}

/// Whether the argument accepts `None` for the default of the server. An `Option` does already.
fn may_be_none(param: &Param) -> bool {
    param.default.is_some() && !ends_with(&param.ty, "Option")
}

fn returned(method: &Method) -> TokenStream {
    if method.notification {
        return quote!(::trunkline::client::Notification);
    }
    let (result, error) = match &method.output {
        Output::Unit => (quote!(()), None),
        Output::Value(ty) => (owned(ty), None),
        Output::Result { value, error, .. } => (owned(value), Some(error)),
    };
    let error = match error {
        Some(error) => quote!(#error),
        None => quote!(::core::convert::Infallible),
    };
    quote!(::trunkline::client::Pending<#result, #error>)
}

fn body(method: &Method) -> TokenStream {
    let name = &method.name;
    let params = params(method);
    if method.notification {
        return quote!(self.client.notify(#name, #params));
    }
    let idempotent = (method.traits.idempotent || method.traits.effect == Some(Effect::ReadOnly))
        .then(|| quote!(.idempotent()));
    // With this span, the compiler reports errors at the type.
    let span = match &method.output {
        Output::Unit => method.ident.span(),
        Output::Result { value: ty, .. } | Output::Value(ty) => ty.span(),
    };
    quote_spanned! {at(span)=>
        ::trunkline::__private::typed(self.client.call(#name, #params) #idempotent)
    }
}

fn params(method: &Method) -> TokenStream {
    if method.params().next().is_none() {
        return quote!(());
    }
    let members = method.params().map(|param| {
        let (name, value) = (&param.name, value(param));
        quote!(.with(#name, #value))
    });
    quote!(::trunkline::__private::Members::new() #(#members)*)
}

/// Passes the param through a function with the required bounds. With this span, the compiler reports errors at the
/// type.
fn value(param: &Param) -> TokenStream {
    let Param { ident, ty, .. } = param;
    let mut variable = ident.clone();
    variable.set_span(ident.span().located_at(ty.span()));
    match may_be_none(param) {
        true => quote_spanned! {at(ty.span())=>
            ::core::convert::Into::<::core::option::Option<#ty>>::into(#variable)
                .as_ref()
                .map(::trunkline::__private::param)
        },
        false => quote_spanned! {at(ty.span())=>
            ::core::option::Option::Some(::trunkline::__private::param(&#variable))
        },
    }
}

/// The location of `span`, with the hygiene of the expansion.
fn at(span: Span) -> Span {
    Span::call_site().located_at(span)
}
