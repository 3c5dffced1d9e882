//! Valid JSON leaves byte for byte as it came, borrowed.

use std::borrow::Cow;

use tool_runtime::repair::{Status, repair};

#[test]
fn what_json_can_say_is_left_alone() {
    for text in [
        r#"{"a":[1,-0.5e+3,true,false,null],"a":"\ud800 \u00e9\/"}"#,
        " [ ] \r\n",
        "\"x\"",
        "-0",
    ] {
        let repaired = repair(text);
        assert_eq!(repaired.status, Status::Valid, "{text}");
        assert!(
            matches!(repaired.text, Cow::Borrowed(same) if same == text),
            "{text}"
        );
    }
}
