//! Parameters of type [`String`]: they accept every string, so an owned string can be moved into the parameter.

use std::any::Any;

/// Returns an empty string, if `T` is [`String`].
#[inline]
pub(crate) fn empty_string<T: 'static>() -> Option<T> {
    let mut empty: Option<T> = None;
    if let Some(text) = (&mut empty as &mut dyn Any).downcast_mut() {
        *text = Some(String::new());
    }
    empty
}

/// Returns the value as a string, if `T` is [`String`].
#[inline]
pub(crate) fn as_string_mut<T: 'static>(value: &mut T) -> Option<&mut String> {
    (value as &mut dyn Any).downcast_mut()
}

#[cfg(test)]
mod tests {
    use super::{as_string_mut, empty_string};

    #[test]
    fn only_string_is_a_string() {
        assert_eq!(empty_string(), Some(String::new()));
        assert_eq!(empty_string::<Option<String>>(), None);
        assert_eq!(empty_string::<Box<str>>(), None);
        assert_eq!(
            as_string_mut(&mut String::from("a")),
            Some(&mut String::from("a"))
        );
        assert_eq!(as_string_mut(&mut Some(String::from("a"))), None);
    }
}
