//! [`RedisProxy`]: a proxy before a server of Redis, which counts commands, and replaces or loses replies.

use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Treatment of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// The server executes the command.
    Forward,
    /// The reply is this error, and the server does not receive the command.
    Fail(&'static str),
    /// The reply is this text, and the server does not receive the command.
    Reply(&'static str),
    /// The server executes the command, and the connection is closed without a reply.
    Lose,
}

/// A function that returns the treatment of a command, whose name is in upper case.
type Treat = Box<dyn FnMut(&str) -> Treatment + Send>;

struct Shared {
    /// Names of the commands, in the order of their arrival.
    commands: Mutex<Vec<String>>,
    treat: Mutex<Treat>,
}

/// A proxy before a server. Commands of a connection are executed one after the other, so each one is a round trip.
pub struct RedisProxy {
    port: u16,
    shared: Arc<Shared>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RedisProxy {
    /// Starts a proxy before the server of this port, on a free port.
    pub fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            commands: Mutex::default(),
            treat: Mutex::new(Box::new(|_| Treatment::Forward)),
        });
        let of_connections = Arc::clone(&shared);
        // The thread ends with the process of the test.
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&of_connections);
                std::thread::spawn(move || relay(&client, server, &shared));
            }
        });
        Self { port, shared }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Sets the treatment of the next commands.
    pub fn treat(&self, treat: impl FnMut(&str) -> Treatment + Send + 'static) {
        *locked(&self.shared.treat) = Box::new(treat);
    }

    /// Returns the names of the commands since the last call, without the commands that begin a connection.
    pub fn take_commands(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.shared.commands))
    }
}

/// Forwards commands and replies until the connection ends.
fn relay(client: &TcpStream, server: u16, shared: &Shared) -> io::Result<()> {
    let server = TcpStream::connect(("127.0.0.1", server))?;
    for stream in [client, &server] {
        stream.set_nodelay(true)?;
    }
    let (mut commands, mut replies) = (BufReader::new(client), BufReader::new(&server));
    loop {
        let mut command = Vec::new();
        read_value(&mut commands, &mut command)?;
        let name = name(&command);
        let is_setup = matches!(name.as_str(), "AUTH" | "CLIENT" | "HELLO" | "SELECT");
        let treatment = if is_setup {
            Treatment::Forward
        } else {
            locked(&shared.commands).push(name.clone());
            (locked(&shared.treat))(&name)
        };
        if let Treatment::Fail(error) = treatment {
            let mut client = client;
            write!(client, "-{error}\r\n")?;
            continue;
        }
        if let Treatment::Reply(text) = treatment {
            let mut client = client;
            write!(client, "${}\r\n{text}\r\n", text.len())?;
            continue;
        }
        (&server).write_all(&command)?;
        let mut answer = Vec::new();
        read_value(&mut replies, &mut answer)?;
        if treatment == Treatment::Lose {
            return client.shutdown(std::net::Shutdown::Both);
        }
        let mut client = client;
        client.write_all(&answer)?;
    }
}

/// Returns the first bulk string of a command.
fn name(command: &[u8]) -> String {
    let mut lines = command.split(|byte| *byte == b'\n');
    let name = lines.nth(2).unwrap_or_default();
    String::from_utf8_lossy(name).trim().to_ascii_uppercase()
}

/// Copies a value of the protocol.
fn read_value(stream: &mut impl BufRead, copy: &mut Vec<u8>) -> io::Result<()> {
    let begin = copy.len();
    if stream.read_until(b'\n', copy)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let line = String::from_utf8_lossy(&copy[begin..]).into_owned();
    let (kind, rest) = line.trim_end().split_at(1);
    let Ok(length) = rest.parse::<u64>() else {
        return Ok(());
    };
    match kind {
        "$" => {
            stream.take(length + 2).read_to_end(copy)?;
        }
        "*" => {
            for _ in 0..length {
                read_value(stream, copy)?;
            }
        }
        _ => {}
    }
    Ok(())
}
