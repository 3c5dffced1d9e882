//! Lists of models in the form of the Messages API, <https://platform.claude.com/docs/en/api/models-list>: [`for_client`].

use serde_json::{Value, json};

use super::headers::rfc_3339;

/// Converts a list of models, or one model. Returns `None` for another text.
pub(in crate::upstream::openai) fn for_client(text: &str) -> Option<Value> {
    let body: Value = serde_json::from_str(text).ok()?;
    let Some(models) = body.get("data").and_then(Value::as_array) else {
        return model(&body);
    };
    let models: Vec<Value> = models.iter().filter_map(model).collect();
    let id = |model: Option<&Value>| model.and_then(|model| model.get("id").cloned());
    Some(json!({
        "first_id": id(models.first()),
        "last_id": id(models.last()),
        "has_more": false,
        "data": models,
    }))
}

/// Converts a model.
fn model(model: &Value) -> Option<Value> {
    let id = model.get("id")?.as_str()?;
    let created = model.get("created").and_then(Value::as_u64).unwrap_or_default();
    let name = model.get("name").and_then(Value::as_str).unwrap_or(id);
    let mut converted = json!({
        "type": "model",
        "id": id,
        "display_name": name,
        "created_at": rfc_3339(created),
    });
    let context = ["/max_model_len", "/context_length", "/meta/n_ctx_train"];
    let context = context.iter().find_map(|place| model.pointer(place)?.as_u64());
    if let (Some(context), Some(fields)) = (context, converted.as_object_mut()) {
        fields.insert("max_input_tokens".to_owned(), context.into());
    }
    Some(converted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_have_the_form_of_the_messages_api() {
        let models = json!({ "object": "list", "data": [
            { "id": "a", "object": "model", "created": 951_827_696, "owned_by": "vllm", "max_model_len": 32768 },
            { "id": "b", "name": "B", "context_length": 8192 },
            { "id": "c", "meta": { "n_ctx_train": 4096 } },
            { "id": "d" },
        ] });
        let converted = for_client(&models.to_string()).unwrap();
        assert_eq!(
            (
                &converted["first_id"],
                &converted["last_id"],
                &converted["has_more"]
            ),
            (&json!("a"), &json!("d"), &json!(false))
        );
        let first = json!({
            "type": "model", "id": "a", "display_name": "a", "created_at": "2000-02-29T12:34:56Z", "max_input_tokens": 32768,
        });
        assert_eq!(converted["data"][0], first);
        let inputs: Vec<_> = (1..4)
            .map(|at| converted["data"][at]["max_input_tokens"].as_u64())
            .collect();
        assert_eq!(inputs, [Some(8192), Some(4096), None]);
        assert_eq!(converted["data"][1]["display_name"], "B");
        assert_eq!(for_client(&models["data"][0].to_string()), Some(first));
        assert_eq!(for_client("{}"), None);
        assert_eq!(for_client("<html>"), None);
    }
}
