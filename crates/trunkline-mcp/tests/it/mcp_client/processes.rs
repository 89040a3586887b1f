//! Servers on stdio, which are child processes.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use trunkline_mcp::client::{Client, Error, McpClientConfig, StdioConfig, Transport};

use super::script::config;
use super::suite::{raw, tool};
use crate::support::{in_time, until};

/// A shell script as a server, with the functions `ask`, which reads a message into `$line` and its id into `$id`, and
/// `reply RESULT`.
fn shell(script: &str) -> Command {
    const FUNCTIONS: &str = r#"
        ask() { read -r line || exit 0; id=${line#*'"id":'}; id=${id%%,*}; }
        reply() { echo '{"jsonrpc":"2.0","id":'$id',"result":'"$1"'}'; }
        modern='{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}'
        legacy='{"protocolVersion":"2024-11-05","capabilities":{}}'
        tools='{"tools":[{"name":"one","inputSchema":{}}]}'
    "#;
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{FUNCTIONS}\n{script}"));
    command
}

async fn connect(
    script: &str,
    change: impl FnOnce(&mut StdioConfig, &mut McpClientConfig),
) -> Result<Client, Error> {
    let (mut stdio, mut config) = (StdioConfig::default(), config());
    change(&mut stdio, &mut config);
    let connecting = Client::connect(Transport::stdio(shell(script), stdio), config);
    in_time("to connect", connecting).await
}

fn is_running(process: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // A zombie has ended.
    status.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

type Lines = Arc<Mutex<Vec<String>>>;

/// Receives the lines of stderr.
fn log(stdio: &mut StdioConfig) -> Lines {
    let lines = Lines::default();
    let log = Arc::clone(&lines);
    stdio.stderr = Arc::new(move |line| log.lock().unwrap().push(line.to_owned()));
    lines
}

#[tokio::test]
async fn both_eras() {
    let modern = r#"
        ask; reply "$modern"; ask; reply "$tools"; ask
        case $line in *2026-07-28*) reply '{"content":[]}';; esac; ask
    "#;
    let legacy = r#"
        echo "a banner"
        ask; echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no"}}'
        ask; reply "$legacy"; read -r initialized
        ask; reply "$tools"; ask; reply '{"content":[]}'; ask
    "#;
    // Clients of 2025-03-26 must accept batches. Lines of logs may begin like one.
    let batches = r#"
        ask; echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no"}}'
        ask; reply '{"protocolVersion":"2025-03-26","capabilities":{}}'; read -r initialized
        echo "[info] ready"; log='{"jsonrpc":"2.0","method":"notifications/message","params":{}}'
        ask; echo "[ $log, $(reply "$tools")]"; ask; echo "[$(reply '{"content":[]}')]"; ask
    "#;
    // Some programs write a byte-order mark before their first line, or before each.
    let marks = r#"
        mark() { printf '\357\273\277'; reply "$1"; }
        ask; mark "$modern"; ask; mark "$tools"; ask; mark '{"content":[]}'; ask
    "#;
    for (script, version) in [
        (modern, "2026-07-28"),
        (legacy, "2024-11-05"),
        (batches, "2025-03-26"),
        (marks, "2026-07-28"),
    ] {
        let client = connect(script, |_, _| {}).await.unwrap();
        assert_eq!(client.server().protocol_version, version);
        let one = tool(&client, "one").await;
        client.call_tool(&one, &raw(json!({}))).await.unwrap();
        in_time("to close", client.close()).await;
    }
}

#[tokio::test]
async fn a_server_that_ignores_the_first_request_is_of_the_legacy_era() {
    let script = r#"ask; ask; reply "$legacy"; read -r initialized; ask; reply '{}'; ask"#;
    let client = connect(script, |_, config| config.probe_timeout = Duration::from_millis(50));
    let client = client.await.unwrap();
    client.ping().await.unwrap();
}

#[tokio::test]
async fn the_process_group_ends_with_the_client() {
    // The leader ignores the end of its input and SIGTERM, or leaves a process behind.
    let stubborn = r#"trap "" TERM; ask; reply "$modern"; while :; do sleep 1; done"#;
    let polite = r#"trap "exit 0" TERM; ask; reply "$modern"; while :; do sleep 0.01; done"#;
    let parent = r#"sleep 600 & echo $! >&2; ask; reply "$modern"; ask"#;
    for (script, is_closed) in [(stubborn, true), (polite, true), (parent, true), (parent, false)] {
        let mut lines = Lines::default();
        let script = format!("echo $$ >&2\n{script}");
        let client = connect(&script, |stdio, _| {
            (stdio.grace, stdio.term_grace) =
                (Duration::from_millis(50), Duration::from_millis(50));
            lines = log(stdio);
        });
        let client = client.await.unwrap();
        let expected = 1 + usize::from(script.contains("600"));
        until("the process ids", || lines.lock().unwrap().len() == expected).await;
        let processes = lines.lock().unwrap().clone();
        assert!(processes.iter().all(|process| is_running(process)), "{processes:?}");
        match is_closed {
            true => in_time("to close", client.close()).await,
            false => drop(client),
        }
        until("the processes to end", || !processes.iter().any(|process| is_running(process)))
            .await;
    }
}

#[tokio::test]
async fn the_end_of_the_process_fails_calls() {
    let script = r#"
        ask; reply "$modern"; ask; reply "$tools"; ask
        echo "out of tape" >&2; exit 3
    "#;
    let client = connect(script, |_, _| {}).await.unwrap();
    let one = tool(&client, "one").await;
    let error = in_time("the call", client.call_tool(&one, &raw(json!({})))).await.unwrap_err();
    let Error::Request(failed) = &error else { panic!("{error}") };
    let cause = std::error::Error::source(&failed.error).map(ToString::to_string);
    let cause = format!("{error}: {cause:?}");
    assert!(cause.contains("exit status: 3") && cause.contains("out of tape"), "{cause}");
    in_time("the end", client.closed()).await;
    client.ping().await.unwrap_err();

    let missing = Client::connect(Command::new("/nowhere/at/all"), config()).await.unwrap_err();
    assert!(missing.to_string().contains("/nowhere/at/all"), "{missing}");
}

#[tokio::test]
async fn stderr_is_passed_on_in_lines() {
    let mut lines = Lines::default();
    let script = r#"
        printf 'one\n\ntwo\r\nthree' >&2; head -c 100000 /dev/zero | tr '\0' x >&2; echo >&2
        echo "not a message"
        ask; reply "$modern"; ask
    "#;
    let client = connect(script, |stdio, _| lines = log(stdio)).await.unwrap();
    until("the lines", || lines.lock().unwrap().len() == 4).await;
    let mut lines = lines.lock().unwrap().clone();
    lines.sort_by_key(String::len);
    assert_eq!(lines[..3], ["one", "two", "not a message"]);
    assert_eq!(lines[3].len(), 4 << 10);
    client.close().await;
}

/// Calls a tool of a server that writes this in place of a response.
async fn check_output(output: &str, expected: &str) {
    let script = format!(r#"ask; reply "$modern"; ask; reply "$tools"; ask; {output}; ask; ask"#);
    let client = connect(&script, |_, config| config.message_bytes = 4 << 10).await.unwrap();
    let one = tool(&client, "one").await;
    let error = in_time(output, client.call_tool(&one, &raw(json!({})))).await.unwrap_err();
    assert!(error.to_string().contains(expected), "{output}: {error}");
    assert!(error.to_string().len() < 1_000, "{output}");
}

#[tokio::test]
async fn hostile_output() {
    check_output("echo '{]'", "invalid JSON-RPC").await;
    check_output("id=99; reply '{}'", "does not belong").await;
    check_output("echo '[{}'", "invalid JSON-RPC").await;
    check_output("echo \"[{}$(yes ,{} | head -1000 | tr -d '\\n')]\"", "1 to 1000 messages").await;
    check_output("reply '{}' | sed s/$id/null/", "without an `id`").await;
    check_output("head -c 5000 /dev/zero | tr '\\0' '{'; echo", "maximum size").await;
    check_output("yes | head -2000", "lines that are not messages").await;
    check_output("exec >&-", "closed before the reply").await;
}

#[test]
fn debug_omits_secrets() {
    let mut command = Command::new("my-server");
    command.arg("--key=s3cret").env("KEY", "s3cret");
    let text = format!("{:?}", Transport::from(command));
    assert!(text.contains("my-server") && !text.contains("s3cret"), "{text}");
}

#[tokio::test]
async fn dropped_calls_are_cancelled() {
    let mut lines = Lines::default();
    let script = r#"
        ask; reply "$modern"; ask; reply "$tools"; ask; called=$id; read -r line; echo "$called $line" >&2
        id=$called; reply '{}'; ask; reply "$modern"; ask
    "#;
    let client = connect(script, |stdio, _| lines = log(stdio)).await.unwrap();
    let (one, arguments) = (tool(&client, "one").await, raw(json!({})));
    let call = client.call_tool(&one, &arguments);
    assert!(tokio::time::timeout(Duration::from_millis(50), call).await.is_err());
    until("the cancellation", || lines.lock().unwrap().len() == 1).await;
    let line = lines.lock().unwrap()[0].clone();
    let (id, message) = line.split_once(' ').unwrap();
    let expected =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":ID}}"#;
    assert_eq!(message, expected.replace("ID", id));
    // The late response is ignored.
    client.ping().await.unwrap();
}

/// The number of starts of a script that is run with `"$starts"` as a file.
struct Starts(std::path::PathBuf);

impl Starts {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("trunkline-{name}-{}", std::process::id()));
        std::fs::write(&path, "").unwrap();
        Self(path)
    }

    fn count(&self) -> usize {
        std::fs::read_to_string(&self.0).unwrap().lines().count()
    }

    /// A script that begins with counting its start.
    fn script(&self, script: &str) -> String {
        format!("echo start >> {}\n{script}", self.0.display())
    }
}

impl Drop for Starts {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

/// A server whose first request must be `initialize`. Otherwise, it does this.
fn only_initialize(otherwise: &str) -> String {
    format!(
        r#"ask; case $line in *'"initialize"'*) ;; *) {otherwise};; esac
        reply "$legacy"; read -r initialized; while ask; do reply '{{}}'; done"#
    )
}

#[tokio::test]
async fn a_server_that_ends_at_the_first_request_is_started_with_initialize() {
    for (name, otherwise) in [
        ("exit", "exit 0"),
        ("failure", "echo 'first message must be initialize' >&2; exit 1"),
        ("crash", "kill -9 $$"),
        ("closed", "exec >&-; cat > /dev/null; exit 0"),
        ("closed-and-running", "exec >&- 2>&-; sleep 600"),
        (
            "error",
            r#"echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no"}}'; exit 1"#,
        ),
        (
            "no-id",
            r#"echo '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}'; exit 1"#,
        ),
        ("no-message", "echo '{\"error\": \"not initialized\"}'; exit 1"),
        ("text", "echo 'Error: expected initialize'; exit 2"),
    ] {
        let starts = Starts::new(&format!("first-{name}"));
        let script = starts.script(&only_initialize(otherwise));
        let known = config();
        let connect = async || {
            let client = connect(&script, |stdio, config| {
                (stdio.grace, stdio.term_grace) =
                    (Duration::from_millis(50), Duration::from_millis(50));
                *config = known.clone();
            });
            let client = client.await.unwrap_or_else(|error| panic!("{name}: {error}"));
            client.ping().await.unwrap();
        };
        connect().await;
        assert_eq!(starts.count(), 2, "{name}");
    }
}

/// The start with another first request costs time, or fails.
#[tokio::test]
async fn the_era_of_a_command_is_remembered() {
    for (name, script, expected) in
        [("ends", only_initialize("exit 0"), 3), ("ignores", only_initialize("ask"), 2)]
    {
        let starts = Starts::new(&format!("known-{name}"));
        let script = starts.script(&format!("{script}; ask"));
        let mut known = config();
        known.probe_timeout = Duration::from_millis(100);
        for _ in 0..2 {
            let client = connect(&script, |_, config| *config = known.clone()).await.unwrap();
            assert_eq!(client.server().protocol_version, "2024-11-05");
            in_time("to close", client.close()).await;
        }
        assert_eq!(starts.count(), expected, "{name}");
    }
}

/// A server of 2026-07-28 whose start takes longer than the timeout of the first request.
#[tokio::test]
async fn a_slow_start_does_not_hide_the_era() {
    let script = r#"
        sleep 0.4; ask; reply "$modern"
        ask; echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no"}}'
        ask; reply "$modern"; ask
    "#;
    let client = connect(script, |_, config| config.probe_timeout = Duration::from_millis(100));
    assert_eq!(client.await.unwrap().server().protocol_version, "2026-07-28");
}

/// The error of a server that does not start has all these parts.
async fn check_start(script: &str, parts: &[&str]) {
    let failed = connect(script, |stdio, config| {
        (stdio.grace, stdio.term_grace) = (Duration::from_millis(50), Duration::from_millis(50));
        config.probe_timeout = Duration::from_millis(100);
        config.connect_timeout = Duration::from_millis(600);
    });
    let failed = failed.await.unwrap_err();
    let (Error::Request(request) | Error::Initialize(request)) = &failed else {
        panic!("{failed}")
    };
    let mut text = failed.to_string();
    let mut next: Option<&dyn std::error::Error> = Some(&request.error);
    while let Some(error) = next {
        text += &format!(": {error}");
        next = error.source();
    }
    for part in parts {
        assert!(text.contains(part), "{script}: {text}");
    }
    assert!(text.len() < 2_000, "{script}: {} bytes", text.len());
}

#[tokio::test]
async fn errors_of_a_start_name_the_cause() {
    check_start("echo 'no API key' >&2; exit 3", &["exit status: 3", "no API key"]).await;
    check_start("echo 'no API key' >&2; ask; exit 3", &["exit status: 3", "no API key"]).await;
    check_start(
        "echo 'no API key' >&2; ask; ask; exit 3",
        &["did not answer within", "no API key"],
    )
    .await;
    let downloads = "echo 'npm http fetch' >&2; sleep 600";
    check_start(downloads, &["did not answer within", "npm http fetch"]).await;
    check_start("echo Listening; sleep 600", &["did not answer within", "on stdout: Listening"])
        .await;
    check_start("yes loading | head -600 >&2; sleep 600", &["loading / loading"]).await;
    check_start("ask; exec >&-; echo broken >&2; sleep 600", &["broken"]).await;
    let header = r#"printf 'Content-Length: 2\r\n\r\n{}'; sleep 600"#;
    check_start(header, &["`Content-Length` headers", "each on one line"]).await;
    check_start("ask; echo content-length: 9; sleep 600", &["`Content-Length` headers"]).await;
    let indented = r#"while ask; do printf '{\n  "jsonrpc": "2.0",\n  "id": %s,\n  "result": {}\n}\n' $id; done"#;
    check_start(indented, &["indented", "each message on one line"]).await;
    let wrapped =
        r#"while ask; do printf '{"jsonrpc": "2.0", "id": %s,\n"result": {}}\n' $id; done"#;
    check_start(wrapped, &["indented", "each message on one line"]).await;
}

/// Deviations from JSON-RPC 2.0 whose meaning is certain. Late replies to cancelled requests are among them.
#[tokio::test]
async fn tolerated_replies() {
    for reply in [
        r#"{"jsonrpc":"2.0","id":'$id',"result":{},"error":null}"#,
        r#"{"jsonrpc":"2.0","id":"'$id'","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":'$id'.0,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":'$id',"error":null}"#,
    ] {
        // The notification that cancels the first request may arrive after the second one.
        let script = format!(
            r#"next() {{ ask; case $line in *'"id":'*) ;; *) ask;; esac; }}
            ask; echo '{{"jsonrpc":"2.0","id":'$id',"error":{{"code":-32601,"message":"no"}}}}'
            ask; reply "$legacy"; read -r initialized; ask; late=$id; next; first=$id
            id=$late; echo '{reply}'; id=$first; echo '{reply}'; next; echo '{reply}'; ask; ask"#
        );
        let client = connect(&script, |_, _| {}).await.unwrap();
        let late = tokio::time::timeout(Duration::from_millis(50), client.ping());
        assert!(late.await.is_err());
        for _ in 0..2 {
            let done = in_time(reply, client.ping()).await;
            assert!(done.is_ok(), "{reply}: {done:?}");
        }
    }
}

#[tokio::test]
async fn a_byte_order_mark_is_skipped() {
    let script = r#"
        mark() { printf '\357\273\277'; }
        ask; mark; reply "$modern"; ask; mark; reply "$tools"; ask; mark
        echo "[$(reply '{"content":[]}')]"; ask
    "#;
    let client = connect(script, |_, _| {}).await.unwrap();
    assert_eq!(client.server().protocol_version, "2026-07-28");
    let one = tool(&client, "one").await;
    in_time("the call", client.call_tool(&one, &raw(json!({})))).await.unwrap();
}

/// A process that is a proxy, whose server has lost the session.
#[tokio::test]
async fn a_session_behind_a_process_is_replaced() {
    let script = r#"
        fail() { echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":'$1',"message":"'"$2"'"}}'; }
        ask; fail -32601 no; ask; reply "$legacy"; read -r initialized; ask; reply "$tools"; lost=1
        while ask; do case $line in
            *'"initialize"'*) reply "$legacy"; read -r initialized; lost=0; echo again >&2;;
            *) if [ $lost = 1 ]; then fail -32001 "Session not found"; else reply '{"content":[]}'; fi;;
        esac; done
    "#;
    let mut lines = Lines::default();
    let client = connect(script, |stdio, _| lines = log(stdio)).await.unwrap();
    let one = tool(&client, "one").await;
    for _ in 0..2 {
        in_time("the call", client.call_tool(&one, &raw(json!({})))).await.unwrap();
    }
    assert_eq!(*lines.lock().unwrap(), ["again"]);
}
