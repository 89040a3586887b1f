use std::collections::HashSet;

use quote::ToTokens;
use syn::{Attribute, Generics, Ident, ImplItem, ItemImpl, ItemTrait, Signature, TraitItem};

use super::{Client, Method};
use crate::diagnostics::Diagnostics;
use crate::rpc::attributes::ServiceAttributes;

/// The methods of one `impl` block or trait.
pub(crate) struct Service {
    pub(crate) subject: Subject,
    /// The generic types and constants in scope.
    pub(crate) generics: Vec<Ident>,
    pub(crate) methods: Vec<Method>,
    /// The client of a trait, unless it is disabled.
    pub(crate) client: Option<Client>,
}

/// The kind of `Self`.
#[derive(Clone, Copy)]
pub(crate) enum Subject {
    /// A type, as in `impl Calculator`.
    Type,
    /// A type with parameters, as in `impl<D: Database> Search<D>`.
    GenericType,
    /// Any implementor of a trait.
    Implementor,
}

impl Service {
    pub(crate) fn of_impl(rpc: &ServiceAttributes, block: &ItemImpl) -> syn::Result<Self> {
        if let Some((path, _)) = &block.trait_ {
            return Err(syn::Error::new_spanned(
                path,
                "`#[rpc]` must be on the trait, not on its implementations",
            ));
        }
        if let Some(server) = &rpc.server {
            return Err(syn::Error::new_spanned(
                server,
                "`server` is valid only on a trait; an `impl` block has no client",
            ));
        }
        let functions = block.items.iter().filter_map(|item| match item {
            ImplItem::Fn(function) => Some((&*function.attrs, &function.sig)),
            _ => None,
        });
        let generics = generic_names(&block.generics);
        Ok(Self {
            subject: match block.generics.params.is_empty() {
                true => Subject::Type,
                false => Subject::GenericType,
            },
            methods: methods(rpc, &generics, functions)?,
            generics,
            client: None,
        })
    }

    pub(crate) fn of_trait(rpc: &ServiceAttributes, definition: &ItemTrait) -> syn::Result<Self> {
        let functions = definition.items.iter().filter_map(|item| match item {
            TraitItem::Fn(function) => Some((&*function.attrs, &function.sig)),
            _ => None,
        });
        let generics = generic_names(&definition.generics);
        let methods = methods(rpc, &generics, functions)?;
        let client = match rpc.server {
            Some(_) => None,
            None => Some(Client::of(definition, &methods)?),
        };
        Ok(Self { subject: Subject::Implementor, methods, generics, client })
    }
}

fn generic_names(generics: &Generics) -> Vec<Ident> {
    let types = generics.type_params().map(|param| param.ident.clone());
    let constants = generics.const_params().map(|param| param.ident.clone());
    types.chain(constants).collect()
}

fn methods<'a>(
    rpc: &ServiceAttributes,
    generics: &[Ident],
    functions: impl Iterator<Item = (&'a [Attribute], &'a Signature)>,
) -> syn::Result<Vec<Method>> {
    let mut diagnostics = Diagnostics::default();
    let mut methods = Vec::new();
    let mut names = HashSet::new();
    for (attributes, signature) in functions {
        let Some(method) = diagnostics.take(Method::parse(rpc, generics, attributes, signature))
        else {
            continue;
        };
        let Some(method) = method else { continue };
        // Methods with opposite `cfg`s may have the same name.
        if method.cfgs.is_empty() && !names.insert(method.name.clone()) {
            diagnostics.at(
                method.ident.to_token_stream(),
                format_args!("duplicate method name `{}`", method.name),
            );
        }
        methods.push(method);
    }
    diagnostics.finish(methods)
}
