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

/// The functions of every client.
const OWN: [&str; 2] = ["new", "client"];

impl Client {
    pub(super) fn of(definition: &ItemTrait, methods: &[Method]) -> syn::Result<Self> {
        let mut diagnostics = Diagnostics::default();
        if !definition.generics.params.is_empty() {
            diagnostics.at(
                &definition.generics,
                "a trait with parameters cannot have a client; omit the client with `#[rpc(server)]`",
            );
        }
        for method in methods {
            check(method, &mut diagnostics);
        }
        let of = &definition.ident;
        diagnostics.finish(Self {
            // Located at the trait, but with the hygiene of the expansion, so that an unused client causes no warning.
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
                "`{0}` is a function of every client; rename the method and add \
                 `#[rpc(name = \"{0}\")]`, or omit the client with `#[rpc(server)]`",
                method.ident
            ),
        );
    }
    let (Output::Result { ty, .. } | Output::Value(ty)) = &method.output else { return };
    if find_ident(ty, "Self").is_some() {
        diagnostics.push(syn::Error::new(
            ty.span(),
            "the client cannot use `Self`; use a concrete type, or omit the client with \
             `#[rpc(server)]`",
        ));
    }
}
