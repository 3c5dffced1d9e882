//! Checks literal values against the limits of their parameter. Other expressions are checked at registration.

use quote::ToTokens;
use syn::{Expr, ExprRange, Lit, LitInt, RangeLimits, UnOp};

use crate::attr::{Keyed, ParamOptions};
use crate::errors::Errors;

pub(crate) fn check(options: &ParamOptions, errors: &Errors) {
    let ParamOptions {
        default,
        range,
        length,
        values,
        example,
        // Checked with each value.
        not_blank: _,
        // Checked by its parser.
        pattern: _,
        strict: _,
        case_sensitive: _,
    } = options;
    if let Some(length) = length
        && [&length.value.start, &length.value.end]
            .into_iter()
            .flatten()
            .any(|end| is_invalid_length(end, errors))
    {
        return;
    }
    let limits = [("range", range, f64::NEG_INFINITY), ("length", length, 0.0)];
    for (key, range, min) in limits {
        if let Some((end, number)) = range.as_ref().and_then(|range| int_beside_float(&range.value)) {
            errors.spanned(
                end,
                format_args!("expected a float like the other end of this `{key}`; write `{number}.0`"),
            );
            return;
        }
        if let Some(range) = range
            .as_ref()
            .filter(|range| Limits::new(&range.value).is_empty(min))
        {
            let instead = if range.value.start.is_some() && !Limits::new(&range.value).is_single_value() {
                "write the lower end first"
            } else {
                "`..` excludes the upper end, `..=` includes it"
            };
            errors.spanned(&range.value, format_args!("empty `{key}`; {instead}"));
            return;
        }
    }
    if let Some(values) = values {
        for (place, value) in values.value.elems.iter().enumerate() {
            check_limits(options, "this value", value, errors);
            let literal = Literal::new(value);
            let earlier = values.value.elems.iter().take(place).map(Literal::new);
            if literal.is_some() && earlier.into_iter().any(|earlier| earlier == literal) {
                errors.spanned(value, "duplicate value in `values`");
            }
        }
    }
    for (name, value) in [("the default", default), ("the example", example)] {
        if let Some(Keyed { value, .. }) = value {
            check_limits(options, name, value, errors);
            check_values(options, name, value, errors);
        }
    }
}

fn is_invalid_length(end: &Expr, errors: &Errors) -> bool {
    let wrong = match Literal::new(end) {
        Some(Literal::Number(number)) => number < 0.0 || number.fract() != 0.0,
        Some(_) => true,
        None => false,
    };
    if wrong {
        errors.spanned(end, "expected a non-negative integer as length");
    }
    wrong
}

/// Checks a literal value against `range`, `length` and `not_blank`.
fn check_limits(options: &ParamOptions, name: &str, value: &Expr, errors: &Errors) {
    let Some(literal) = Literal::new(value) else {
        return;
    };
    let outside = |key, range: &ExprRange| {
        let range = key_and_range(key, range);
        errors.spanned(value, format_args!("{name} is outside of {range}"));
    };
    if let Some(range) = &options.range
        && literal
            .number()
            .is_some_and(|number| !Limits::new(&range.value).contains(number))
    {
        outside("range", &range.value);
    }
    if let (Some(length), Literal::Str(text)) = (&options.length, &literal) {
        #[allow(clippy::cast_precision_loss, reason = "no literal is that long")]
        if !Limits::new(&length.value).contains(text.chars().count() as f64) {
            outside("length", &length.value);
        }
    }
    if let (Some(_), Literal::Str(text)) = (&options.not_blank, &literal)
        && text.trim().is_empty()
    {
        errors.spanned(value, format_args!("{name} is blank, which `not_blank` rejects"));
    }
}

fn check_values(options: &ParamOptions, name: &str, value: &Expr, errors: &Errors) {
    let (Some(values), Some(literal)) = (&options.values, Literal::new(value)) else {
        return;
    };
    let known: Option<Vec<Literal>> = values.value.elems.iter().map(Literal::new).collect();
    if known.is_some_and(|known| !known.contains(&literal)) {
        errors.spanned(value, format_args!("{name} is not one of the `values`"));
    }
}

/// Returns the end of a range that is an integer if the other end is a float.
fn int_beside_float(range: &ExprRange) -> Option<(&Expr, &LitInt)> {
    let (start, end) = (range.start.as_deref()?, range.end.as_deref()?);
    [(start, end), (end, start)].into_iter().find_map(|(one, other)| {
        let Lit::Int(number) = literal(one)? else {
            return None;
        };
        let mixed = number.suffix().is_empty() && matches!(literal(other)?, Lit::Float(_));
        mixed.then_some((one, number))
    })
}

fn literal(expr: &Expr) -> Option<&Lit> {
    match expr {
        Expr::Lit(lit) => Some(&lit.lit),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => literal(&unary.expr),
        _ => None,
    }
}

fn key_and_range(key: &str, range: &ExprRange) -> String {
    let range: String = range
        .to_token_stream()
        .into_iter()
        .map(|token| token.to_string())
        .collect();
    format!("`{key} = {range}`")
}

#[derive(PartialEq)]
enum Literal {
    Number(f64),
    Str(String),
    Bool(bool),
}

impl Literal {
    fn new(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Lit(lit) => match &lit.lit {
                Lit::Int(int) => int.base10_digits().parse().ok().map(Self::Number),
                Lit::Float(float) => float.base10_digits().parse().ok().map(Self::Number),
                Lit::Str(text) => Some(Self::Str(text.value())),
                Lit::Bool(value) => Some(Self::Bool(value.value)),
                _ => None,
            },
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => Self::new(&unary.expr)?
                .number()
                .map(|number| Self::Number(-number)),
            Expr::Paren(paren) => Self::new(&paren.expr),
            Expr::Group(group) => Self::new(&group.expr),
            _ => None,
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }
}

/// Literal ends of a range. An end that is another expression is unlimited.
struct Limits {
    min: Option<f64>,
    max: Option<f64>,
    includes_max: bool,
}

impl Limits {
    fn new(range: &ExprRange) -> Self {
        let end = |end: &Option<Box<Expr>>| end.as_deref().and_then(Literal::new)?.number();
        Self {
            min: end(&range.start),
            max: end(&range.end),
            includes_max: matches!(range.limits, RangeLimits::Closed(_)),
        }
    }

    fn contains(&self, number: f64) -> bool {
        self.min.is_none_or(|min| min <= number)
            && self
                .max
                .is_none_or(|max| number < max || (self.includes_max && number <= max))
    }

    /// Returns whether both ends have the same value.
    fn is_single_value(&self) -> bool {
        self.min.is_some() && self.min == self.max
    }

    /// Returns whether the range is empty; `min` is the smallest possible value.
    fn is_empty(&self, min: f64) -> bool {
        match (self.min.unwrap_or(min), self.max) {
            (min, Some(max)) => max < min || (max <= min && !self.includes_max),
            _ => false,
        }
    }
}
