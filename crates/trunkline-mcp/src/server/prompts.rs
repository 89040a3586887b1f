//! `prompts/get` and `completion/complete`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, de};
use trunkline::protocol::CallFuture;
use trunkline::{Call, ErrorObject, Outcome, code};

use super::catalog::Completing;
use super::context::{Attached, Context};
use super::converted::convert_arguments;
use super::{Server, StartedCall, arguments};
use crate::completion::{Completion, CompletionForm, CompletionParams};
use crate::era::Era;
use crate::fault::Fault;
use crate::model::{CompletionTarget, CompletionValues};
use crate::prompt::write_prompt;
use crate::protocol::method;
use crate::request::{members, string};
use crate::resource::is_missing;

/// The argument of `completion/complete`.
#[derive(Deserialize)]
struct Argument {
    name: String,
    value: String,
}

/// The context of `completion/complete`.
#[derive(Default, Deserialize)]
struct Known {
    #[serde(default)]
    arguments: Option<KnownArguments>,
}

/// The arguments that are known, 100 at most.
#[derive(Default)]
struct KnownArguments(BTreeMap<String, String>);

/// The maximum number of known arguments.
const MAX_KNOWN: usize = 100;

impl<'de> Deserialize<'de> for KnownArguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = KnownArguments;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an object of at most {MAX_KNOWN} texts")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut members: A,
            ) -> Result<KnownArguments, A::Error> {
                let mut known = BTreeMap::new();
                while let Some((name, value)) = members.next_entry()? {
                    if known.len() == MAX_KNOWN {
                        return Err(A::Error::invalid_length(
                            MAX_KNOWN + 1,
                            &self as &dyn de::Expected,
                        ));
                    }
                    known.insert(name, value);
                }
                Ok(KnownArguments(known))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

impl Server {
    pub(super) fn get_prompt(
        self: &Arc<Self>,
        call: Call,
        context: Context<'_>,
    ) -> Result<StartedCall, Fault> {
        let request = context.request;
        let name = string(&call, request.name);
        let name = name.ok_or(Fault::Params("`name` must be a string: the name of the prompt"))?;
        let Some(prompt) = self.catalog.find_prompt(&name) else {
            let fault = Fault::UnknownPrompt(name.into_owned());
            return self.run_unknown(call, request.name, fault);
        };
        drop(name);
        let (mut call, converted) = convert_arguments(call, request, &prompt.operation)?;
        let request = converted.as_ref().unwrap_or(request);
        let context = Context { request, ..context };
        let arguments = arguments(&call, request)?;
        let text = arguments.map_or(Bytes::from_static(b"{}"), |part| call.bytes(part));
        let attached = self.attach(&mut call, context, method::PROMPTS_GET)?;
        let operation = Arc::clone(&prompt.operation);
        let call = call.redirect_to(operation, arguments);
        let call = match prompt.check(&text) {
            Ok(()) => call,
            // The call passes the layers of the operation, which may refuse it first.
            Err(reason) => call.with_refusal(ErrorObject::invalid_params(&reason)),
        };
        let revision = context.revision();
        Ok(self.run_operation(call, attached, move |outcome, envelope| {
            let Ok(result) = outcome.as_result() else { return outcome };
            let written = envelope.write_with_meta(|json| {
                write_prompt(json, result, prompt.description.as_deref(), revision)
            });
            written.unwrap_or_else(|| {
                let cause = format!("`{}` returned no messages", prompt.operation.name());
                Outcome::error(ErrorObject::internal(&cause))
            })
        }))
    }

    pub(super) fn complete(
        self: &Arc<Self>,
        call: Call,
        context: Context<'_>,
    ) -> Result<StartedCall, Fault> {
        let [target, argument, known] = members(&call, ["ref", "argument", "context"])?;
        let target = target
            .and_then(|part| serde_json::from_slice::<CompletionTarget>(call.text(part)).ok());
        let argument =
            argument.and_then(|part| serde_json::from_slice::<Argument>(call.text(part)).ok());
        let (target, argument) = target.zip(argument).ok_or(Fault::Params(
            "`ref` must be a ref/prompt with a name or a ref/resource with a URI, \
             and `argument` must have the texts `name` and `value`",
        ))?;
        let completion = Completion { target, argument: argument.name };
        let operation = match self.catalog.find_completion(&completion) {
            Completing::Operation(operation) => operation,
            Completing::Nothing => return Ok(self.no_values(context.era)),
            Completing::Unknown => {
                let fault = match completion.target {
                    CompletionTarget::Prompt(name) => Fault::UnknownPrompt(name),
                    CompletionTarget::Resource(uri) => {
                        Fault::UnknownResource { uri, code: code::INVALID_PARAMS }
                    }
                };
                return self.run_unknown(call, None, fault);
            }
        };
        let attached = Attached::none(context.era);
        let known = known.map(|part| serde_json::from_slice::<Option<Known>>(call.text(part)));
        let known = known.transpose().map_err(|_| {
            Fault::Params("`context.arguments` must be an object of at most 100 texts")
        })?;
        let known = known.flatten().unwrap_or_default().arguments.unwrap_or_default();
        let known = CompletionParams::new(completion.argument, argument.value, known.0);
        let form = CompletionForm::of(&operation);
        let call = match form {
            CompletionForm::AsResult => call.redirect_with(Arc::clone(&operation), &known),
            CompletionForm::By { params, .. } => match params(&known) {
                Some(params) => call.redirect_with(Arc::clone(&operation), &params),
                None => return Ok(self.no_values(context.era)),
            },
        };
        let call = call.map_err(|_| Fault::Malformed("`params` cannot be passed on"))?;
        Ok(self.run_operation(call, attached, move |outcome, envelope| {
            let values = match (outcome.as_result(), form) {
                (Ok(result), CompletionForm::AsResult) => CompletionValues::of_result(result),
                (Ok(result), CompletionForm::By { values, .. }) => {
                    Some(CompletionValues::new(known.filter(values(result))))
                }
                (Err(error), _) if is_missing(&operation, error) => {
                    Some(CompletionValues::new([""; 0]))
                }
                (Err(_), _) => return outcome,
            };
            match values {
                Some(values) => envelope.write(|json| write_completion(json, &values)),
                None => {
                    let name = operation.name();
                    let cause = format!("`{name}` returned no values for a completion");
                    Outcome::error(ErrorObject::internal(&cause))
                }
            }
        }))
    }

    /// The answer for an argument without known values.
    fn no_values(&self, era: Era) -> StartedCall {
        let values = CompletionValues::new([""; 0]);
        let outcome = self.envelope(era).write(|json| write_completion(json, &values));
        CallFuture::ready(outcome).into()
    }
}

fn write_completion(json: &mut Vec<u8>, values: &CompletionValues) {
    json.extend_from_slice(b"\"completion\":");
    serde_json::to_writer(json, values).expect("texts serialise into memory");
}
