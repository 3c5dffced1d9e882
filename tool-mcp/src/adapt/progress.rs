//! Progress of a call.

use serde_json::Value;
use tool_runtime::Progress;

/// Reports `params` of a progress notification.
pub(crate) fn report(params: &Value, progress: &Progress) {
    let number = |name| params.get(name).and_then(Value::as_f64);
    if let Some(done) = number("progress") {
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
        progress.report_fraction(done, number("total"), message);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::sync::watch;
    use tool_runtime::{Context, ProgressReport};

    use super::*;

    #[test]
    fn reads_numbers_and_the_message() {
        for (params, wanted) in [
            (
                json!({"progress": 3, "total": 10, "message": "read"}),
                "3 of 10: read",
            ),
            (json!({"progress": 0.25, "total": 1.0}), "25 of 100"),
            (json!({"progress": 7.9, "message": 1}), "7"),
            (json!({"progress": "1"}), "0"),
            (json!(null), "0"),
        ] {
            let (sender, receiver) = watch::channel(ProgressReport::default());
            let context = Context::new().with_progress(sender);
            report(&params, &context.progress());
            assert_eq!(receiver.borrow().to_string(), wanted, "{params}");
        }
    }
}
