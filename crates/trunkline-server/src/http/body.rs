//! Reads the body of a request, limited in size and time.

use std::error::Error;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt;
use trunkline_core::limits::{MemoryBudget, Reservation};

use super::fields::Fields;
use super::refusal::Refusal;

/// The size of the read buffer of a connection with an incomplete body, in bytes.
const READ_BUFFER: usize = 16 << 10;

/// Reads a whole body. A body in one frame is not copied. Its memory stays reserved while any part of it is
/// referenced.
pub(super) async fn read<B>(
    body: B,
    limit: usize,
    timeout: Option<Duration>,
    memory: &MemoryBudget,
) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let too_large = Refusal::TooLarge { limit };
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large);
    }
    let memory = memory.reserve(MemoryBudget::PER_REQUEST)?;
    within(timeout, collect(body, limit, memory)).await.unwrap_or(Err(Refusal::BodyTimeout))
}

/// Rejects framing that a proxy may interpret differently (RFC 9112, section 6.3).
pub(super) fn check_framing(fields: &Fields<'_>) -> Result<(), Refusal> {
    if fields.content_length.is_repeated {
        return Err(Refusal::Framing("duplicate Content-Length header"));
    }
    let coding = fields.transfer_encoding;
    if fields.content_length.first.is_some() && coding.first.is_some() {
        return Err(Refusal::Framing("both Content-Length and Transfer-Encoding are present"));
    }
    match coding.first {
        None => Ok(()),
        Some(only) if !coding.is_repeated && only.as_bytes().eq_ignore_ascii_case(b"chunked") => {
            Ok(())
        }
        Some(_) => Err(Refusal::TransferCoding),
    }
}

async fn collect<B>(body: B, limit: usize, mut memory: Reservation) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut body = pin!(body);
    let mut whole = Bytes::new();
    let mut joined = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            let error = error.into();
            tracing::debug!(%error, "failed to read a body");
            Refusal::BrokenBody
        })?;
        // Trailers are ignored.
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let length = whole.len() + joined.len() + data.len();
        if length > limit {
            return Err(Refusal::TooLarge { limit });
        }
        if whole.is_empty() && joined.is_empty() {
            let buffer = if body.is_end_stream() { 0 } else { READ_BUFFER };
            memory.grow(length + buffer)?;
            whole = data;
            continue;
        }
        if length > joined.capacity() {
            // The capacity does not exceed the declared length.
            let left = usize::try_from(body.size_hint().upper().unwrap_or(u64::MAX));
            let most = length.saturating_add(left.unwrap_or(usize::MAX)).min(limit);
            let capacity = (length + length / 2).min(most);
            memory.resize(MemoryBudget::PER_REQUEST + READ_BUFFER + capacity)?;
            joined.reserve_exact(capacity - joined.len());
        }
        joined.extend_from_slice(&std::mem::take(&mut whole));
        joined.extend_from_slice(&data);
    }
    memory.shrink(MemoryBudget::PER_REQUEST + whole.len() + joined.capacity());
    Ok(if joined.is_empty() { memory.attach(whole) } else { memory.attach(joined) })
}

/// The output of `future`, or `None` after `timeout`. The timer is created when it is first needed: most
/// bodies arrive together with the headers.
async fn within<F: Future>(timeout: Option<Duration>, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut sleep: Option<Pin<Box<tokio::time::Sleep>>> = None;
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        let Some(timeout) = timeout else {
            return Poll::Pending;
        };
        let sleep = sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        sleep.as_mut().poll(cx).map(|()| None)
    })
    .await
}
