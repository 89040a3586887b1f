use syn::{GenericArgument, PathArguments, ReturnType, Signature, Type, parse_quote};

use crate::tokens::{ends_with, find_short_borrow};

/// The return type of a method.
pub(crate) enum Output {
    Unit,
    Result {
        ty: Box<Type>,
        /// The type of `Ok`.
        value: Box<Type>,
        error: Box<Type>,
    },
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
                "a notification cannot return a result or an error",
            ));
        }
        if let Some(borrow) = find_short_borrow(ty) {
            return Err(syn::Error::new(
                borrow,
                "results must be owned, since they outlive the borrow of `self`",
            ));
        }
        Ok(match ends_with(ty, "Result") {
            true => Self::result(ty),
            false => Self::Value(ty.clone()),
        })
    }

    fn result(ty: &Type) -> Self {
        let (value, error) = type_arguments(ty).unwrap_or_else(|| {
            (
                parse_quote!(<#ty as ::trunkline::__private::Fallible>::Value),
                parse_quote!(<#ty as ::trunkline::__private::Fallible>::Error),
            )
        });
        Self::Result { ty: Box::new(ty.clone()), value: Box::new(value), error: Box::new(error) }
    }
}

fn is_unit(ty: &Type) -> bool {
    matches!(ty, Type::Tuple(tuple) if tuple.elems.is_empty())
}

/// `T` and `E` of `Result<T, E>`. An alias such as `io::Result<T>` hides them.
fn type_arguments(ty: &Type) -> Option<(Type, Type)> {
    let Type::Path(path) = ty else { return None };
    let PathArguments::AngleBracketed(arguments) = &path.path.segments.last()?.arguments else {
        return None;
    };
    let mut arguments = arguments.args.iter();
    match (arguments.next(), arguments.next(), arguments.next()) {
        (Some(GenericArgument::Type(value)), Some(GenericArgument::Type(error)), None) => {
            Some((value.clone(), error.clone()))
        }
        _ => None,
    }
}
