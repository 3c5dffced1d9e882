//! Parses `#[tool(..)]`, `#[arg(..)]` and `#[tools(..)]`. An error in one key does not hide errors in other keys.

use std::time::Duration;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Expr, ExprArray, ExprLit, ExprRange, Lit, LitStr, Meta, Path, Token, token};

use crate::doc::{Description, Text};
use crate::errors::Errors;
use crate::keys::{self, ArgKey, Entry, ToolKey, ToolsKey, ungrouped};
use crate::pattern;
use crate::rename::RenameRule;

/// A value with the span of its key.
pub(crate) struct Keyed<T> {
    pub(crate) key: Span,
    pub(crate) value: T,
}

impl Entry<'_> {
    fn keyed<T>(&self, value: T) -> Keyed<T> {
        Keyed {
            key: self.span(),
            value,
        }
    }
}

/// `#[tool(..)]`.
#[derive(Default)]
pub(crate) struct ToolAttr {
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<Description>,
    pub(crate) rename_all: Option<RenameRule>,
    pub(crate) causes: Option<Span>,
    pub(crate) blocking: Option<Span>,
    pub(crate) krate: Option<Path>,
    pub(crate) options: ToolOptions,
}

/// Options of `#[tool(..)]` that are copied into the generated tool definition.
#[derive(Default)]
pub(crate) struct ToolOptions {
    pub(crate) title: Option<Text>,
    pub(crate) read_only: Option<Keyed<bool>>,
    pub(crate) destructive: Option<Keyed<bool>>,
    pub(crate) idempotent: Option<Keyed<bool>>,
    pub(crate) open_world: Option<Keyed<bool>>,
    pub(crate) deferred: Option<Keyed<bool>>,
    pub(crate) strict: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) errors: Option<Path>,
    pub(crate) input_examples: Vec<TokenStream>,
}

impl ToolAttr {
    pub(crate) fn parse(tokens: TokenStream, errors: &Errors) -> Self {
        let mut attr = Self::default();
        let parsed = (|input: ParseStream<'_>| {
            attr.read(input, errors);
            Ok(())
        })
        .parse2(tokens);
        parsed.unwrap_or_else(|error| errors.push(error));
        attr
    }

    /// Parses the `#[tool]` of a method in a `#[tools]` block.
    pub(crate) fn from_method(attr: &Attribute, errors: &Errors) -> Self {
        match &attr.meta {
            Meta::Path(_) => Self::default(),
            Meta::List(list) => Self::parse(list.tokens.clone(), errors),
            Meta::NameValue(meta) => {
                errors.at(
                    meta.eq_token.span,
                    "expected `#[tool]` or `#[tool(description = \"..\")]`",
                );
                Self::default()
            }
        }
    }

    fn read(&mut self, input: ParseStream<'_>, errors: &Errors) {
        let describes = keys::parse_entries(input, errors, |key, entry| {
            match key {
                ToolKey::Name => self.name = Some(entry.literal("\"..\"")?),
                ToolKey::Description => {
                    self.description = Some(Description::Invalid);
                    self.description = Some(Description::Text(entry.text()?));
                }
                ToolKey::RenameAll => {
                    self.rename_all = Some(RenameRule::parse(&entry.literal("\"camelCase\"")?)?);
                }
                ToolKey::Strict => self.options.strict = entry.flag()?,
                ToolKey::Title => self.options.title = Some(entry.text()?),
                ToolKey::ReadOnly => self.options.read_only = Some(entry.keyed(entry.flag()?)),
                ToolKey::Destructive => self.options.destructive = Some(entry.keyed(entry.flag()?)),
                ToolKey::Idempotent => self.options.idempotent = Some(entry.keyed(entry.flag()?)),
                ToolKey::OpenWorld => self.options.open_world = Some(entry.keyed(entry.flag()?)),
                ToolKey::Deferred => self.options.deferred = Some(entry.keyed(entry.flag()?)),
                ToolKey::Timeout => self.options.timeout = Some(duration(&entry.literal("\"30s\"")?)?),
                ToolKey::Errors => self.options.errors = Some(path(entry, "path::to::function")?),
                ToolKey::Causes => self.causes = entry.flag()?.then(|| entry.span()),
                ToolKey::Blocking => {
                    self.blocking = Some(entry.span());
                    self.blocking = entry.flag()?.then(|| entry.span());
                }
                ToolKey::InputExamples => self.options.input_examples = examples(entry)?,
                ToolKey::Crate => self.krate = Some(path(entry, "path::to::tool_runtime")?),
            }
            Ok(())
        });
        if describes {
            self.description.get_or_insert(Description::Invalid);
        }
    }
}

/// `#[arg(..)]`.
#[derive(Default)]
pub(crate) struct ArgAttr {
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<Description>,
    pub(crate) options: ParamOptions,
}

/// Options of `#[arg(..)]` that are copied into the generated parameter definition.
#[derive(Default)]
pub(crate) struct ParamOptions {
    pub(crate) default: Option<Keyed<Expr>>,
    pub(crate) range: Option<Keyed<ExprRange>>,
    pub(crate) length: Option<Keyed<ExprRange>>,
    pub(crate) pattern: Option<Keyed<Expr>>,
    pub(crate) values: Option<Keyed<ExprArray>>,
    pub(crate) example: Option<Keyed<Expr>>,
    pub(crate) not_blank: Option<Span>,
    pub(crate) strict: Option<Span>,
    pub(crate) case_sensitive: Option<Span>,
}

impl ArgAttr {
    /// Removes `#[arg]` from the attributes of a parameter and parses it.
    pub(crate) fn take(attrs: &mut Vec<Attribute>, errors: &Errors) -> Self {
        let mut arg = Self::default();
        let mut seen = false;
        for attr in attrs.extract_if(.., |attr| attr.path().is_ident("arg")) {
            if std::mem::replace(&mut seen, true) {
                errors.spanned(attr.path(), "duplicate `#[arg]`; write all keys into one");
                continue;
            }
            match &attr.meta {
                Meta::List(list) if !list.tokens.is_empty() => {
                    let parsed = list.parse_args_with(|input: ParseStream<'_>| {
                        arg.read(input, errors);
                        Ok(())
                    });
                    parsed.unwrap_or_else(|error| errors.push(error));
                }
                _ => errors.spanned(
                    attr.path(),
                    "empty `#[arg]`; write a key, as in `#[arg(default = ..)]`, or remove the attribute",
                ),
            }
        }
        arg
    }

    fn read(&mut self, input: ParseStream<'_>, errors: &Errors) {
        keys::parse_entries(input, errors, |key, entry| {
            let flag = || Ok::<_, syn::Error>(entry.flag()?.then(|| entry.span()));
            match key {
                ArgKey::Name => self.name = Some(entry.literal("\"..\"")?),
                ArgKey::Description => {
                    self.description = Some(Description::Invalid);
                    self.description = Some(Description::Text(entry.text()?));
                }
                ArgKey::Default => self.options.default = Some(entry.keyed(default(entry)?)),
                ArgKey::Range => self.options.range = Some(entry.keyed(range(entry)?)),
                ArgKey::Length => self.options.length = Some(entry.keyed(range(entry)?)),
                ArgKey::Pattern => self.options.pattern = Some(entry.keyed(pattern(entry)?)),
                ArgKey::Values => self.options.values = Some(entry.keyed(array(entry)?)),
                ArgKey::NotBlank => self.options.not_blank = flag()?,
                ArgKey::Example => self.options.example = Some(entry.keyed(entry.expr("..")?)),
                ArgKey::Strict => self.options.strict = flag()?,
                ArgKey::CaseSensitive => self.options.case_sensitive = flag()?,
            }
            Ok(())
        });
    }
}

/// Parses `#[tools(crate = path)]`.
pub(crate) fn tools_attr(tokens: TokenStream, errors: &Errors) -> Option<Path> {
    let mut krate = None;
    let parsed = (|input: ParseStream<'_>| {
        keys::parse_entries(input, errors, |key, entry| {
            match key {
                ToolsKey::Crate => krate = Some(path(entry, "path::to::tool_runtime")?),
            }
            Ok(())
        });
        Ok(())
    })
    .parse2(tokens);
    parsed.unwrap_or_else(|error| errors.push(error));
    krate
}

/// Parses `default = value`. Unlike in serde, `default` without a value is an error.
fn default(entry: &Entry<'_>) -> syn::Result<Expr> {
    if entry.input().is_empty() || entry.input().peek(Token![,]) {
        return Err(syn::Error::new(
            entry.span(),
            "missing value of `default`; did you mean `default = Default::default()`?",
        ));
    }
    entry.expr("..")
}

fn path(entry: &Entry<'_>, form: &str) -> syn::Result<Path> {
    entry.equals(form)?;
    let span = entry.input().span();
    let path = entry.input().call(Path::parse_mod_style);
    path.map_err(|_| syn::Error::new(span, format!("expected a path: `{form}`")))
}

fn range(entry: &Entry<'_>) -> syn::Result<ExprRange> {
    match entry.expr("a..=b").map(ungrouped)? {
        Expr::Range(range) if range.start.is_some() || range.end.is_some() => Ok(range),
        other => Err(syn::Error::new_spanned(
            other,
            "expected a range: `a..=b`, `a..b`, `a..`, `..=b` or `..b`",
        )),
    }
}

/// Parses a pattern. A literal pattern is checked; other expressions are checked at registration.
fn pattern(entry: &Entry<'_>) -> syn::Result<Expr> {
    let pattern = ungrouped(entry.expr("\"..\"")?);
    if let Expr::Lit(ExprLit {
        lit: Lit::Str(text), ..
    }) = &pattern
    {
        pattern::check(&text.value()).map_err(|problem| syn::Error::new(text.span(), problem))?;
    }
    Ok(pattern)
}

fn array(entry: &Entry<'_>) -> syn::Result<ExprArray> {
    match entry.expr("[a, b]").map(ungrouped)? {
        Expr::Array(array) if !array.elems.is_empty() => Ok(array),
        other => Err(syn::Error::new_spanned(
            other,
            "expected an array of the allowed values: `[a, b]`",
        )),
    }
}

/// Parses `[{ "key": value }, ..]`: objects in the syntax of `json!`.
fn examples(entry: &Entry<'_>) -> syn::Result<Vec<TokenStream>> {
    let form = "[{ \"key\": value }]";
    entry.equals(form)?;
    let input = entry.input();
    let expected = |span| syn::Error::new(span, format!("expected an array of example arguments: `{form}`"));
    if !input.peek(token::Bracket) {
        return Err(expected(input.span()));
    }
    let list;
    syn::bracketed!(list in input);
    let mut examples = Vec::new();
    let mut tokens = list.parse::<TokenStream>()?.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(object) if object.delimiter() == Delimiter::Brace => {
                check_values(object.stream())?;
                examples.push(object.stream());
            }
            other => return Err(expected(other.span())),
        }
        match tokens.next() {
            Some(TokenTree::Punct(comma)) if comma.as_char() == ',' => {}
            None => {}
            Some(other) => {
                let place = match &other {
                    TokenTree::Group(group) => group.span_open(),
                    other => other.span(),
                };
                return Err(syn::Error::new(place, "expected `,` between two examples"));
            }
        }
    }
    Ok(examples)
}

/// Reports a key without a value. The error of `json!` would point to the source of `serde_json`.
fn check_values(object: TokenStream) -> syn::Result<()> {
    let mut colon = None;
    for token in object.into_iter().map(Some).chain([None]) {
        let ends = match &token {
            Some(TokenTree::Punct(punct)) => punct.as_char() == ',',
            Some(_) => false,
            None => true,
        };
        match (token, colon) {
            (_, Some(colon)) if ends => {
                return Err(syn::Error::new(colon, "missing value; write `\"key\": value`"));
            }
            (Some(TokenTree::Group(group)), _) if group.delimiter() == Delimiter::Brace => {
                check_values(group.stream())?;
                colon = None;
            }
            (Some(TokenTree::Punct(punct)), None) if punct.as_char() == ':' => colon = Some(punct.span()),
            _ => colon = None,
        }
    }
    Ok(())
}

/// Parses `"500ms"`, `"30s"`, `"2m"`, `"1h"`.
fn duration(written: &LitStr) -> syn::Result<Duration> {
    let value = written.value();
    let digits = value.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: Option<u64> = digits.parse().ok();
    let unit = value.get(digits.len()..).unwrap_or_default().trim();
    let duration = number.and_then(|number| match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        "h" => number.checked_mul(3600).map(Duration::from_secs),
        _ => None,
    });
    duration.filter(|duration| !duration.is_zero()).ok_or_else(|| {
        syn::Error::new(
            written.span(),
            "expected a duration: \"500ms\", \"30s\", \"2m\" or \"1h\"",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Duration> {
        duration(&LitStr::new(text, Span::call_site())).ok()
    }

    #[test]
    fn parses_durations_with_a_unit() {
        assert_eq!(parsed("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(parsed("30s"), Some(Duration::from_secs(30)));
        assert_eq!(parsed("2 m"), Some(Duration::from_secs(120)));
        assert_eq!(parsed("1h"), Some(Duration::from_secs(3600)));
        for wrong in [
            "",
            "30",
            "s",
            "0s",
            "-1s",
            "1.5s",
            "30 sec",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong:?}");
        }
    }
}
