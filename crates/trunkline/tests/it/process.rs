//! A server in a separate process, and the signals that stop it.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::support::{CALL, Client, RESULT, in_time, post, post_with};

/// A running `spec_server`, which is killed when it is dropped.
struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    fn start() -> Self {
        let mut child = Command::new(example("spec_server"))
            .args(["--listen", "127.0.0.1:0", "--health", "/health"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on http://").unwrap();
        Self { address: address.parse().unwrap(), child }
    }

    fn signal(&self, name: &str) {
        // The builtin of the shell, since there may be no program `kill`.
        let script = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
    }

    /// Waits for the end of the process. Returns whether it ended successfully.
    async fn ended(mut self) -> bool {
        let wait = tokio::task::spawn_blocking(move || self.child.wait().unwrap().success());
        in_time("the process to end", wait).await.unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails if the process has ended.
        let _ = self.child.kill();
    }
}

/// The path of an example, which cargo builds next to the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().with_file_name("examples").join(name);
    assert!(path.exists(), "{} is missing: cargo build --examples", path.display());
    path
}

#[tokio::test]
async fn a_signal_ends_the_process_after_running_calls() {
    for signal in ["TERM", "INT"] {
        let process = Process::start();
        let call = post_with("Expect: 100-continue\r\n", CALL);
        let (head, body) = call.split_at(call.len() - CALL.len());
        let mut clients = Vec::new();
        for _ in 0..100 {
            let mut client = Client::connect(process.address).await;
            // The call has begun: the server awaits its body.
            assert_eq!(client.ask(head).await.status, 100);
            clients.push(client);
        }
        process.signal(signal);
        in_time("the process to drain", async {
            // A connection that is opened at the time of the signal may be closed before its request is read.
            while !call_once(process.address).await.starts_with(b"HTTP/1.1 503") {}
        })
        .await;
        for client in &mut clients {
            let reply = client.ask(body).await;
            assert_eq!((reply.status, reply.body.as_slice()), (200, RESULT.as_bytes()));
        }
        assert!(process.ended().await, "SIG{signal}: the exit status is 0");
    }
}

/// Makes one call on a new connection. Returns all received bytes.
async fn call_once(address: SocketAddr) -> Vec<u8> {
    let mut client = Client::connect(address).await;
    client.send(post_with("Connection: close\r\n", CALL)).await;
    client.rest().await
}

#[tokio::test]
async fn a_signal_ends_an_idle_process() {
    let process = Process::start();
    let mut idle = Client::connect(process.address).await;
    assert_eq!(idle.ask(post(CALL)).await.status, 200);
    process.signal("TERM");
    assert_eq!(idle.rest().await, b"");
    assert!(process.ended().await);
}

/// A signal may be sent as soon as the address was printed.
#[tokio::test]
async fn handles_signals_once_the_address_is_printed() {
    for _ in 0..20 {
        let process = Process::start();
        process.signal("TERM");
        assert!(process.ended().await);
    }
}
