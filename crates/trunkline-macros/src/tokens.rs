//! Helpers for types and names.

use std::collections::VecDeque;

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::Type;

/// Whether `ty` is a path whose last segment is `name`, such as `std::io::Result<T>`.
pub(crate) fn ends_with(ty: &Type, name: &str) -> bool {
    match ty {
        Type::Path(path) => path.path.segments.last().is_some_and(|segment| segment.ident == name),
        Type::Group(group) => ends_with(&group.elem, name),
        Type::Paren(paren) => ends_with(&paren.elem, name),
        _ => false,
    }
}

/// The first occurrence of `name` in `tokens`, at any depth.
pub(crate) fn find_ident(tokens: impl ToTokens, name: &str) -> Option<Ident> {
    tokens.to_token_stream().into_iter().find_map(|tree| match tree {
        TokenTree::Ident(ident) => (ident == name).then_some(ident),
        TokenTree::Group(group) => find_ident(group.stream(), name),
        TokenTree::Punct(_) | TokenTree::Literal(_) => None,
    })
}

/// The first borrow in a type, including `&'static`.
pub(crate) fn find_borrow(tokens: impl ToTokens) -> Option<Span> {
    find_lifetime(tokens.to_token_stream(), |_| true)
}

/// The first borrow in a type that is not `'static`.
pub(crate) fn find_short_borrow(tokens: impl ToTokens) -> Option<Span> {
    find_lifetime(tokens.to_token_stream(), |lifetime| lifetime != "static")
}

/// Replaces every `&'static str` in a type by `String`, since it cannot be deserialized.
pub(crate) fn owned(ty: impl ToTokens) -> TokenStream {
    let mut owned = TokenStream::new();
    let mut rest: VecDeque<TokenTree> = ty.to_token_stream().into_iter().collect();
    while let Some(tree) = rest.pop_front() {
        if is(&tree, "&")
            && let [quote, lifetime, text, ..] = &*rest.make_contiguous()
            && (is(quote, "'") && is(lifetime, "static") && is(text, "str"))
        {
            let string = quote_spanned!(tree.span()=> ::std::string::String);
            owned.extend(string);
            rest.drain(..3);
            continue;
        }
        owned.extend([match tree {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), self::owned(group.stream()));
                inner.set_span(group.span());
                TokenTree::Group(inner)
            }
            other => other,
        }]);
    }
    owned
}

fn is(tree: &TokenTree, text: &str) -> bool {
    !matches!(tree, TokenTree::Group(_)) && tree.to_string() == text
}

/// Finds a `&` or a lifetime that `counts`; the elided lifetime of a `&` is `_`.
fn find_lifetime(tokens: TokenStream, counts: fn(&str) -> bool) -> Option<Span> {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(tree) = tokens.next() {
        let span = tree.span();
        match tree {
            TokenTree::Group(group) => {
                if let Some(span) = find_lifetime(group.stream(), counts) {
                    return Some(span);
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == '\'' => {
                let name = tokens.next().map(|name| name.to_string());
                if name.is_some_and(|name| counts(&name)) {
                    return Some(span);
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == '&' => {
                // If a lifetime follows, it is checked instead.
                let named =
                    matches!(tokens.peek(), Some(TokenTree::Punct(next)) if next.as_char() == '\'');
                if !named {
                    return Some(span);
                }
            }
            TokenTree::Punct(_) | TokenTree::Ident(_) | TokenTree::Literal(_) => {}
        }
    }
    None
}

/// Converts `OutOfRange` to `out of range`.
pub(crate) fn space_separated(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push(' ');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

/// Converts `add_all` to `AddAll`, and `r#type` to `Type`.
pub(crate) fn camel_case(name: &str) -> String {
    name.split('_')
        .flat_map(|word| {
            let mut letters = word.chars();
            let first = letters.next().map(char::to_uppercase);
            first.into_iter().flatten().chain(letters)
        })
        .collect()
}
