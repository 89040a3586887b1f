//! Notifications of the service manager, such as systemd with `Type=notify` (`sd_notify(3)`).
//!
//! The socket is a path or, on Linux, an abstract address. Those of other families (`vsock:CID:PORT`, for virtual
//! machines) are named in the log.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::process;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Notifies that the server accepts connections.
pub(super) fn ready(address: &str) {
    send(&format!("READY=1\nSTATUS=listening on {address}\n"));
}

/// Notifies that the configuration is read again.
pub(super) fn reloading() {
    let now = clock_gettime(ClockId::Monotonic);
    let micros = i128::from(now.tv_sec) * 1_000_000 + i128::from(now.tv_nsec) / 1_000;
    send(&format!("RELOADING=1\nMONOTONIC_USEC={micros}\n"));
}

/// Notifies that the reload has ended.
pub(super) fn reloaded() {
    send("READY=1\n");
}

/// Notifies that the server finishes its calls and ends.
pub(super) fn stopping() {
    send("STOPPING=1\nSTATUS=finishing calls\n");
}

/// Notifies that the server works, as often as the service manager expects (`WatchdogSec=`): it would end the server
/// otherwise. Never returns.
pub(super) async fn watch() {
    match watchdog_interval() {
        Some(interval) => loop {
            send("WATCHDOG=1\n");
            tokio::time::sleep(interval).await;
        },
        None => std::future::pending().await,
    }
}

/// Half of the time after which the service manager ends the server, if it expects notifications from this process.
fn watchdog_interval() -> Option<Duration> {
    let number = |name: &str| env::var(name).ok()?.trim().parse::<u64>().ok();
    let is_other = number("WATCHDOG_PID").is_some_and(|pid| pid != u64::from(process::id()));
    let micros = number("WATCHDOG_USEC").filter(|micros| *micros > 0 && !is_other)?;
    Some(Duration::from_micros(micros) / 2)
}

/// Logs that the sockets of the service manager (`trunkline.socket`) are not used, if it has passed any.
pub(super) fn warn_of_sockets() {
    let number = |name: &str| env::var(name).ok()?.trim().parse::<u32>().ok();
    if number("LISTEN_PID") == Some(process::id()) && number("LISTEN_FDS").is_some_and(|n| n > 0) {
        tracing::warn!(
            "socket activation is not supported: the sockets of LISTEN_FDS are not used; remove the socket unit, and set \
             --listen"
        );
    }
}

/// Does nothing if NOTIFY_SOCKET is not set.
fn send(state: &str) {
    let Some(socket) = env::var_os("NOTIFY_SOCKET").filter(|socket| !socket.is_empty()) else {
        return;
    };
    if let Err(error) = send_to(&socket, state.as_bytes()) {
        let socket = socket.display();
        tracing::warn!(%socket, %error, "cannot notify the service manager of NOTIFY_SOCKET");
    }
}

fn send_to(socket: &OsStr, state: &[u8]) -> io::Result<()> {
    let sender = UnixDatagram::unbound()?;
    #[cfg(target_os = "linux")]
    if let Some(name) = socket.as_encoded_bytes().strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt;
        let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
        return sender.send_to_addr(state, &address).map(drop);
    }
    if !socket.as_encoded_bytes().starts_with(b"/") {
        let reason = "unsupported address: expected the path of a socket, or @NAME on Linux";
        return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
    }
    sender.send_to(state, socket).map(drop)
}
