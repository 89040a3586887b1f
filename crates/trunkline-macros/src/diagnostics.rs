use std::fmt::Display;

use quote::ToTokens;

/// The errors of an item, collected so that one build reports them all.
#[derive(Default)]
pub(crate) struct Diagnostics {
    errors: Option<syn::Error>,
}

impl Diagnostics {
    /// Adds an error at `tokens`.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.errors {
            Some(errors) => errors.combine(error),
            None => self.errors = Some(error),
        }
    }

    /// Returns the value of `result`, or adds its error.
    pub(crate) fn take<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// Returns `value`, or the errors.
    pub(crate) fn finish<T>(self, value: T) -> syn::Result<T> {
        match self.errors {
            Some(error) => Err(error),
            None => Ok(value),
        }
    }
}

/// Returns both values, or the errors of both.
pub(crate) fn join<A, B>(a: syn::Result<A>, b: syn::Result<B>) -> syn::Result<(A, B)> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
        (Err(mut error), Err(other)) => {
            error.combine(other);
            Err(error)
        }
    }
}
