//! Literal values against the limits beside them; other expressions are checked at registration.

use quote::ToTokens;
use syn::{Expr, ExprRange, Lit, LitInt, RangeLimits, UnOp};

use crate::attr::{ArgAttr, Keyed};
use crate::errors::Errors;

pub(crate) fn check(arg: &ArgAttr, errors: &Errors) {
    if let Some(length) = &arg.length
        && [&length.value.start, &length.value.end]
            .into_iter()
            .flatten()
            .any(|end| is_no_length(end, errors))
    {
        return;
    }
    let limits = [
        ("range", &arg.range, f64::NEG_INFINITY),
        ("length", &arg.length, 0.0),
    ];
    for (key, range, least) in limits {
        if let Some((end, number)) = range.as_ref().and_then(|range| beside_a_float(&range.value)) {
            errors.over(
                end,
                format_args!("the other end of this `{key}` is a float; write `{number}.0`"),
            );
            return;
        }
        if let Some(range) = range
            .as_ref()
            .filter(|range| Limits::of(&range.value).are_empty(least))
        {
            let instead = if range.value.start.is_some() && !Limits::of(&range.value).meet() {
                "write the lower end first"
            } else {
                "`..` leaves the end out, `..=` takes it in"
            };
            errors.over(
                &range.value,
                format_args!("no value is in this `{key}`; {instead}"),
            );
            return;
        }
    }
    if let Some(values) = &arg.values {
        for (place, value) in values.value.elems.iter().enumerate() {
            within(arg, "this value", value, errors);
            let literal = Literal::of(value);
            let earlier = values.value.elems.iter().take(place).map(Literal::of);
            if literal.is_some() && earlier.into_iter().any(|earlier| earlier == literal) {
                errors.over(value, "this value is already among the `values`; write it once");
            }
        }
    }
    for (name, value) in [("the default", &arg.default), ("the example", &arg.example)] {
        if let Some(Keyed { value, .. }) = value {
            within(arg, name, value, errors);
            among(arg, name, value, errors);
        }
    }
}

/// A length is counted, so it is neither negative nor a fraction.
fn is_no_length(end: &Expr, errors: &Errors) -> bool {
    let wrong = match Literal::of(end) {
        Some(Literal::Number(number)) => number < 0.0 || number.fract() != 0.0,
        Some(_) => true,
        None => false,
    };
    if wrong {
        errors.over(end, "a length is counted; write a whole number, 0 or more");
    }
    wrong
}

/// A literal value against the limits beside it.
fn within(arg: &ArgAttr, name: &str, value: &Expr, errors: &Errors) {
    let Some(literal) = Literal::of(value) else { return };
    let outside = |key, range: &ExprRange| {
        let range = written(key, range);
        errors.over(value, format_args!("{name} is outside of its own {range}"));
    };
    if let Some(range) = &arg.range
        && literal
            .number()
            .is_some_and(|number| !Limits::of(&range.value).hold(number))
    {
        outside("range", &range.value);
    }
    if let (Some(length), Literal::Text(text)) = (&arg.length, &literal) {
        #[allow(clippy::cast_precision_loss, reason = "no literal is that long")]
        if !Limits::of(&length.value).hold(text.chars().count() as f64) {
            outside("length", &length.value);
        }
    }
    if let (Some(_), Literal::Text(text)) = (&arg.not_blank, &literal)
        && text.trim().is_empty()
    {
        errors.over(
            value,
            format_args!("{name} is blank, and `not_blank` refuses that"),
        );
    }
}

fn among(arg: &ArgAttr, name: &str, value: &Expr, errors: &Errors) {
    let (Some(values), Some(literal)) = (&arg.values, Literal::of(value)) else {
        return;
    };
    let known: Option<Vec<Literal>> = values.value.elems.iter().map(Literal::of).collect();
    if known.is_some_and(|known| !known.contains(&literal)) {
        errors.over(value, format_args!("{name} is outside of its own `values`"));
    }
}

/// An end that is an integer, where the other is a float.
fn beside_a_float(range: &ExprRange) -> Option<(&Expr, &LitInt)> {
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

fn written(key: &str, range: &ExprRange) -> String {
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
    Text(String),
    Truth(bool),
}

impl Literal {
    fn of(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Lit(lit) => match &lit.lit {
                Lit::Int(int) => int.base10_digits().parse().ok().map(Self::Number),
                Lit::Float(float) => float.base10_digits().parse().ok().map(Self::Number),
                Lit::Str(text) => Some(Self::Text(text.value())),
                Lit::Bool(truth) => Some(Self::Truth(truth.value)),
                _ => None,
            },
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => Self::of(&unary.expr)?
                .number()
                .map(|number| Self::Number(-number)),
            Expr::Paren(paren) => Self::of(&paren.expr),
            Expr::Group(group) => Self::of(&group.expr),
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

/// The literal ends of a range; an end that is no literal limits nothing here.
struct Limits {
    least: Option<f64>,
    most: Option<f64>,
    most_included: bool,
}

impl Limits {
    fn of(range: &ExprRange) -> Self {
        let end = |end: &Option<Box<Expr>>| end.as_deref().and_then(Literal::of)?.number();
        Self {
            least: end(&range.start),
            most: end(&range.end),
            most_included: matches!(range.limits, RangeLimits::Closed(_)),
        }
    }

    fn hold(&self, number: f64) -> bool {
        self.least.is_none_or(|least| least <= number)
            && self
                .most
                .is_none_or(|most| number < most || (self.most_included && number <= most))
    }

    /// Whether both ends are one value.
    fn meet(&self) -> bool {
        self.least.is_some() && self.least == self.most
    }

    /// `least`: what no value is below anyway.
    fn are_empty(&self, least: f64) -> bool {
        match (self.least.unwrap_or(least), self.most) {
            (least, Some(most)) => most < least || (most <= least && !self.most_included),
            _ => false,
        }
    }
}
