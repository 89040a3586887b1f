//! A chat: what is said in it, and what becomes of that.

use std::io;
use std::mem::take;
use std::ops::ControlFlow;

use serde::Deserialize;
use serde_json::{Map, Value};
use trunkline::client::http::Url;
use trunkline::client::{Error, ProtocolError};
use trunkline::{ErrorObject, code};

use super::command::{COMMANDS, Command, Line};
use super::completion::Completion;
use super::listing::{Conversations, Tools};
use super::view::View;
use crate::client::{Agent, Answer, CallError, Event, Pending, Said};
use crate::terminal::Failure;

pub(super) struct Session {
    agent: Agent,
    pub(super) view: View,
    completion: Completion,
    /// The conversation that goes on; none before the first answer of one.
    conversation: Option<String>,
    /// The call that waits to be confirmed.
    pending: Option<Pending>,
    /// Whether nobody was told of it yet.
    is_pending_new: bool,
}

impl Session {
    pub(super) fn new(
        agent: Agent,
        view: View,
        completion: Completion,
        conversation: Option<String>,
    ) -> Self {
        Self { agent, view, completion, conversation, pending: None, is_pending_new: false }
    }

    pub(super) fn conversation(&self) -> Option<&str> {
        self.conversation.as_deref()
    }

    /// Tells a script of the call that waits to be confirmed, if it is new, and how it is confirmed.
    pub(super) fn tell_pending(&mut self) {
        let Some(pending) = self.pending.as_ref().filter(|_| take(&mut self.is_pending_new)) else {
            return;
        };
        self.view.pending(pending);
        let id = self.conversation.as_deref().unwrap_or_default();
        let text = format!("/confirm {} makes it, in conversation {id}", pending.confirm);
        self.view.note(&text);
    }

    /// Shows it to a person, who is asked then. Whether there is a new one.
    pub(super) fn show_pending(&mut self) -> io::Result<bool> {
        let Some(pending) = self.pending.as_ref().filter(|_| take(&mut self.is_pending_new)) else {
            return Ok(false);
        };
        self.view.asked_about(pending)?;
        Ok(true)
    }

    /// Shows a person that the server answers, the number of its tools, and the conversation that continues, if any.
    ///
    /// # Errors
    ///
    /// When the caller has no such conversation.
    pub(super) async fn greet(&mut self, url: &Url) -> Result<(), Failure> {
        let tools = match self.tools().await?.names().count() {
            1 => "1 tool".to_owned(),
            count => format!("{count} tools"),
        };
        self.view.note(&format!("{url}: {tools}. /help lists commands, Ctrl-D ends the chat."));
        let Some(id) = &self.conversation else { return Ok(()) };
        let conversations = self.conversations().await?;
        let Ok(title) = conversations.title(id) else {
            let reason =
                format!("you have no conversation {id}: without --conversation, a new one begins");
            return Err(Failure::Usage(reason));
        };
        self.view.note(&format!("going on with: {title}"));
        Ok(())
    }

    /// Tells a person what has failed, and the way on.
    pub(super) fn failed(&mut self, failure: &Failure) {
        self.view.failure(failure);
        if self.conversation.is_some()
            && matches!(failure, Failure::Call(failed) if is_conversation_gone(failed))
        {
            self.leave();
            self.view.note("what is said next begins a new conversation");
        }
    }

    /// Tells that a turn was cancelled.
    pub(super) fn cancelled(&mut self) -> io::Result<()> {
        let text = match self.view.has_called() {
            true => "cancelled; what was called may be done",
            false => "cancelled",
        };
        self.view.end_turn()?;
        self.view.note(text);
        Ok(())
    }

    /// Does what a line asks for.
    ///
    /// # Cancel safety
    ///
    /// A turn is cancelled: the conversation is as it was before.
    pub(super) async fn take(&mut self, line: Line<'_>) -> Result<ControlFlow<()>, Failure> {
        match line {
            Line::Nothing => {}
            Line::Message(message) => self.say(&message).await?,
            Line::Command(command) => return self.obey(command).await,
            Line::Wrong(reason) => return Err(Failure::Usage(reason)),
        }
        Ok(ControlFlow::Continue(()))
    }

    pub(super) async fn say(&mut self, message: &str) -> Result<(), Failure> {
        self.turn(Some(message), None).await
    }

    /// Asks which tools there are.
    async fn tools(&self) -> Result<Tools, Failure> {
        let json = self.agent.call("agent.list_capabilities", ()).await?;
        let tools = Tools::read(json)?;
        self.completion.set_tools(tools.names());
        Ok(tools)
    }

    async fn obey(&mut self, command: Command<'_>) -> Result<ControlFlow<()>, Failure> {
        match command {
            Command::Help => self.help(),
            Command::Tools(name) => {
                let tools = self.tools().await?;
                let text = match name {
                    None => tools.listed(self.view.form),
                    Some(name) => tools.described(name, self.view.form)?,
                };
                self.view.data(&text).map_err(Failure::Output)?;
            }
            Command::Conversations => {
                let conversations = self.conversations().await?;
                let text = conversations.listed(self.conversation.as_deref(), self.view.form);
                self.view.data(&text).map_err(Failure::Output)?;
            }
            Command::Clear => {
                self.leave();
                self.view.note("a new conversation");
            }
            Command::Resume(id) => {
                let conversations = self.conversations().await?;
                let title = conversations.title(id)?;
                self.leave();
                self.conversation = Some(id.to_owned());
                self.view.note(&format!("going on with: {title}"));
            }
            Command::Delete(id) => self.delete(id).await?,
            Command::Confirm(token) => self.confirm(token).await?,
            Command::Quit => return Ok(ControlFlow::Break(())),
        }
        Ok(ControlFlow::Continue(()))
    }

    fn help(&mut self) {
        for (name, takes, does) in COMMANDS {
            self.view.note(&format!("{:<16} {does}", format!("{name} {takes}")));
        }
        self.view.note("//text           says /text");
    }

    async fn conversations(&self) -> Result<Conversations, Failure> {
        let json = self.agent.call("agent.list_conversations", ()).await?;
        let conversations = Conversations::read(json)?;
        self.completion.set_conversations(conversations.ids());
        Ok(conversations)
    }

    async fn delete(&mut self, id: &str) -> Result<(), Failure> {
        let params = serde_json::json!({ "conversation_id": id });
        self.agent.call("agent.delete_conversation", params).await?;
        if self.conversation.as_deref() == Some(id) {
            self.leave();
        }
        self.view.note("deleted");
        Ok(())
    }

    async fn confirm(&mut self, token: Option<&str>) -> Result<(), Failure> {
        // From here on, nobody knows whether it waits; unless it was not sent.
        let waiting = self.pending.take();
        let token = token.or_else(|| waiting.as_ref().map(|pending| &*pending.confirm));
        let Some(token) = token.map(str::to_owned) else {
            return Err(Failure::Usage("no call waits to be confirmed".to_owned()));
        };
        let confirmed = self.turn(None, Some(&token)).await;
        if matches!(&confirmed, Err(Failure::Call(failed)) if is_unsent(failed)) {
            self.pending = waiting;
        }
        confirmed
    }

    fn leave(&mut self) {
        (self.conversation, self.pending, self.is_pending_new) = (None, None, false);
    }

    async fn turn(&mut self, message: Option<&str>, confirm: Option<&str>) -> Result<(), Failure> {
        let conversation_id = self.conversation.as_deref();
        let said = Said { message, conversation_id, confirm };
        let answer = answer(&self.agent, &said, &mut self.view).await;
        let ended = self.view.end_turn();
        if let Err(Failure::Call(failed)) = &answer
            && let Some(id) = kept_in(failed)
        {
            self.conversation = Some(id);
        }
        let answer = answer?;
        ended.map_err(Failure::Output)?;
        self.conversation = Some(answer.conversation_id);
        self.is_pending_new = answer.pending.is_some();
        self.pending = answer.pending;
        Ok(())
    }
}

/// Says something, and prints what is told until the turn is over.
async fn answer(agent: &Agent, said: &Said<'_>, view: &mut View) -> Result<Answer, Failure> {
    let mut turn = agent.chat(said).await?;
    let mut answer = None;
    let is_json = view.form.is_json;
    let failed = |failed| if is_json { failed } else { without_steps(failed) };
    while let Some(told) = turn.next().await.map_err(failed)? {
        view.tell(&told).map_err(Failure::Output)?;
        if let Event::Done(done) = told.event {
            answer = Some(done);
        }
    }
    let nothing = || ProtocolError::Result { reason: "the turn has no answer".to_owned() };
    answer.ok_or_else(|| CallError::new(nothing(), None).into())
}

/// The calls that were made before a failure were shown when they were made.
fn without_steps(failed: CallError) -> CallError {
    let CallError { error: Error::Rpc(error), status } = &failed else { return failed };
    let data = error.data().map(|data| serde_json::from_str::<Map<String, Value>>(data.get()));
    let Some(Ok(mut data)) = data else { return failed };
    data.remove("steps");
    let shown = ErrorObject::new(error.code(), error.message().to_owned()).with_data(&data);
    CallError::new(Error::Rpc(shown), *status)
}

/// Whether there is no such conversation, or none any more.
fn is_conversation_gone(failed: &CallError) -> bool {
    #[derive(Deserialize)]
    struct Data {
        kind: String,
    }
    let Some(error) = failed.error.error_object() else { return false };
    let data = error.data().map(|data| serde_json::from_str::<Data>(data.get()));
    error.code() == code::NOT_FOUND
        && matches!(data, Some(Ok(Data { kind })) if kind == "conversation")
}

/// The conversation in which the server keeps what was done before a failure, if it keeps anything.
fn kept_in(failed: &CallError) -> Option<String> {
    #[derive(Deserialize)]
    struct Data {
        conversation_id: String,
    }
    let data = failed.error.error_object()?.data()?;
    serde_json::from_str(data.get()).ok().map(|Data { conversation_id }| conversation_id)
}

fn is_unsent(failed: &CallError) -> bool {
    matches!(&failed.error, Error::Transport(error) if error.is_unsent())
}
