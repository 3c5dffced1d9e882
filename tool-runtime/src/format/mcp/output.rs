//! Converts results of an MCP server, for a client.

use serde_json::Value;

use super::image;
use crate::format::fields::{FormatError, text};
use crate::wire::issue::excerpt;
use crate::wire::message::Block;
use crate::wire::result::{Content, ToolOutput};

/// Converts a result of `tools/call` to an output, for a handler of
/// [`register_source`](crate::ToolRegistry::register_source) or
/// [`register_dynamic`](crate::ToolRegistry::register_dynamic) that calls an MCP server. Reads the results of all
/// revisions up to 2026-07-28.
///
/// `isError` and `structuredContent` become [fields of the output](ToolOutput); [`result`](super::result()) converts
/// them back, with texts and images. Models accept no other content in the result of a tool, so other content becomes
/// a text that names it:
///
/// | content | becomes |
/// |---|---|
/// | `text` | its text |
/// | `image`: JPEG, PNG, GIF or WebP by its first bytes | an image |
/// | `image` of another type | `image (image/svg+xml, 120 bytes)` |
/// | `image` that the Messages API refuses: invalid base64, over 5 MB, over 8000 pixels a side, the 21st and later images | `image (image/png, 120 bytes) was left out: its base64 is invalid` |
/// | `audio` | `audio (audio/wav, 120 bytes)` |
/// | `resource_link` | `resource menu.md at file:///menu.md (text/markdown, 120 bytes): What there is today.` |
/// | `resource` with a text | `resource at file:///menu.md (text/markdown):`, and the text below |
/// | `resource` with a blob | `resource at file:///menu.pdf (application/pdf, 120 bytes)`; and the image below, if it is one of these types |
/// | none, but `structuredContent` of any type | compact JSON of that |
/// | of an unknown type | compact JSON of the content |
/// | without a required field | ``invalid content, a `text` content needs `text`, a string: {"type":"text"}`` |
///
/// `annotations` and `_meta` are omitted: the host already has them. A result with the `resultType` `input_required`
/// becomes an error for the model, since the server waits for an answer that neither the model nor the host has.
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
/// Returns an error if `content` is not a list, or the `resultType` is unknown.
pub fn output(result: &Value) -> Result<ToolOutput, FormatError> {
    match result.get("resultType") {
        None => {}
        Some(kind) if kind == "complete" => {}
        Some(kind) if kind == "input_required" => return Ok(ToolOutput::error(input_required(result))),
        Some(_) => {
            return Err(FormatError::Missing {
                subject: "the result of `tools/call`",
                field: "resultType",
                wanted: "`complete` or `input_required`",
            });
        }
    }
    let structured = result.get("structuredContent");
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
    let mut reader = ContentReader::default();
    for content in content {
        reader.read(content);
    }
    let content = match reader.blocks.as_slice() {
        [] => Content::Text(structured.map(Value::to_string).unwrap_or_default()),
        [only] if only.kind() == "text" => Content::Text(only.str("text").unwrap_or_default().to_owned()),
        _ => Content::Blocks(reader.blocks),
    };
    let mut output = ToolOutput::from(content);
    output.is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
    output.structured = structured.cloned().map(Box::new);
    Ok(output)
}

/// Returns the text for a server that asks for input, which names the methods of its requests.
fn input_required(result: &Value) -> String {
    let requests = result.get("inputRequests").and_then(Value::as_object);
    let mut methods: Vec<String> = Vec::new();
    for request in requests.into_iter().flat_map(|requests| requests.values()) {
        let method = request.get("method").and_then(Value::as_str).map(excerpt);
        if let Some(method) = method.filter(|method| !methods.iter().any(|known| known == method)) {
            methods.push(method.into_owned());
        }
    }
    methods.truncate(3);
    let methods = if methods.is_empty() {
        String::new()
    } else {
        format!(" ({})", methods.join(", "))
    };
    format!("the tool asks for input{methods}, which this program cannot give; continue without it")
}

/// Blocks of the content that was read.
#[derive(Default)]
struct ContentReader {
    blocks: Vec<Block>,
    images: usize,
}

impl ContentReader {
    /// Appends the blocks of an item of `content`.
    fn read(&mut self, content: &Value) {
        if let Err(error) = self.read_valid(content) {
            let json = content.to_string();
            self.push_text(format!("invalid content, {error}: {}", excerpt(&json)));
        }
    }

    fn read_valid(&mut self, content: &Value) -> Result<(), FormatError> {
        let media_type = content.get("mimeType").and_then(Value::as_str);
        match text(content, "the content of a result", "type")? {
            "text" => self.push_text(text(content, "a `text` content", "text")?),
            "image" => {
                let data = text(content, "an `image` content", "data")?;
                match self.image(media_type, data) {
                    Ok(block) => self.blocks.push(block),
                    Err(reason) => {
                        let details = details(media_type, Some(byte_count(data)));
                        self.push_text(format!("image{details}{reason}"));
                    }
                }
            }
            "audio" => {
                let data = text(content, "an `audio` content", "data")?;
                let details = details(media_type, Some(byte_count(data)));
                self.push_text(format!("audio{details}"));
            }
            "resource_link" => self.push_text(link(content)?),
            "resource" => self.read_resource(content.get("resource").unwrap_or(&Value::Null))?,
            _ => self.push_text(content.to_string()),
        }
        Ok(())
    }

    /// Appends the blocks of an embedded resource.
    fn read_resource(&mut self, resource: &Value) -> Result<(), FormatError> {
        let subject = "an embedded resource";
        let uri = text(resource, subject, "uri")?;
        let media_type = resource.get("mimeType").and_then(Value::as_str);
        if let Some(content) = resource.get("text").and_then(Value::as_str) {
            let details = details(media_type, None);
            self.push_text(format!("resource at {uri}{details}:\n{content}"));
            return Ok(());
        }
        let blob = resource.get("blob").and_then(Value::as_str);
        let blob = blob.ok_or(FormatError::Missing {
            subject,
            field: "text",
            wanted: "a string, or a `blob`",
        })?;
        let details = details(media_type, Some(byte_count(blob)));
        let text = format!("resource at {uri}{details}");
        if media_type.is_some_and(|media_type| media_type.starts_with("image/")) {
            match self.image(media_type, blob) {
                Ok(block) => {
                    self.push_text(text);
                    self.blocks.push(block);
                }
                Err(reason) => self.push_text(text + &reason),
            }
        } else {
            self.push_text(text);
        }
        Ok(())
    }

    fn push_text(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::text(text));
    }

    /// Returns the block of an image that the API accepts, or the reason against it as the end of a sentence: empty
    /// for a type of which models accept no image.
    fn image(&mut self, media_type: Option<&str>, data: &str) -> Result<Block, String> {
        let is_supported = |media_type: &str| {
            let name = media_type.split(';').next().unwrap_or_default().trim();
            let names = ["image/jpeg", "image/jpg", "image/png", "image/gif", "image/webp"];
            names.iter().any(|known| name.eq_ignore_ascii_case(known))
        };
        let image = if self.images < image::MAX_IMAGES {
            image::block(data)
        } else {
            Err(format!("a result may have {} images", image::MAX_IMAGES))
        };
        match image {
            Ok(block) => {
                self.images += 1;
                Ok(block)
            }
            Err(reason) if media_type.is_none_or(is_supported) => Err(format!(" was left out: {reason}")),
            Err(_) => Err(String::new()),
        }
    }
}

/// Returns the text for a link to a resource.
fn link(link: &Value) -> Result<String, FormatError> {
    let field = |name| link.get(name).and_then(Value::as_str);
    let uri = text(link, "a `resource_link` content", "uri")?;
    let name = field("title").or_else(|| field("name"));
    let name = name.map(|name| format!(" {name}")).unwrap_or_default();
    let details = details(field("mimeType"), link.get("size").and_then(Value::as_u64));
    let description = field("description").map(|text| format!(": {text}"));
    Ok(format!(
        "resource{name} at {uri}{details}{}",
        description.unwrap_or_default()
    ))
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

    /// The header of a PNG of one pixel.
    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB";

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
        let image = of(json!({ "uri": "file:///a.png", "mimeType": "image/png", "blob": PNG }));
        assert_eq!(
            read(&image),
            json!([
                { "type": "text", "text": "resource at file:///a.png (image/png, 24 bytes)" },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": PNG } },
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
                    { "type": "image", "data": PNG, "mimeType": "image/png" },
                ],
                "structuredContent": { "meal": "soup", "price": 4.50 },
            }),
            json!({ "content": [{ "type": "image", "data": PNG, "mimeType": "image/png" }] }),
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
    fn structured_values_of_any_type_are_read() {
        for value in [
            json!(null),
            json!([1, null]),
            json!("soup"),
            json!(4.50),
            json!(false),
            json!({}),
        ] {
            let alone = output(&json!({ "structuredContent": value })).unwrap();
            assert_eq!(
                alone,
                ToolOutput::text(value.to_string()).with_structured(value.clone())
            );
            let text = json!({ "type": "text", "text": "Soup." });
            let with_text = output(&json!({ "content": [text], "structuredContent": value })).unwrap();
            assert_eq!(with_text, ToolOutput::text("Soup.").with_structured(value));
        }
    }

    #[test]
    fn result_types() {
        let content = json!([{ "type": "text", "text": "Soup." }]);
        let complete = output(&json!({ "resultType": "complete", "content": content })).unwrap();
        assert_eq!(complete, ToolOutput::text("Soup."));

        let ask = |method: &str| json!({ "method": method, "params": { "message": "Which?" } });
        for (requests, text) in [
            (
                json!({ "a": ask("elicitation/create"), "b": ask("elicitation/create") }),
                "the tool asks for input (elicitation/create), which this program cannot give; continue without it",
            ),
            (
                json!({ "a": ask("roots/list"), "b": ask("sampling/createMessage") }),
                "the tool asks for input (roots/list, sampling/createMessage), which this program cannot give; continue without it",
            ),
            (
                json!({ "a": 5 }),
                "the tool asks for input, which this program cannot give; continue without it",
            ),
            (
                json!(null),
                "the tool asks for input, which this program cannot give; continue without it",
            ),
        ] {
            let asked =
                json!({ "resultType": "input_required", "inputRequests": requests, "requestState": "x" });
            assert_eq!(output(&asked).unwrap(), ToolOutput::error(text));
        }

        for unknown in [json!("task"), json!(null), json!(1)] {
            let error = output(&json!({ "resultType": unknown, "content": content })).unwrap_err();
            assert_eq!(
                error.to_string(),
                "the result of `tools/call` needs `resultType`, `complete` or `input_required`"
            );
        }
    }

    #[test]
    fn images_that_the_api_refuses_become_texts() {
        let image =
            |media_type: Value, data: &str| json!({ "type": "image", "data": data, "mimeType": media_type });
        let png = json!([{ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": PNG } }]);
        for accepted in [
            json!("image/png"),
            json!("image/jpg"),
            json!("image/png; charset=binary"),
            json!("IMAGE/PNG"),
            json!("application/octet-stream"),
            json!(null),
        ] {
            assert_eq!(read(&image(accepted, PNG)), png);
        }
        for (media_type, data, text) in [
            (
                json!("image/png"),
                "iVBOR",
                "image (image/png, 3 bytes) was left out: its base64 is invalid",
            ),
            (
                json!("image/png"),
                "%%%%",
                "image (image/png, 3 bytes) was left out: its base64 is invalid",
            ),
            (
                json!("image/jpg"),
                "iVBORw0KGgo=",
                "image (image/jpg, 8 bytes) was left out: it is incomplete",
            ),
            (
                json!(null),
                "iVBORw0KGgo=",
                "image (8 bytes) was left out: it is incomplete",
            ),
            (json!("image/avif"), "AAAA", "image (image/avif, 3 bytes)"),
            (
                json!("image/webp"),
                "AAAA",
                "image (image/webp, 3 bytes) was left out: it does not begin like a JPEG, PNG, GIF or WebP image",
            ),
        ] {
            assert_eq!(read(&image(media_type, data)), texts(text));
        }
        let resource = json!({ "uri": "file:///a.png", "mimeType": "image/png", "blob": "iVBORw0KGgo=" });
        assert_eq!(
            read(&json!({ "type": "resource", "resource": resource })),
            texts("resource at file:///a.png (image/png, 8 bytes) was left out: it is incomplete")
        );
    }

    #[test]
    fn result_has_at_most_20_images() {
        let image = json!({ "type": "image", "data": PNG, "mimeType": "image/png" });
        let broken = json!({ "type": "image", "data": "!", "mimeType": "image/png" });
        let mut content = vec![image; 22];
        content.insert(0, broken); // does not count
        let output = output(&json!({ "content": content })).unwrap();
        let Content::Blocks(blocks) = output.content else {
            panic!("expected blocks")
        };
        let kinds: Vec<&str> = blocks.iter().map(Block::kind).collect();
        assert_eq!(kinds, [vec!["text"], vec!["image"; 20], vec!["text"; 2]].concat());
        assert_eq!(
            blocks[21].str("text"),
            Some("image (image/png, 24 bytes) was left out: a result may have 20 images")
        );
    }

    /// A malformed item leaves the others unchanged.
    #[test]
    fn malformed_content_becomes_text() {
        for (content, text) in [
            (
                json!("Soup."),
                "invalid content, the content of a result needs `type`, a string: \"Soup.\"",
            ),
            (
                json!(null),
                "invalid content, the content of a result needs `type`, a string: null",
            ),
            (
                json!({ "type": "text", "text": 7 }),
                r#"invalid content, a `text` content needs `text`, a string: {"type":"text","text":7}"#,
            ),
            (
                json!({ "type": "image", "mimeType": "image/png" }),
                r#"invalid content, an `image` content needs `data`, a string: {"type":"image","mimeType":"image/png"}"#,
            ),
            (
                json!({ "type": "audio" }),
                r#"invalid content, an `audio` content needs `data`, a string: {"type":"audio"}"#,
            ),
            (
                json!({ "type": "resource_link", "name": "a" }),
                r#"invalid content, a `resource_link` content needs `uri`, a string: {"type":"resource_link","name":"a"}"#,
            ),
            (
                json!({ "type": "resource" }),
                r#"invalid content, an embedded resource needs `uri`, a string: {"type":"resource"}"#,
            ),
            (
                json!({ "type": "resource", "resource": { "uri": "a" } }),
                r#"invalid content, an embedded resource needs `text`, a string, or a `blob`: {"type":"resource","resource":{"uri":"a"}}"#,
            ),
        ] {
            assert_eq!(read(&content), texts(text));
        }
        let nameless = json!({ "type": "resource_link", "uri": "file:///a" });
        assert_eq!(read(&nameless), texts("resource at file:///a"));
        let long = json!({ "type": "text", "texts": "x".repeat(10_000) });
        assert!(read(&long)[0]["text"].as_str().unwrap().len() < 1000);
    }

    #[test]
    fn rejects_other_values_than_results() {
        for other in [
            json!(null),
            json!("Soup."),
            json!([]),
            json!({ "content": "Soup." }),
        ] {
            assert_eq!(
                output(&other).unwrap_err().to_string(),
                "the result of `tools/call` needs `content`, a list"
            );
        }
    }
}
