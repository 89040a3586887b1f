use std::collections::HashSet;

use quote::ToTokens;
use syn::{
    Attribute, FnArg, Ident, ReceiverKind, Safety, Signature, ext::IdentExt, spanned::Spanned,
};

use super::{Argument, Example, Output, Param};
use crate::diagnostics::{Diagnostics, join};
use crate::rpc::attributes::{MethodAttributes, ServiceAttributes, Traits, description};

/// A method to register.
pub(crate) struct Method {
    pub(crate) ident: Ident,
    /// The full name on the wire: `math.add`.
    pub(crate) name: String,
    /// The doc comment.
    pub(crate) description: Option<String>,
    pub(crate) traits: Traits,
    pub(crate) examples: Vec<Example>,
    /// Whether it is a notification.
    pub(crate) notification: bool,
    /// The `#[cfg(…)]` attributes, which are copied to the registration.
    pub(crate) cfgs: Vec<Attribute>,
    /// The attributes that are copied to the method of the client.
    pub(crate) docs: Vec<Attribute>,
    pub(crate) execution: Execution,
    pub(crate) output: Output,
    /// In the order of the signature, without `self`.
    pub(crate) arguments: Vec<Argument>,
}

/// The kind of execution of a method.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Execution {
    Sync,
    /// On a thread for blocking work.
    Blocking,
    Async,
}

impl Execution {
    pub(super) fn of(signature: &Signature, blocking: bool) -> syn::Result<Self> {
        match (&signature.asyncness, blocking) {
            (None, false) => Ok(Self::Sync),
            (None, true) => Ok(Self::Blocking),
            (Some(_), false) => Ok(Self::Async),
            (Some(keyword), true) => Err(syn::Error::new_spanned(
                keyword,
                "a `blocking` method cannot be `async`; it runs on a dedicated thread",
            )),
        }
    }
}

impl Method {
    /// Parses a method. `None` if it is not to be registered.
    pub(super) fn parse(
        rpc: &ServiceAttributes,
        generics: &[Ident],
        attributes: &[Attribute],
        signature: &Signature,
    ) -> syn::Result<Option<Self>> {
        let helpers = MethodAttributes::parse(attributes)?;
        if helpers.skip {
            return Ok(None);
        }
        let (_, (execution, output)) = join(
            join(check_receiver(signature), check_plain(signature)),
            join(
                Execution::of(signature, helpers.blocking),
                Output::of(signature, helpers.notification),
            ),
        )?;
        let (name, arguments) =
            join(wire_name(rpc, &helpers, &signature.ident), arguments(signature, generics))?;
        let examples = examples(&helpers.examples, &arguments, &output)?;
        Ok(Some(Self {
            ident: signature.ident.clone(),
            name,
            description: description(attributes),
            traits: helpers.traits,
            examples,
            notification: helpers.notification,
            cfgs: named(attributes, &["cfg"]),
            docs: named(attributes, &["doc", "deprecated"]),
            execution,
            output,
            arguments,
        }))
    }

    pub(crate) fn params(&self) -> impl Iterator<Item = &Param> {
        params(&self.arguments)
    }
}

fn params(arguments: &[Argument]) -> impl Iterator<Item = &Param> {
    arguments.iter().filter_map(|argument| match argument {
        Argument::Param(param) => Some(&**param),
        Argument::Extractor { .. } => None,
    })
}

fn check_receiver(signature: &Signature) -> syn::Result<()> {
    let error = |tokens: &dyn ToTokens, message| Err(syn::Error::new_spanned(tokens, message));
    let Some(receiver) = signature.receiver() else {
        return error(
            &signature.ident,
            "a method must take `&self`; exclude other functions with `#[rpc(skip)]`",
        );
    };
    match receiver.kind {
        ReceiverKind::Reference(_, _, None) => Ok(()),
        ReceiverKind::Reference(_, _, Some(_)) => error(
            receiver,
            "a method must take `&self`, since calls run concurrently; \
             use a lock or an atomic for mutable state",
        ),
        _ => error(receiver, "a method must take `&self`, since it is called more than once"),
    }
}

fn check_plain(signature: &Signature) -> syn::Result<()> {
    let mut diagnostics = Diagnostics::default();
    if !signature.generics.params.is_empty() {
        diagnostics.at(
            &signature.generics,
            "a method cannot be generic; exclude the function with `#[rpc(skip)]`",
        );
    }
    if let Safety::Unsafe(keyword) = &signature.safety {
        diagnostics.at(keyword, "a method cannot be `unsafe`, since any client may call it");
    }
    if let Some(variadic) = &signature.variadic {
        diagnostics.at(variadic, "use `#[param(variadic)]` on the last param");
    }
    diagnostics.finish(())
}

fn wire_name(
    rpc: &ServiceAttributes,
    helpers: &MethodAttributes,
    ident: &Ident,
) -> syn::Result<String> {
    let (segment, span) = match &helpers.name {
        Some(name) => (name.value(), name.span()),
        None => (ident.unraw().to_string(), ident.span()),
    };
    let name = match &rpc.namespace {
        Some(namespace) => format!("{}.{segment}", namespace.value()),
        None => segment,
    };
    if name.starts_with("rpc.") {
        let span = rpc.namespace.as_ref().map_or(span, Spanned::span);
        return Err(syn::Error::new(
            span,
            "names that begin with `rpc.` are reserved (JSON-RPC 2.0, section 8)",
        ));
    }
    Ok(name)
}

fn arguments(signature: &Signature, generics: &[Ident]) -> syn::Result<Vec<Argument>> {
    let mut diagnostics = Diagnostics::default();
    let mut arguments = Vec::new();
    let mut names = HashSet::new();
    let mut variadic = None;
    for input in &signature.inputs {
        let FnArg::Typed(input) = input else { continue };
        let Some(argument) = diagnostics.take(Argument::parse(arguments.len(), input, generics))
        else {
            continue;
        };
        if let Argument::Param(param) = &argument {
            if let Some(pattern) = variadic {
                diagnostics.at(pattern, "a variadic param must be the last one");
            }
            variadic = param.variadic.then_some(&input.pat);
            if !names.insert(param.name.clone()) {
                diagnostics.at(&input.pat, format_args!("duplicate param name `{}`", param.name));
            }
        }
        arguments.push(argument);
    }
    diagnostics.finish(arguments)
}

fn examples(
    attributes: &[Attribute],
    arguments: &[Argument],
    output: &Output,
) -> syn::Result<Vec<Example>> {
    let mut diagnostics = Diagnostics::default();
    let examples = attributes
        .iter()
        .filter_map(|attribute| {
            diagnostics.take(Example::parse(attribute, params(arguments), output))
        })
        .collect();
    diagnostics.finish(examples)
}

/// The attributes with these names.
pub(super) fn named(attributes: &[Attribute], names: &[&str]) -> Vec<Attribute> {
    let is_named =
        |attribute: &&Attribute| names.iter().any(|name| attribute.path().is_ident(name));
    attributes.iter().filter(is_named).cloned().collect()
}
