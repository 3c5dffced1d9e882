//! Events of Anthropic's Messages that are made here.

use crate::stream::json::escapes;
use crate::stream::json::payload::line_end;

/// An error as streams of Messages report it.
pub(crate) fn error(message: &str, last: &[u8]) -> String {
    let mut contents = String::new();
    escapes::encode(message, &mut contents);
    let end = line_end(last);
    format!(
        r#"event: error{end}data: {{"type":"error","error":{{"type":"api_error","message":"{contents}"}}}}{end}{end}"#
    )
}
