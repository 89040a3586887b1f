use syn::{ReturnType, Signature, Type};

use crate::tokens::{ends_with, find_short_borrow};

/// What a method returns, as far as its signature shows.
pub(crate) enum Output {
    Unit,
    Result(Box<Type>),
    Value(Box<Type>),
}

impl Output {
    pub(super) fn of(signature: &Signature, notification: bool) -> syn::Result<Self> {
        let ty = match &signature.output {
            ReturnType::Default => return Ok(Self::Unit),
            ReturnType::Type(_, ty) if is_unit(ty) => return Ok(Self::Unit),
            ReturnType::Type(_, ty) => ty,
        };
        if notification {
            return Err(syn::Error::new_spanned(
                ty,
                "a notification has no result, and nobody to tell of an error: return nothing",
            ));
        }
        if let Some(borrow) = find_short_borrow(ty) {
            return Err(syn::Error::new(
                borrow,
                "results are owned: they outlive the call that borrowed `self`",
            ));
        }
        Ok(match ends_with(ty, "Result") {
            true => Self::Result(ty.clone()),
            false => Self::Value(ty.clone()),
        })
    }
}

fn is_unit(ty: &Type) -> bool {
    matches!(ty, Type::Tuple(tuple) if tuple.elems.is_empty())
}
