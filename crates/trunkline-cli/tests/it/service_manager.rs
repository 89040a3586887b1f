//! Notifications of the service manager (NOTIFY_SOCKET).

#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt;
#[cfg(target_os = "linux")]
use std::os::unix::net::SocketAddr;
use std::os::unix::net::UnixDatagram;

use crate::support::{PATIENCE, Server, tpch, trunkline};

/// The server of a database, with this value of NOTIFY_SOCKET.
fn start(database: &std::path::Path, socket: &std::ffi::OsStr) -> Server {
    let mut command = trunkline(database.parent().unwrap());
    command.args(["--port", "0", "--db"]).arg(database).env("NOTIFY_SOCKET", socket);
    Server::start(command)
}

/// The notifications of a server, which this socket receives.
#[track_caller]
fn check(manager: &UnixDatagram, database: &std::path::Path, socket: &std::ffi::OsStr) {
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let receive = || {
        let mut message = [0; 512];
        let length = manager.recv(&mut message).unwrap();
        String::from_utf8(message[..length].to_vec()).unwrap()
    };
    let server = start(database, socket);
    assert_eq!(receive(), format!("READY=1\nSTATUS=listening on {}\n", server.address));
    server.signal("HUP");
    let reloading = receive();
    assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
    assert_eq!(receive(), "READY=1\n");
    server.signal("TERM");
    assert_eq!(receive(), "STOPPING=1\nSTATUS=finishing calls\n");
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn a_service_manager_is_notified_of_the_start_and_the_end() {
    let (folder, path) = tpch();
    let socket = folder.path().join("notify");
    check(&UnixDatagram::bind(&socket).unwrap(), &path, socket.as_os_str());
}

/// The socket of a container may have an abstract address, which is written with an `@`.
#[cfg(target_os = "linux")]
#[test]
fn the_socket_of_a_service_manager_may_be_abstract() {
    let (_folder, path) = tpch();
    let name = format!("trunkline-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    check(&UnixDatagram::bind_addr(&address).unwrap(), &path, format!("@{name}").as_ref());
}

/// The warning, with the address and the reason; or none.
#[track_caller]
fn check_warning(socket: &std::ffi::OsStr, expected: Option<&str>) {
    let (_folder, path) = tpch();
    let ended = start(&path, socket).stop();
    assert_eq!(ended.code, Some(0), "{socket:?}: {ended:?}");
    let mut warnings = ended.stderr.lines().filter(|line| {
        line.contains("cannot notify the service manager of NOTIFY_SOCKET")
            && line.contains(&*socket.to_string_lossy())
    });
    match expected {
        Some(reason) => {
            assert!(warnings.any(|line| line.contains(reason)), "{socket:?}: {}", ended.stderr);
        }
        None => assert_eq!(warnings.next(), None, "{socket:?}"),
    }
}

/// The forms of sd_notify(3) that have no receiver.
#[test]
fn a_service_manager_that_cannot_be_notified_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    check_warning(folder.path().join("missing").as_os_str(), Some("No such file"));
    check_warning("@trunkline-test-missing".as_ref(), Some("refused"));
    for unsupported in ["vsock:2:1234", "vsock-dgram:2:1234", "vsock-seqpacket:2:1", "notify"] {
        check_warning(unsupported.as_ref(), Some("unsupported address: expected the path"));
    }
    check_warning("".as_ref(), None);
}
