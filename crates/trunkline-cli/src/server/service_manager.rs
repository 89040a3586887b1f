//! Notifications of the service manager, such as systemd with `Type=notify` (`sd_notify(3)`).
//!
//! The socket is a path or, on Linux, an abstract address. Those of other families (`vsock:CID:PORT`, for virtual
//! machines) are named in the log.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::net::UnixDatagram;

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
