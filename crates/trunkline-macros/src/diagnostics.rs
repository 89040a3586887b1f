use std::fmt::Display;

use quote::ToTokens;

/// The mistakes found in one item, so that one build shows them all.
#[derive(Default)]
pub(crate) struct Diagnostics {
    found: Option<syn::Error>,
}

impl Diagnostics {
    /// Notes a mistake at `tokens`.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.found {
            Some(found) => found.combine(error),
            None => self.found = Some(error),
        }
    }

    /// Unwraps `result`, noting its error.
    pub(crate) fn take<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// `value`, if nothing was found to be wrong.
    pub(crate) fn finish<T>(self, value: T) -> syn::Result<T> {
        match self.found {
            Some(error) => Err(error),
            None => Ok(value),
        }
    }
}

/// Both values, or the errors of both.
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
