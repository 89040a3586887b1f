use std::task::{Context, Poll};

use tower::Service;

use crate::call::Call;

/// Tells history what is known of a call behind the layer that traces it.
#[derive(Debug, Clone)]
pub(super) struct Noted<S>(pub(super) S);

impl<S: Service<Call>> Service<Call> for Noted<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> S::Future {
        if let Some(notes) = call.notes() {
            notes.call(&call);
        }
        self.0.call(call)
    }
}
