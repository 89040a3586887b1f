//! What went wrong, in words, and as an exit code.

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

use super::form::Form;
use super::{document, output, text};
use crate::client::{CallError, NativeError, Refusal};

/// Why a command printed no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is wrong.
    Usage(String),
    Call(CallError),
    /// A URL is not an MCP endpoint, or it refuses this client.
    Initialize(CallError),
    Mcp(mcp::Error),
    /// A command was, in the native protocol.
    Refused(Refusal),
    /// Told in the server's own words, or JSON.
    Told(String),
    /// The result could not be printed.
    Output(io::Error),
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
        ExitCode::from(match self {
            Self::Refused(_) | Self::Told(_) | Self::Output(_) => FAILED,
            Self::Usage(_) => USAGE,
            Self::Call(error) | Self::Initialize(error) => code_of_call(error),
            Self::Mcp(_) => PROTOCOL,
        })
    }

    /// For stderr.
    pub(crate) fn text(&self, form: Form) -> String {
        match self {
            Self::Told(text) => text.clone(),
            Self::Output(error) => format!("trunkline: cannot print the result: {error}\n"),
            Self::Refused(refusal) if form.is_json => form.told_json(refusal.json.get()),
            Self::Refused(refusal) => native(refusal),
            Self::Usage(text) => {
                format!("trunkline: {}\nFor more information, try '--help'.\n", text::line(text))
            }
            Self::Call(failed) => match failed.error.error_object() {
                Some(error) if form.is_json => form.told_json(&json(error)),
                _ => call(failed),
            },
            Self::Initialize(error) => format!(
                "trunkline: this is not an MCP endpoint, or it does not let this client in\n{}",
                call(error)
            ),
            Self::Mcp(error) => format!("trunkline: {}\n", text::line(&error.to_string())),
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
    let said = match (&failed.error, failed.error.error_object()) {
        (_, Some(error)) => rpc(error),
        (client::Error::Transport(error), _) => return transport(error),
        (error, _) => format!("trunkline: {}\n", text::line(&error.to_string())),
    };
    said + &failed.status.map(remedy_of_status).unwrap_or_default()
}

/// The error as one JSON text.
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

/// The error, and a line for each member of its data.
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
    let said = format!("error {}: {}\n", status.as_u16(), text::line(text));
    // It is a record that is not found.
    if *status == StatusCode::NOT_FOUND { said } else { said + &remedy_of_status(*status) }
}

fn remedy_of_status(status: StatusCode) -> String {
    let remedy = match status {
        StatusCode::UNAUTHORIZED => {
            "a token is needed, or this one is wrong: set TRUNKLINE_TOKEN, or give --bearer"
        }
        StatusCode::NOT_FOUND => "check the path of the URL",
        _ => return String::new(),
    };
    format!("  try: {remedy}\n")
}

fn transport(error: &TransportError) -> String {
    let mut out = format!("trunkline: {}\n", text::line(&error.to_string()));
    if let Some(root) = causes(error).last() {
        out += &format!("  because: {}\n", text::line(&root.to_string()));
    }
    if let Some(remedy) = remedy(error) {
        out += &format!("  try: {remedy}\n");
    }
    out
}

fn remedy(error: &TransportError) -> Option<&'static str> {
    use rustls::CertificateError::{BadSignature, Other, UnknownIssuer};
    use rustls::Error::{InvalidCertificate, InvalidMessage};
    let own_authority = "SSL_CERT_FILE=ca.pem, if it is signed by an authority of your own";
    match error {
        TransportError::NoRoots { .. } => Some("install ca-certificates, or set SSL_CERT_FILE"),
        TransportError::Timeout { .. } => Some("give it more time with --timeout-ms"),
        TransportError::NotHttp { .. } => Some("check the port; a server of https wants https://"),
        TransportError::Connect { .. } => match tls(error) {
            Some(InvalidCertificate(UnknownIssuer | BadSignature)) => Some(own_authority),
            Some(InvalidCertificate(Other(reason))) if is_of_authority(reason) => Some(
                "SSL_CERT_FILE=cert.pem with that very certificate, which is marked as an authority's",
            ),
            Some(InvalidMessage(_)) => Some("http://, since it does not speak TLS there"),
            Some(_) => None,
            None if is_refused(error) => {
                Some("nothing listens there: start the server (trunkline serve), or check the port")
            }
            None => Some("check the host and the port; proxies are not supported"),
        },
        _ => None,
    }
}

/// Whether a server presents a certificate that may only sign others.
fn is_of_authority(reason: &rustls::OtherError) -> bool {
    reason.to_string().contains("CaUsedAsEndEntity")
}

fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    let mut next = error.source();
    std::iter::from_fn(move || {
        let cause = next?;
        next = cause.source();
        // One that is shared hides what it is.
        Some(match cause.downcast_ref::<client::Cause>() {
            Some(shared) => &**shared,
            None => cause,
        })
    })
}

fn tls(error: &TransportError) -> Option<&rustls::Error> {
    causes(error).find_map(held)
}

/// An `io::Error` does not name what it holds as its source.
fn held<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    match error.downcast_ref::<io::Error>() {
        Some(error) => held(error.get_ref()?),
        None => error.downcast_ref(),
    }
}

fn is_refused(error: &TransportError) -> bool {
    causes(error).any(|cause| {
        let error = cause.downcast_ref::<io::Error>();
        error.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    })
}

/// Runs a client to its end.
pub(crate) fn wait_for<T>(client: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::Output)?;
    let done = runtime.block_on(client);
    // A look-up of a name may still be running.
    runtime.shutdown_background();
    done
}

/// Prints what a command has to print.
pub(crate) fn finish(form: Form, command: impl FnOnce() -> Result<String, Failure>) -> ExitCode {
    let printed = command().and_then(|text| match output::data(&text) {
        // As in `trunkline call … | head -1`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done.map_err(Failure::Output),
    });
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure.text(form));
            failure.exit_code()
        }
    }
}
