//! `resources/read`.

use std::sync::Arc;

use trunkline::Call;
use trunkline::{Outcome, code};

use super::context::Context;
use super::prebuilt::cache_hints;
use super::{Server, StartedCall};
use crate::era::Era;
use crate::fault::{Fault, resource_not_found};
use crate::protocol::error_code::RESOURCE_NOT_FOUND;
use crate::protocol::method;
use crate::resource::{Found, ResourceUri, is_missing, write_contents};

impl Server {
    pub(super) fn read_resource(
        self: &Arc<Self>,
        mut call: Call,
        context: Context<'_>,
    ) -> Result<StartedCall, Fault> {
        let era = context.era;
        let uri: Arc<str> = self.uri(&call)?.into();
        let code = match era {
            Era::Modern => code::INVALID_PARAMS,
            Era::Legacy => RESOURCE_NOT_FOUND,
        };
        let unknown = || Fault::UnknownResource { uri: (*uri).to_owned(), code };
        let Some(Found { source, params }) = self.catalog.find_resource(&uri) else {
            return self.run_unknown(call, None, unknown());
        };
        let attached = self.attach(&mut call, context, method::RESOURCES_READ)?;
        call.extensions_mut().insert(ResourceUri(Arc::clone(&uri)));
        let operation = Arc::clone(&source.operation);
        let call = match params {
            Some(params) => call.redirect_with(operation, &params).map_err(|_| unknown())?,
            None => call.redirect_to(operation, None),
        };
        Ok(self.run_operation(call, attached, move |outcome, envelope| {
            let result = match outcome.as_result() {
                Ok(result) => result,
                Err(error) if is_missing(&source.operation, error) => {
                    return Outcome::error(resource_not_found(&uri, code));
                }
                Err(_) => return outcome,
            };
            let written = envelope.write_with_meta(|json| {
                let meta = write_contents(json, result, &uri, source.mime_type.as_deref());
                if era == Era::Modern {
                    json.extend_from_slice(cache_hints(source.caching).as_bytes());
                }
                meta
            });
            written.unwrap_or_else(|| Outcome::error(resource_not_found(&uri, code)))
        }))
    }
}
