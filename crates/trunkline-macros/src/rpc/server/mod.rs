//! `into_router`, which registers the methods of a [`Service`].

mod description;
mod params;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use self::params::ParamsStruct;
use super::model::{Argument, Execution, Method, Output, Service, Subject};

pub(super) fn into_router(service: &Service) -> TokenStream {
    // In a trait everything is as public as the trait.
    let visibility = match service.subject {
        Subject::Type | Subject::GenericType => quote!(pub),
        Subject::Implementor => TokenStream::new(),
    };
    let docs = docs(service);
    let deprecated = allow_deprecated(service);
    let state = state_ident(service);
    let self_bound = self_bound(service.subject);
    let extractor_bounds = extractor_bounds(service, &state);
    let body = body(service);
    quote! {
        #[doc = #docs]
        #deprecated
        #visibility fn into_router<#state>(self) -> ::trunkline::Router<#state>
        where
            #self_bound
            #state: ::core::clone::Clone
                + ::core::marker::Send
                + ::core::marker::Sync
                + 'static,
            #extractor_bounds
        {
            #body
        }
    }
}

/// A stub of `into_router` in place of one that cannot be generated.
pub(super) fn stub(visibility: &TokenStream) -> TokenStream {
    quote! {
        #[doc(hidden)]
        #visibility fn into_router<RouterState>(self) -> ::trunkline::Router<RouterState>
        where
            Self: ::core::marker::Sized,
            RouterState: ::core::clone::Clone
                + ::core::marker::Send
                + ::core::marker::Sync
                + 'static,
        {
            ::core::unreachable!()
        }
    }
}

fn docs(service: &Service) -> String {
    let names: Vec<String> =
        service.methods.iter().map(|method| format!("`{}`", method.name)).collect();
    format!(" Registers the methods: {}.", names.join(", "))
}

/// Allows calls of deprecated methods, which are still served.
fn allow_deprecated(service: &Service) -> Option<TokenStream> {
    let is_deprecated = |method: &Method| {
        method.docs.iter().any(|attribute| attribute.path().is_ident("deprecated"))
    };
    service
        .methods
        .iter()
        .any(is_deprecated)
        .then(|| quote!(#[allow(deprecated, reason = "deprecated methods are still served")]))
}

/// `S`, unless the item has a parameter of that name.
fn state_ident(service: &Service) -> Ident {
    match service.generics.iter().any(|ident| ident == "S") {
        true => format_ident!("RouterState"),
        false => format_ident!("S"),
    }
}

/// The bounds on `Self`, unless it is a concrete type.
fn self_bound(subject: Subject) -> TokenStream {
    let shared = quote!(::core::marker::Send + ::core::marker::Sync + 'static);
    match subject {
        Subject::Type => TokenStream::new(),
        Subject::GenericType => quote!(Self: #shared,),
        Subject::Implementor => quote!(Self: ::core::marker::Sized + #shared,),
    }
}

/// The bounds on the state: `into_router` accepts the states that all extractors support.
fn extractor_bounds(service: &Service, state: &Ident) -> TokenStream {
    // A bound cannot have a `cfg`, so methods with one are omitted.
    let methods = service.methods.iter().filter(|method| method.cfgs.is_empty());
    let types =
        methods.flat_map(|method| &method.arguments).filter_map(|argument| match argument {
            Argument::Extractor { ty, .. } => Some(ty),
            Argument::Param(_) => None,
        });
    quote!(#(#types: ::trunkline::FromCall<#state>,)*)
}

fn body(service: &Service) -> TokenStream {
    if service.methods.is_empty() {
        return quote!(::trunkline::Router::new());
    }
    let (router, this) = (local("router"), local("service"));
    let registrations = service.methods.iter().map(registration);
    quote! {
        let #this = ::std::sync::Arc::new(self);
        let #router = ::trunkline::Router::new();
        #(#registrations)*
        #router
    }
}

/// A variable of the expansion, which an argument of the same name does not shadow.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

fn registration(method: &Method) -> TokenStream {
    let (router, operation, service) = (local("router"), local("operation"), local("service"));
    let cfgs = &method.cfgs;
    let params = ParamsStruct::of(method);
    let definition = params.as_ref().map(ParamsStruct::definition);
    let new = new_operation(method, params.as_ref());
    let outcomes = description::outcomes(method, &operation);
    quote! {
        #(#cfgs)*
        let #router = {
            use ::trunkline::__private::Unprobed as _;
            #definition
            let #service = ::std::sync::Arc::clone(&#service);
            let #operation = #new;
            #outcomes
            #router.operation(#operation)
        };
    }
}

fn new_operation(method: &Method, params: Option<&ParamsStruct<'_>>) -> TokenStream {
    let name = &method.name;
    let handler = handler(method, params);
    let description = description::description(method, params);
    // The location of this call is recorded as the location of the registration.
    let new = quote_spanned!(method.ident.span()=> ::trunkline::Operation::new(#name, #handler));
    quote!(#new #description)
}

fn handler(method: &Method, params: Option<&ParamsStruct<'_>>) -> TokenStream {
    let service = local("service");
    let inputs = inputs(method, params);
    let outcome = outcome(method);
    match method.execution {
        Execution::Sync => quote!(move |#inputs| { #outcome }),
        Execution::Blocking => quote!(::trunkline::blocking(move |#inputs| { #outcome })),
        Execution::Async => quote! {
            move |#inputs| {
                let #service = ::std::sync::Arc::clone(&#service);
                async move { #outcome }
            }
        },
    }
}

/// The arguments of the handler: the extractors, then the params.
fn inputs(method: &Method, params: Option<&ParamsStruct<'_>>) -> TokenStream {
    let extractors = method.arguments.iter().filter_map(|argument| match argument {
        Argument::Extractor { ident, ty } => Some(quote!(#ident: #ty)),
        Argument::Param(_) => None,
    });
    let params = params.map(|of| {
        let params = local("params");
        let (wrapper, ident) = (of.wrapper(), of.ident());
        quote!(::trunkline::#wrapper(#params): ::trunkline::#wrapper<#ident>)
    });
    let inputs = extractors.chain(params);
    quote!(#(#inputs),*)
}

/// Calls the method, by a path so that methods of `Arc` do not shadow it, and converts its value to an outcome.
fn outcome(method: &Method) -> TokenStream {
    let (service, params) = (local("service"), local("params"));
    // With this span, the compiler reports errors at the type.
    let span = match &method.output {
        Output::Unit => method.ident.span(),
        Output::Result { ty, .. } | Output::Value(ty) => ty.span(),
    };
    let mut ident = method.ident.clone();
    ident.set_span(span);
    let arguments = method.arguments.iter().map(|argument| match argument {
        Argument::Param(param) => {
            let field = &param.ident;
            quote!(#params.#field.0)
        }
        Argument::Extractor { ident, .. } => quote!(#ident),
    });
    let wait = (method.execution == Execution::Async).then(|| quote_spanned!(span=> .await));
    let value = quote_spanned!(span=> Self::#ident(&#service, #(#arguments),*) #wait);
    match &method.output {
        Output::Unit => quote! {
            #value;
            ::trunkline::Json(())
        },
        Output::Result { .. } => quote_spanned! {span=>
            ::trunkline::IntoOutcome::into_outcome(#value)
        },
        Output::Value(_) => quote_spanned! {span=>
            ::trunkline::IntoOutcome::into_outcome(::trunkline::Json(#value))
        },
    }
}
