use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Member, Type, ext::IdentExt};

/// A field of a variant or a struct.
pub(super) struct Field {
    /// The name or the position.
    member: Member,
    /// The variable for its value: its name, or `field0`.
    pub(super) binding: Ident,
    pub(super) ty: Type,
}

impl Field {
    pub(super) fn of((position, field): (usize, &syn::Field)) -> Self {
        let (member, binding) = match &field.ident {
            Some(ident) => (Member::from(ident.clone()), ident.clone()),
            None => (Member::from(position), format_ident!("field{}", position)),
        };
        Self { member, binding, ty: field.ty.clone() }
    }

    /// `value` or `0`, as in messages.
    pub(super) fn name(&self) -> String {
        match &self.member {
            Member::Named(name) => name.unraw().to_string(),
            Member::Unnamed(position) => position.index.to_string(),
        }
    }

    /// `value`, or `0: field0`.
    pub(super) fn in_variable(&self) -> TokenStream {
        let Self { member, binding, .. } = self;
        match member {
            Member::Named(name) => quote!(#name),
            Member::Unnamed(position) => quote!(#position: #binding),
        }
    }
}
