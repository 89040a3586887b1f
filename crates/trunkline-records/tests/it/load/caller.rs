//! A client with one connection, which sends native messages or JSON-RPC and returns the same answers for both.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Map, Value, json};

/// The form of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Native,
    JsonRpc,
}

impl Form {
    /// Alternates between the forms.
    pub(crate) fn of(number: usize) -> Self {
        if number.is_multiple_of(2) { Self::Native } else { Self::JsonRpc }
    }
}

/// A command of one type.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandRequest {
    pub(crate) command: &'static str,
    pub(crate) id: Option<String>,
    pub(crate) payload: Map<String, Value>,
    pub(crate) if_version: Option<u64>,
    pub(crate) request_id: Option<String>,
}

impl CommandRequest {
    pub(crate) fn new(command: &'static str, id: Option<&str>) -> Self {
        Self { command, id: id.map(str::to_owned), ..Self::default() }
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.payload.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn if_version(self, version: u64) -> Self {
        Self { if_version: Some(version), ..self }
    }

    pub(crate) fn request(self, id: impl Into<String>) -> Self {
        Self { request_id: Some(id.into()), ..self }
    }

    fn metadata(&self) -> Map<String, Value> {
        let version = self.if_version.map(|version| ("ifVersion".to_owned(), version.into()));
        let request =
            self.request_id.as_deref().map(|request| ("requestId".to_owned(), request.into()));
        version.into_iter().chain(request).collect()
    }
}

/// An expected error. All others fail the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    NotFound,
    Conflict,
}

/// The result of a command, `null` for `delete`.
pub(crate) type Answer = Result<Value, Refusal>;

pub(crate) struct Caller {
    stream: BufReader<TcpStream>,
    form: Form,
    resource: &'static str,
    sent: u64,
    /// The command that waits for its answer.
    asked: Option<&'static str>,
}

/// Timeout of an answer.
const DEADLINE: Duration = Duration::from_secs(20);

impl Caller {
    pub(crate) fn connect(
        address: SocketAddr,
        form: Form,
        resource: &'static str,
    ) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, DEADLINE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(DEADLINE))?;
        stream.set_write_timeout(Some(DEADLINE))?;
        Ok(Self { stream: BufReader::new(stream), form, resource, sent: 0, asked: None })
    }

    /// # Panics
    /// On an answer that is neither a result nor a [`Refusal`].
    pub(crate) fn ask(&mut self, ask: &CommandRequest) -> io::Result<Answer> {
        self.send(ask)?;
        self.receive()
    }

    pub(crate) fn send(&mut self, ask: &CommandRequest) -> io::Result<()> {
        assert_eq!(self.asked.replace(ask.command), None, "one at a time");
        self.sent += 1;
        let body = match self.form {
            Form::Native => self.native(ask),
            Form::JsonRpc => self.json_rpc(ask),
        }
        .to_string();
        let request = format!(
            "POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())
    }

    fn native(&self, ask: &CommandRequest) -> Value {
        let mut message = json!({
            "command": ask.command,
            "resource": self.resource,
            "payload": ask.payload,
            "metadata": ask.metadata(),
        });
        if let Some(id) = &ask.id {
            message["id"] = json!(id);
        }
        message
    }

    fn json_rpc(&self, ask: &CommandRequest) -> Value {
        let mut params = ask.payload.clone();
        if let Some(id) = &ask.id {
            params.insert("id".to_owned(), json!(id));
        }
        params.insert("metadata".to_owned(), ask.metadata().into());
        let method = format!("{}.{}", self.resource, ask.command);
        json!({ "jsonrpc": "2.0", "method": method, "params": params, "id": self.sent })
    }

    /// Receives the answer to the sent command.
    pub(crate) fn receive(&mut self) -> io::Result<Answer> {
        let command = self.asked.take().unwrap();
        let (status, body) = self.response()?;
        let message = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body)? };
        Ok(match self.form {
            Form::Native => native_answer(command, status, message),
            Form::JsonRpc => self.json_rpc_answer(status, message),
        })
    }

    fn response(&mut self) -> io::Result<(u16, Vec<u8>)> {
        let head = self.line()?;
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        let mut length = 0;
        loop {
            let line = self.line()?;
            match line.split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse().unwrap();
                }
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((status.unwrap(), body))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let line = line.strip_suffix("\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(line.to_owned())
    }

    fn json_rpc_answer(&self, status: u16, mut message: Value) -> Answer {
        assert_eq!(message["id"], self.sent, "{status} {message}");
        match message["error"]["code"].as_i64() {
            None => Ok(message.get_mut("result").unwrap().take()),
            Some(-32011) => Err(Refusal::NotFound),
            Some(-32012) => Err(Refusal::Conflict),
            Some(_) => panic!("{status} {message}"),
        }
    }
}

fn native_answer(command: &str, status: u16, mut message: Value) -> Answer {
    match (command, status) {
        ("delete", 204) => Ok(Value::Null),
        ("create", 201) | ("read" | "update" | "list" | "revert", 200) => {
            Ok(message.get_mut("result").unwrap().take())
        }
        (_, 404) => Err(Refusal::NotFound),
        (_, 409) => Err(Refusal::Conflict),
        _ => panic!("{command}: {status} {message}"),
    }
}
