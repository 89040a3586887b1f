//! How a chat is printed: answers to stdout, what happens besides to stderr.

use std::borrow::Cow;
use std::io::{self, IsTerminal, stderr, stdout};
use std::mem::take;

use anstyle::{AnsiColor, Style};

use super::summary;
use crate::client::{Called, Event, Pending, Step, StepError, Told};
use crate::terminal::output;
use crate::terminal::{Failure, Form, cut, indented, line, lines};

pub(super) struct View {
    pub(super) form: Form,
    has_colours: bool,
    /// Whether all goes to one terminal: what is being done is shown in a line that the next one replaces.
    is_live: bool,
    /// Whether such a line is shown.
    has_status: bool,
    /// Whether the answer is in the midst of a line.
    is_within_line: bool,
    /// What was said since the last call, to be compared with the answer; none if that is too much.
    said: Option<String>,
    /// The calls that have begun and not ended.
    running: Vec<Called>,
    /// Whether any has begun in this turn.
    has_called: bool,
    /// Whether the last line that was printed is that of the last of them.
    is_call_last: bool,
    /// What was last said of what is being done, where it stays to be read.
    status: String,
}

const REMARK: Style = Style::new().dimmed();
const CALL: Style = AnsiColor::Cyan.on_default();
const FAILURE: Style = AnsiColor::Red.on_default();
const QUESTION: Style = AnsiColor::Yellow.on_default();

/// So many columns are used where there is no terminal.
const IN_A_PIPE: usize = 200;

/// More of an answer is not compared with what was told of it.
const COMPARED: usize = 1 << 20;

impl View {
    pub(super) fn new(form: Form) -> Self {
        let is_terminal = stderr().is_terminal();
        Self {
            form,
            has_colours: output::has_colours(&stderr()),
            is_live: is_terminal && stdout().is_terminal() && !form.is_json && !output::is_dumb(),
            has_status: false,
            is_within_line: false,
            said: Some(String::new()),
            running: Vec::new(),
            is_call_last: false,
            has_called: false,
            status: String::new(),
        }
    }

    /// # Errors
    ///
    /// When stdout cannot be written.
    pub(super) fn tell(&mut self, told: &Told) -> io::Result<()> {
        if self.form.is_json {
            return told.json.as_ref().map_or(Ok(()), |json| output::data(&self.form.json(json)));
        }
        match &told.event {
            Event::Status(text) => self.status(text),
            Event::Token(text) => self.answer(text),
            Event::Call(called) => self.call(&called.tool, called.arguments.get()),
            Event::Result(step) => self.result(step),
            Event::Done(answer) => self.complete(&answer.response),
            Event::Other => Ok(()),
        }?;
        if let Event::Call(called) = &told.event {
            self.running.push(called.clone());
            (self.is_call_last, self.has_called) = (true, true);
        }
        Ok(())
    }

    /// Whether a call has begun in this turn.
    pub(super) fn has_called(&self) -> bool {
        self.has_called
    }

    /// Ends the lines of a turn, however it has ended.
    pub(super) fn end_turn(&mut self) -> io::Result<()> {
        self.running.clear();
        self.has_called = false;
        self.said = Some(String::new());
        self.make_room()
    }

    /// What a command has to show.
    pub(super) fn data(&mut self, text: &str) -> io::Result<()> {
        self.make_room()?;
        output::data(text)
    }

    /// A remark of the program.
    pub(super) fn note(&mut self, text: &str) {
        drop(self.aside(&self.paint(REMARK, &line(text))));
    }

    pub(super) fn failure(&mut self, failure: &Failure) {
        let text = match failure {
            Failure::Usage(text) => line(text).into_owned(),
            failure => failure.text(self.form),
        };
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        drop(self.aside(&self.paint(FAILURE, first)));
        output::complain(rest);
    }

    /// A call that wants to be confirmed, in full.
    pub(super) fn pending(&mut self, pending: &Pending) {
        drop(self.make_room());
        output::complain(&self.in_full(pending));
    }

    /// The same before a question, which goes to stdout.
    pub(super) fn asked_about(&mut self, pending: &Pending) -> io::Result<()> {
        self.data(&self.in_full(pending))
    }

    fn in_full(&self, pending: &Pending) -> String {
        let heading = format!("{} waits to be confirmed:", line(&pending.tool));
        let heading = self.paint(QUESTION, &heading);
        format!("{heading}\n{}\n", indented(pending.arguments.get()))
    }

    fn status(&mut self, text: &str) -> io::Result<()> {
        let text = line(text);
        if !self.is_live {
            self.status = text.clone().into_owned();
            return self.aside(&self.paint(REMARK, &text));
        }
        self.make_room()?;
        // In the last column, it would make a line of its own.
        let text = cut(&text, self.columns().saturating_sub(1)).into_owned();
        output::complain(&self.paint(REMARK, &text));
        self.has_status = true;
        Ok(())
    }

    fn answer(&mut self, text: &str) -> io::Result<()> {
        let is_first = self.said.as_ref().is_some_and(String::is_empty) && !self.is_within_line;
        let text = if is_first { text.trim_start_matches(['\n', '\r']) } else { text };
        if text.is_empty() {
            return Ok(());
        }
        self.erase_status();
        self.is_call_last = false;
        self.said = take(&mut self.said).filter(|said| said.len() + text.len() <= COMPARED);
        if let Some(said) = &mut self.said {
            said.push_str(text);
        }
        // Of line ends as some systems have them, half is enough.
        let shown = text.replace('\r', "");
        if shown.is_empty() {
            return Ok(());
        }
        self.is_within_line = !shown.ends_with('\n');
        output::data(&lines(&shown))
    }

    /// The answer as a whole: what was not told of it is printed now.
    fn complete(&mut self, response: &str) -> io::Result<()> {
        let Some(said) = self.said.clone() else { return Ok(()) };
        let (said, response) = (said.trim(), response.trim());
        if said.ends_with(response) {
            return Ok(());
        }
        if let Some(rest) = response.strip_prefix(said).filter(|_| !said.is_empty()) {
            return self.answer(rest);
        }
        self.make_room()?;
        self.said = Some(String::new());
        self.answer(response)
    }

    fn call(&mut self, tool: &str, arguments: &str) -> io::Result<()> {
        self.said = Some(String::new());
        let text = format!("> {} {}", line(tool), summary::of_arguments(arguments));
        let text = cut(text.trim_end(), self.columns()).into_owned();
        self.aside(&self.paint(CALL, &text))
    }

    fn result(&mut self, step: &Step) -> io::Result<()> {
        let place = self.running.iter().rposition(|called| step.is_of(called));
        let is_next = place.is_some_and(|at| at + 1 == self.running.len()) && self.is_call_last;
        let is_refusal = step.error.as_ref().is_some_and(StepError::is_refusal);
        match place {
            Some(place) => drop(self.running.remove(place)),
            // It was not made: its name is enough.
            None if is_refusal => {}
            None => self.call(&step.tool, step.arguments.get())?,
        }
        let status = take(&mut self.status);
        if step.error.as_ref().is_some_and(|error| is_told(&status, &step.tool, error)) {
            return Ok(());
        }
        let name = match is_next || (place.is_none() && !is_refusal) {
            true => String::new(),
            false => format!("{}: ", line(&step.tool)),
        };
        let text = summary::of_step(step, &name, self.columns());
        let painted = match step.error.is_some() && !is_refusal {
            true => self.paint(FAILURE, &text),
            false => self.paint(REMARK, &text),
        };
        self.aside(&painted)
    }

    /// A line beside the answer.
    fn aside(&mut self, painted: &str) -> io::Result<()> {
        self.make_room()?;
        self.is_call_last = false;
        output::complain(&format!("{painted}\n"));
        Ok(())
    }

    /// Goes to the beginning of an empty line.
    fn make_room(&mut self) -> io::Result<()> {
        self.erase_status();
        match take(&mut self.is_within_line) {
            true => output::data("\n"),
            false => Ok(()),
        }
    }

    fn erase_status(&mut self) {
        if take(&mut self.has_status) {
            output::complain("\r\x1b[K");
        }
    }

    fn paint<'t>(&self, style: Style, text: &'t str) -> Cow<'t, str> {
        if self.has_colours { format!("{style}{text}{style:#}").into() } else { text.into() }
    }

    /// Those that a line of stderr has now.
    fn columns(&self) -> usize {
        let size = terminal_size::terminal_size_of(stderr());
        match size {
            Some((terminal_size::Width(columns), _)) if columns > 0 => usize::from(columns),
            _ => IN_A_PIPE,
        }
    }
}

/// Whether this status was that the tool is not called, and why.
fn is_told(status: &str, tool: &str, error: &StepError) -> bool {
    let why = status.strip_prefix(&*line(tool));
    why.is_some_and(|why| why.contains(&*line(&error.message)))
}
