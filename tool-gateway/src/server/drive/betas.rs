//! Values of `anthropic-beta` that the operator removes from the requests to the upstream.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

const ANTHROPIC_BETA: HeaderName = HeaderName::from_static("anthropic-beta");

/// Removes values, each of which may be in one header with others. The others keep their order.
pub(super) fn remove(headers: &mut HeaderMap, removed: &[String]) {
    if removed.is_empty() || !headers.contains_key(ANTHROPIC_BETA) {
        return;
    }
    let values: Vec<_> = headers.get_all(ANTHROPIC_BETA).iter().cloned().collect();
    headers.remove(ANTHROPIC_BETA);
    for value in values {
        if let Some(rest) = rest(&value, removed) {
            headers.append(ANTHROPIC_BETA, rest);
        }
    }
}

/// Returns a header's value without the removed values; `None` if no value is left.
fn rest(value: &HeaderValue, removed: &[String]) -> Option<HeaderValue> {
    let Ok(text) = value.to_str() else {
        return Some(value.clone());
    };
    let betas = text.split(',').map(str::trim).filter(|beta| !beta.is_empty());
    let rest: Vec<_> = betas
        .filter(|beta| !removed.iter().any(|removed| removed == beta))
        .collect();
    if rest.is_empty() {
        return None;
    }
    Some(HeaderValue::from_str(&rest.join(",")).unwrap_or_else(|_| value.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_values_wherever_they_are() {
        for (sent, expected) in [
            (&["a,b"][..], &["b"][..]),
            (&["b, a ,c"], &["b,c"]),
            (&["a", "b", "c,a"], &["b", "c"]),
            (&["a", " a,a "], &[]),
            (&["ab,b"], &["ab,b"]),
            (&[], &[]),
        ] {
            let mut headers = HeaderMap::new();
            for value in sent {
                headers.append(ANTHROPIC_BETA, value.parse().unwrap());
            }
            remove(&mut headers, &["a".to_owned()]);
            let left: Vec<_> = headers.get_all(ANTHROPIC_BETA).iter().collect();
            assert_eq!(left, expected, "{sent:?}");
        }
    }
}
