//! Converts results of an MCP server, for a client.

use serde_json::Value;

use crate::format::fields::{FormatError, text};
use crate::wire::message::Block;
use crate::wire::result::{Content, ToolOutput};

/// Converts a result of `tools/call` to an output, for a handler of
/// [`register_source`](crate::ToolRegistry::register_source) or
/// [`register_dynamic`](crate::ToolRegistry::register_dynamic) that calls an MCP server.
///
/// `isError` and `structuredContent` become [fields of the output](ToolOutput); [`result`](super::result()) converts
/// them back, with texts and images. Models accept no other content in the result of a tool, so other content becomes
/// a text that names it:
///
/// | content | becomes |
/// |---|---|
/// | `text` | its text |
/// | `image`: JPEG, PNG, GIF or WebP | an image |
/// | `image` of another type | `image (image/svg+xml, 120 bytes)` |
/// | `audio` | `audio (audio/wav, 120 bytes)` |
/// | `resource_link` | `resource menu.md at file:///menu.md (text/markdown, 120 bytes): What there is today.` |
/// | `resource` with a text | `resource at file:///menu.md (text/markdown):`, and the text below |
/// | `resource` with a blob | `resource at file:///menu.pdf (application/pdf, 120 bytes)`; and the image below, if it is one of these types |
/// | none, but `structuredContent` | compact JSON of that |
/// | of a type that this revision does not have | compact JSON of the content |
///
/// `annotations` and `_meta` are omitted: the host already has them.
///
/// ```
/// use tool_runtime::serde_json::json;
/// use tool_runtime::{Context, ToolDefinition, ToolRegistry, format::mcp};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let mut registry = ToolRegistry::new();
/// let schema = json!({ "type": "object", "properties": {} });
/// registry.register_dynamic(ToolDefinition::new("lunch", "Tell what there is.", schema), async |_, _: Context| {
///     // What the server answers.
///     mcp::output(&json!({
///         "content": [
///             { "type": "text", "text": "Soup." },
///             { "type": "audio", "data": "UklGRgAAAAA=", "mimeType": "audio/wav" },
///         ],
///         "structuredContent": { "meal": "soup" },
///     }))
/// })?;
/// let result = registry.execute_tool("toolu_01", "lunch", "{}").await;
/// assert_eq!(
///     tool_runtime::serde_json::to_value(&result.content).unwrap(),
///     json!([{ "type": "text", "text": "Soup." }, { "type": "text", "text": "audio (audio/wav, 8 bytes)" }]),
/// );
/// assert_eq!(result.structured.unwrap()["meal"], "soup");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Returns an error if content lacks a required field of its type, or `content` is not a list.
pub fn output(result: &Value) -> Result<ToolOutput, FormatError> {
    let structured = result.get("structuredContent").filter(|value| !value.is_null());
    let content = match result.get("content") {
        Some(Value::Array(content)) => content.as_slice(),
        // The official SDK treats a missing list as an empty one.
        None if result.is_object() => &[],
        _ => {
            return Err(FormatError::Missing {
                subject: "the result of `tools/call`",
                field: "content",
                wanted: "a list",
            });
        }
    };
    let mut blocks = Vec::new();
    for content in content {
        read_content(content, &mut blocks)?;
    }
    let content = match blocks.as_slice() {
        [] => Content::Text(structured.map(Value::to_string).unwrap_or_default()),
        [only] if only.kind() == "text" => Content::Text(only.str("text").unwrap_or_default().to_owned()),
        _ => Content::Blocks(blocks),
    };
    let mut output = ToolOutput::from(content);
    output.is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
    output.structured = structured.cloned().map(Box::new);
    Ok(output)
}

/// Appends the blocks of an item of `content`.
fn read_content(content: &Value, blocks: &mut Vec<Block>) -> Result<(), FormatError> {
    match text(content, "the content of a result", "type")? {
        "text" => blocks.push(Block::text(text(content, "a `text` content", "text")?)),
        "image" => {
            let media_type = text(content, "an `image` content", "mimeType")?;
            let data = text(content, "an `image` content", "data")?;
            blocks.push(image(media_type, data).unwrap_or_else(|| {
                let details = details(Some(media_type), Some(byte_count(data)));
                Block::text(format!("image{details}"))
            }));
        }
        "audio" => {
            let media_type = text(content, "an `audio` content", "mimeType")?;
            let data = text(content, "an `audio` content", "data")?;
            let details = details(Some(media_type), Some(byte_count(data)));
            blocks.push(Block::text(format!("audio{details}")));
        }
        "resource_link" => blocks.push(Block::text(link(content)?)),
        "resource" => read_resource(content.get("resource").unwrap_or(&Value::Null), blocks)?,
        _ => blocks.push(Block::text(content.to_string())),
    }
    Ok(())
}

/// Appends the blocks of an embedded resource.
fn read_resource(resource: &Value, blocks: &mut Vec<Block>) -> Result<(), FormatError> {
    let subject = "an embedded resource";
    let uri = text(resource, subject, "uri")?;
    let media_type = resource.get("mimeType").and_then(Value::as_str);
    if let Some(content) = resource.get("text").and_then(Value::as_str) {
        let details = details(media_type, None);
        blocks.push(Block::text(format!("resource at {uri}{details}:\n{content}")));
        return Ok(());
    }
    let blob = resource.get("blob").and_then(Value::as_str);
    let blob = blob.ok_or(FormatError::Missing {
        subject,
        field: "text",
        wanted: "a string, or a `blob`",
    })?;
    let details = details(media_type, Some(byte_count(blob)));
    blocks.push(Block::text(format!("resource at {uri}{details}")));
    blocks.extend(media_type.and_then(|media_type| image(media_type, blob)));
    Ok(())
}

/// Returns the text for a link to a resource.
fn link(link: &Value) -> Result<String, FormatError> {
    let subject = "a `resource_link` content";
    let field = |name| link.get(name).and_then(Value::as_str);
    let name = field("title").map_or_else(|| text(link, subject, "name"), Ok)?;
    let uri = text(link, subject, "uri")?;
    let details = details(field("mimeType"), link.get("size").and_then(Value::as_u64));
    let description = field("description").map(|text| format!(": {text}"));
    Ok(format!(
        "resource {name} at {uri}{details}{}",
        description.unwrap_or_default()
    ))
}

/// Returns an image, if models accept its type.
fn image(media_type: &str, data: &str) -> Option<Block> {
    let is_taken = ["image/jpeg", "image/png", "image/gif", "image/webp"].contains(&media_type);
    is_taken.then(|| Block::image(media_type, data))
}

/// Returns the known properties of omitted data, in parentheses.
fn details(media_type: Option<&str>, bytes: Option<u64>) -> String {
    let bytes = bytes.map(|bytes| format!("{bytes} bytes"));
    let known: Vec<&str> = media_type.into_iter().chain(bytes.as_deref()).collect();
    if known.is_empty() {
        String::new()
    } else {
        format!(" ({})", known.join(", "))
    }
}

/// Returns the number of bytes that a base64 text encodes.
fn byte_count(base64: &str) -> u64 {
    let digits = base64
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=')
        .count() as u64;
    digits.saturating_mul(3) / 4
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::format::mcp;
    use crate::wire::result::ToolResult;

    /// Converts a single item of content into blocks.
    fn read(content: &Value) -> Value {
        let output = output(&json!({ "content": [{ "type": "text", "text": "first" }, content] })).unwrap();
        match serde_json::to_value(output.content).unwrap() {
            Value::Array(mut blocks) => blocks.split_off(1).into(),
            other => other,
        }
    }

    fn texts(text: &str) -> Value {
        json!([{ "type": "text", "text": text }])
    }

    #[test]
    fn converts_content_without_a_block_to_text() {
        let audio = json!({ "type": "audio", "data": "UklGRgAAAAA=", "mimeType": "audio/wav" });
        assert_eq!(read(&audio), texts("audio (audio/wav, 8 bytes)"));
        let drawing = json!({ "type": "image", "data": "PHN2Zy8+", "mimeType": "image/svg+xml" });
        assert_eq!(read(&drawing), texts("image (image/svg+xml, 6 bytes)"));
        let link = json!({ "type": "resource_link", "name": "menu.md", "uri": "file:///menu.md" });
        assert_eq!(read(&link), texts("resource menu.md at file:///menu.md"));
        let link = json!({
            "type": "resource_link", "name": "menu.md", "title": "The menu", "uri": "file:///menu.md", "size": 120,
            "mimeType": "text/markdown", "description": "What there is today.", "annotations": { "priority": 1 },
        });
        assert_eq!(
            read(&link),
            texts("resource The menu at file:///menu.md (text/markdown, 120 bytes): What there is today.")
        );
        let new = json!({ "type": "video", "data": "AAAA" });
        assert_eq!(read(&new), texts(r#"{"type":"video","data":"AAAA"}"#));
    }

    #[test]
    fn embedded_resources_become_their_text_or_image() {
        let of = |resource: Value| json!({ "type": "resource", "resource": resource });
        let text = of(json!({ "uri": "file:///a.md", "mimeType": "text/markdown", "text": "# A\n" }));
        assert_eq!(
            read(&text),
            texts("resource at file:///a.md (text/markdown):\n# A\n")
        );
        let plain = of(json!({ "uri": "file:///a", "text": "" }));
        assert_eq!(read(&plain), texts("resource at file:///a:\n"));
        let binary = of(json!({ "uri": "file:///a.bin", "blob": "AAAA AA==" }));
        assert_eq!(read(&binary), texts("resource at file:///a.bin (4 bytes)"));
        let image = of(json!({ "uri": "file:///a.png", "mimeType": "image/png", "blob": "iVBORw==" }));
        assert_eq!(
            read(&image),
            json!([
                { "type": "text", "text": "resource at file:///a.png (image/png, 4 bytes)" },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "iVBORw==" } },
            ])
        );
    }

    #[test]
    fn texts_images_values_and_errors_round_trip() {
        for sent in [
            json!({ "content": [{ "type": "text", "text": "Soup." }] }),
            json!({ "content": [{ "type": "text", "text": "None." }], "isError": true }),
            json!({
                "content": [
                    { "type": "text", "text": "Soup." },
                    { "type": "image", "data": "iVBORw==", "mimeType": "image/png" },
                ],
                "structuredContent": { "meal": "soup", "price": 4.50 },
            }),
            json!({ "content": [{ "type": "image", "data": "iVBORw==", "mimeType": "image/webp" }] }),
        ] {
            let output = output(&sent).unwrap();
            assert_eq!(mcp::result(&ToolResult::new("7", output)).unwrap(), sent);
        }
    }

    #[test]
    fn text_of_a_value_without_content() {
        let value = json!({ "meal": "soup" });
        for sent in [
            json!({ "structuredContent": value }),
            json!({ "content": [], "structuredContent": value, "isError": false }),
        ] {
            let output = output(&sent).unwrap();
            assert_eq!(
                output,
                ToolOutput::text(r#"{"meal":"soup"}"#).with_structured(value.clone())
            );
        }
        assert_eq!(output(&json!({ "content": [] })).unwrap(), ToolOutput::text(""));
    }

    #[test]
    fn errors_name_missing_parts() {
        let error = |result: Value| output(&result).unwrap_err().to_string();
        assert_eq!(
            error(json!(null)),
            "the result of `tools/call` needs `content`, a list"
        );
        assert_eq!(
            error(json!({ "content": "Soup." })),
            "the result of `tools/call` needs `content`, a list"
        );
        let of = |content: Value| error(json!({ "content": [content] }));
        assert_eq!(
            of(json!("Soup.")),
            "the content of a result needs `type`, a string"
        );
        assert_eq!(
            of(json!({ "type": "text" })),
            "a `text` content needs `text`, a string"
        );
        assert_eq!(
            of(json!({ "type": "image", "data": "" })),
            "an `image` content needs `mimeType`, a string"
        );
        assert_eq!(
            of(json!({ "type": "audio", "mimeType": "" })),
            "an `audio` content needs `data`, a string"
        );
        assert_eq!(
            of(json!({ "type": "resource_link", "uri": "file:///a" })),
            "a `resource_link` content needs `name`, a string"
        );
        assert_eq!(
            of(json!({ "type": "resource" })),
            "an embedded resource needs `uri`, a string"
        );
        assert_eq!(
            of(json!({ "type": "resource", "resource": { "uri": "file:///a" } })),
            "an embedded resource needs `text`, a string, or a `blob`"
        );
    }
}
