use syn::Signature;

/// How a method runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Execution {
    Sync,
    /// On a thread that may wait.
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
                "a `blocking` method is not `async`: it has a thread of its own to wait on",
            )),
        }
    }
}
