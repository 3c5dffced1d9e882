//! Addresses to listen on.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

use serde::Deserializer;
use serde::de::{Unexpected, Visitor};

/// Deserializes an optional address with a port.
pub(super) fn some_address<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SocketAddr>, D::Error> {
    address(deserializer).map(Some)
}

/// Expected form of an address to listen on.
pub(super) const ADDRESS: &str =
    "an IP address or `localhost`, and a port, such as \"127.0.0.1:8484\"; other names are not looked up";

/// Parses an address with a port; `localhost` is 127.0.0.1.
pub(super) fn parse_address(text: &str) -> Option<SocketAddr> {
    if let Some(("localhost", port)) = text.split_once(':') {
        let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|_| is_number)?;
        return Some((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse().ok()
}

/// Deserializes an address with a port, see [`parse_address`].
pub(super) fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    struct Address;

    impl Visitor<'_> for Address {
        type Value = SocketAddr;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(ADDRESS)
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<SocketAddr, E> {
            parse_address(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
        }
    }

    deserializer.deserialize_str(Address)
}
