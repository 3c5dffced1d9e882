//! [`PartReader`]: content blocks of user messages and results as parts.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::chat::{ChatFile, ChatPart, ImageUrl, PartContent};
use super::place::BlockPlace;
use super::raw::raw;
use crate::upstream::openai::profile::Profile;
use crate::upstream::openai::warnings::WarningCode;
use crate::wire::error::ApiError;
use crate::wire::object::Object;
use crate::wire::walk;

/// Reads content blocks, and collects warnings.
#[derive(Debug)]
pub(super) struct PartReader<'p> {
    pub(super) profile: &'p Profile,
    pub(super) warnings: BTreeSet<WarningCode>,
}

impl PartReader<'_> {
    /// Appends the parts of a block.
    pub(super) fn read(
        &mut self,
        block: Object<'_>,
        place: BlockPlace,
        parts: &mut Vec<ChatPart>,
    ) -> Result<(), ApiError> {
        let count = parts.len();
        let kind = block.text("type").unwrap_or_default();
        match &*kind {
            "text" => {
                let text = block.string("text").unwrap_or_default();
                if !text.is_empty() {
                    parts.push(ChatPart::text(text));
                }
            }
            "image" => parts.push(self.image(block, place)?),
            "document" => self.document(block, place, parts)?,
            "search_result" => parts.push(self.search_result(block)),
            "tool_reference" => {
                let name = block.text("tool_name").unwrap_or_default();
                parts.push(ChatPart::text(format!("The tool {name} is available.")));
            }
            kind => return Err(place.unknown(kind)),
        }
        if let Some(last) = parts.get_mut(count..).and_then(<[_]>::last_mut) {
            self.set_cache_control(block, last);
        }
        Ok(())
    }

    /// Copies the `cache_control` of a block, if the server accepts it.
    pub(super) fn set_cache_control(&self, block: Object<'_>, part: &mut ChatPart) {
        let cache_control = block.get("cache_control").filter(|_| self.profile.cache_control);
        if let Some(cache_control) = cache_control.filter(|value| *value != "null") {
            part.cache_control = raw(cache_control).map(ToOwned::to_owned);
        }
    }

    fn image(&self, block: Object<'_>, place: BlockPlace) -> Result<ChatPart, ApiError> {
        let expected =
            || place.error("source: expected an image in base64, or its URL; this upstream has no files");
        let source = block
            .get("source")
            .and_then(Object::from_json)
            .ok_or_else(expected)?;
        let url = match &*source.text("type").unwrap_or_default() {
            "base64" => data_url(source),
            "url" => source.string("url"),
            _ => None,
        };
        let url = url.ok_or_else(expected)?;
        if source.is("type", "url") && !self.profile.image_urls {
            let note = format!("[Image at {url}, which cannot be loaded.]");
            return Ok(ChatPart::text(note));
        }
        let image_url = ImageUrl { url };
        Ok(PartContent::ImageUrl { image_url }.into())
    }

    fn document(
        &mut self,
        block: Object<'_>,
        place: BlockPlace,
        parts: &mut Vec<ChatPart>,
    ) -> Result<(), ApiError> {
        self.check_citations(block);
        let expected = || {
            place.error(
                "source: expected text, content, a PDF in base64, or its URL; this upstream has no files",
            )
        };
        let source = block
            .get("source")
            .and_then(Object::from_json)
            .ok_or_else(expected)?;
        let title = block.text("title").filter(|title| !title.is_empty());
        match &*source.text("type").unwrap_or_default() {
            "text" => {
                let data = source.text("data").ok_or_else(expected)?;
                parts.push(ChatPart::text(format!(
                    "{}\n{data}\n</document>",
                    opening_tag(block)
                )));
            }
            "content" => {
                let mut inner = vec![ChatPart::text(opening_tag(block))];
                let content = source.get("content").ok_or_else(expected)?;
                if let Some(text) = walk::string(content) {
                    inner.push(ChatPart::text(text));
                }
                for item in walk::items(content) {
                    let item = Object::from_json(item).ok_or_else(expected)?;
                    self.read(item, place, &mut inner)?;
                }
                inner.push(ChatPart::text("</document>"));
                push_joined(parts, inner);
            }
            "base64" if self.profile.files => {
                let file_data = data_url(source).ok_or_else(expected)?;
                let filename = title.as_deref().unwrap_or("document.pdf").to_owned();
                let file = ChatFile { filename, file_data };
                parts.push(PartContent::File { file }.into());
            }
            "base64" => {
                let data = source.text("data").ok_or_else(expected)?;
                let bytes = data.trim_end_matches('=').len() * 3 / 4;
                let media_type = source.text("media_type").unwrap_or_default();
                let mut note = "[Document".to_owned();
                // Writes to a `String` do not fail.
                let _ = match title {
                    Some(title) => write!(
                        note,
                        " \"{title}\", {media_type}, {bytes} bytes, which cannot be read.]"
                    ),
                    None => write!(
                        note,
                        " of type {media_type}, {bytes} bytes, which cannot be read.]"
                    ),
                };
                parts.push(ChatPart::text(note));
            }
            "url" => {
                let url = source.text("url").ok_or_else(expected)?;
                parts.push(ChatPart::text(match title {
                    Some(title) => format!("[Document \"{title}\" at {url}, which cannot be read.]"),
                    None => format!("[Document at {url}, which cannot be read.]"),
                }));
            }
            _ => return Err(expected()),
        }
        Ok(())
    }

    fn search_result(&mut self, block: Object<'_>) -> ChatPart {
        self.check_citations(block);
        let fields = ["title", "source"].into_iter();
        let mut lines: Vec<String> = fields.filter_map(|name| block.string(name)).collect();
        let content = walk::items(block.get("content").unwrap_or_default());
        lines.extend(content.filter_map(|item| Object::from_json(item)?.string("text")));
        ChatPart::text(lines.join("\n"))
    }

    fn check_citations(&mut self, block: Object<'_>) {
        let citations = block.get("citations").and_then(Object::from_json);
        if citations.is_some_and(|citations| citations.get("enabled") == Some("true")) {
            self.warnings.insert(WarningCode::Citations);
        }
    }
}

/// Appends parts, with neighbouring texts joined by line breaks.
fn push_joined(parts: &mut Vec<ChatPart>, inner: Vec<ChatPart>) {
    let first = parts.len();
    for part in inner {
        let last = parts.get_mut(first..).and_then(<[_]>::last_mut);
        match (last.map(|last| &mut last.content), part.content) {
            (Some(PartContent::Text { text: before }), PartContent::Text { text }) => {
                before.push('\n');
                before.push_str(&text);
            }
            (_, content) => parts.push(content.into()),
        }
    }
}

/// Returns the data URL of a source in base64.
fn data_url(source: Object<'_>) -> Option<String> {
    let media_type = source.text("media_type")?;
    Some(format!("data:{media_type};base64,{}", source.text("data")?))
}

/// Returns the opening tag of a document.
fn opening_tag(block: Object<'_>) -> String {
    let mut tag = "<document".to_owned();
    for name in ["title", "context"] {
        if let Some(value) = block.text(name).filter(|value| !value.is_empty()) {
            let value = value.replace('&', "&amp;").replace('"', "&quot;");
            // Writes to a `String` do not fail.
            let _ = write!(tag, " {name}=\"{value}\"");
        }
    }
    tag.push('>');
    tag
}
