//! Requests of HTTP/1.0, one on each connection.

use std::collections::BTreeMap;
use std::io;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A complete response.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Headers by their name in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns the session of the answer, and the means by which it was found.
    pub(crate) fn session(&self) -> (String, String) {
        let header = &self.headers["x-tool-gateway-session"];
        let (id, found) = header.split_once("; found=").unwrap();
        (id.to_owned(), found.to_owned())
    }
}

/// Sends a request, and reads the response until the end of the connection.
pub(crate) async fn send(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> io::Result<Reply> {
    let mut connection = TcpStream::connect(address).await?;
    let mut head = format!(
        "{method} {path} HTTP/1.0\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    connection.write_all(head.as_bytes()).await?;
    connection.write_all(body).await?;
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).await?;
    parse(&answer).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn parse(answer: &[u8]) -> Option<Reply> {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let (head, body) = answer.split_at_checked(end + 4)?;
    let head = std::str::from_utf8(head).ok()?;
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: BTreeMap<_, _> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    // A connection that was cut has only a part of the body.
    let length = headers
        .get("content-length")
        .and_then(|length| length.parse().ok());
    if length.is_some_and(|length: usize| length != body.len()) {
        return None;
    }
    Some(Reply {
        status,
        headers,
        body: body.to_vec(),
    })
}
