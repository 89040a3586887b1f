use quote::format_ident;
use syn::{Expr, Ident, Pat, PatType, Type, ext::IdentExt};

use crate::diagnostics::{Diagnostics, join};
use crate::rpc::attributes::{ArgumentAttributes, description};
use crate::tokens::{ends_with, find_borrow, find_ident};

/// An argument of a method.
pub(crate) enum Argument {
    /// A param of the call.
    Param(Box<Param>),
    /// An extractor, for example of headers or state.
    Extractor { ident: Ident, ty: Box<Type> },
}

/// An argument that is a param of the call.
pub(crate) struct Param {
    pub(crate) ident: Ident,
    /// The name on the wire.
    pub(crate) name: String,
    /// The doc comment.
    pub(crate) description: Option<String>,
    pub(crate) ty: Type,
    /// The value of a missing param. An `Option` needs none.
    pub(crate) default: Option<Expr>,
    /// Whether it collects the remaining positional params.
    pub(crate) variadic: bool,
}

impl Argument {
    /// Parses the argument at `index`.
    pub(super) fn parse(index: usize, input: &PatType, generics: &[Ident]) -> syn::Result<Self> {
        let helpers = ArgumentAttributes::parse(&input.attrs)?;
        if helpers.extract {
            return Ok(Self::Extractor {
                // A pattern destructures the value in the method, so the variable needs another name.
                ident: plain_ident(&input.pat)
                    .unwrap_or_else(|| format_ident!("extracted{}", index)),
                ty: input.ty.clone(),
            });
        }
        Param::parse(helpers, input, generics).map(Box::new).map(Self::Param)
    }
}

impl Param {
    fn parse(
        helpers: ArgumentAttributes,
        input: &PatType,
        generics: &[Ident],
    ) -> syn::Result<Self> {
        let ident = plain_ident(&input.pat).ok_or_else(|| {
            syn::Error::new_spanned(
                &input.pat,
                "a param must be a plain name; destructure it in the body",
            )
        });
        let mut diagnostics = Diagnostics::default();
        diagnostics.take(check_type(&input.ty, generics));
        if let Some(default) = &helpers.default {
            diagnostics.take(check_scope(default, generics, "a param's default"));
        }
        let (ident, ()) = join(ident, diagnostics.finish(()))?;
        Ok(Self {
            name: match helpers.name {
                Some(name) => name.value(),
                None => ident.unraw().to_string(),
            },
            ident,
            description: description(&input.attrs),
            default: helpers.default,
            variadic: helpers.variadic,
            ty: (*input.ty).clone(),
        })
    }
}

/// The identifier of the pattern `name` or `mut name`.
fn plain_ident(pattern: &Pat) -> Option<Ident> {
    match pattern {
        Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => {
            Some(pattern.ident.clone())
        }
        _ => None,
    }
}

fn check_type(ty: &Type, generics: &[Ident]) -> syn::Result<()> {
    if let Type::ImplTrait(_) = ty {
        return Err(syn::Error::new_spanned(ty, "a param must have a concrete type"));
    }
    if let Some(borrow) = find_borrow(ty) {
        let remedy = match ty {
            Type::Reference(reference) => owned(&reference.elem),
            _ => None,
        };
        return Err(match remedy {
            Some(owned) => {
                syn::Error::new_spanned(ty, format_args!("params must be owned; use `{owned}`"))
            }
            None => syn::Error::new(
                borrow,
                "params must be owned, since they are deserialized for each call",
            ),
        });
    }
    check_scope(ty, generics, "a param's type")
}

fn owned(borrowed: &Type) -> Option<&'static str> {
    match borrowed {
        Type::Slice(_) => Some("Vec"),
        borrowed if ends_with(borrowed, "str") => Some("String"),
        borrowed if ends_with(borrowed, "Path") => Some("PathBuf"),
        _ => None,
    }
}

/// Checks that tokens do not use generics of the `impl`, which are not in scope of the struct of params.
fn check_scope(tokens: &impl quote::ToTokens, generics: &[Ident], what: &str) -> syn::Result<()> {
    let names = generics.iter().map(ToString::to_string);
    for name in names.chain(["Self".to_owned()]) {
        if let Some(found) = find_ident(tokens, &name) {
            return Err(syn::Error::new_spanned(
                found,
                format_args!("{what} cannot depend on `{name}`; use a concrete type"),
            ));
        }
    }
    Ok(())
}
