use quote::format_ident;
use syn::{Attribute, Ident, ItemTrait, Visibility, spanned::Spanned};

use super::{Method, Output, method::named};
use crate::{diagnostics::Diagnostics, tokens::find_ident};

/// The client of a trait.
pub(crate) struct Client {
    /// `MathClient`.
    pub(crate) ident: Ident,
    /// `Math`.
    pub(crate) of: Ident,
    pub(crate) visibility: Visibility,
    /// The `#[cfg(…)]` attributes of the trait.
    pub(crate) cfgs: Vec<Attribute>,
    /// Its doc comment.
    pub(crate) docs: Vec<Attribute>,
}

/// The functions that every client has.
const OWN: [&str; 2] = ["new", "client"];

impl Client {
    pub(super) fn of(definition: &ItemTrait, methods: &[Method]) -> syn::Result<Self> {
        let mut diagnostics = Diagnostics::default();
        if !definition.generics.params.is_empty() {
            diagnostics.at(
                &definition.generics,
                "a trait with parameters has no client, which could not tell them from each other; \
                 leave it out with `#[rpc(server)]`",
            );
        }
        for method in methods {
            check(method, &mut diagnostics);
        }
        let of = &definition.ident;
        diagnostics.finish(Self {
            // Where the trait is, but of the expansion: an unused client is nobody's mistake.
            ident: format_ident!(
                "{}Client",
                of,
                span = proc_macro2::Span::call_site().located_at(of.span())
            ),
            of: of.clone(),
            visibility: definition.vis.clone(),
            cfgs: named(&definition.attrs, &["cfg"]),
            docs: named(&definition.attrs, &["doc"]),
        })
    }
}

fn check(method: &Method, diagnostics: &mut Diagnostics) {
    if OWN.iter().any(|own| method.ident == own) {
        diagnostics.at(
            &method.ident,
            format_args!(
                "every client has a function `{0}` of its own; give the method another name and \
                 call it `#[rpc(name = \"{0}\")]`, or leave the client out with `#[rpc(server)]`",
                method.ident
            ),
        );
    }
    let (Output::Result { ty, .. } | Output::Value(ty)) = &method.output else { return };
    if find_ident(ty, "Self").is_some() {
        diagnostics.push(syn::Error::new(
            ty.span(),
            "a client does not know `Self`: name the type, or leave the client out with \
             `#[rpc(server)]`",
        ));
    }
}
