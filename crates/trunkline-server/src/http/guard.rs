//! The checks of all requests, on the JSON-RPC path and on routes.

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use http::request::Parts;
use http_body::Body;
use trunkline_core::extensions::Extensions;
use trunkline_core::format::Format;
use trunkline_core::limits::Reservation;

use super::authenticate::{Authentication, Authenticator, Authenticators};
use super::config::HttpConfig;
use super::credentials::authenticate;
use super::endpoint::Endpoint;
use super::fields::Fields;
use super::refusal::Refusal;
use super::refusal_log::RefusalLog;
use super::reply_body::ReplyBody;
use super::validity::CurrentAuthenticators;
use super::{authority, body, origin};
use trunkline_core::dispatch::Dispatcher;
use trunkline_history::History;

/// A service and the configuration for checking its requests.
#[derive(Clone)]
pub(super) struct Guard {
    pub(super) rpc: Dispatcher,
    pub(super) settings: HttpConfig,
    authenticators: Authenticators,
    /// The same, also for requests of earlier configurations.
    pub(super) current: CurrentAuthenticators,
    pub(super) refusals: RefusalLog,
}

impl Guard {
    pub(super) fn new(rpc: Dispatcher, settings: HttpConfig) -> Self {
        let authenticators = settings.all_authenticators();
        let current = CurrentAuthenticators::new(Arc::clone(&authenticators));
        Self { rpc, settings, authenticators, current, refusals: RefusalLog::default() }
    }

    pub(super) fn with_settings(self, settings: HttpConfig) -> Self {
        Self { authenticators: settings.all_authenticators(), settings, ..self }
    }

    /// Uses the authenticators of this configuration for requests of earlier ones, too.
    pub(super) fn end_streams(&self) {
        self.current.replace(Arc::clone(&self.authenticators));
    }

    /// Checks the host, origin, credentials and framing of a request, before its body is read. `fields` are its header
    /// fields, and `others` the authenticators of its routes.
    pub(super) fn admit(
        &self,
        parts: &Parts,
        fields: &Fields<'_>,
        others: &[Arc<dyn Authenticator>],
    ) -> Result<Option<Authentication>, Refusal> {
        self.check_site(parts, fields)?;
        let found = authenticate(self.authenticators.iter().chain(others), parts)?;
        body::check_framing(fields)?;
        Ok(found)
    }

    /// The same checks for a public document, without that of the credentials.
    pub(super) fn admit_anonymous(
        &self,
        parts: &Parts,
        fields: &Fields<'_>,
    ) -> Result<(), Refusal> {
        self.check_site(parts, fields)?;
        body::check_framing(fields)
    }

    /// The same for a document that pages of all origins may read.
    pub(super) fn admit_any_origin(
        &self,
        parts: &Parts,
        fields: &Fields<'_>,
    ) -> Result<(), Refusal> {
        self.check_host(parts, fields)?;
        body::check_framing(fields)
    }

    fn check_site(&self, parts: &Parts, fields: &Fields<'_>) -> Result<(), Refusal> {
        self.check_host(parts, fields)?;
        let checked = origin::check(fields, &parts.uri, &self.settings);
        checked.inspect_err(|refusal| self.refusals.note(refusal))
    }

    /// Checks the host only.
    pub(super) fn check_host(&self, parts: &Parts, fields: &Fields<'_>) -> Result<(), Refusal> {
        let checked = authority::check(parts, fields.host, &self.settings.hosts);
        checked.inspect_err(|refusal| self.refusals.note(refusal))
    }

    /// Reads a body with the size limit, the timeout and the memory budget.
    pub(super) async fn read<B>(&self, body: B) -> Result<Bytes, Refusal>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let HttpConfig { max_body, body_timeout, .. } = self.settings;
        body::read(body, max_body, body_timeout, &self.rpc.limits().memory).await
    }

    /// Reserves memory for a response. Returns a refusal if the budget is exhausted.
    pub(super) fn reserve(
        &self,
        endpoint: &Endpoint,
        mut response: Response<ReplyBody>,
        memory: Option<Reservation>,
        format: Format,
    ) -> Response<ReplyBody> {
        match response.body_mut().reserve(&self.rpc.limits().memory, memory) {
            Ok(()) => response,
            Err(error) => endpoint.refuse(&Refusal::ReplyDropped(error), format),
        }
    }

    /// Refuses a request and records the refusal. `extensions` are those of an admitted request.
    pub(super) fn refuse(
        &self,
        endpoint: &Endpoint,
        refusal: &Refusal,
        extensions: Option<&Extensions>,
        format: Format,
    ) -> Response<ReplyBody> {
        if let Some(history) = History::of(&self.rpc) {
            let extensions = extensions.cloned().unwrap_or_else(|| endpoint.extensions());
            history.record_refusal(&extensions, &refusal.error());
        }
        endpoint.refuse(refusal, format)
    }
}
