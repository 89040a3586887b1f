//! `trunkline monitor`.

mod arguments;
mod row;

use std::io::{ErrorKind, IsTerminal, stdout};
use std::process::ExitCode;

use anstyle::AnsiColor;
use trunkline::client::ProtocolError;
use trunkline::server::shutdown_signal;

pub(crate) use self::arguments::Arguments;
use self::row::{HEADER, Row, Tone};
use crate::client::{CallError, Seen, Watch};
use crate::terminal::output;
use crate::terminal::{Failure, Form, finish, wait_for};

/// Shows what comes, until it is ended.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let form = Form::of_streams(arguments.connection.json);
    finish(form, || {
        let connection = &arguments.connection;
        let url = arguments.url().map_err(Failure::Usage)?;
        let watch = Watch::new(connection.connect_to_stream(url)?, connection.timeout());
        wait_for(async {
            let ended = shutdown_signal().map_err(Failure::Output)?;
            tokio::select! {
                biased;
                () = ended => Ok(String::new()),
                failed = show(watch, View::new(form)) => failed.map(|()| String::new()),
            }
        })
    })
}

/// Ends when nobody reads any more.
async fn show(mut watch: Watch, view: View) -> Result<(), Failure> {
    let mut printed = view.begin();
    loop {
        match printed {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            done => done.map_err(Failure::Output)?,
        }
        printed = match watch.next().await? {
            Seen::Entry(json) => output::data(&view.entry(&json)?),
            Seen::Lost(count) => {
                view.tell(&format!("{count} calls came too fast to be shown"));
                Ok(())
            }
            Seen::Interrupted(error) => {
                view.tell(&format!("interrupted: {error}; trying again"));
                Ok(())
            }
            Seen::Resumed => {
                view.tell("connected again");
                Ok(())
            }
        };
    }
}

/// How entries are printed.
struct View {
    form: Form,
    is_terminal: bool,
    has_colours: bool,
}

impl View {
    fn new(form: Form) -> Self {
        let is_terminal = stdout().is_terminal();
        let has_colours = output::has_colours(&stdout());
        Self { form, is_terminal, has_colours }
    }

    /// Names the columns to people.
    fn begin(&self) -> std::io::Result<()> {
        match self.is_terminal && !self.form.is_json {
            true => output::data(&self.form.cut(&row::laid_out(HEADER, self.form.columns()))),
            false => Ok(()),
        }
    }

    fn entry(&self, json: &str) -> Result<String, Failure> {
        let row: Row<'_> = serde_json::from_str(json).map_err(|error| {
            let reason = format!("an entry is none: {error}");
            CallError::new(ProtocolError::Result { reason }, None)
        })?;
        if self.form.is_json {
            return Ok(self.form.json(json));
        }
        let line = self.form.cut(&row.line(self.form.columns()));
        let style = match row.tone() {
            Tone::Failed if self.has_colours => AnsiColor::Red.on_default(),
            Tone::Cancelled if self.has_colours => AnsiColor::Yellow.on_default(),
            _ => return Ok(line),
        };
        Ok(format!("{style}{}{style:#}\n", line.trim_end_matches('\n')))
    }

    /// What is no entry goes where it does not mix with them.
    fn tell(&self, text: &str) {
        output::complain(&format!("trunkline: {}\n", crate::terminal::line(text)));
    }
}
