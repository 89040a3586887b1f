use proc_macro2::TokenStream;
use syn::{
    Attribute, LitInt, LitStr, Token,
    meta::ParseNestedMeta,
    parse::{Parse, ParseStream},
};

use crate::diagnostics::Diagnostics;

/// `#[rpc(code = 1, message = "…")]` or `#[rpc(internal)]` on a variant or a struct.
#[derive(Default)]
pub(super) struct VariantAttributes {
    pub(super) code: Option<CodeLiteral>,
    pub(super) message: Option<LitStr>,
    pub(super) internal: bool,
}

/// An integer with its span.
pub(super) struct CodeLiteral {
    pub(super) value: i64,
    pub(super) literal: LitInt,
}

impl VariantAttributes {
    pub(super) fn parse(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut diagnostics = Diagnostics::default();
        let mut variant = Self::default();
        for attribute in attributes {
            if attribute.path().is_ident("rpc") {
                diagnostics.take(attribute.parse_nested_meta(|meta| variant.set(&meta)));
            }
        }
        diagnostics.finish(variant)
    }

    fn set(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let is_duplicate = if meta.path.is_ident("code") {
            self.code.replace(meta.value()?.parse()?).is_some()
        } else if meta.path.is_ident("message") {
            self.message.replace(meta.value()?.parse()?).is_some()
        } else if meta.path.is_ident("internal") {
            std::mem::replace(&mut self.internal, true)
        } else {
            return Err(meta.error("expected `code = …`, `message = \"…\"` or `internal`"));
        };
        match is_duplicate {
            true => Err(meta.error("duplicate argument")),
            false => Ok(()),
        }
    }
}

/// The text of `#[error("…")]`, from which `thiserror` generates `Display`.
pub(super) fn display_text(attributes: &[Attribute]) -> Option<LitStr> {
    let attribute = attributes.iter().find(|attribute| attribute.path().is_ident("error"))?;
    attribute
        .parse_args_with(|input: ParseStream<'_>| {
            let text: LitStr = input.parse()?;
            // The format arguments of `thiserror`, which are ignored.
            input.parse::<TokenStream>()?;
            Ok(text)
        })
        .ok()
}

impl Parse for CodeLiteral {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let minus: Option<Token![-]> = input.parse()?;
        let literal: LitInt = input.parse()?;
        let sign = if minus.is_some() { "-" } else { "" };
        let value = format!("{sign}{}", literal.base10_digits())
            .parse()
            .map_err(|error| syn::Error::new(literal.span(), error))?;
        Ok(Self { value, literal })
    }
}
