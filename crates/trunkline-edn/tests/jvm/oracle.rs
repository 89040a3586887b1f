//! A Clojure process that reads texts and returns their values.

use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The timeout for all texts together, which take about ten seconds.
const DEADLINE: Duration = Duration::from_secs(240);

/// The answer of Clojure for a text.
#[derive(Debug)]
pub(crate) enum Answer {
    /// One form.
    Form {
        /// The form, in the notation of the oracle.
        notation: String,
        /// The JSON in that notation, or the error.
        json: Result<String, String>,
    },
    /// The error of a text that is not one form.
    Refusal(String),
}

impl Answer {
    fn of(text: &str) -> Self {
        if let Some(error) = text.strip_prefix('!') {
            return Self::Refusal(error.to_owned());
        }
        let (notation, json) = text.split_once('\n').expect("a form is answered by two lines");
        let json = json.strip_prefix('!').map_or(Ok(json), Err);
        let json = json.map(str::to_owned).map_err(str::to_owned);
        Self::Form { notation: notation.to_owned(), json }
    }
}

/// Sends texts to one process. The answers are in the order of the texts.
///
/// # Panics
/// When Clojure is missing, ends early, or takes too long.
pub(crate) fn ask(texts: Vec<String>) -> Vec<Answer> {
    let count = texts.len();
    let mut clojure = start();
    let stdin = clojure.0.stdin.take().expect("stdin is piped");
    let stdout = clojure.0.stdout.take().expect("stdout is piped");
    // Reads and writes concurrently, since each side blocks until the other has read.
    let writing = thread::spawn(move || write(stdin, &texts));
    let (send, receive) = mpsc::channel();
    // After the timeout, there is no receiver.
    thread::spawn(move || drop(send.send(read(stdout, count))));
    let answers = match receive.recv_timeout(DEADLINE) {
        Ok(answers) => answers.expect("Clojure ended before it had answered; see its stderr"),
        Err(_) => panic!("Clojure took longer than {} s", DEADLINE.as_secs()),
    };
    writing.join().expect("writing does not panic").expect("Clojure reads all texts");
    answers
}

fn start() -> Clojure {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jvm/oracle.clj");
    let started = Command::new("clojure")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Debian's package `clojure` is installed: apt-get install clojure");
    Clojure(started)
}

/// Killed on drop.
struct Clojure(Child);

impl Drop for Clojure {
    fn drop(&mut self) {
        // These fail only if the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn write(stdin: ChildStdin, texts: &[String]) -> io::Result<()> {
    let mut stdin = BufWriter::new(stdin);
    for text in texts {
        let length = u32::try_from(text.len()).map_err(|_| ErrorKind::InvalidInput)?;
        stdin.write_all(&length.to_be_bytes())?;
        stdin.write_all(text.as_bytes())?;
    }
    stdin.flush()
}

fn read(stdout: ChildStdout, count: usize) -> io::Result<Vec<Answer>> {
    let mut stdout = BufReader::new(stdout);
    let mut answers = Vec::with_capacity(count);
    for _ in 0..count {
        let mut length = [0; 4];
        stdout.read_exact(&mut length)?;
        let mut text = vec![0; u32::from_be_bytes(length) as usize];
        stdout.read_exact(&mut text)?;
        let text = String::from_utf8(text).map_err(|_| ErrorKind::InvalidData)?;
        answers.push(Answer::of(&text));
    }
    Ok(answers)
}
