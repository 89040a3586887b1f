//! The state of a chat.

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
use crate::client::{Agent, Answer, CallError, ChatParams, Event, Pending};
use crate::terminal::Failure;

pub(super) struct Session {
    agent: Agent,
    pub(super) view: View,
    completion: Completion,
    /// The current conversation; `None` before its first answer.
    conversation: Option<String>,
    /// The call that requires confirmation.
    pending: Option<Pending>,
    /// Whether it was not shown yet.
    is_pending_new: bool,
    /// The number of messages that were answered.
    messages: usize,
}

impl Session {
    pub(super) fn new(
        agent: Agent,
        view: View,
        completion: Completion,
        conversation: Option<String>,
    ) -> Self {
        Self {
            agent,
            view,
            completion,
            conversation,
            pending: None,
            is_pending_new: false,
            messages: 0,
        }
    }

    pub(super) fn conversation(&self) -> Option<&str> {
        self.conversation.as_deref()
    }

    /// Returns the summary of the chat and the command that continues it, a line each; `None` without a conversation.
    pub(super) fn summary(&self, address: &str) -> Option<[String; 2]> {
        let id = self.conversation()?;
        let count = |count: usize, noun: &str| match count {
            1 => format!("1 {noun}"),
            count => format!("{count} {noun}s"),
        };
        let (messages, calls) =
            (count(self.messages, "message"), count(self.view.calls, "tool call"));
        let command = format!("trunkline chat {address}--conversation {id}");
        Some([format!("chat ended: {messages}, {calls}"), format!("continue: {command}")])
    }

    /// Shows a new call that requires confirmation, and how to confirm it.
    pub(super) fn print_pending(&mut self) {
        let Some(pending) = self.pending.as_ref().filter(|_| take(&mut self.is_pending_new)) else {
            return;
        };
        self.view.pending(pending);
        let id = self.conversation.as_deref().unwrap_or_default();
        let text = format!("confirm with: /confirm {} (conversation {id})", pending.confirm);
        self.view.note(&text);
    }

    /// Shows it before the question. Returns whether there is a new one.
    pub(super) fn show_pending(&mut self) -> io::Result<bool> {
        let Some(pending) = self.pending.as_ref().filter(|_| take(&mut self.is_pending_new)) else {
            return Ok(false);
        };
        self.view.pending_for_question(pending)?;
        Ok(true)
    }

    /// Shows the URL of the server, the number of its tools, and the conversation that continues, if any.
    ///
    /// # Errors
    ///
    /// When the caller has no such conversation.
    pub(super) async fn greet(&mut self, url: &Url) -> Result<(), Failure> {
        let server = url.origin();
        let tools = match self.tools().await?.names().count() {
            1 => "1 tool".to_owned(),
            count => format!("{count} tools"),
        };
        self.view.note(&format!("{server}: {tools}. /help lists commands, Ctrl-D ends the chat."));
        let Some(id) = &self.conversation else { return Ok(()) };
        let conversations = self.conversations().await?;
        let Ok(title) = conversations.title(id) else {
            let reason =
                format!("unknown conversation `{id}`; omit --conversation to begin a new one");
            return Err(Failure::Usage(reason));
        };
        self.view.note(&format!("continuing: {title}"));
        Ok(())
    }

    /// Shows an error, and leaves a conversation that does not exist any more.
    pub(super) fn show_failure(&mut self, failure: &Failure) {
        self.view.failure(failure);
        if self.conversation.is_some()
            && matches!(failure, Failure::Call(failed) if is_conversation_gone(failed))
        {
            self.leave();
            self.view.note("the next message begins a new conversation");
        }
    }

    /// Ends the output of a cancelled turn.
    pub(super) fn show_cancelled(&mut self) -> io::Result<()> {
        let text = match self.view.has_called() {
            true => "cancelled; calls of this turn may have taken effect",
            false => "cancelled",
        };
        self.view.end_turn()?;
        self.view.note(text);
        Ok(())
    }

    /// Executes a line.
    ///
    /// # Cancel safety
    ///
    /// The turn is cancelled, and the conversation unchanged.
    pub(super) async fn execute(&mut self, line: Line<'_>) -> Result<ControlFlow<()>, Failure> {
        match line {
            Line::Empty => {}
            Line::Message(message) => self.send(&message).await?,
            Line::Command(command) => return self.run(command).await,
            Line::Invalid(reason) => return Err(Failure::Usage(reason)),
        }
        Ok(ControlFlow::Continue(()))
    }

    pub(super) async fn send(&mut self, message: &str) -> Result<(), Failure> {
        self.turn(Some(message), None).await
    }

    /// Lists the tools of the server.
    async fn tools(&self) -> Result<Tools, Failure> {
        let json = self.agent.call("agent.list_capabilities", ()).await?;
        let tools = Tools::read(json)?;
        self.completion.set_tools(tools.names());
        Ok(tools)
    }

    async fn run(&mut self, command: Command<'_>) -> Result<ControlFlow<()>, Failure> {
        match command {
            Command::Help => self.help(),
            Command::Tools(name) => {
                let tools = self.tools().await?;
                let text = match name {
                    None => tools.listed(self.view.renderer),
                    Some(name) => tools.described(name, self.view.renderer)?,
                };
                self.view.data(&text).map_err(Failure::Output)?;
            }
            Command::Conversations => {
                let conversations = self.conversations().await?;
                let text = conversations.listed(self.conversation.as_deref(), self.view.renderer);
                self.view.data(&text).map_err(Failure::Output)?;
            }
            Command::Clear => {
                self.leave();
                self.view.note("new conversation");
            }
            Command::Resume(id) => {
                let conversations = self.conversations().await?;
                let title = conversations.title(id)?;
                self.leave();
                self.conversation = Some(id.to_owned());
                self.view.note(&format!("continuing: {title}"));
            }
            Command::Delete(id) => self.delete(id).await?,
            Command::Confirm(token) => self.confirm(token).await?,
            Command::Quit => return Ok(ControlFlow::Break(())),
        }
        Ok(ControlFlow::Continue(()))
    }

    fn help(&mut self) {
        for (name, takes, does) in COMMANDS {
            self.view.note(&format!("{:<17} {does}", format!("{name} {takes}")));
        }
        self.view.note("//text            send the message /text");
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
        // Once it is sent, the call is confirmed or rejected.
        let waiting = self.pending.take();
        let token = token.or_else(|| waiting.as_ref().map(|pending| &*pending.confirm));
        let Some(token) = token.map(str::to_owned) else {
            return Err(Failure::Usage("no call requires confirmation".to_owned()));
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
        let params = ChatParams { message, conversation_id, confirm };
        let answer = answer(&self.agent, &params, &mut self.view).await;
        let ended = self.view.end_turn();
        if let Err(Failure::Call(failed)) = &answer
            && let Some(id) = saved_in(failed)
        {
            self.conversation = Some(id);
        }
        let answer = answer?;
        ended.map_err(Failure::Output)?;
        self.messages += usize::from(message.is_some());
        self.conversation = Some(answer.conversation_id);
        self.is_pending_new = answer.pending.is_some();
        self.pending = answer.pending;
        Ok(())
    }
}

/// Sends a message or a confirmation, and prints the events of the turn.
async fn answer(
    agent: &Agent,
    params: &ChatParams<'_>,
    view: &mut View,
) -> Result<Answer, Failure> {
    let mut turn = agent.chat(params).await?;
    let mut answer = None;
    let is_json = view.renderer.is_json();
    let failed = |failed| if is_json { failed } else { without_steps(failed) };
    while let Some(turn_event) = turn.next().await.map_err(failed)? {
        view.show(&turn_event).map_err(Failure::Output)?;
        if let Event::Done(done) = turn_event.event {
            answer = Some(done);
        }
    }
    let nothing = || ProtocolError::Result { reason: "the turn has no answer".to_owned() };
    answer.ok_or_else(|| CallError::new(nothing(), None).into())
}

/// Removes the calls from an error: they were already shown.
fn without_steps(failed: CallError) -> CallError {
    let CallError { error: Error::Rpc(error), status } = &failed else { return failed };
    let data = error.data().map(|data| serde_json::from_str::<Map<String, Value>>(data.get()));
    let Some(Ok(mut data)) = data else { return failed };
    data.remove("steps");
    let shown = ErrorObject::new(error.code(), error.message().to_owned()).with_data(&data);
    CallError::new(Error::Rpc(shown), *status)
}

/// Whether the conversation does not exist, or not any more.
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

/// The conversation in which the server has saved the turn up to its failure.
fn saved_in(failed: &CallError) -> Option<String> {
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
