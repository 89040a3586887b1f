//! A chat with a script: the first failure ends it.

use super::command::Line;
use super::input::Input;
use super::lines::Typed;
use super::session::{Flow, Session};
use crate::terminal::Failure;

/// Says one thing.
pub(super) async fn once(session: &mut Session, message: &str) -> Result<(), Failure> {
    session.say(message).await?;
    session.tell_pending();
    Ok(())
}

/// Does what line after line asks for.
pub(super) async fn run(session: &mut Session, input: &mut Input) -> Result<(), Failure> {
    while let Typed::Line(line) = input.line().await? {
        if session.take(Line::parse(&line)).await? == Flow::Ends {
            break;
        }
        session.tell_pending();
    }
    Ok(())
}
