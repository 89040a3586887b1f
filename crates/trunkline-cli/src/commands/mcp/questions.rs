//! Elicitation: questions of a server to the user of a terminal.

use std::io::{self, stderr};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use anstyle::Style;
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use trunkline::client::http::Url;
use trunkline_mcp::client::HandlerError;
use trunkline_mcp::{ElicitRequest, ElicitResult};

use super::form::{Field, answer_text, fields, shown};
use crate::terminal::{Keyboard, StatusLine, cut, lines, output};

/// Asks the user the questions of a server, one after another.
pub(super) struct Questions {
    /// The server, as the command line names it.
    server: String,
    status: Arc<StatusLine>,
    keyboard: Keyboard,
    has_colours: bool,
    /// The question that is being asked holds it.
    turn: tokio::sync::Mutex<()>,
    /// Cancels the question that is being asked.
    cancel: Mutex<Option<oneshot::Sender<()>>>,
}

const BOLD: Style = Style::new().bold();

/// The maximum length of the server's message, in columns.
const MAX_MESSAGE: usize = 10_000;

impl Questions {
    pub(super) fn new(server: String, status: Arc<StatusLine>) -> Self {
        Self {
            server,
            status,
            keyboard: Keyboard::default(),
            has_colours: output::has_colours(&stderr()),
            turn: tokio::sync::Mutex::default(),
            cancel: Mutex::default(),
        }
    }

    /// Cancels the question that is being asked. Returns whether there is one.
    pub(super) fn cancel(&self) -> bool {
        self.canceller().take().is_some_and(|cancel| cancel.send(()).is_ok())
    }

    /// Asks the user. Ctrl-D declines, and [`cancel`](Self::cancel) cancels.
    pub(super) async fn ask(
        &self,
        elicitation: ElicitRequest,
    ) -> Result<ElicitResult, HandlerError> {
        let _turn = self.turn.lock().await;
        let _pause = self.status.pause();
        let (sender, cancelled) = oneshot::channel();
        *self.canceller() = Some(sender);
        let mut open = Open { questions: self, is_answered: false };
        self.keyboard.discard_input();
        let answer = async {
            match &elicitation {
                ElicitRequest::Form { message, requested_schema, .. } => {
                    let fields = fields(requested_schema).map_err(HandlerError::Invalid)?;
                    self.fill_in(message, &fields).await.map_err(failed)
                }
                ElicitRequest::Url { message, url, .. } => self.visit(message, url).await,
                _ => Err(HandlerError::Unsupported),
            }
        };
        let answer = tokio::select! {
            answer = answer => answer,
            _ = cancelled => {
                output::message("\n");
                Ok(ElicitResult::Cancel)
            }
        };
        open.is_answered = true;
        match &answer {
            Ok(ElicitResult::Decline) => output::message("declined\n"),
            Ok(ElicitResult::Cancel) => output::message("cancelled\n"),
            _ => {}
        }
        answer
    }

    /// Asks for the fields of a form until the user sends or declines it.
    async fn fill_in(&self, message: &str, fields: &[Field]) -> io::Result<ElicitResult> {
        self.introduce("asks for information", message);
        if !fields.is_empty() {
            output::message(
                "Enter accepts the value in brackets; Ctrl-D declines, Ctrl-C cancels\n",
            );
        }
        loop {
            let mut content = Map::new();
            for field in fields {
                match self.value_of(field).await? {
                    None => return Ok(ElicitResult::Decline),
                    Some(Value::Null) => {}
                    Some(value) => drop(content.insert(field.name.clone(), value)),
                }
            }
            if !fields.is_empty() {
                output::message("\n");
            }
            for (name, value) in &content {
                output::message(&format!("  {}: {}\n", shown(name), answer_text(value)));
            }
            // Lines that were pasted as answers do not send them.
            self.keyboard.discard_input();
            let answers: &[_] = match fields {
                [] => &["yes", "decline"],
                _ => &["yes", "edit", "decline"],
            };
            match self.choice("send this?", answers).await? {
                Some("yes") => return Ok(ElicitResult::Accept(content)),
                Some("edit") => {}
                _ => return Ok(ElicitResult::Decline),
            }
        }
    }

    /// Asks for a field until the answer is valid. `None` declines; the value null omits the field.
    async fn value_of(&self, field: &Field) -> io::Result<Option<Value>> {
        output::message(&format!("\n{}", field.introduction()));
        loop {
            let Some(answer) = self.answer(&format!("{}: ", field.question())).await? else {
                return Ok(None);
            };
            match field.value(&answer) {
                Ok(value) => return Ok(Some(value.unwrap_or_default())),
                Err(reason) => output::message(&format!("  {}\n", shown(&reason))),
            }
        }
    }

    /// Shows a URL, and opens it if the user agrees.
    async fn visit(&self, message: &str, url: &str) -> Result<ElicitResult, HandlerError> {
        let parsed: Url = url
            .parse()
            .map_err(|error| HandlerError::Invalid(format!("the URL is not supported: {error}")))?;
        let origin = parsed.origin();
        self.introduce("asks you to visit a page", message);
        let mut warnings = String::new();
        if !parsed.is_https() {
            warnings += "  warning: the connection is not encrypted\n";
        }
        if origin.contains("://xn--") || origin.contains(".xn--") {
            warnings += "  warning: the name of the host has characters that can be confused\n";
        }
        output::message(&format!(
            "\n  URL:  {}\n  site: {}\n{warnings}\n",
            shown(url),
            self.bold(&shown(&origin))
        ));
        let answers = ["yes", "visited", "decline"];
        let question = "open it in the browser? (visited: you open it yourself)";
        match self.choice(question, &answers).await.map_err(failed)? {
            Some("yes") => open_in_browser(url),
            Some("visited") => {}
            _ => return Ok(ElicitResult::Decline),
        }
        Ok(ElicitResult::Accept(Map::new()))
    }

    fn introduce(&self, request: &str, message: &str) {
        let message = cut(&lines(message), MAX_MESSAGE).replace('\n', "\n  ");
        let heading = self.bold(&format!("{} {request}:", shown(&self.server)));
        output::message(&format!("{heading}\n  {message}\n"));
    }

    /// Asks for one of several answers, which may be abbreviated. `None` for Ctrl-D.
    async fn choice<'a>(&self, question: &str, words: &[&'a str]) -> io::Result<Option<&'a str>> {
        let options: Vec<_> =
            words.iter().map(|word| format!("[{}]{}", &word[..1], &word[1..])).collect();
        let question = format!("{question} {}: ", options.join(", "));
        loop {
            let Some(answer) = self.answer(&question).await? else { return Ok(None) };
            let answer = answer.trim().to_lowercase();
            let is_meant = |word: &&&str| !answer.is_empty() && word.starts_with(&answer);
            if let Some(word) = words.iter().find(is_meant) {
                return Ok(Some(*word));
            }
        }
    }

    /// Asks a question. `None` for Ctrl-D.
    async fn answer(&self, question: &str) -> io::Result<Option<String>> {
        output::message(&self.bold(question));
        let answer = self.keyboard.line().await?;
        if answer.is_none() {
            output::message("\n");
        }
        Ok(answer)
    }

    fn bold(&self, text: &str) -> String {
        if self.has_colours { format!("{BOLD}{text}{BOLD:#}") } else { text.to_owned() }
    }

    fn canceller(&self) -> MutexGuard<'_, Option<oneshot::Sender<()>>> {
        self.cancel.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that is being asked.
struct Open<'q> {
    questions: &'q Questions,
    is_answered: bool,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        *self.questions.canceller() = None;
        if !self.is_answered {
            output::message("\nthe question was withdrawn\n");
        }
    }
}

fn failed(error: io::Error) -> HandlerError {
    HandlerError::Failed(error.into())
}

/// Opens a URL in the user's browser. Prints a remark if that fails.
pub(super) fn open_in_browser(url: &str) {
    const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(OPENER);
    // Ctrl-C must not end it, nor the end of this session.
    command.process_group(0);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(mut opener) => drop(thread::spawn(move || opener.wait())),
        Err(error) => output::message(&format!(
            "trunkline: cannot run {OPENER}: {error}; open the URL yourself\n"
        )),
    }
}
