//! The memory that hostile replies use, in a separate process, since tests share one.

use std::process::Command;
use std::time::Duration;

use super::peer::{Answer, Peer};
use crate::support::in_time;

/// The environment variable of the process whose memory is measured.
const MEASURED: &str = "TRUNKLINE_TEST_MEASURED";

const MAX_REPLY: usize = 8 << 20;

/// The received reply and its parsed form, with a margin.
const BOUND: usize = 4 * MAX_REPLY;

#[test]
fn bounds_the_memory_of_hostile_replies() {
    if std::env::var_os(MEASURED).is_some() {
        return measure();
    }
    let name = "client::bounds::bounds_the_memory_of_hostile_replies";
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output =
        command.args(["--exact", name, "--nocapture"]).env(MEASURED, "1").output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{output:?}");
}

fn measure() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
        let announced = |length: usize| format!("{head}Content-Length: {length}\r\n\r\n");
        let block = |byte: u8| vec![byte; 1 << 16];
        let small = r#"{"jsonrpc":"2.0","id":1,"result":1}"#;
        let rows = [
            ("a reply", Answer::json(small)),
            ("10 GB", Answer::flood(announced(10_000_000_000), block(b' '))),
            ("no end", Answer::flood(format!("{head}\r\n"), block(b' '))),
            ("just in bounds", Answer::flood(announced(MAX_REPLY), block(b' '))),
            ("a nesting bomb", Answer::flood(announced(MAX_REPLY), block(b'['))),
            ("a head without an end", Answer::flood("HTTP/1.1 200 OK\r\nX: ", block(b'a'))),
            ("a page without an end", Answer::flood("HTTP/1.1 502 Oops\r\n\r\n", block(b'a'))),
        ];
        let mut before = 0;
        for (name, answer) in rows {
            let peer = Peer::always(answer).await;
            let client = peer.client(Duration::from_secs(10), MAX_REPLY);
            let ended = in_time(name, client.call::<i64>("m", ()).into_future()).await;
            assert_eq!(ended.is_ok(), name == "a reply", "{name}: {ended:?}");
            // The first row is the baseline.
            before = if before == 0 { peak() } else { before };
            assert!(peak() - before < BOUND, "{name}: {} bytes", peak() - before);
        }
    });
}

/// The peak resident memory of this process, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse::<usize>().unwrap() * 1024
}
