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

/// `#[example("a half", dividend = 1, divisor = 2 => 0.5)]`: an example of a call and its result.
pub(crate) struct Example {
    /// The name. Default: the params as written.
    pub(crate) name: String,
    /// Names on the wire, with values in the syntax of `json!`.
    pub(crate) params: Vec<(String, TokenStream)>,
    pub(crate) result: TokenStream,
}

impl Example {
    pub(super) fn parse<'a>(
        attribute: &Attribute,
        params: impl Iterator<Item = &'a Param>,
        output: &Output,
    ) -> syn::Result<Self> {
        let parsed: Parsed = match &attribute.meta {
            Meta::Path(_) => Parsed::default(),
            _ => attribute.parse_args()?,
        };
        let mut diagnostics = Diagnostics::default();
        parsed.check_names(params, &mut diagnostics);
        let result = match (parsed.result, output) {
            (Some(result), _) => result,
            (None, Output::Unit) => quote!(null),
            (None, Output::Result { .. } | Output::Value(_)) => {
                diagnostics.at(attribute, "missing result of the example: `… => 3.5`");
                TokenStream::new()
            }
        };
        let params = parsed.params;
        let name = parsed.name.unwrap_or_else(|| default_name(&params));
        let params = params.into_iter().map(|param| (param.name, param.value)).collect();
        diagnostics.finish(Self { name, params, result })
    }
}

/// The params as written.
fn default_name(params: &[ExampleParam]) -> String {
    let params: Vec<String> = params
        .iter()
        .map(|ExampleParam { name, value, .. }| {
            let value = value.to_string();
            // Tokens are separated by spaces.
            match value.strip_prefix("- ") {
                Some(number) => format!("{name} = -{number}"),
                None => format!("{name} = {value}"),
            }
        })
        .collect();
    if params.is_empty() { "without params".to_owned() } else { params.join(", ") }
}

/// An example as parsed.
#[derive(Default)]
struct Parsed {
    name: Option<String>,
    params: Vec<ExampleParam>,
    result: Option<TokenStream>,
}

struct ExampleParam {
    name: String,
    span: Span,
    value: TokenStream,
}

impl Parsed {
    fn check_names<'a>(
        &self,
        params: impl Iterator<Item = &'a Param>,
        diagnostics: &mut Diagnostics,
    ) {
        let known: Vec<&str> = params.map(|param| param.name.as_str()).collect();
        let mut seen = HashSet::new();
        for param in &self.params {
            if !known.contains(&param.name.as_str()) {
                let message = format!("unknown param `{}`", param.name);
                diagnostics.push(syn::Error::new(param.span, message));
            } else if !seen.insert(&param.name) {
                diagnostics.push(syn::Error::new(param.span, "duplicate param"));
            }
        }
    }
}

impl Parse for Parsed {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut parsed = Self::default();
        if input.peek(LitStr) && !input.peek2(Token![=]) {
            parsed.name = Some(input.parse::<LitStr>()?.value());
            separator(input)?;
        }
        while !input.is_empty() && !input.peek(Token![=>]) {
            parsed.params.push(input.parse()?);
            separator(input)?;
        }
        if input.parse::<Option<Token![=>]>>()?.is_some() {
            parsed.result = Some(value(input)?);
        }
        match input.is_empty() {
            true => Ok(parsed),
            false => Err(input.error("the result must be the last part of an example")),
        }
    }
}

impl Parse for ExampleParam {
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

/// Parses the comma after a part, unless the result or the end follows.
fn separator(input: ParseStream<'_>) -> syn::Result<()> {
    if !input.is_empty() && !input.peek(Token![=>]) {
        input.parse::<Token![,]>()?;
    }
    Ok(())
}

/// Parses a value, as JSON or as an expression, up to the next comma or `=>`.
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
