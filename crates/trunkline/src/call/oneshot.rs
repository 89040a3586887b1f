//! One call of a service that has to be ready first.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tower::Service;

use super::Call;

pin_project_lite::pin_project! {
    /// Waits until the service is ready, then for its answer.
    pub(crate) struct Oneshot<S>
    where
        S: Service<Call>,
    {
        service: S,
        call: Option<Call>,
        #[pin]
        answer: Option<S::Future>,
    }
}

impl<S: Service<Call>> Oneshot<S> {
    pub(crate) fn new(service: S, call: Call) -> Self {
        Self { service, call: Some(call), answer: None }
    }
}

impl<S: Service<Call>> Future for Oneshot<S> {
    type Output = Result<S::Response, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            if let Some(answer) = this.answer.as_mut().as_pin_mut() {
                return answer.poll(cx);
            }
            ready!(this.service.poll_ready(cx))?;
            let call = this.call.take().expect("an answer is polled once it is there");
            this.answer.set(Some(this.service.call(call)));
        }
    }
}
