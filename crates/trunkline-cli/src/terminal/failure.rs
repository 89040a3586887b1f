//! Errors of commands: their text and exit code.

use std::error::Error;
use std::io;
use std::process::ExitCode;

use http::StatusCode;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::value::RawValue;
use trunkline::ErrorObject;
use trunkline::client;
use trunkline::client::TransportError;
use trunkline_mcp::client as mcp;

use super::renderer::Renderer;
use super::{document, output, text};
use crate::client::{CallError, NativeError, Refusal};

/// The error of a command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is invalid.
    Usage(String),
    Call(CallError),
    /// The error of a call, and what the user can do about it.
    CallWithRemedy(CallError, String),
    /// The server does not support MCP, or it rejects this client.
    Initialize(CallError),
    Mcp(mcp::Error),
    /// The server rejected a native command.
    Refused(Refusal),
    /// The server does not keep to the protocol.
    Protocol(String),
    /// The text or JSON for stderr.
    Message(String),
    /// The result could not be printed.
    Output(io::Error),
    /// A signal with this number ended the command.
    Interrupted(u8),
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<mcp::Error> for Failure {
    fn from(error: mcp::Error) -> Self {
        match error {
            mcp::Error::Request(error) => Self::Call(error.into()),
            mcp::Error::Initialize(error) => Self::Initialize(error.into()),
            error => Self::Mcp(error),
        }
    }
}

impl From<NativeError> for Failure {
    fn from(error: NativeError) -> Self {
        match error {
            NativeError::Call(error) => Self::Call(error),
            NativeError::Refused(refusal) => Self::Refused(refusal),
        }
    }
}

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        const FAILED: u8 = 1;
        const USAGE: u8 = 2;
        const PROTOCOL: u8 = 4;
        /// As shells report a process that a signal has ended.
        const SIGNAL: u8 = 128;
        ExitCode::from(match self {
            Self::Interrupted(signal) => SIGNAL + signal,
            Self::Refused(_) | Self::Message(_) | Self::Output(_) => FAILED,
            Self::Usage(_) => USAGE,
            Self::Call(error) | Self::CallWithRemedy(error, _) | Self::Initialize(error) => {
                code_of_call(error)
            }
            Self::Mcp(_) | Self::Protocol(_) => PROTOCOL,
        })
    }

    /// The text for stderr.
    pub(crate) fn text(&self, renderer: Renderer) -> String {
        match self {
            Self::Message(text) => text.clone(),
            Self::Output(error) => format!("trunkline: cannot print the result: {error}\n"),
            Self::Refused(refusal) if renderer.is_json() => renderer.json_error(refusal.json.get()),
            Self::Refused(refusal) => native(refusal),
            Self::Usage(text) => {
                format!("trunkline: {}\nFor more information, try '--help'.\n", text::line(text))
            }
            Self::Call(failed) => match failed.error.error_object() {
                Some(error) if renderer.is_json() => renderer.json_error(&json(error)),
                _ => call(failed),
            },
            Self::CallWithRemedy(failed, remedy) => match failed.error.error_object() {
                Some(error) if renderer.is_json() => renderer.json_error(&json(error)),
                _ => match &failed.error {
                    client::Error::Transport(error) => transport(error, Some(remedy)),
                    _ => format!("{}  try: {}\n", call(failed), text::line(remedy)),
                },
            },
            Self::Interrupted(_) => "trunkline: interrupted\n".to_owned(),
            Self::Protocol(text) => format!("trunkline: {}\n", text::line(text)),
            Self::Initialize(error) => format!(
                "trunkline: the server does not support MCP, or it rejects this client\n{}",
                call(error)
            ),
            Self::Mcp(error) => {
                let mut out = format!("trunkline: {}\n", text::line(&error.to_string()));
                for cause in causes(error) {
                    out += &format!("  because: {}\n", text::line(&cause.to_string()));
                }
                out
            }
        }
    }
}

fn code_of_call(failed: &CallError) -> u8 {
    match &failed.error {
        client::Error::Application(_) | client::Error::Rpc(_) => 1,
        client::Error::Params(_) => 2,
        client::Error::Protocol(_)
        | client::Error::Transport(
            TransportError::NotHttp { .. } | TransportError::TooLarge { .. },
        ) => 4,
        _ => 3,
    }
}

fn call(failed: &CallError) -> String {
    let text = match (&failed.error, failed.error.error_object()) {
        (_, Some(error)) => rpc(error),
        (client::Error::Transport(error), _) => return transport(error, None),
        (error, _) => format!("trunkline: {}\n", text::line(&error.to_string())),
    };
    text + &failed.status.map(remedy_of_status).unwrap_or_default()
}

/// The error as JSON.
fn json(error: &ErrorObject) -> String {
    #[derive(Serialize)]
    struct Object<'e> {
        code: i64,
        message: &'e str,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<&'e RawValue>,
    }
    let object = Object { code: error.code(), message: error.message(), data: error.data() };
    serde_json::to_string(&object).expect("text and JSON are JSON")
}

/// The error, with a line for each member of its data.
fn rpc(error: &ErrorObject) -> String {
    let mut out = format!("error {}: {}\n", error.code(), text::line(error.message()));
    let Some(data) = error.data() else { return out };
    match serde_json::from_str::<IndexMap<String, &RawValue>>(data.get()) {
        Ok(members) => {
            for (name, value) in members.into_iter().filter(|(_, value)| value.get() != "null") {
                out += &format!("  {}: {}\n", text::line(&name), one_line(value));
            }
        }
        Err(_) => out += &format!("  data: {}\n", one_line(data)),
    }
    out
}

fn one_line(value: &RawValue) -> String {
    match serde_json::from_str::<String>(value.get()) {
        Ok(text) => text::line(&text).into_owned(),
        Err(_) => document::for_terminal(value.get()),
    }
}

fn native(refusal: &Refusal) -> String {
    let Refusal { status, text, .. } = refusal;
    let message = format!("error {}: {}\n", status.as_u16(), text::line(text));
    // Here, the record was not found.
    if *status == StatusCode::NOT_FOUND { message } else { message + &remedy_of_status(*status) }
}

fn remedy_of_status(status: StatusCode) -> String {
    let remedy = match status {
        StatusCode::UNAUTHORIZED => "set a valid token in TRUNKLINE_TOKEN or --bearer",
        StatusCode::NOT_FOUND => "check the path of the URL",
        _ => return String::new(),
    };
    format!("  try: {remedy}\n")
}

/// The text of an error, with another remedy than its own if there is one.
fn transport(error: &TransportError, other: Option<&str>) -> String {
    let mut out = format!("trunkline: {}\n", text::line(&error.to_string()));
    if let Some(root) = causes(error).last() {
        out += &format!("  because: {}\n", text::line(&root.to_string()));
    }
    if let Some(remedy) = other.or_else(|| remedy(error)) {
        out += &format!("  try: {}\n", text::line(remedy));
    }
    out
}

fn remedy(error: &TransportError) -> Option<&'static str> {
    use rustls::CertificateError::{BadSignature, Other, UnknownIssuer};
    use rustls::Error::{InvalidCertificate, InvalidMessage};
    let own_authority = "set SSL_CERT_FILE=ca.pem if your own authority signed the certificate";
    match error {
        TransportError::NoRoots { .. } => Some("install ca-certificates, or set SSL_CERT_FILE"),
        TransportError::Timeout { .. } => Some("increase --timeout-ms"),
        TransportError::NotHttp { .. } => {
            Some("check the port; use https:// if the server expects TLS")
        }
        TransportError::Connect { .. } => match tls(error) {
            Some(InvalidCertificate(UnknownIssuer | BadSignature)) => Some(own_authority),
            Some(InvalidCertificate(Other(reason))) if is_of_authority(reason) => Some(
                "set SSL_CERT_FILE=cert.pem to this certificate, which is a certificate authority's",
            ),
            Some(InvalidMessage(_)) => Some("use http://: the server does not use TLS"),
            Some(_) => None,
            None if is_refused(error) => {
                Some("start the server (`trunkline serve`), or check the port")
            }
            None => Some("check the host and the port; proxies are not supported"),
        },
        _ => None,
    }
}

/// Whether the server presents a certificate that may only sign other certificates.
fn is_of_authority(reason: &rustls::OtherError) -> bool {
    reason.to_string().contains("CaUsedAsEndEntity")
}

fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    let mut next = error.source();
    std::iter::from_fn(move || {
        let cause = next?;
        next = cause.source();
        // A shared cause hides its type.
        Some(match cause.downcast_ref::<client::Cause>() {
            Some(shared) => &**shared,
            None => cause,
        })
    })
}

/// Whether the certificate of the server is not accepted.
pub(crate) fn refuses_certificate(error: &TransportError) -> bool {
    matches!(tls(error), Some(rustls::Error::InvalidCertificate(_)))
}

fn tls(error: &TransportError) -> Option<&rustls::Error> {
    causes(error).find_map(as_rustls)
}

/// `io::Error::source` skips the inner error.
fn as_rustls<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    match error.downcast_ref::<io::Error>() {
        Some(error) => as_rustls(error.get_ref()?),
        None => error.downcast_ref(),
    }
}

fn is_refused(error: &TransportError) -> bool {
    causes(error).any(|cause| {
        let error = cause.downcast_ref::<io::Error>();
        error.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    })
}

/// Runs a client until it is done.
pub(crate) fn wait_for<T>(client: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::Output)?;
    let done = runtime.block_on(client);
    // A name lookup may still be running.
    runtime.shutdown_background();
    done
}

/// Prints the result of a command, or its error.
pub(crate) fn finish(
    renderer: Renderer,
    command: impl FnOnce() -> Result<String, Failure>,
) -> ExitCode {
    let printed = command().and_then(|text| output::data(&text).map_err(Failure::Output));
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        // As in `trunkline call … | head -1`.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) if renderer.is_json() => {
            output::message(&failure.text(renderer));
            failure.exit_code()
        }
        Err(failure) => {
            output::failure(&failure.text(renderer));
            failure.exit_code()
        }
    }
}
