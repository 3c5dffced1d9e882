//! What `#[tool(..)]` and `#[arg(..)]` may say, each key checked as far as it goes alone.

use std::time::Duration;

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Expr, ExprArray, ExprLit, ExprRange, Lit, LitStr, Meta, Path, token};

use crate::doc::Text;
use crate::errors::Errors;
use crate::keys::{self, ARG_KEYS, Entry, TOOL_KEYS, ungrouped};
use crate::pattern;
use crate::rename::RenameRule;

/// A value with the key that introduced it.
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

#[derive(Default)]
pub(crate) struct ToolAttr {
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<Text>,
    pub(crate) rename_all: Option<RenameRule>,
    pub(crate) strict: bool,
    pub(crate) title: Option<Text>,
    /// `read_only`, `destructive`, `idempotent`.
    pub(crate) hints: Vec<(Ident, bool)>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) errors: Option<Path>,
    pub(crate) causes: Option<Span>,
    pub(crate) input_examples: Vec<TokenStream>,
    pub(crate) krate: Option<Path>,
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

    /// From a method's own `#[tool]`, within `#[tools]`.
    pub(crate) fn of_method(attr: &Attribute, errors: &Errors) -> Self {
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
        let describes = keys::each(input, "tool", TOOL_KEYS, errors, |key, entry| {
            match key {
                "name" => self.name = Some(entry.literal("\"..\"")?),
                "description" => {
                    self.description = Some(Text::Refused);
                    self.description = Some(entry.text()?);
                }
                "rename_all" => self.rename_all = Some(RenameRule::parse(&entry.literal("\"camelCase\"")?)?),
                "strict" => self.strict = entry.flag()?,
                "title" => self.title = Some(entry.text()?),
                "timeout" => self.timeout = Some(duration(&entry.literal("\"30s\"")?)?),
                "errors" => self.errors = Some(path(entry, "path::to::function")?),
                "causes" => self.causes = entry.flag()?.then(|| entry.span()),
                "input_examples" => self.input_examples = examples(entry)?,
                "crate" => self.krate = Some(path(entry, "path::to::tool_runtime")?),
                hint => self.hints.push((Ident::new(hint, entry.span()), entry.flag()?)),
            }
            Ok(())
        });
        if describes {
            self.description.get_or_insert(Text::Refused);
        }
    }
}

#[derive(Default)]
pub(crate) struct ArgAttr {
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<Text>,
    pub(crate) default: Option<Keyed<Expr>>,
    pub(crate) range: Option<Keyed<ExprRange>>,
    pub(crate) length: Option<Keyed<ExprRange>>,
    pub(crate) pattern: Option<Keyed<Expr>>,
    pub(crate) values: Option<Keyed<ExprArray>>,
    pub(crate) not_blank: Option<Span>,
    pub(crate) example: Option<Keyed<Expr>>,
    pub(crate) strict: Option<Span>,
    pub(crate) case_sensitive: Option<Span>,
}

impl ArgAttr {
    /// From a parameter's attributes, of which it takes its own away.
    pub(crate) fn take(attrs: &mut Vec<Attribute>, errors: &Errors) -> Self {
        let mut arg = Self::default();
        let mut seen = false;
        for attr in attrs.extract_if(.., |attr| attr.path().is_ident("arg")) {
            if std::mem::replace(&mut seen, true) {
                errors.over(attr.path(), "`#[arg]` is given twice; write all keys into one");
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
                _ => errors.over(
                    attr.path(),
                    "this says nothing; write for example `#[arg(default = ..)]` or remove it",
                ),
            }
        }
        arg
    }

    fn read(&mut self, input: ParseStream<'_>, errors: &Errors) {
        keys::each(input, "arg", ARG_KEYS, errors, |key, entry| {
            let flag = || Ok::<_, syn::Error>(entry.flag()?.then(|| entry.span()));
            match key {
                "name" => self.name = Some(entry.literal("\"..\"")?),
                "description" => {
                    self.description = Some(Text::Refused);
                    self.description = Some(entry.text()?);
                }
                "default" => self.default = Some(entry.keyed(entry.expr("..")?)),
                "range" => self.range = Some(entry.keyed(range(entry)?)),
                "length" => self.length = Some(entry.keyed(range(entry)?)),
                "pattern" => self.pattern = Some(entry.keyed(pattern(entry)?)),
                "values" => self.values = Some(entry.keyed(array(entry)?)),
                "not_blank" => self.not_blank = flag()?,
                "example" => self.example = Some(entry.keyed(entry.expr("..")?)),
                "strict" => self.strict = flag()?,
                _ => self.case_sensitive = flag()?,
            }
            Ok(())
        });
    }
}

/// `#[tools(crate = path)]`.
pub(crate) fn tools_attr(tokens: TokenStream, errors: &Errors) -> Option<Path> {
    let mut krate = None;
    let parsed = (|input: ParseStream<'_>| {
        keys::each(input, "tools", &["crate"], errors, |_, entry| {
            krate = Some(path(entry, "path::to::tool_runtime")?);
            Ok(())
        });
        Ok(())
    })
    .parse2(tokens);
    parsed.unwrap_or_else(|error| errors.push(error));
    krate
}

fn path(entry: &Entry<'_>, form: &str) -> syn::Result<Path> {
    entry.equals(form)?;
    let span = entry.input().span();
    let path = entry.input().call(Path::parse_mod_style);
    path.map_err(|_| syn::Error::new(span, format!("expected a path, as in `{form}`")))
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

/// A literal one is looked at.
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
            "expected the values that are allowed: `[a, b]`",
        )),
    }
}

/// `[{ "key": value }, ..]`: each an object as `json!` takes it.
fn examples(entry: &Entry<'_>) -> syn::Result<Vec<TokenStream>> {
    let form = "[{ \"key\": value }]";
    entry.equals(form)?;
    let input = entry.input();
    let expected = |span| syn::Error::new(span, format!("expected the arguments of a call: `{form}`"));
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
                complete(object.stream())?;
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

/// No key of an object is without its value: of those `json!` would complain within its own file.
fn complete(object: TokenStream) -> syn::Result<()> {
    let mut colon = None;
    for token in object.into_iter().map(Some).chain([None]) {
        let ends = match &token {
            Some(TokenTree::Punct(punct)) => punct.as_char() == ',',
            Some(_) => false,
            None => true,
        };
        match (token, colon) {
            (_, Some(colon)) if ends => {
                return Err(syn::Error::new(
                    colon,
                    "a value is missing here; write `\"key\": value`",
                ));
            }
            (Some(TokenTree::Group(group)), _) if group.delimiter() == Delimiter::Brace => {
                complete(group.stream())?;
                colon = None;
            }
            (Some(TokenTree::Punct(punct)), None) if punct.as_char() == ':' => colon = Some(punct.span()),
            _ => colon = None,
        }
    }
    Ok(())
}

/// `"500ms"`, `"30s"`, `"2m"`, `"1h"`.
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
            "expected a time, as in \"500ms\", \"30s\", \"2m\" or \"1h\"",
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
    fn reads_times() {
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
