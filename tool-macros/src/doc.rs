//! Doc comments as descriptions for the model.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Meta, Token};

/// A string literal, or an expression that the compiler evaluates (`include_str!(..)`).
pub(crate) enum Text {
    Literal(LitStr),
    Computed(TokenStream),
    /// An array of lines, some of which depend on a `cfg`.
    Conditional(TokenStream),
}

/// A description in the attributes.
pub(crate) enum Description {
    Text(Text),
    /// An invalid description, whose mistake was reported.
    Invalid,
}

impl Description {
    pub(crate) fn into_text(self) -> Option<Text> {
        match self {
            Self::Text(text) => Some(text),
            Self::Invalid => None,
        }
    }
}

/// Joins the doc comments; `None` if there are none or all are blank.
pub(crate) fn text(attrs: &[Attribute]) -> Option<Text> {
    let mut pieces = Vec::new();
    for attr in attrs {
        collect(&attr.meta, None, &mut pieces);
    }
    let shared = Indentation::new(pieces.iter().filter(|piece| piece.condition.is_none()));
    let mut texts = pieces.into_iter().filter_map(|piece| {
        let own = piece.condition.as_ref().map(|_| Indentation::new([&piece]));
        let text = piece.content.finish(own.as_ref().unwrap_or(&shared))?;
        Some((piece.condition, text))
    });
    let first = texts.next()?;
    let rest: Vec<_> = texts.collect();
    let is_conditional = first.0.is_some() || rest.iter().any(|(condition, _)| condition.is_some());
    let (condition, text) = first;
    if is_conditional {
        let lines = std::iter::once((condition, text)).chain(rest);
        let lines = lines.map(|(condition, text)| {
            let cfg = condition.map(|condition| quote!(#[cfg(#condition)]));
            quote!(#cfg #text)
        });
        return Some(Text::Conditional(quote!([#(#lines),*])));
    }
    if rest.is_empty() {
        return Some(text);
    }
    let rest = rest.iter().map(|(_, text)| quote!("\n", #text));
    Some(Text::Computed(quote!(::core::concat!(#text, #(#rest),*))))
}

/// Collects `doc` attributes, also inside a `cfg_attr`: rustc expands a `cfg_attr` on the macro's own item,
/// but not on the methods inside.
fn collect(meta: &Meta, condition: Option<&TokenStream>, pieces: &mut Vec<Piece>) {
    if let Some((inner, attrs)) = cfg_attr(meta) {
        let condition = match condition {
            Some(outer) => quote!(all(#outer, #inner)),
            None => inner.to_token_stream(),
        };
        for meta in &attrs {
            collect(meta, Some(&condition), pieces);
        }
        return;
    }
    let Meta::NameValue(meta) = meta else { return };
    if !meta.path.is_ident("doc") {
        return;
    }
    let content = match &meta.value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(comment),
            ..
        }) => {
            let is_sugared = is_comment(comment.span());
            let lines = without_stars(&comment.value())
                .map(|text| Line { text, is_sugared })
                .collect();
            match pieces.last_mut() {
                Some(Piece {
                    condition: None,
                    content: Content::Lines(_, before),
                }) if condition.is_none() => {
                    before.extend::<Vec<_>>(lines);
                    return;
                }
                _ => Content::Lines(comment.span(), lines),
            }
        }
        computed => Content::Computed(computed.clone()),
    };
    pieces.push(Piece {
        condition: condition.cloned(),
        content,
    });
}

/// Returns the condition and the attributes of a `cfg_attr`.
pub(crate) fn cfg_attr(meta: &Meta) -> Option<(Meta, Vec<Meta>)> {
    let Meta::List(list) = meta else { return None };
    if !list.path.is_ident("cfg_attr") {
        return None;
    }
    let metas = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    let mut metas = metas.ok()?.into_iter();
    Some((metas.next()?, metas.collect()))
}

/// Returns whether a string was written as `/// ..` or `/** .. */`.
fn is_comment(span: Span) -> bool {
    let source = span.source_text();
    source.is_some_and(|source| source.starts_with("//") || source.starts_with("/*"))
}

struct Piece {
    /// Predicate of the attribute's `cfg_attr`.
    condition: Option<TokenStream>,
    content: Content,
}

enum Content {
    Lines(Span, Vec<Line>),
    Computed(Expr),
}

struct Line {
    text: String,
    /// Whether the text is part of a comment, with a space after the slashes.
    is_sugared: bool,
}

impl Content {
    fn finish(self, indentation: &Indentation) -> Option<Text> {
        match self {
            Self::Computed(computed) => Some(Text::Computed(computed.into_token_stream())),
            Self::Lines(span, lines) => {
                let text = indentation.remove(&lines);
                (!text.is_empty()).then(|| Text::Literal(LitStr::new(&text, span)))
            }
        }
    }
}

impl ToTokens for Text {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Literal(text) => text.to_tokens(tokens),
            Self::Computed(text) | Self::Conditional(text) => text.to_tokens(tokens),
        }
    }
}

/// Splits a comment into lines, without the column of stars of a `/** .. */`.
fn without_stars(comment: &str) -> impl Iterator<Item = String> {
    let starred = comment.contains('\n')
        && comment
            .lines()
            .skip(1)
            .all(|line| line.trim().is_empty() || line.trim_start().starts_with('*'));
    comment.split('\n').map(move |line| {
        let bare = if starred {
            line.trim_start().strip_prefix('*')
        } else {
            None
        };
        bare.unwrap_or(line).to_owned()
    })
}

/// Common indentation of all lines, computed as rustdoc does: if an item has comments and `#[doc = ".."]` attributes, the
/// lines of the attributes lack the space after the slashes.
struct Indentation {
    shared: usize,
    is_mixed: bool,
}

impl Indentation {
    fn new<'p>(pieces: impl IntoIterator<Item = &'p Piece, IntoIter: Clone>) -> Self {
        let pieces = pieces.into_iter();
        let lines = || {
            let lines = pieces.clone().filter_map(|piece| match &piece.content {
                Content::Lines(_, lines) => Some(lines),
                Content::Computed(_) => None,
            });
            lines.flatten().filter(|line| !line.text.trim().is_empty())
        };
        let is_mixed = lines().any(|line| line.is_sugared) && lines().any(|line| !line.is_sugared);
        let mut indentation = Self { shared: 0, is_mixed };
        let indentations = lines().map(|line| {
            let spaces = line.text.len() - line.text.trim_start().len();
            spaces + indentation.missing(line)
        });
        indentation.shared = indentations.min().unwrap_or_default();
        indentation
    }

    /// Returns the number of spaces that a line lacks.
    fn missing(&self, line: &Line) -> usize {
        usize::from(self.is_mixed && !line.is_sugared)
    }

    /// Removes the indentation, and blank lines at both ends.
    fn remove(&self, lines: &[Line]) -> String {
        let lines: Vec<&str> = lines
            .iter()
            .map(|line| {
                let spaces = self.shared.saturating_sub(self.missing(line));
                line.text.get(spaces..).unwrap_or_default().trim_end()
            })
            .collect();
        lines.join("\n").trim_matches('\n').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    fn literal(attrs: &[Attribute]) -> String {
        match text(attrs) {
            Some(Text::Literal(text)) => text.value(),
            other => panic!("{:?}", other.map(|text| text.to_token_stream().to_string())),
        }
    }

    #[test]
    fn joins_and_dedents_lines() {
        let attrs: Vec<Attribute> = vec![
            parse_quote!(#[doc = ""]),
            parse_quote!(#[doc = "  First line."]),
            parse_quote!(#[doc = ""]),
            parse_quote!(#[inline]),
            parse_quote!(#[doc = "    indented "]),
            parse_quote!(#[doc = "  last"]),
            parse_quote!(#[doc(hidden)]),
        ];
        assert_eq!(literal(&attrs), "First line.\n\n  indented\nlast");
    }

    #[test]
    fn reads_block_comments() {
        let attrs: Vec<Attribute> =
            vec![parse_quote!(#[doc = " One\n     * two\n     *\n     * - three\n     "])];
        assert_eq!(literal(&attrs), "One\ntwo\n\n- three");
        let attrs: Vec<Attribute> = vec![parse_quote!(#[doc = "\n    One\n      two\n    "])];
        assert_eq!(literal(&attrs), "One\n  two");
    }

    #[test]
    fn ignores_blank_comments() {
        let attrs: Vec<Attribute> = vec![parse_quote!(#[doc = "  "]), parse_quote!(#[doc = ""])];
        assert!(text(&attrs).is_none());
        assert!(text(&[]).is_none());
    }

    #[test]
    fn keeps_expressions_for_the_compiler() {
        let attrs: Vec<Attribute> = vec![parse_quote!(#[doc = include_str!("a.md")])];
        assert_eq!(
            text(&attrs).unwrap().to_token_stream().to_string(),
            quote!(include_str!("a.md")).to_string(),
        );
        let attrs: Vec<Attribute> = vec![
            parse_quote!(#[doc = " One."]),
            parse_quote!(#[doc = include_str!("a.md")]),
            parse_quote!(#[doc = " Two."]),
        ];
        assert_eq!(
            text(&attrs).unwrap().to_token_stream().to_string(),
            quote!(::core::concat!("One.", "\n", include_str!("a.md"), "\n", "Two.")).to_string(),
        );
    }
    #[test]
    fn keeps_the_condition_of_lines_in_a_cfg_attr() {
        let attrs: Vec<Attribute> = vec![
            parse_quote!(#[doc = " One."]),
            parse_quote!(#[cfg_attr(unix, doc = " Two.", cfg_attr(test, doc = " Three."), inline)]),
        ];
        let Some(Text::Conditional(lines)) = text(&attrs) else {
            panic!("conditional lines");
        };
        let expected = quote!([
            "One.",
            #[cfg(unix)]
            "Two.",
            #[cfg(all(unix, test))]
            "Three."
        ]);
        assert_eq!(lines.to_string(), expected.to_string());
        let attrs: Vec<Attribute> = vec![parse_quote!(#[cfg_attr(unix, inline)])];
        assert!(text(&attrs).is_none());
    }

    #[test]
    fn dedents_all_lines_beside_a_computed_text() {
        let attrs: Vec<Attribute> = vec![
            parse_quote!(#[doc = " One:"]),
            parse_quote!(#[doc = include_str!("a.md")]),
            parse_quote!(#[doc = "   two"]),
        ];
        assert_eq!(
            text(&attrs).unwrap().to_token_stream().to_string(),
            quote!(::core::concat!("One:", "\n", include_str!("a.md"), "\n", "  two")).to_string(),
        );
    }
}
