//! The output of a chat: answers on stdout, calls and status on stderr.

use std::borrow::Cow;
use std::io::{self, IsTerminal, stderr, stdout};
use std::mem::take;

use anstyle::{AnsiColor, Style};

use super::summary;
use crate::client::{Event, Pending, Step, StepError, ToolCall, TurnEvent};
use crate::terminal::output;
use crate::terminal::{Failure, MarkdownStream, Renderer, cut, indented, line, lines};

pub(super) struct View {
    pub(super) renderer: Renderer,
    has_colours: bool,
    /// Whether stdout and stderr are terminals: the status is shown in a line that the next output replaces.
    is_live: bool,
    /// Whether a status line is shown.
    has_status: bool,
    /// Renders answers, if stdout is a terminal with escape sequences.
    markdown: Option<MarkdownStream>,
    /// Whether the last line of the answer is incomplete.
    is_within_line: bool,
    /// The text since the last call, to compare with the answer; `None` if it is too long.
    text: Option<String>,
    /// The calls in progress.
    running: Vec<ToolCall>,
    /// The number of calls of the chat.
    pub(super) calls: usize,
    /// Whether the turn has made a call.
    has_called: bool,
    /// Whether the last line of output shows the last call in progress.
    is_call_last: bool,
    /// The last status, if it was printed to stay.
    status: String,
}

const REMARK: Style = Style::new().dimmed();
const CALL: Style = AnsiColor::Cyan.on_default();
const FAILURE: Style = AnsiColor::Red.on_default();
const QUESTION: Style = AnsiColor::Yellow.on_default();

/// The width of lines where stderr is not a terminal.
const PIPE_WIDTH: usize = 200;

/// The maximum length of text that is compared with the answer, in bytes.
const MAX_COMPARED: usize = 1 << 20;

impl View {
    pub(super) fn new(renderer: Renderer) -> Self {
        let has_escapes = stdout().is_terminal() && !renderer.is_json() && !output::is_dumb();
        let colours = output::has_colours(&stdout());
        Self {
            renderer,
            has_colours: output::has_colours(&stderr()),
            is_live: has_escapes && stderr().is_terminal(),
            markdown: has_escapes.then(|| MarkdownStream::new(colours)),
            has_status: false,
            is_within_line: false,
            text: Some(String::new()),
            running: Vec::new(),
            calls: 0,
            is_call_last: false,
            has_called: false,
            status: String::new(),
        }
    }

    /// # Errors
    ///
    /// When stdout cannot be written.
    pub(super) fn show(&mut self, turn_event: &TurnEvent) -> io::Result<()> {
        if self.renderer.is_json() {
            return turn_event
                .json
                .as_ref()
                .map_or(Ok(()), |json| output::data(&self.renderer.json(json)));
        }
        match &turn_event.event {
            Event::Status(text) => self.status(text),
            Event::Token(text) => self.answer(text),
            Event::Call(call) => self.call(&call.tool, call.arguments.get()),
            Event::Result(step) => self.result(step),
            Event::Done(answer) => self.complete(&answer.response),
            Event::Other => Ok(()),
        }?;
        if let Event::Call(call) = &turn_event.event {
            self.running.push(call.clone());
            (self.is_call_last, self.has_called) = (true, true);
        }
        Ok(())
    }

    /// Whether the turn has made a call.
    pub(super) fn has_called(&self) -> bool {
        self.has_called
    }

    /// Ends the output of a turn.
    pub(super) fn end_turn(&mut self) -> io::Result<()> {
        self.running.clear();
        self.has_called = false;
        self.text = Some(String::new());
        self.end_line()
    }

    /// Prints the result of a command.
    pub(super) fn data(&mut self, text: &str) -> io::Result<()> {
        self.end_line()?;
        output::data(text)
    }

    /// Prints a remark.
    pub(super) fn note(&mut self, text: &str) {
        drop(self.remark(&self.paint(REMARK, &line(text))));
    }

    pub(super) fn failure(&mut self, failure: &Failure) {
        let text = match failure {
            Failure::Usage(text) => line(text).into_owned(),
            failure => failure.text(self.renderer),
        };
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        drop(self.remark(&self.paint(FAILURE, first)));
        output::message(rest);
    }

    /// Prints a call that requires confirmation.
    pub(super) fn pending(&mut self, pending: &Pending) {
        drop(self.end_line());
        output::message(&self.pending_text(pending));
    }

    /// Prints the call to stdout, before the question.
    pub(super) fn pending_for_question(&mut self, pending: &Pending) -> io::Result<()> {
        self.data(&self.pending_text(pending))
    }

    fn pending_text(&self, pending: &Pending) -> String {
        let heading = format!("{} requires confirmation:", line(&pending.tool));
        let heading = self.paint(QUESTION, &heading);
        format!("{heading}\n{}\n", indented(pending.arguments.get()))
    }

    fn status(&mut self, text: &str) -> io::Result<()> {
        let text = line(text);
        if !self.is_live {
            self.status = text.clone().into_owned();
            return self.remark(&self.paint(REMARK, &text));
        }
        self.end_line()?;
        // A character in the last column may begin a new line.
        let text = cut(&text, self.columns().saturating_sub(1)).into_owned();
        output::message(&self.paint(REMARK, &text));
        self.has_status = true;
        Ok(())
    }

    fn answer(&mut self, text: &str) -> io::Result<()> {
        let is_first = self.text.as_ref().is_some_and(String::is_empty) && !self.is_within_line;
        let text = if is_first { text.trim_start_matches(['\n', '\r']) } else { text };
        if text.is_empty() {
            return Ok(());
        }
        self.erase_status();
        self.is_call_last = false;
        self.text = take(&mut self.text).filter(|shown| shown.len() + text.len() <= MAX_COMPARED);
        if let Some(shown) = &mut self.text {
            shown.push_str(text);
        }
        // Line ends may be CR LF.
        let shown = text.replace('\r', "");
        if shown.is_empty() {
            return Ok(());
        }
        if let Some(markdown) = &mut self.markdown {
            let shown = markdown.add(&shown, screen_size());
            self.is_within_line = markdown.is_within_line();
            return output::data(&shown);
        }
        self.is_within_line = !shown.ends_with('\n');
        output::data(&lines(&shown))
    }

    /// Prints the part of the answer that no event contained.
    fn complete(&mut self, response: &str) -> io::Result<()> {
        let Some(shown) = self.text.clone() else { return Ok(()) };
        let (shown, response) = (shown.trim(), response.trim());
        if shown.ends_with(response) {
            return Ok(());
        }
        if let Some(rest) = response.strip_prefix(shown).filter(|_| !shown.is_empty()) {
            return self.answer(rest);
        }
        self.end_line()?;
        self.text = Some(String::new());
        self.answer(response)
    }

    fn call(&mut self, tool: &str, arguments: &str) -> io::Result<()> {
        self.text = Some(String::new());
        self.calls += 1;
        let text = format!("> {} {}", line(tool), summary::arguments_text(arguments));
        let text = cut(text.trim_end(), self.columns()).into_owned();
        self.remark(&self.paint(CALL, &text))
    }

    fn result(&mut self, step: &Step) -> io::Result<()> {
        let place = self.running.iter().rposition(|call| step.is_of(call));
        let is_next = place.is_some_and(|at| at + 1 == self.running.len()) && self.is_call_last;
        let is_refusal = step.error.as_ref().is_some_and(StepError::is_refusal);
        match place {
            Some(place) => drop(self.running.remove(place)),
            // The call was not made: its name is enough.
            None if is_refusal => {}
            None => self.call(&step.tool, step.arguments.get())?,
        }
        let status = take(&mut self.status);
        if step.error.as_ref().is_some_and(|error| is_shown(&status, &step.tool, error)) {
            return Ok(());
        }
        let name = match is_next || (place.is_none() && !is_refusal) {
            true => String::new(),
            false => format!("{}: ", line(&step.tool)),
        };
        let text = summary::step_text(step, &name, self.columns());
        let painted = match step.error.is_some() && !is_refusal {
            true => self.paint(FAILURE, &text),
            false => self.paint(REMARK, &text),
        };
        self.remark(&painted)
    }

    /// Prints a line that is not part of the answer.
    fn remark(&mut self, painted: &str) -> io::Result<()> {
        self.end_line()?;
        self.is_call_last = false;
        output::message(&format!("{painted}\n"));
        Ok(())
    }

    /// Ends an incomplete line.
    fn end_line(&mut self) -> io::Result<()> {
        self.erase_status();
        let is_within_line = take(&mut self.is_within_line);
        match &mut self.markdown {
            Some(markdown) => output::data(&markdown.finish(screen_size())),
            None if is_within_line => output::data("\n"),
            None => Ok(()),
        }
    }

    fn erase_status(&mut self) {
        if take(&mut self.has_status) {
            output::message("\r\x1b[K");
        }
    }

    fn paint<'t>(&self, style: Style, text: &'t str) -> Cow<'t, str> {
        if self.has_colours { format!("{style}{text}{style:#}").into() } else { text.into() }
    }

    /// The width of stderr.
    fn columns(&self) -> usize {
        let size = terminal_size::terminal_size_of(stderr());
        match size {
            Some((terminal_size::Width(columns), _)) if columns > 0 => usize::from(columns),
            _ => PIPE_WIDTH,
        }
    }
}

/// The columns and rows of stdout.
fn screen_size() -> (usize, usize) {
    const DEFAULT: (usize, usize) = (80, 24);
    match terminal_size::terminal_size_of(stdout()) {
        Some((terminal_size::Width(columns), terminal_size::Height(rows))) if columns > 0 => {
            (columns.into(), rows.into())
        }
        _ => DEFAULT,
    }
}

/// Whether this status reports that the tool was not called, and why.
fn is_shown(status: &str, tool: &str, error: &StepError) -> bool {
    let why = status.strip_prefix(&*line(tool));
    why.is_some_and(|why| why.contains(&*line(&error.message)))
}
