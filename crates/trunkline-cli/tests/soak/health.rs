//! The latency of `/health`, measured by a separate thread.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

const REQUEST: &[u8] = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";
/// The pause between two requests.
const PAUSE: Duration = Duration::from_millis(10);

pub(crate) struct Prober {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Duration>>,
}

impl Prober {
    pub(crate) fn start(address: SocketAddr) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = spawn(move || {
            let mut socket = TcpStream::connect(address).unwrap();
            socket.set_nodelay(true).unwrap();
            let mut latencies = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                let asked = Instant::now();
                socket.write_all(REQUEST).unwrap();
                let mut reply = [0; 4096];
                let count = socket.read(&mut reply).unwrap();
                assert!(reply[..count].starts_with(b"HTTP/1.1 200"), "/health is not healthy");
                latencies.push(asked.elapsed());
                sleep(PAUSE);
            }
            latencies
        });
        Self { stop, thread }
    }

    /// The durations of all requests, sorted.
    pub(crate) fn stop(self) -> Vec<Duration> {
        self.stop.store(true, Ordering::Relaxed);
        let mut latencies = self.thread.join().unwrap();
        latencies.sort_unstable();
        latencies
    }
}

/// The duration that this share of the requests did not exceed.
pub(crate) fn quantile(sorted: &[Duration], share: f64) -> Duration {
    let last = sorted.len().saturating_sub(1);
    sorted[(last as f64 * share).ceil() as usize]
}
