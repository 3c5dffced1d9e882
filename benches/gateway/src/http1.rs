//! An HTTP/1.1 connection that reads one message at a time. The load generator and the upstream use this small implementation, since they
//! share two cores with the measured proxy and must use little processor time.

use std::io;
use std::net::SocketAddr;

use memchr::memmem;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub struct Connection {
    socket: TcpStream,
    unread: Vec<u8>,
    /// Body of the last message that was read.
    pub body: Vec<u8>,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> io::Result<Self> {
        Self::new(TcpStream::connect(address).await?)
    }

    pub fn new(socket: TcpStream) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        Ok(Self {
            socket,
            unread: Vec::with_capacity(64 << 10),
            body: Vec::new(),
        })
    }

    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes).await
    }

    /// Reads a request or a response; `None` at the end of the connection.
    pub async fn read(&mut self) -> io::Result<Option<Head>> {
        let end = loop {
            if let Some(end) = memmem::find(&self.unread, b"\r\n\r\n") {
                break end;
            }
            if self.fill_buffer().await? == 0 {
                return Ok(None);
            }
        };
        let head = Head(String::from_utf8_lossy(&self.unread[..end]).into_owned());
        self.unread.drain(..end + 4);
        self.body.clear();
        if head
            .field("transfer-encoding")
            .is_some_and(|coding| coding == "chunked")
        {
            self.read_chunks().await?;
        } else if let Some(length) = head.field("content-length") {
            let length = length.parse().map_err(io::Error::other)?;
            self.read_body(length).await?;
        }
        Ok(Some(head))
    }

    async fn read_chunks(&mut self) -> io::Result<()> {
        loop {
            let line = loop {
                if let Some(line) = memmem::find(&self.unread, b"\r\n") {
                    break line;
                }
                self.fill_buffer_of_message().await?;
            };
            let size = str::from_utf8(&self.unread[..line]).map_err(io::Error::other)?;
            let size = usize::from_str_radix(size, 16).map_err(io::Error::other)?;
            self.unread.drain(..line + 2);
            let before = self.body.len();
            self.read_body(size + 2).await?;
            self.body.truncate(before + size);
            if size == 0 {
                return Ok(());
            }
        }
    }

    /// Reads this many bytes, and moves them to the body.
    async fn read_body(&mut self, length: usize) -> io::Result<()> {
        while self.unread.len() < length {
            self.fill_buffer_of_message().await?;
        }
        self.body.extend(self.unread.drain(..length));
        Ok(())
    }

    /// Reads available bytes into the buffer. The end of the connection is an error.
    async fn fill_buffer_of_message(&mut self) -> io::Result<()> {
        if self.fill_buffer().await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    /// Reads available bytes into the buffer. Returns their number, 0 at the end of the connection.
    async fn fill_buffer(&mut self) -> io::Result<usize> {
        self.unread.reserve(16 << 10);
        self.socket.read_buf(&mut self.unread).await
    }
}

/// First line and header fields.
pub struct Head(String);

impl Head {
    /// Returns the second word of the first line: the path of a request, or the status of a response.
    pub fn target(&self) -> &str {
        self.0.split(' ').nth(1).unwrap_or_default()
    }

    pub fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self
            .0
            .split("\r\n")
            .skip(1)
            .filter_map(|field| field.split_once(':'));
        let (_, value) = fields.find(|(field, _)| field.eq_ignore_ascii_case(name))?;
        Some(value.trim())
    }
}
