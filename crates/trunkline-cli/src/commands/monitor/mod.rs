//! `trunkline monitor`.

mod arguments;
mod row;

use std::io::{ErrorKind, IsTerminal, stdout};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use trunkline::client::ProtocolError;
use trunkline::server::shutdown_signal;

pub(crate) use self::arguments::Arguments;
use self::row::{HEADER, Row, Tone};
use crate::client::{CallError, Watch, WatchEvent};
use crate::terminal::output;
use crate::terminal::{Failure, Renderer, finish, line, wait_for};

const BOLD: Style = Style::new().bold();

/// Prints entries until it is interrupted.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let renderer = Renderer::for_streams(arguments.connection.json, None);
    finish(renderer, || {
        let connection = &arguments.connection;
        let url = arguments.url()?;
        let watch = Watch::new(connection.connect_to_stream(url)?, connection.timeout());
        wait_for(async {
            let ended = shutdown_signal().map_err(Failure::Output)?;
            tokio::select! {
                biased;
                () = ended => Ok(String::new()),
                failed = show(watch, View::new(renderer)) => failed.map(|()| String::new()),
            }
        })
    })
}

/// Prints events until stdout is closed.
async fn show(mut watch: Watch, view: View) -> Result<(), Failure> {
    let mut printed = view.print_header();
    loop {
        match printed {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            done => done.map_err(Failure::Output)?,
        }
        printed = match watch.next().await? {
            WatchEvent::Entry(json) => output::data(&view.entry(&json)?),
            WatchEvent::Lost(count) => {
                remark(&format!("{count} calls omitted: they arrived faster than they were sent"));
                Ok(())
            }
            WatchEvent::Interrupted(error) => {
                remark(&format!("connection lost: {error}; reconnecting"));
                Ok(())
            }
            WatchEvent::Resumed => {
                remark("reconnected");
                Ok(())
            }
        };
    }
}

/// The form of the entries.
struct View {
    renderer: Renderer,
    is_terminal: bool,
    has_colours: bool,
}

impl View {
    fn new(renderer: Renderer) -> Self {
        let is_terminal = stdout().is_terminal();
        let has_colours = output::has_colours(&stdout());
        Self { renderer, is_terminal, has_colours }
    }

    /// Prints the names of the columns on a terminal.
    fn print_header(&self) -> std::io::Result<()> {
        match self.is_terminal && !self.renderer.is_json() {
            true => {
                let header = self.renderer.cut(&row::lay_out(HEADER, self.renderer.columns()));
                output::data(&(self.renderer.paint(BOLD, header.trim_end()) + "\n"))
            }
            false => Ok(()),
        }
    }

    fn entry(&self, json: &str) -> Result<String, Failure> {
        let row: Row<'_> = serde_json::from_str(json).map_err(|error| {
            let reason = format!("invalid history entry: {error}");
            CallError::new(ProtocolError::Result { reason }, None)
        })?;
        if self.renderer.is_json() {
            return Ok(self.renderer.json(json));
        }
        let text = self.renderer.cut(&row.line(self.renderer.columns()));
        let style = match row.tone() {
            Tone::Failed if self.has_colours => AnsiColor::Red.on_default(),
            Tone::Cancelled if self.has_colours => AnsiColor::Yellow.on_default(),
            _ => return Ok(text),
        };
        Ok(format!("{style}{}{style:#}\n", text.trim_end_matches('\n')))
    }
}

/// Prints a remark on stderr.
fn remark(text: &str) {
    output::message(&format!("trunkline: {}\n", line(text)));
}
