use std::collections::HashSet;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Attribute, Ident, LitStr, Meta, Token,
    ext::IdentExt,
    parse::{Parse, ParseStream},
};

use super::{Output, Param};
use crate::diagnostics::Diagnostics;

/// `#[example("a half", dividend = 1, divisor = 2 => 0.5)]`: a call, and what comes of it.
pub(crate) struct Example {
    /// What it shows; if that is not said, the call as it is written.
    pub(crate) name: String,
    /// Names on the wire, with values as `json!` reads them.
    pub(crate) params: Vec<(String, TokenStream)>,
    pub(crate) result: TokenStream,
}

impl Example {
    pub(super) fn parse<'a>(
        attribute: &Attribute,
        params: impl Iterator<Item = &'a Param>,
        output: &Output,
    ) -> syn::Result<Self> {
        let written: Written = match &attribute.meta {
            Meta::Path(_) => Written::default(),
            _ => attribute.parse_args()?,
        };
        let mut diagnostics = Diagnostics::default();
        written.check_names(params, &mut diagnostics);
        let result = match (written.result, output) {
            (Some(result), _) => result,
            (None, Output::Unit) => quote!(null),
            (None, Output::Result { .. } | Output::Value(_)) => {
                diagnostics.at(attribute, "an example shows the result: `… => 3.5`");
                TokenStream::new()
            }
        };
        let given = written.params;
        let name = written.name.unwrap_or_else(|| called(&given));
        let params = given.into_iter().map(|param| (param.name, param.value)).collect();
        diagnostics.finish(Self { name, params, result })
    }
}

/// The call as it is written.
fn called(given: &[Given]) -> String {
    let params: Vec<String> = given
        .iter()
        .map(|Given { name, value, .. }| {
            let value = value.to_string();
            // Tokens stand apart.
            match value.strip_prefix("- ") {
                Some(number) => format!("{name} = -{number}"),
                None => format!("{name} = {value}"),
            }
        })
        .collect();
    if params.is_empty() { "without params".to_owned() } else { params.join(", ") }
}

/// An example as it is written.
#[derive(Default)]
struct Written {
    name: Option<String>,
    params: Vec<Given>,
    result: Option<TokenStream>,
}

struct Given {
    name: String,
    span: Span,
    value: TokenStream,
}

impl Written {
    fn check_names<'a>(
        &self,
        params: impl Iterator<Item = &'a Param>,
        diagnostics: &mut Diagnostics,
    ) {
        let known: Vec<&str> = params.map(|param| param.name.as_str()).collect();
        let mut given = HashSet::new();
        for param in &self.params {
            if !known.contains(&param.name.as_str()) {
                let message = format!("the method has no param `{}`", param.name);
                diagnostics.push(syn::Error::new(param.span, message));
            } else if !given.insert(&param.name) {
                diagnostics.push(syn::Error::new(param.span, "given twice"));
            }
        }
    }
}

impl Parse for Written {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut written = Self::default();
        if input.peek(LitStr) && !input.peek2(Token![=]) {
            written.name = Some(input.parse::<LitStr>()?.value());
            separator(input)?;
        }
        while !input.is_empty() && !input.peek(Token![=>]) {
            written.params.push(input.parse()?);
            separator(input)?;
        }
        if input.parse::<Option<Token![=>]>>()?.is_some() {
            written.result = Some(value(input)?);
        }
        match input.is_empty() {
            true => Ok(written),
            false => Err(input.error("the result is the last thing of an example")),
        }
    }
}

impl Parse for Given {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let (name, span) = if input.peek(LitStr) {
            let literal: LitStr = input.parse()?;
            (literal.value(), literal.span())
        } else {
            let ident = input.call(Ident::parse_any)?;
            (ident.unraw().to_string(), ident.span())
        };
        input.parse::<Token![=]>()?;
        Ok(Self { name, span, value: value(input)? })
    }
}

/// The comma after a part, unless the result or nothing follows.
fn separator(input: ParseStream<'_>) -> syn::Result<()> {
    if !input.is_empty() && !input.peek(Token![=>]) {
        input.parse::<Token![,]>()?;
    }
    Ok(())
}

/// A value, as JSON or as an expression: all up to the next comma or `=>`.
fn value(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut value = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) && !input.peek(Token![=>]) {
        input.parse::<TokenTree>()?.to_tokens(&mut value);
    }
    match value.is_empty() {
        true => Err(input.error("expected a value")),
        false => Ok(value),
    }
}
