//! Values as they are written in attributes, made into the parameter's type.

use std::borrow::Cow;
use std::path::PathBuf;

/// From what is written in `default`, `values` or `example` to the parameter's type.
///
/// `Into` would not do: `100.into()` is no `u32`.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` does not fit a parameter of type `{T}`",
    label = "expected `{T}`",
    note = "write a value of that type: `1.0` for a float, `\"..\"` for a text, `Name::Variant` for an enum, `[a, b]` for a list, `Type::from(..)` for much else"
)]
pub trait Fits<T> {
    /// Converts.
    fn fit(self) -> T;
}

#[diagnostic::do_not_recommend]
impl<T> Fits<T> for T {
    fn fit(self) -> T {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<T> Fits<Option<T>> for T {
    fn fit(self) -> Option<T> {
        Some(self)
    }
}

macro_rules! texts {
    ($($text:ty,)*) => {
        $(#[diagnostic::do_not_recommend]
        impl Fits<$text> for &str {
            fn fit(self) -> $text {
                self.to_owned().into()
            }
        }

        #[diagnostic::do_not_recommend]
        impl Fits<Option<$text>> for &str {
            fn fit(self) -> Option<$text> {
                Some(self.fit())
            }
        })*
    };
}

texts!(String, Box<str>, Cow<'static, str>, PathBuf,);

#[diagnostic::do_not_recommend]
impl<T, V: Fits<T>, const N: usize> Fits<Vec<T>> for [V; N] {
    fn fit(self) -> Vec<T> {
        self.map(Fits::fit).into()
    }
}

#[diagnostic::do_not_recommend]
impl<T, V: Fits<T>, const N: usize> Fits<Option<Vec<T>>> for [V; N] {
    fn fit(self) -> Option<Vec<T>> {
        Some(self.fit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fit_whatever_holds_text() {
        let (boxed, cow): (Box<str>, Cow<'static, str>) = ("a".fit(), "a".fit());
        assert_eq!((&*boxed, &*cow), ("a", "a"));
        let (path, paths): (Option<PathBuf>, Vec<PathBuf>) = ("src".fit(), ["src", "tests"].fit());
        assert_eq!(path.as_deref(), paths.first().map(PathBuf::as_path));
    }
}
