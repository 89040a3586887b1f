//! A session whose server is restarted when its script requests that.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::server_process::ServerProcess;

/// Runs a script that prints the line `restart`, and continues after the line `restarted` of its input. `command` is that
/// of the server for the address of the first one.
pub(super) fn execute(
    script: &mut Command,
    output: &Path,
    deadline: Duration,
    server: ServerProcess,
    command: impl Fn(&str) -> Result<Command>,
) -> Result<()> {
    let until = Instant::now() + deadline;
    let mut printed =
        File::create(output).with_context(|| format!("cannot create {}", output.display()))?;
    script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(printed.try_clone()?);
    let mut script = Script(script.spawn().context("cannot start the script")?);
    let mut input = script.0.stdin.take().context("stdin is piped")?;
    let stdout = script.0.stdout.take().context("stdout is piped")?;
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // The file is for people; a failed write must not end the script.
            drop(writeln!(printed, "{line}"));
            if send.send(line).is_err() {
                return;
            }
        }
    });
    answer_requests(&lines, &mut input, until, server, command)?;
    let status = script.0.wait()?;
    ensure!(status.success(), "the script failed ({status})");
    Ok(())
}

/// Restarts the server until the script ends.
fn answer_requests(
    lines: &Receiver<String>,
    input: &mut ChildStdin,
    until: Instant,
    mut server: ServerProcess,
    command: impl Fn(&str) -> Result<Command>,
) -> Result<()> {
    let (address, log) = (server.address().to_owned(), server.log().to_owned());
    loop {
        match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) if line == "restart" => {
                drop(server);
                server = ServerProcess::start(&mut command(&address)?, &log)?;
                // A script that has failed does not read.
                drop(input.write_all(b"restarted\n"));
            }
            Ok(_) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {
                bail!("the script did not end in time")
            }
        }
    }
}

/// The process of a script, which is killed when dropped.
struct Script(Child);

impl Drop for Script {
    fn drop(&mut self) {
        // Both fail only if the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
