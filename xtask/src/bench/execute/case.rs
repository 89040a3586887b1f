//! The measured commands, forms and servers.

use std::fmt;
use std::ops::RangeInclusive;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use super::place::Place;
use crate::bench::probe;
use crate::bench::server::Server;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Case {
    pub(super) place: Place,
    pub(super) command: Command,
    pub(super) form: Form,
    pub(super) connections: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Command {
    Read,
    Update,
    Create,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
    Native,
    JsonRpc,
}

/// Longer than a commit takes.
const PAUSE: Duration = Duration::from_millis(200);

/// Compared cases are measured in sequence, since load on the machine changes slowly.
pub(super) const CASES: [Case; 9] = [
    Case::of(Place::Memory, Command::Read, Form::Native, 16),
    Case::of(Place::Memory, Command::Read, Form::JsonRpc, 16),
    Case::of(Place::Memory, Command::Update, Form::Native, 16),
    Case::of(Place::Memory, Command::Update, Form::JsonRpc, 16),
    Case::of(Place::Disk, Command::Update, Form::Native, 16),
    Case::of(Place::Disk, Command::Update, Form::JsonRpc, 16),
    Case::of(Place::Disk, Command::Create, Form::Native, 1),
    Case::of(Place::Disk, Command::Create, Form::Native, 16),
    Case::of(Place::Disk, Command::Create, Form::Native, 64),
];

impl Case {
    const fn of(place: Place, command: Command, form: Form, connections: u32) -> Self {
        Self { place, command, form, connections }
    }

    /// The same command, natively.
    pub(super) fn natively(self) -> Self {
        Self { form: Form::Native, ..self }
    }

    pub(super) fn body_file(self) -> String {
        let form = match self.form {
            Form::Native => "native",
            Form::JsonRpc => "jsonrpc",
        };
        format!("bench/load/{}_{form}.json", self.command.name())
    }

    /// The number of effects so far, one for each request. wrk does not wait for its last replies, so this
    /// waits until the number stays the same.
    pub(super) fn effects(self, server: &Server) -> Result<u64> {
        let mut effects = self.effects_now(server)?;
        loop {
            thread::sleep(PAUSE);
            let later = self.effects_now(server)?;
            if later == effects {
                return Ok(effects);
            }
            effects = later;
        }
    }

    fn effects_now(self, server: &Server) -> Result<u64> {
        match self.command {
            Command::Read | Command::Update => number(&execute(server, READ)?, "/version"),
            Command::Create => number(&execute(server, STATUS)?, "/counts/total"),
        }
    }

    /// Expected increase after this number of requests.
    pub(super) fn range_of_effects(self, requests: u64) -> RangeInclusive<u64> {
        match self.command {
            Command::Read => 0..=0,
            Command::Update | Command::Create => requests..=requests + u64::from(self.connections),
        }
    }
}

impl Command {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Update => "update",
            Self::Create => "create",
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, command, form, connections } = self;
        let form = match form {
            Form::Native => "native",
            Form::JsonRpc => "JSON-RPC",
        };
        write!(f, "{} {}, {form}, {connections} at a time", command.name(), place.about())
    }
}

const STATUS: &str = r#"{"jsonrpc":"2.0","method":"todo.status","id":1}"#;
const READ: &str = r#"{"jsonrpc":"2.0","method":"todo.read","params":["bench"],"id":1}"#;

/// The result of one request.
pub(super) fn execute(server: &Server, body: &str) -> Result<Value> {
    let reply = probe::exchange(&server.address, "/execute", &[], body)?;
    let (_, content) = reply.split_once("\r\n\r\n").context("the reply is not HTTP")?;
    let reply: Value =
        serde_json::from_str(content).with_context(|| format!("the reply is not JSON: {reply}"))?;
    let result = reply.get("result").with_context(|| format!("the reply is {reply}"))?;
    Ok(result.clone())
}

fn number(value: &Value, pointer: &str) -> Result<u64> {
    let number = value.pointer(pointer).and_then(Value::as_u64);
    number.with_context(|| format!("no number at {pointer} in {value}"))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::workspace::Workspace;

    #[track_caller]
    fn check(command: Command, form: Form, pointer: &str, expected: &str) {
        let case = Case::of(Place::Memory, command, form, 1);
        let body = Workspace::find().unwrap().read(case.body_file().as_ref()).unwrap();
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body.pointer(pointer), Some(&Value::from(expected)), "{body}");
    }

    #[test]
    fn each_form_has_a_body() {
        check(Command::Read, Form::Native, "/command", "read");
        check(Command::Read, Form::JsonRpc, "/method", "todo.read");
        check(Command::Update, Form::Native, "/command", "update");
        check(Command::Update, Form::JsonRpc, "/method", "todo.update");
        check(Command::Create, Form::Native, "/command", "create");
    }

    #[test]
    fn pending_requests_may_have_an_effect() {
        let range =
            |command| Case::of(Place::Disk, command, Form::Native, 16).range_of_effects(100);
        assert_eq!(range(Command::Read), 0..=0);
        assert_eq!(range(Command::Update), 100..=116);
    }
}
