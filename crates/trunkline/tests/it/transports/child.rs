//! Child processes as servers.

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

/// The error of a call of a process, and its cause.
async fn error_of(client: &Client) -> (TransportError, String) {
    let ended = in_time("the call's end", client.call::<()>("work", ()).into_future()).await;
    let Err(Error::Transport(error)) = ended else { panic!("{ended:?}") };
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    (error, cause)
}

/// Whether a process with this id exists, including one that has ended and was not reaped.
fn exists(id: u32) -> bool {
    Path::new(&format!("/proc/{id}")).exists()
}

#[tokio::test]
async fn errors_contain_the_exit_status() {
    let rows = [
        ("read line; exit 3", "exit status: 3"),
        ("read line; kill -9 $$", "signal: 9"),
        ("exit 0", "exit status: 0"),
    ];
    for (script, expected) in rows {
        let client = Client::new(Child::spawn(shell(script)).unwrap());
        let (error, cause) = error_of(&client).await;
        // The error depends on whether the process ends before the call.
        let is_end =
            matches!(error, TransportError::Broken { .. } | TransportError::Connect { .. });
        assert!(is_end && cause.contains(expected), "{script}: {error}: {cause}");
        // The process is not restarted.
        let (error, _) = error_of(&client).await;
        assert!(error.is_unsent(), "{script}: {error}");
    }
}

/// A process that has closed its output cannot reply.
#[tokio::test]
async fn a_process_that_closes_its_output_is_killed() {
    let settings = child::ChildConfig { grace: Duration::from_millis(50), ..Default::default() };
    let child = Child::spawn_with(shell("exec >&-; exec sleep 600"), settings).unwrap();
    let id = child.id();
    let (_, cause) = error_of(&Client::new(child)).await;
    assert!(cause.contains("was killed"), "{cause}");
    assert!(!exists(id));
}

#[tokio::test]
async fn a_process_ends_with_its_client() {
    // A process that ends at the end of its input, one that was never called, and one that ignores the end of input.
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
async fn reports_a_missing_program() {
    let error = Child::spawn(Command::new("/nowhere/at/all")).unwrap_err();
    assert!(error.is_unsent());
    let TransportError::Spawn { program, source } = error else { panic!("{error}") };
    let source = source.downcast_ref::<io::Error>().map(io::Error::kind);
    assert_eq!((program.as_str(), source), ("/nowhere/at/all", Some(io::ErrorKind::NotFound)));
}

/// Running calls complete after the end of input, and the process exits successfully.
#[tokio::test]
async fn a_stdio_server_ends_with_its_input() {
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
