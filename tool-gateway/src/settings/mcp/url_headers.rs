//! Headers of the requests to a server at a URL: configured, from the environment, and from the request of the client.

use std::collections::BTreeMap;
use std::fmt;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;

use crate::settings::variable_name::VariableName;

/// Headers with their values, which are often secrets.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>")]
pub(super) struct ConfiguredHeaders(pub(super) BTreeMap<String, String>);

impl TryFrom<BTreeMap<String, String>> for ConfiguredHeaders {
    type Error = String;

    fn try_from(headers: BTreeMap<String, String>) -> Result<Self, String> {
        names(headers.keys())?;
        match headers
            .iter()
            .find(|(_, value)| HeaderValue::from_str(value).is_err())
        {
            // The value may be a secret.
            Some((name, _)) => Err(format!("invalid value of the header `{name}`")),
            None => Ok(Self(headers)),
        }
    }
}

impl fmt::Debug for ConfiguredHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Headers with the variables that have their values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "BTreeMap<String, VariableName>")]
pub(super) struct HeaderVariables(pub(super) BTreeMap<String, VariableName>);

impl TryFrom<BTreeMap<String, VariableName>> for HeaderVariables {
    type Error = String;

    fn try_from(headers: BTreeMap<String, VariableName>) -> Result<Self, String> {
        names(headers.keys())?;
        Ok(Self(headers))
    }
}

/// Headers of each call, with the headers of the client's request that have their values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>")]
pub(super) struct HeadersFromClient(Vec<(HeaderName, HeaderName)>);

impl TryFrom<BTreeMap<String, String>> for HeadersFromClient {
    type Error = String;

    fn try_from(headers: BTreeMap<String, String>) -> Result<Self, String> {
        names(headers.keys())?;
        names(headers.values())?;
        let headers = headers.iter();
        let headers = headers.filter_map(|(name, source)| Some((name.parse().ok()?, source.parse().ok()?)));
        Ok(Self(headers.collect()))
    }
}

impl HeadersFromClient {
    /// Returns the headers of a client's request that are needed.
    pub(super) fn sources(&self) -> impl Iterator<Item = &HeaderName> {
        self.0.iter().map(|(_, source)| source)
    }

    /// Adds the headers of a call, as credentials.
    ///
    /// # Errors
    ///
    /// Returns the name of a header that the client's request does not have.
    pub(super) fn insert(&self, request: &HeaderMap, headers: &mut HeaderMap) -> Result<(), String> {
        for (name, source) in &self.0 {
            let value = request.get(source);
            let mut value = value
                .cloned()
                .ok_or_else(|| format!("missing header `{source}` in the request of the client"))?;
            value.set_sensitive(true);
            headers.insert(name.clone(), value);
        }
        Ok(())
    }
}

/// Checks the names of headers. The parser's form of a date, which is no table, has an invalid name, too.
fn names<'n>(mut names: impl Iterator<Item = &'n String>) -> Result<(), String> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let is_name = |name: &String| !name.is_empty() && name.bytes().all(is_word);
    if names.all(is_name) {
        return Ok(());
    }
    Err("expected a table with names of headers".to_owned())
}

/// Headers of the client's request for the calls of MCP servers at URLs. They live as long as the request's calls.
#[derive(Clone)]
pub(crate) struct RequestHeaders {
    /// Headers that go along with every call.
    pub(crate) all: HeaderMap,
    /// Values of the headers that settings name.
    pub(crate) named: HeaderMap,
}

impl fmt::Debug for RequestHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<_> = self.named.keys().collect();
        f.debug_struct("RequestHeaders")
            .field("all", &self.all)
            .field("named", &named)
            .finish()
    }
}
