use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::server::url;

/// A proxy before the server that behaves like it when a connection is opened: a client gets the numbers of its session,
/// and its first transaction runs there. Later ones run in the session that has been idle for the longest time.
#[derive(Debug)]
pub struct SharingProxy(u16);

/// Sessions that no client uses, by the first messages of their clients, which contain the role and the database.
type Idle = Arc<Mutex<HashMap<Vec<u8>, VecDeque<TcpStream>>>>;

impl SharingProxy {
    /// Starts a proxy, which ends with this process.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let idle = Idle::default();
            for client in listener.incoming().map_while(Result::ok) {
                let idle = Arc::clone(&idle);
                // An error is the end of one of the connections.
                std::thread::spawn(move || drop(serve(client, &idle)));
            }
        });
        Self(port)
    }

    /// The URL of a database for a role.
    pub fn url_of(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}?sslmode=disable", self.0)
    }
}

fn serve(mut client: TcpStream, idle: &Idle) -> io::Result<()> {
    let (_, address) = url().rsplit_once('@').unwrap();
    let mut session = TcpStream::connect(address)?;
    client.set_nodelay(true)?;
    session.set_nodelay(true)?;
    // The first message has no type.
    let mut length = [0; 4];
    client.read_exact(&mut length)?;
    let mut startup = vec![0; u32::from_be_bytes(length) as usize - 4];
    client.read_exact(&mut startup)?;
    session.write_all(&[&length[..], &startup].concat())?;
    reply(&mut session, &mut client)?;
    let lend = || idle.lock().unwrap().get_mut(&startup).and_then(VecDeque::pop_front);
    idle.lock().unwrap().entry(startup.clone()).or_default().push_front(session);
    let mut leased = None;
    loop {
        let next = message(&mut client).ok().filter(|(kind, _)| *kind != b'X');
        let session = leased.take().or_else(lend);
        // With the end of a client, one session ends.
        let Some((kind, message)) = next else { return Ok(()) };
        let mut session = session.ok_or(io::ErrorKind::NotConnected)?;
        session.write_all(&message)?;
        // A query, and the end of a group of messages.
        let is_last = kind == b'Q' || kind == b'S';
        if is_last && reply(&mut session, &mut client)? == b'I' {
            idle.lock().unwrap().entry(startup.clone()).or_default().push_back(session);
        } else {
            leased = Some(session);
        }
    }
}

/// Forwards messages of the server until it waits for the next query. Returns the state of the transaction.
fn reply(session: &mut TcpStream, client: &mut TcpStream) -> io::Result<u8> {
    loop {
        let (kind, message) = message(session)?;
        client.write_all(&message)?;
        if kind == b'Z' {
            return Ok(message[5]);
        }
    }
}

/// Reads a message: its type, its length and its body.
fn message(stream: &mut TcpStream) -> io::Result<(u8, Vec<u8>)> {
    let mut message = vec![0; 5];
    stream.read_exact(&mut message)?;
    let length = u32::from_be_bytes([message[1], message[2], message[3], message[4]]) as usize;
    message.resize(length + 1, 0);
    stream.read_exact(&mut message[5..])?;
    Ok((message[0], message))
}
