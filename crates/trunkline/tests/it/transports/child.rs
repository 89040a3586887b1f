//! Processes that are started to be called.

use std::error::Error as _;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use trunkline::client::{Child, Client, Error, TransportError, child};
use trunkline::stream::Framing;

use super::serving::stdio_server;
use crate::support::{in_time, until};

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// What a call of a process is told, with its cause.
async fn told(client: &Client) -> (TransportError, String) {
    let ended = in_time("the call's end", client.call::<()>("work", ()).into_future()).await;
    let Err(Error::Transport(error)) = ended else { panic!("{ended:?}") };
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    (error, cause)
}

/// Whether there is a process with this id, be it one that has ended and was not reaped.
fn exists(id: u32) -> bool {
    Path::new(&format!("/proc/{id}")).exists()
}

#[tokio::test]
async fn calls_are_told_how_the_process_ended() {
    let rows = [
        ("read line; exit 3", "exit status: 3"),
        ("read line; kill -9 $$", "signal: 9"),
        ("exit 0", "exit status: 0"),
    ];
    for (script, expected) in rows {
        let client = Client::new(Child::spawn(shell(script)).unwrap());
        let (error, cause) = told(&client).await;
        // It depends on which comes first, the call or the end.
        let is_end =
            matches!(error, TransportError::Broken { .. } | TransportError::Connect { .. });
        assert!(is_end && cause.contains(expected), "{script}: {error}: {cause}");
        // It is not started again.
        let (error, _) = told(&client).await;
        assert!(error.is_unsent(), "{script}: {error}");
    }
}

/// Its output closed, a process is of no use, and is ended.
#[tokio::test]
async fn a_process_that_closes_its_output_is_killed() {
    let settings = child::ChildConfig { grace: Duration::from_millis(50), ..Default::default() };
    let child = Child::spawn_with(shell("exec >&-; exec sleep 600"), settings).unwrap();
    let id = child.id();
    let (_, cause) = told(&Client::new(child)).await;
    assert!(cause.contains("was killed"), "{cause}");
    assert!(!exists(id));
}

#[tokio::test]
async fn a_process_ends_with_its_client() {
    // One that ends by itself, one that was never called, one that takes no notice.
    let rows = [
        (stdio_server(Framing::Lines), true),
        (stdio_server(Framing::Lines), false),
        (shell("trap '' TERM; exec sleep 600"), false),
    ];
    for (command, is_called) in rows {
        let settings =
            child::ChildConfig { grace: Duration::from_millis(200), ..Default::default() };
        let child = Child::spawn_with(command, settings).unwrap();
        let id = child.id();
        let client = Client::new(child);
        if is_called {
            assert_eq!(client.call::<i64>("subtract", [42, 23]).await.unwrap(), 19);
        }
        assert!(exists(id));
        drop(client);
        until("the process to be reaped", || !exists(id)).await;
    }
}

#[tokio::test]
async fn a_program_that_is_none_is_told_at_once() {
    let error = Child::spawn(Command::new("/nowhere/at/all")).unwrap_err();
    assert!(error.is_unsent());
    let TransportError::Spawn { program, source } = error else { panic!("{error}") };
    let source = source.downcast_ref::<io::Error>().map(io::Error::kind);
    assert_eq!((program.as_str(), source), ("/nowhere/at/all", Some(io::ErrorKind::NotFound)));
}

/// Calls that run are finished when the input ends, and the process ends well.
#[tokio::test]
async fn a_server_on_stdin_ends_with_its_input() {
    use std::io::Write;
    use std::process::Stdio;
    let mut command = stdio_server(Framing::Lines);
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let input = [
        r#"{"jsonrpc":"2.0","method":"wait","id":1}"#,
        r#"{"jsonrpc":"2.0","method":"open"}"#,
        r#"{"jsonrpc":"2.0","method":"echo","params":[1],"id":2}"#,
    ];
    process.stdin.take().unwrap().write_all(input.join("\n").as_bytes()).unwrap();
    let waiting = tokio::task::spawn_blocking(move || process.wait_with_output().unwrap());
    let output = in_time("the process to end", waiting).await.unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let expected =
        [r#"{"jsonrpc":"2.0","result":"done","id":1}"#, r#"{"jsonrpc":"2.0","result":[1],"id":2}"#];
    assert_eq!(lines, expected);
}
