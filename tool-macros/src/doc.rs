//! Doc comments as descriptions for the model.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Meta};

/// A string literal, or an expression that the compiler evaluates (`include_str!(..)`).
pub(crate) enum Text {
    Literal(LitStr),
    Computed(TokenStream),
}

/// What was written as a description.
pub(crate) enum Description {
    Text(Text),
    /// Its mistake was reported.
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
        match &attr.meta {
            Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(line), ..
                }) => push_line(&mut pieces, line),
                computed => pieces.push(Piece::Computed(computed.clone())),
            },
            _ => {}
        }
    }
    let mut texts = pieces.into_iter().filter_map(Piece::finish).peekable();
    let first = texts.next()?;
    if texts.peek().is_none() {
        return Some(first);
    }
    let rest = texts.map(|text| quote!("\n", #text));
    Some(Text::Computed(quote!(::core::concat!(#first, #(#rest),*))))
}

enum Piece {
    Lines(Span, Vec<String>),
    Computed(Expr),
}

impl Piece {
    fn finish(self) -> Option<Text> {
        match self {
            Self::Computed(computed) => Some(Text::Computed(computed.into_token_stream())),
            Self::Lines(span, lines) => {
                let text = dedent(&lines);
                (!text.is_empty()).then(|| Text::Literal(LitStr::new(&text, span)))
            }
        }
    }
}

impl ToTokens for Text {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Literal(text) => text.to_tokens(tokens),
            Self::Computed(text) => text.to_tokens(tokens),
        }
    }
}

fn push_line(pieces: &mut Vec<Piece>, line: &LitStr) {
    let value = line.value();
    let new = without_stars(&value);
    match pieces.last_mut() {
        Some(Piece::Lines(_, lines)) => lines.extend(new),
        _ => pieces.push(Piece::Lines(line.span(), new.collect())),
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

/// Removes the common indentation, and blank lines at both ends.
fn dedent(lines: &[String]) -> String {
    let indentation = |line: &&String| line.len() - line.trim_start().len();
    let shared = lines
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| indentation(&line))
        .min()
        .unwrap_or_default();
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| line.get(shared..).unwrap_or_default().trim_end())
        .collect();
    lines.join("\n").trim_matches('\n').to_owned()
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
    fn blank_comments_are_no_description() {
        let attrs: Vec<Attribute> = vec![parse_quote!(#[doc = "  "]), parse_quote!(#[doc = ""])];
        assert!(text(&attrs).is_none());
        assert!(text(&[]).is_none());
    }

    #[test]
    fn expressions_are_left_to_the_compiler() {
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
}
