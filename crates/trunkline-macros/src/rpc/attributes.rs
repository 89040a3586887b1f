//! What `#[rpc]`, `#[notification]`, `#[param]` and `#[extract]` say.

use proc_macro2::TokenStream;
use syn::{Attribute, Expr, LitStr, meta::ParseNestedMeta, parse::Parser};

use crate::diagnostics::Diagnostics;

/// `#[rpc(namespace = "math")]` on the `impl` block or the trait.
#[derive(Default)]
pub(super) struct ServiceAttributes {
    pub(super) namespace: Option<LitStr>,
}

impl ServiceAttributes {
    pub(super) fn parse(arguments: TokenStream) -> syn::Result<Self> {
        let mut rpc = Self::default();
        let parser = syn::meta::parser(|meta| {
            if meta.path.is_ident("namespace") {
                set(&mut rpc.namespace, &meta, name(&meta)?)
            } else {
                Err(meta.error("expected `namespace = \"…\"`"))
            }
        });
        parser.parse2(arguments)?;
        Ok(rpc)
    }
}

/// `#[rpc(skip, name = "…", blocking)]` and `#[notification]` on a method.
#[derive(Default)]
pub(super) struct MethodAttributes {
    pub(super) name: Option<LitStr>,
    pub(super) skip: bool,
    pub(super) blocking: bool,
    pub(super) notification: bool,
}

impl MethodAttributes {
    pub(super) fn is_helper(attribute: &Attribute) -> bool {
        ["rpc", "notification"].iter().any(|helper| attribute.path().is_ident(helper))
    }

    pub(super) fn parse(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut diagnostics = Diagnostics::default();
        let mut method = Self::default();
        for attribute in attributes {
            if attribute.path().is_ident("rpc") {
                diagnostics.take(attribute.parse_nested_meta(|meta| method.set(&meta)));
            } else if attribute.path().is_ident("notification") {
                diagnostics.take(attribute.meta.require_path_only());
                method.notification = true;
            }
        }
        diagnostics.finish(method)
    }

    fn set(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        if meta.path.is_ident("name") {
            return set(&mut self.name, meta, name(meta)?);
        }
        if meta.path.is_ident("skip") {
            self.skip = true;
        } else if meta.path.is_ident("blocking") {
            self.blocking = true;
        } else {
            return Err(meta.error("expected `name = \"…\"`, `skip` or `blocking`"));
        }
        Ok(())
    }
}

/// `#[param(name = "…", default = …, variadic)]` and `#[extract]` on an argument.
#[derive(Default)]
pub(super) struct ArgumentAttributes {
    pub(super) name: Option<LitStr>,
    pub(super) default: Option<Expr>,
    pub(super) variadic: bool,
    pub(super) extract: bool,
}

impl ArgumentAttributes {
    pub(super) fn is_helper(attribute: &Attribute) -> bool {
        ["param", "extract"].iter().any(|helper| attribute.path().is_ident(helper))
    }

    pub(super) fn parse(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut diagnostics = Diagnostics::default();
        let mut argument = Self::default();
        let mut param = None;
        for attribute in attributes {
            if attribute.path().is_ident("param") {
                param = Some(attribute);
                diagnostics.take(attribute.parse_nested_meta(|meta| argument.set(&meta)));
            } else if attribute.path().is_ident("extract") {
                diagnostics.take(attribute.meta.require_path_only());
                argument.extract = true;
            }
        }
        if let (Some(attribute), true) = (param, argument.extract) {
            diagnostics.at(attribute, "an extracted argument is not a param");
        } else if let (Some(attribute), Some(_), true) =
            (param, &argument.default, argument.variadic)
        {
            diagnostics
                .at(attribute, "a variadic param has no default: without values it is empty");
        }
        diagnostics.finish(argument)
    }

    fn set(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        if meta.path.is_ident("name") {
            return set(&mut self.name, meta, name(meta)?);
        }
        if meta.path.is_ident("default") {
            return set(&mut self.default, meta, meta.value()?.parse()?);
        }
        if meta.path.is_ident("variadic") {
            self.variadic = true;
            return Ok(());
        }
        Err(meta.error("expected `name = \"…\"`, `default = …` or `variadic`"))
    }
}

/// A name on the wire.
fn name(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    let name: LitStr = meta.value()?.parse()?;
    if name.value().is_empty() {
        return Err(syn::Error::new_spanned(name, "a name is not empty"));
    }
    Ok(name)
}

fn set<T>(slot: &mut Option<T>, meta: &ParseNestedMeta<'_>, value: T) -> syn::Result<()> {
    if slot.replace(value).is_some() {
        return Err(meta.error("given twice"));
    }
    Ok(())
}
