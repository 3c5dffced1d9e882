//! `Mailbox` of RFC 5321: an email address of ASCII characters.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Returns whether a text is an address: a local part, `@`, and a domain or an address in brackets.
pub(super) fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    is_local_part(local) && (is_domain(domain) || is_address_literal(domain))
}

/// Returns whether a text is a dot-string, or a quoted string of printable characters.
fn is_local_part(local: &str) -> bool {
    let quoted = local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let is_valid = match quoted {
        Some(quoted) => is_quoted(quoted.as_bytes()),
        None => local.split('.').all(is_atom),
    };
    is_valid && local.len() <= MAX_LOCAL_PART
}

fn is_atom(atom: &str) -> bool {
    !atom.is_empty()
        && atom
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || SPECIAL.contains(&byte))
}

/// Characters of an `atom` besides letters and digits.
const SPECIAL: &[u8] = b"!#$%&'*+-/=?^_`{|}~";

fn is_quoted(mut text: &[u8]) -> bool {
    loop {
        text = match text {
            [] => return true,
            [b'\\', b' '..=b'~', rest @ ..] => rest,
            [byte @ b' '..=b'~', rest @ ..] if !matches!(byte, b'"' | b'\\') => rest,
            _ => return false,
        };
    }
}

/// Returns whether a text consists of labels of letters, digits and hyphens, separated by dots.
fn is_domain(domain: &str) -> bool {
    let is_label = |label: &str| {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        (1..=MAX_LABEL).contains(&label.len())
            && label.bytes().all(is_allowed)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    domain.len() <= MAX_DOMAIN && domain.split('.').all(is_label)
}

/// Returns whether a text is `[192.0.2.1]` or `[IPv6:2001:db8::1]`.
fn is_address_literal(domain: &str) -> bool {
    let inner = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.is_some_and(|address| match address.split_at_checked(TAG.len()) {
        Some((tag, address)) if tag.eq_ignore_ascii_case(TAG) => address.parse::<Ipv6Addr>().is_ok(),
        _ => address.parse::<Ipv4Addr>().is_ok(),
    })
}

const TAG: &str = "IPv6:";

/// Limits of RFC 5321 and RFC 1035.
const MAX_LOCAL_PART: usize = 64;
const MAX_DOMAIN: usize = 255;
const MAX_LABEL: usize = 63;

#[cfg(test)]
mod tests {
    use super::is_email;

    #[test]
    fn accepts_addresses_with_a_local_part_and_a_domain() {
        for text in [
            "a@b",
            "a.b+c@example.org",
            "\"a b\\\"c\"@example.org",
            "a@[192.0.2.1]",
            "a@[ipv6:::1]",
            "\"@\"@a-b.c",
        ] {
            assert!(is_email(text), "{text}");
        }
        let long = format!("{}@b", "a".repeat(65));
        for text in [
            "",
            "@",
            "a@",
            "@b",
            "a b@c",
            "a@b@c",
            "a@-b",
            "a@b-",
            "a@b..c",
            "a@b.",
            "a@[::1]",
            "a@[192.0.2]",
            "\"a\"b\"@c",
            "Name <a@b>",
            "a@b ",
            "é@b",
            &long,
        ] {
            assert!(!is_email(text), "{text}");
        }
    }
}
