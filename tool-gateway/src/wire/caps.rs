//! [`Caps`]: maximum numbers of the parts of a request. Caps bound the work and the memory for a body with many small parts.

use axum::http::StatusCode;

use super::error::ApiError;
use super::request::MessagesRequest;
use super::walk;

/// Maximum numbers of the parts of a request. Requests of typical clients have far fewer parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Caps {
    /// JSON values: objects, lists, strings, numbers and so on.
    pub(crate) values: usize,
    pub(crate) messages: usize,
    /// Content blocks of all messages, without the blocks in tool results.
    pub(crate) blocks: usize,
    pub(crate) tools: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            values: 2_000_000,
            // The limit of the API, <https://platform.claude.com/docs/en/api/messages>.
            messages: 100_000,
            blocks: 100_000,
            tools: 10_000,
        }
    }
}

impl Caps {
    /// Checks the text of a body before it is parsed.
    pub(crate) fn check_text(&self, body: &str) -> Result<(), ApiError> {
        if walk::has_more_values(body, self.values) {
            return Err(over(self.values, "JSON values"));
        }
        Ok(())
    }

    /// Checks the parts of a request.
    pub(crate) fn check(&self, request: &MessagesRequest) -> Result<(), ApiError> {
        if request.messages.len() > self.messages {
            return Err(over(self.messages, "messages"));
        }
        // An item of a list and its separator have at least two bytes.
        let fits = |max: usize| request.len() / 2 < max;
        let blocks = || {
            request
                .messages
                .iter()
                .map(|message| request.blocks(message).len())
        };
        if !fits(self.blocks) && blocks().sum::<usize>() > self.blocks {
            return Err(over(self.blocks, "content blocks"));
        }
        if !fits(self.tools) && request.tools().nth(self.tools).is_some() {
            return Err(over(self.tools, "tools"));
        }
        Ok(())
    }
}

fn over(max: usize, parts: &str) -> ApiError {
    let message = format!("the request has more than {max} {parts}; send less");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_one_part_more_than_the_maximum() {
        let caps = Caps {
            messages: 2,
            blocks: 3,
            tools: 1,
            ..Caps::default()
        };
        let check = |messages: &str, tools: &str| {
            let body = format!(r#"{{"messages":[{messages}],"tools":[{tools}]}}"#);
            caps.check(&MessagesRequest::parse(body)?)
        };
        let message = |content: &str| format!(r#"{{"role":"user","content":{content}}}"#);
        let two = [message("\"a\""), message("[1,2]")].join(",");
        assert_eq!(check(&two, "{}"), Ok(()));
        let four_blocks = [message("\"a\""), message("[1,2,3]")].join(",");
        for (messages, tools, name) in [
            (format!("{two},{two}").as_str(), "{}", "2 messages"),
            (&four_blocks, "{}", "3 content blocks"),
            (&two, "{},{}", "1 tools"),
        ] {
            let error = check(messages, tools).unwrap_err();
            assert_eq!(
                error.message,
                format!("the request has more than {name}; send less")
            );
            assert_eq!(error.status, StatusCode::PAYLOAD_TOO_LARGE);
        }
    }

    #[test]
    fn counts_values_without_parsing() {
        for (text, values) in [
            (r#"{"a":[ ],"b":{},"c":[[]],"d":"[{,\"","e":-1.5,"f":null}"#, 8),
            (r#"[1,"a",[{"b":[true]} , 2 ]]"#, 8),
            ("[[[[[[]]]]]]", 6),
        ] {
            for (max, has_more) in [(values - 1, true), (values, false)] {
                // Short texts are not counted.
                let text = format!("{text}{}", " ".repeat(100));
                assert_eq!(walk::has_more_values(&text, max), has_more, "{text} {max}");
            }
        }
    }
}
