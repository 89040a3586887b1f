//! The description of an operation.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::Ident;

use super::params::ParamsStruct;
use crate::rpc::attributes::Effect;
use crate::rpc::model::{Example, Method, Output, Param};

/// The builder calls on a new `Operation` for attributes and doc comments.
pub(super) fn description(method: &Method, params: Option<&ParamsStruct<'_>>) -> TokenStream {
    let traits = &method.traits;
    let description = method.description.iter().map(|text| quote!(.description(#text)));
    let title = traits.title.iter().map(|title| quote!(.title(#title)));
    let tool = traits.tool.iter().map(|name| quote!(.tool(#name)));
    let flags = [
        traits.effect.map(Effect::name),
        traits.idempotent.then_some("idempotent"),
        traits.closed_world.then_some("closed_world"),
        method.notification.then_some("notification"),
    ];
    let flags = flags.into_iter().flatten().map(|name| {
        let name = format_ident!("{}", name);
        quote!(.#name())
    });
    let input = input_schema(method, params);
    // Clients that are programs send values of the declared types.
    let strict = traits.tool.is_none().then(|| quote!(.strict_strings()));
    let examples = method.examples.iter().map(example);
    quote! {
        #(#description)* #(#title)* #(#tool)* #(#flags)*
        .input_schema(#input) #strict
        #(#examples)*
    }
}

fn input_schema(method: &Method, params: Option<&ParamsStruct<'_>>) -> TokenStream {
    let members = method.params().map(|param| member(param, params));
    quote!(::trunkline::__private::ObjectSchema::of_params() #(#members)*)
}

fn member(param: &Param, params: Option<&ParamsStruct<'_>>) -> TokenStream {
    let Param { name, ty, .. } = param;
    let probe = quote!(::trunkline::__private::Probe::<#ty>::new());
    let absence = match (&param.default, params) {
        (Some(_), Some(params)) => {
            let default = params.default_path(param);
            quote!(.optional().default_value(#probe.json(#default)))
        }
        _ if param.variadic => quote!(.optional()),
        _ => quote!(.optional_if(#probe.may_be_absent())),
    };
    let description = param.description.iter().map(|text| quote!(.described(#text)));
    quote!(.member(#name, #probe.schema()) #absence #(#description)*)
}

fn example(example: &Example) -> TokenStream {
    let json = quote!(::trunkline::__private::serde_json::json!);
    let Example { name, params, result } = example;
    let params = params.iter().map(|(name, value)| quote!((#name, #json(#value))));
    quote!(.example(::trunkline::openrpc::Example::new(#name, [#(#params),*], #json(#result))))
}

/// Describes the result and the errors of the operation, from their types.
pub(super) fn outcomes(method: &Method, operation: &Ident) -> TokenStream {
    let describe = |ty: TokenStream, method: &str| {
        let method = Ident::new(method, Span::call_site());
        quote! {
            let #operation = ::trunkline::__private::Probe::<#ty>::new().#method(#operation);
        }
    };
    match &method.output {
        Output::Unit if method.notification => TokenStream::new(),
        Output::Unit => describe(quote!(()), "output"),
        Output::Value(ty) => describe(quote!(#ty), "output"),
        Output::Result { value, error, .. } => {
            let value = describe(quote!(#value), "output");
            let error = describe(quote!(#error), "errors");
            quote!(#value #error)
        }
    }
}
