//! `trunkline chat`.

mod arguments;
mod command;
mod completion;
mod dialogue;
mod editor;
mod history_file;
mod input;
mod lines;
mod listing;
mod paint;
mod question;
mod redraw;
mod script;
mod session;
mod summary;
mod terminal;
mod view;

use std::io::{ErrorKind, IsTerminal, stdin, stdout};
use std::process::ExitCode;

use trunkline::code;

pub(crate) use self::arguments::Arguments;
use self::completion::Completion;
use self::dialogue::Dialogue;
use self::editor::Editor;
use self::input::{Input, Source};
use self::lines::Lines;
use self::redraw::Redraw;
use self::session::Session;
use self::view::View;
use crate::client::Agent;
use crate::terminal::{Failure, Form, finish, wait_for};

/// Talks until nothing more is said.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let form = Form::of_streams(arguments.connection.json);
    finish(form, || match talk(arguments, form) {
        // As in `trunkline chat … | head -1`.
        Err(Failure::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(String::new()),
        Err(failure) if !form.is_json && is_no_agent(&failure) => {
            let remedy = "  try: the URL of the server alone, or that of its /api; not all servers have an agent\n";
            Err(Failure::Told(failure.text(form) + remedy))
        }
        ended => ended.map(|()| String::new()),
    })
}

/// Whether there is JSON-RPC, and no method of an agent.
fn is_no_agent(failure: &Failure) -> bool {
    let Failure::Call(failed) = failure else { return false };
    failed.error.error_object().is_some_and(|error| error.code() == code::METHOD_NOT_FOUND)
}

fn talk(arguments: &Arguments, form: Form) -> Result<(), Failure> {
    let connection = &arguments.connection;
    let url = arguments.url.clone().or_path("/api");
    let http = connection.connect_within(url.clone(), Agent::MAX_REPLY)?;
    let (view, completion) = (View::new(form), Completion::default());
    let paint = view.paint();
    let agent = Agent::new(http, connection.timeout());
    let conversation = arguments.conversation.clone();
    let mut session = Session::new(agent, view, completion.clone(), conversation);
    let is_person = !form.is_json && stdin().is_terminal() && stdout().is_terminal();
    wait_for(async {
        match &arguments.message {
            Some(message) => script::once(&mut session, message).await,
            None if is_person => {
                dialogue::greet(&mut session, &url).await?;
                let redraw = Redraw::default();
                let editor = Editor::open(completion, paint, redraw.clone())?;
                let input = Input::read(Source::Terminal(Box::new(editor)))?;
                let dialogue = Dialogue::new(session, input, redraw).map_err(Failure::Output)?;
                dialogue.run().await
            }
            None => script::run(&mut session, &mut Input::read(Source::Stdin(Lines))?).await,
        }
    })
}
