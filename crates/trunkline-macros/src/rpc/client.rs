//! The client of a trait: a struct with a method for each operation.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{ext::IdentExt, spanned::Spanned};

use super::attributes::Effect;
use super::model::{Client, Method, Output, Param};
use crate::tokens::{ends_with, owned};

pub(super) fn client(client: &Client, methods: &[Method]) -> TokenStream {
    let Client { ident, of, visibility, cfgs, docs } = client;
    let title = format!(" A client of [`{of}`], over any transport.");
    let debug = ident.to_string();
    let methods = methods.iter().map(|method| function(client, method));
    quote! {
        #(#cfgs)*
        #[doc = #title]
        #[doc = ""]
        #(#docs)*
        #[derive(::core::clone::Clone)]
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

        #(#cfgs)*
        impl ::core::fmt::Debug for #ident {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                formatter.debug_tuple(#debug).field(&self.client).finish()
            }
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
    let params = Ident::new("params", Span::mixed_site());
    let (definition, given) = match params_struct(method, &params) {
        Some(definition) => (definition, quote!(#params)),
        None => (TokenStream::new(), quote!(())),
    };
    if method.notification {
        return quote!(#definition self.client.notify(#name, #given));
    }
    let idempotent = (method.traits.idempotent || method.traits.effect == Some(Effect::ReadOnly))
        .then(|| quote!(.idempotent()));
    // With this span, the compiler reports errors at the type.
    let span = match &method.output {
        Output::Unit => method.ident.span(),
        Output::Result { value: ty, .. } | Output::Value(ty) => ty.span(),
    };
    let call = quote_spanned! {at(span)=>
        ::trunkline::__private::typed(self.client.call(#name, #given) #idempotent)
    };
    quote!(#definition #call)
}

/// Defines the struct of the params, and a variable with its value. The types of its fields are parameters, so that it
/// holds references, and does not shadow a type of the same name.
fn params_struct(method: &Method, variable: &Ident) -> Option<TokenStream> {
    let params: Vec<&Param> = method.params().collect();
    if params.is_empty() {
        return None;
    }
    let types: Vec<Ident> = (0..params.len()).map(|index| format_ident!("T{}", index)).collect();
    let fields = params.iter().zip(&types).map(|(param, ty)| field(param, ty));
    let given = params.iter().filter(|param| may_be_none(param)).map(|param| {
        let ident = &param.ident;
        quote! {
            let #ident: ::core::option::Option<_> = ::core::convert::Into::into(#ident);
        }
    });
    let values = params.iter().map(|param| value(param));
    Some(quote! {
        #[derive(::trunkline::__private::serde::Serialize)]
        #[serde(crate = "::trunkline::__private::serde")]
        struct Params<#(#types),*> {
            #(#fields,)*
        }
        #(#given)*
        let #variable = Params { #(#values,)* };
    })
}

fn field(param: &Param, ty: &Ident) -> TokenStream {
    let Param { ident, name, .. } = param;
    let rename = (ident.unraw() != name).then(|| quote!(#[serde(rename = #name)]));
    match may_be_none(param) {
        true => quote! {
            #rename
            #[serde(skip_serializing_if = "::core::option::Option::is_none")]
            #ident: ::core::option::Option<#ty>
        },
        false => quote!(#rename #ident: #ty),
    }
}

/// Passes the param through a function with the required bounds. With this span, the compiler reports errors at the
/// type.
fn value(param: &Param) -> TokenStream {
    let Param { ident, ty, .. } = param;
    let mut variable = ident.clone();
    variable.set_span(ident.span().located_at(ty.span()));
    let sent = match may_be_none(param) {
        true => {
            quote_spanned!(at(ty.span())=> #variable.as_ref().map(::trunkline::__private::param))
        }
        false => quote_spanned!(at(ty.span())=> ::trunkline::__private::param(&#variable)),
    };
    quote!(#ident: #sent)
}

/// The location of `span`, with the hygiene of the expansion.
fn at(span: Span) -> Span {
    Span::call_site().located_at(span)
}
