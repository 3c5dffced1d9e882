//! A running `tool-gateway serve`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

/// A running program, which is killed when dropped.
pub(crate) struct Serving {
    process: Child,
    pub(crate) address: String,
    /// Lines of the start message.
    pub(crate) started: String,
    log: Receiver<String>,
}

impl Serving {
    /// Starts a program, and reads its start message up to a line with this prefix.
    pub(crate) fn start(command: &mut Command, last: &str) -> Self {
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let mut started = String::new();
        loop {
            let line = lines
                .next()
                .unwrap_or_else(|| panic!("no line `{last}`: {started}"));
            started.push_str(&line);
            started.push('\n');
            if line.starts_with(last) {
                break;
            }
        }
        let address = started
            .lines()
            .find_map(|line| line.strip_prefix("listening on http://"));
        let address = address.unwrap().to_owned();
        // The pipe must not fill.
        let (sender, log) = mpsc::channel();
        thread::spawn(move || lines.for_each(|line| drop(sender.send(line))));
        Self {
            process,
            address,
            started,
            log,
        }
    }

    #[cfg(unix)]
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits for the next line of the log.
    #[cfg(unix)]
    pub(crate) fn log_line(&self) -> String {
        self.log.recv().unwrap()
    }

    /// Sends a request. Each line of `headers` ends with a line break.
    pub(crate) fn send(&self, method_and_path: &str, headers: &str, body: &str) -> TcpStream {
        let mut connection = TcpStream::connect(&self.address).unwrap();
        write!(
            connection,
            "{method_and_path} HTTP/1.1\r\nhost: {}\r\n{headers}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        connection
    }

    /// Sends a request, and returns the response.
    pub(crate) fn ask(&self, method_and_path: &str, headers: &str, body: &str) -> String {
        response(self.send(method_and_path, headers, body))
    }

    /// Sends SIGTERM.
    #[cfg(unix)]
    pub(crate) fn terminate(&self) {
        let signal = Command::new("kill")
            .args(["-TERM", &self.id().to_string()])
            .status();
        assert!(signal.unwrap().success());
    }

    /// Waits for the successful end of the program, and returns the lines of its log.
    #[cfg(unix)]
    pub(crate) fn end(mut self) -> Vec<String> {
        let status = self.process.wait().unwrap();
        assert!(status.success(), "{status}");
        self.until_end()
    }

    /// Waits for the end of the program, and returns the lines of its log.
    pub(crate) fn until_end(self) -> Vec<String> {
        self.log.iter().collect()
    }

    /// Kills the program, and returns the lines of its log.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.process.kill().unwrap();
        self.until_end()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Reads everything from a connection.
pub(crate) fn response(mut connection: TcpStream) -> String {
    let mut response = String::new();
    connection.read_to_string(&mut response).unwrap();
    response
}
