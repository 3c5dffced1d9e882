//! [`first_cause`]: a short description of an error.

use std::error::Error;

/// Returns the first cause of an error, in lower case and without the operating system's error number.
pub(crate) fn first_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let text = cause.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => "unknown error".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn names_the_first_cause() {
        let refused = io::Error::from_raw_os_error(libc_refused());
        assert_eq!(first_cause(&refused), "connection refused");
        assert_eq!(first_cause(&io::Error::other("")), "unknown error");
    }

    fn libc_refused() -> i32 {
        let free = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        std::net::TcpStream::connect(free)
            .unwrap_err()
            .raw_os_error()
            .unwrap()
    }
}
