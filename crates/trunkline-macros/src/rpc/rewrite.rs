//! Rewrites the item for the compiler: removes helper attributes, and makes futures `Send`.

use syn::{
    Attribute, FnArg, ImplItem, ItemImpl, ItemTrait, ReturnType, Signature, TraitItem, TraitItemFn,
    parse_quote,
};

use super::attributes::{ArgumentAttributes, MethodAttributes};

pub(super) fn impl_block(block: &mut ItemImpl) {
    for item in &mut block.items {
        if let ImplItem::Fn(function) = item {
            strip(&mut function.attrs, &mut function.sig);
        }
    }
    block.attrs.push(parse_quote! {
        #[allow(clippy::needless_pass_by_value, reason = "params are owned")]
    });
}

pub(super) fn trait_definition(definition: &mut ItemTrait) {
    for item in &mut definition.items {
        if let TraitItem::Fn(function) = item {
            strip(&mut function.attrs, &mut function.sig);
            require_send(function);
        }
    }
}

fn strip(attributes: &mut Vec<Attribute>, signature: &mut Signature) {
    attributes.retain(|attribute| !MethodAttributes::is_helper(attribute));
    for input in &mut signature.inputs {
        if let FnArg::Typed(input) = input {
            // Rust does not allow doc comments on arguments. They are the descriptions of params.
            input.attrs.retain(|attribute| {
                !ArgumentAttributes::is_helper(attribute) && !attribute.path().is_ident("doc")
            });
        }
    }
}

/// Declares the future of `async fn f() -> R` in a trait as `Send`, which the server requires.
fn require_send(function: &mut TraitItemFn) {
    if function.sig.asyncness.take().is_none() {
        return;
    }
    let output = match &function.sig.output {
        ReturnType::Default => parse_quote!(()),
        ReturnType::Type(_, ty) => (**ty).clone(),
    };
    function.sig.output = parse_quote! {
        -> impl ::core::future::Future<Output = #output> + ::core::marker::Send
    };
    if let Some(body) = &mut function.default {
        *body = parse_quote!({ async move #body });
        // The future holds `&self`.
        if function.sig.receiver().is_some() {
            function
                .sig
                .generics
                .make_where_clause()
                .predicates
                .push(parse_quote!(Self: ::core::marker::Sync));
        }
    }
}
