//! Conversion of arguments before the protocol reads them.

use trunkline::Call;
use trunkline::protocol::RegisteredOperation;

use crate::fault::Fault;
use crate::request::Request;

/// Converts the arguments of a request to the types of the operation that it calls: validation, headers that repeat
/// arguments, and the text of the result see the values that the handler reads. Also returns the members of the request
/// if the call has changed.
pub(super) fn convert_arguments(
    call: Call,
    request: &Request,
    operation: &RegisteredOperation,
) -> Result<(Call, Option<Request>), Fault> {
    let Some(arguments) = request.arguments else { return Ok((call, None)) };
    let text = call.text(arguments);
    let converted = match text.first() {
        Some(b'{' | b'"') => operation.convert(text),
        _ => None,
    };
    let Some(converted) = converted else { return Ok((call, None)) };
    let call = call.replace(arguments, &converted);
    let request = Request::of(&call)?;
    Ok((call, Some(request)))
}
