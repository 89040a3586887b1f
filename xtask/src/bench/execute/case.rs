//! What is asked, how, and of whom.

use std::fmt;
use std::ops::RangeInclusive;

use anyhow::Result;
use serde::Serialize;

use super::place::Place;
use super::{READ, STATUS, execute, number};
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

/// What is compared stands next to each other, because a noisy machine changes slowly.
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

    /// The same, natively.
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

    /// How many there were so far of what the command does once for each request.
    pub(super) fn effects(self, server: &Server) -> Result<u64> {
        match self.command {
            Command::Read | Command::Update => number(&execute(server, READ)?, "/version"),
            Command::Create => number(&execute(server, STATUS)?, "/counts/total"),
        }
    }

    /// How many more there are after so many requests.
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
