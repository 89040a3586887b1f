//! The console of a service, and a visit of one of its pages.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use askama::Template;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, LOCATION, REFERRER_POLICY,
};
use http::uri::Authority;
use http::{HeaderValue, Method, StatusCode, Uri};
use serde_json::{Map, Value, json};
use tower_service::Service;
use trunkline::access::Principal;
use trunkline::http::{Context, Headers};
use trunkline::layers::authorize::is_visible_to;
use trunkline::protocol::RegisteredOperation;
use trunkline::tool::Confirmed;
use trunkline::{Call, Effect, ErrorObject, Extensions, Id, Rpc, code};

use crate::assets;
use crate::config::{ConsoleConfig, ConsoleDatabase};
use crate::form::{Fields, Form};
use crate::json::Json;

/// The console of a service. Cloning is cheap.
#[derive(Clone)]
pub(crate) struct Console(Arc<Shared>);

pub(crate) struct Shared {
    rpc: Rpc,
    pub(crate) config: ConsoleConfig,
    pub(crate) started: Instant,
}

impl Console {
    pub(crate) fn new(rpc: Rpc, config: ConsoleConfig) -> Self {
        Self(Arc::new(Shared { rpc, config, started: Instant::now() }))
    }

    pub(crate) fn services(&self) -> impl Iterator<Item = &Rpc> {
        std::iter::once(&self.rpc).chain(&self.config.agent)
    }

    /// The service and the registered operation of a method.
    pub(crate) fn find(&self, method: &str) -> Option<(&Rpc, Arc<RegisteredOperation>)> {
        self.services().find_map(|rpc| {
            let operations = rpc.operations();
            let found = operations.iter().find(|operation| operation.name() == method)?;
            Some((rpc, Arc::clone(found)))
        })
    }

    pub(crate) fn is_agents(&self, method: &str) -> bool {
        let main = self.rpc.operations();
        !main.iter().any(|operation| operation.name() == method)
    }
}

impl Deref for Console {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// A request of a page by a user.
pub(crate) struct Visit {
    pub(crate) console: Console,
    pub(crate) extensions: Extensions,
    pub(crate) fields: Fields,
    /// Whether the user has seen what the submitted form does, and agreed.
    is_confirmed: bool,
    uri: Uri,
}

/// The result of a call, and its duration.
pub(crate) struct Called {
    pub(crate) result: Json,
    pub(crate) bytes: usize,
    pub(crate) millis: f64,
}

/// A page with the parameters of its URL, or a submitted form.
impl FromRequest<Console> for Visit {
    type Rejection = Response;

    async fn from_request(request: Request, console: &Console) -> Result<Self, Response> {
        let (console, uri) = (console.clone(), request.uri().clone());
        if request.method() == Method::POST {
            let Form { fields, extensions } = Form::from_request(request, &console).await?;
            let is_confirmed = fields.get("confirm") == Some("yes");
            return Ok(Self { console, extensions, fields, is_confirmed, uri });
        }
        let context = Context::from_request_parts(&mut request.into_parts().0, &console).await;
        let Context { extensions, .. } = context.map_err(IntoResponse::into_response)?;
        let fields = Fields::parse(uri.query().unwrap_or_default().as_bytes());
        Ok(Self { console, extensions, fields, is_confirmed: false, uri })
    }
}

impl Visit {
    pub(crate) fn principal(&self) -> Option<&Principal> {
        Principal::of(&self.extensions)
    }

    /// The operations that the user may call, in the order of registration.
    pub(crate) fn operations(&self) -> Vec<Arc<RegisteredOperation>> {
        let all = self.console.services().flat_map(|rpc| rpc.operations().to_vec());
        all.filter(|operation| is_visible_to(operation.description(), self.principal())).collect()
    }

    /// The databases that a role of the user permits.
    pub(crate) fn databases(&self) -> Vec<ConsoleDatabase> {
        let ConsoleConfig { databases, rules, .. } = &self.console.config;
        let rules = rules.current();
        let is_permitted =
            |database: &&ConsoleDatabase| rules.permits_database(&database.name, self.principal());
        databases.iter().filter(is_permitted).cloned().collect()
    }

    /// The types of records that have an operation for the user. `None` if records are off.
    pub(crate) fn record_types(&self) -> Option<Vec<String>> {
        let operations = self.operations();
        let is_permitted = |kind: &&String| {
            let is_of_kind = |name: &str| {
                name.strip_prefix(kind.as_str()).is_some_and(|rest| rest.starts_with('.'))
            };
            operations.iter().any(|operation| is_of_kind(operation.name()))
        };
        let types = self.console.config.record_types.as_ref()?;
        Some(types.iter().filter(is_permitted).cloned().collect())
    }

    /// Calls an operation as the user, through all layers. A call that may change or delete data fails with
    /// [`code::CONFIRMATION`] until its form is confirmed, with or without a layer that asks for confirmations.
    pub(crate) async fn call(
        &self,
        method: &str,
        params: &Map<String, Value>,
    ) -> Result<Called, ErrorObject> {
        self.call_if(method, params, self.is_confirmed).await
    }

    /// Calls an operation for a button that names the change and its object, which is the confirmation.
    pub(crate) async fn call_for_button(
        &self,
        method: &str,
        params: &Map<String, Value>,
    ) -> Result<Called, ErrorObject> {
        self.call_if(method, params, true).await
    }

    async fn call_if(
        &self,
        method: &str,
        params: &Map<String, Value>,
        is_confirmed: bool,
    ) -> Result<Called, ErrorObject> {
        let found = self.console.find(method);
        let (rpc, operation) = found.ok_or_else(|| ErrorObject::method_not_found(method))?;
        let effect = operation.description().effect_of(params);
        let mut call = Call::request(&Id::from(1), method, params)?;
        *call.extensions_mut() = self.extensions.clone();
        if is_confirmed {
            call.extensions_mut().insert(Confirmed);
        } else if !matches!(effect, Some(Effect::ReadOnly | Effect::Additive)) {
            let reason = format!("`{method}` may change or delete data; confirm the call");
            let error = ErrorObject::new(code::CONFIRMATION, "Confirmation required");
            return Err(error.with_data(&json!({ "reason": reason, "operation": method })));
        }
        let began = Instant::now();
        let Ok(outcome) = Service::call(&mut rpc.clone(), call).await;
        let millis = began.elapsed().as_secs_f64() * 1_000.0;
        let text = outcome.as_result().map_err(Clone::clone)?;
        let result = Json::parse(text).map_err(|error| ErrorObject::internal(&error))?;
        Ok(Called { result, bytes: text.len(), millis })
    }

    /// Whether the form of the call is to be shown with the question whether to run it.
    pub(crate) fn asks(&self, error: &ErrorObject) -> bool {
        error.code() == code::CONFIRMATION && !self.is_confirmed
    }

    /// The URL of this server, without a path, as the browser knows it.
    pub(crate) fn base(&self) -> String {
        // HTTP/2 has the name in the URI.
        let headers = Headers::of(&self.extensions);
        let host = headers.and_then(|headers| headers.get(HOST)?.to_str().ok());
        let host = self.uri.authority().map(Authority::as_str).or(host);
        let config = &self.console.config;
        let sessions = config.sessions.as_ref().zip(headers);
        let is_https = sessions.map_or(config.is_https, |(all, headers)| all.is_https(headers));
        let scheme = if is_https { "https" } else { "http" };
        format!("{scheme}://{}", host.unwrap_or("localhost"))
    }

    pub(crate) fn layout(&self, title: impl Into<String>, section: &'static str) -> Layout {
        let config = &self.console.config;
        Layout {
            title: title.into(),
            section,
            service: config.name.clone(),
            version: config.version.clone(),
            assets: assets::VERSION.as_str(),
            user: self.principal().map(|principal| principal.name().to_owned()),
            has_session: config.sessions.is_some(),
        }
    }

    /// The page of a failed call.
    pub(crate) fn failed(&self, section: &'static str, error: &ErrorObject) -> Response {
        let problem = Problem::of(error);
        let layout = self.layout(problem.title.clone(), section);
        page_with(problem.status(), &FailurePage { layout, problem })
    }
}

/// The response of a page that cannot be shown. Boxed, since it is larger than most results.
pub(crate) struct Refused(Box<Response>);

impl From<Response> for Refused {
    fn from(response: Response) -> Self {
        Self(Box::new(response))
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        *self.0
    }
}

/// The parts that all pages have.
pub(crate) struct Layout {
    pub(crate) title: String,
    /// The entry of the navigation.
    pub(crate) section: &'static str,
    pub(crate) service: String,
    pub(crate) version: String,
    /// The version of the assets.
    pub(crate) assets: &'static str,
    pub(crate) user: Option<String>,
    pub(crate) has_session: bool,
}

/// The path of the endpoints that pages use. The cookie of a session is sent to paths of the console only.
pub(crate) const DATA: &str = "/console/data";

/// The entries of the navigation: section, path and label.
pub(crate) const SECTIONS: [(&str, &str, &str); 7] = [
    ("overview", "/console", "Overview"),
    ("operations", "/console/operations", "Operations"),
    ("databases", "/console/databases", "Databases"),
    ("records", "/console/records", "Records"),
    ("history", "/console/history", "History"),
    ("tools", "/console/tools", "Tools"),
    ("agent", "/console/agent", "Agent"),
];

impl Layout {
    pub(crate) fn sections(&self) -> &'static [(&'static str, &'static str, &'static str)] {
        &SECTIONS
    }
}

/// An error of a call, for people.
#[derive(Debug, Default)]
pub(crate) struct Problem {
    pub(crate) code: i64,
    pub(crate) title: String,
    pub(crate) reason: String,
    /// The data of the error, as JSON.
    pub(crate) data: String,
}

impl Problem {
    pub(crate) fn of(error: &ErrorObject) -> Self {
        let data = error.data().and_then(|data| Json::parse(data.get().as_bytes()).ok());
        let reason = data.as_ref().map(|data| data.text("reason")).unwrap_or_default();
        let reason = match error.code() {
            code::FORBIDDEN if reason.is_empty() => "you may not call this operation".to_owned(),
            code::RATE_LIMITED => {
                "the rate limit of this user is exceeded; wait a second".to_owned()
            }
            _ => reason,
        };
        Self {
            code: error.code(),
            title: error.message().to_owned(),
            reason,
            data: data.map(|data| data.pretty()).unwrap_or_default(),
        }
    }

    /// The status of a page that shows only this error.
    pub(crate) fn status(&self) -> StatusCode {
        match self.code {
            code::UNAUTHENTICATED => StatusCode::UNAUTHORIZED,
            code::FORBIDDEN => StatusCode::FORBIDDEN,
            code::METHOD_NOT_FOUND | code::NOT_FOUND => StatusCode::NOT_FOUND,
            code::RATE_LIMITED => StatusCode::TOO_MANY_REQUESTS,
            code::CONFLICT => StatusCode::CONFLICT,
            code::CONFIRMATION => StatusCode::PRECONDITION_REQUIRED,
            code::INVALID_PARAMS | code::DATABASE => StatusCode::BAD_REQUEST,
            code::BUSY => StatusCode::SERVICE_UNAVAILABLE,
            code::TIMEOUT => StatusCode::GATEWAY_TIMEOUT,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

#[derive(Template)]
#[template(path = "failure.html")]
struct FailurePage {
    layout: Layout,
    problem: Problem,
}

/// A page that explains how to turn on a feature.
#[derive(Template)]
#[template(path = "disabled.html")]
pub(crate) struct DisabledPage {
    pub(crate) layout: Layout,
    pub(crate) explanation: &'static str,
    pub(crate) command: &'static str,
    pub(crate) guide: &'static str,
}

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The response with a page.
pub(crate) fn page(template: &impl Template) -> Response {
    page_with(StatusCode::OK, template)
}

pub(crate) fn page_with(status: StatusCode, template: &impl Template) -> Response {
    let (status, html) = match template.render() {
        Ok(html) => (status, html),
        Err(error) => {
            let message = format!("the page could not be written: {error}");
            return (StatusCode::INTERNAL_SERVER_ERROR, message).into_response();
        }
    };
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        // With `no-referrer`, browsers send forms with `Origin: null`.
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            HeaderValue::from_static("same-origin"),
        ),
    ];
    (status, headers, html).into_response()
}

/// A redirection to a page of the console after a form.
pub(crate) fn see_other(path: &str) -> Response {
    match HeaderValue::try_from(path) {
        Ok(location) => (StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response(),
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

/// The params of a call in a field, as JSON.
pub(crate) fn object(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err("the params must be a JSON object".to_owned()),
        Err(error) => Err(format!("invalid JSON: {error}")),
    }
}
