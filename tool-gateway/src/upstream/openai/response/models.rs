//! Lists of models in the form of the Messages API, <https://platform.claude.com/docs/en/api/models-list>: [`list`], [`page`].

use serde_json::{Value, json};

use super::headers::rfc_3339;

/// Converts a list of models. Returns `None` for another text.
pub(in crate::upstream::openai) fn list(text: &str) -> Option<Vec<Value>> {
    let body: Value = serde_json::from_str(text).ok()?;
    let models = body.get("data").and_then(Value::as_array)?;
    Some(models.iter().filter_map(model).collect())
}

/// Converts one model. Returns `None` for another text.
pub(in crate::upstream::openai) fn single(text: &str) -> Option<Value> {
    model(&serde_json::from_str(text).ok()?)
}

/// Returns a page with all models.
pub(in crate::upstream::openai) fn page(models: &[Value]) -> Value {
    let id = |model: Option<&Value>| model.and_then(|model| model.get("id").cloned());
    json!({
        "first_id": id(models.first()),
        "last_id": id(models.last()),
        "has_more": false,
        "data": models,
    })
}

/// Builds a model with the name of a client. `served` is the model of the server, if its list has the model.
pub(in crate::upstream::openai) fn named(name: &str, served: Option<&Value>) -> Value {
    let mut named = served
        .cloned()
        .unwrap_or_else(|| json!({ "type": "model", "created_at": rfc_3339(0) }));
    if let Some(fields) = named.as_object_mut() {
        fields.insert("id".to_owned(), name.into());
        fields.insert("display_name".to_owned(), name.into());
    }
    named
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
        let converted = page(&list(&models.to_string()).unwrap());
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
        assert_eq!(single(&models["data"][0].to_string()), Some(first));
        for text in ["{}", "<html>"] {
            assert_eq!((list(text), single(text)), (None, None));
        }
    }
}
