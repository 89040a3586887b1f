use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Expr, ext::IdentExt, spanned::Spanned};

use crate::rpc::model::{Argument, Method, Param};
use crate::tokens::{camel_case, find_ident};

/// The struct that the params of a method are deserialized into.
pub(super) struct ParamsStruct<'a> {
    ident: Ident,
    params: Vec<&'a Param>,
}

impl<'a> ParamsStruct<'a> {
    /// `None` for a method without params.
    pub(super) fn of(method: &'a Method) -> Option<Self> {
        let params: Vec<_> = method.params().collect();
        (!params.is_empty()).then(|| Self { ident: struct_ident(method), params })
    }

    pub(super) fn ident(&self) -> &Ident {
        &self.ident
    }

    /// The path of the function that returns the default of a param.
    pub(super) fn default_path(&self, param: &Param) -> TokenStream {
        let (of, function) = (&self.ident, default_ident(&param.ident));
        quote!(#of::#function)
    }

    /// The extractor of the struct.
    pub(super) fn wrapper(&self) -> Ident {
        match self.params.iter().any(|param| param.variadic) {
            true => format_ident!("VariadicParams"),
            false => format_ident!("Params"),
        }
    }

    pub(super) fn definition(&self) -> TokenStream {
        let ident = &self.ident;
        let fields = self.params.iter().map(|param| self.field(param));
        let defaults = self.defaults();
        quote! {
            #[derive(::trunkline::__private::serde::Deserialize)]
            #[serde(crate = "::trunkline::__private::serde")]
            struct #ident {
                #(#fields,)*
            }
            #defaults
        }
    }

    fn field(&self, param: &Param) -> TokenStream {
        let Param { ident, name, ty, .. } = param;
        let rename = (ident.unraw() != name).then(|| quote!(#[serde(rename = #name)]));
        let default = param.default.as_ref().map(|_| {
            let path = self.default_path(param).to_string().replace(' ', "");
            quote!(#[serde(default = #path)])
        });
        // With this span, the compiler reports errors at the type.
        let ty = quote_spanned!(ty.span()=> ::trunkline::__private::Param<#ty>);
        quote!(#rename #default #ident: #ty)
    }

    /// The functions of defaults, as associated functions to avoid name conflicts.
    fn defaults(&self) -> Option<TokenStream> {
        let functions: Vec<TokenStream> = self
            .params
            .iter()
            .filter_map(|param| Some(default_function(param, param.default.as_ref()?)))
            .collect();
        let ident = &self.ident;
        (!functions.is_empty()).then(|| {
            quote! {
                impl #ident {
                    #(#functions)*
                }
            }
        })
    }
}

/// `AddParams` for `add`, unless the method uses a type of this name.
fn struct_ident(method: &Method) -> Ident {
    let mut name = format!("{}Params", camel_case(&method.ident.unraw().to_string()));
    while method.arguments.iter().any(|argument| mentions(argument, &name)) {
        name.push('_');
    }
    Ident::new(&name, method.ident.span())
}

fn mentions(argument: &Argument, name: &str) -> bool {
    match argument {
        Argument::Extractor { ty, .. } => find_ident(ty, name).is_some(),
        Argument::Param(param) => {
            let Param { ty, default, .. } = &**param;
            find_ident(quote!(#ty #default), name).is_some()
        }
    }
}

fn default_ident(param: &Ident) -> Ident {
    format_ident!("default_{}", param)
}

fn default_function(param: &Param, default: &Expr) -> TokenStream {
    let ident = default_ident(&param.ident);
    let ty = &param.ty;
    quote! {
        fn #ident() -> ::trunkline::__private::Param<#ty> {
            ::trunkline::__private::Param(#default)
        }
    }
}
