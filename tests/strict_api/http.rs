//! An HTTP client with the few methods that examples need, named as in `reqwest`. The client blocks its thread, and does not support TLS.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

/// The body of a response, as it arrives.
#[derive(Debug)]
pub struct Body(BufReader<TcpStream>);

/// Sends a request.
///
/// # Errors
///
/// If the connection fails, or the status is not 200: the text is the response's body.
pub async fn post(url: &str, request: &Value) -> io::Result<Body> {
    let (host, path) = url
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
        .ok_or(io::ErrorKind::InvalidInput)?;
    let mut stream = TcpStream::connect(host)?;
    let body = request.to_string();
    write!(
        stream,
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut reader = BufReader::new(stream);
    let mut status = String::new();
    reader.read_line(&mut status)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    if status.contains(" 200 ") {
        return Ok(Body(reader));
    }
    let mut fault = String::new();
    reader.read_to_string(&mut fault)?;
    Err(io::Error::other(fault))
}

impl Body {
    /// Returns the next bytes; `None` at the end.
    ///
    /// # Errors
    ///
    /// If the connection fails.
    pub async fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; 64];
        let length = self.0.read(&mut bytes)?;
        bytes.truncate(length);
        Ok((length > 0).then_some(bytes))
    }
}
