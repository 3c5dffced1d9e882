//! [`RedisAddress`]: the servers of a store, parsed from a URL.

use std::fmt;
use std::str::FromStr;

/// Default port of a server.
const PORT: u16 = 6379;

/// Address of Redis: `redis://user@host:6379/0`, `rediss://` with TLS, or `redis+cluster://host,host`. The user, the port and the number of
/// the database are optional. A password is not part of the address.
///
/// ```
/// use tool_gateway::session::redis::RedisAddress;
///
/// let address: RedisAddress = "rediss://gateway@redis.internal/1".parse()?;
/// assert_eq!(address.to_string(), "redis.internal:6379");
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedisAddress {
    pub(super) hosts: Vec<Host>,
    pub(super) user: Option<String>,
    pub(super) database: i64,
    pub(super) has_tls: bool,
    pub(super) is_cluster: bool,
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) port: u16,
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || {
            format!(
                "invalid host and port `{text}`; expected HOST or HOST:PORT, with an IPv6 address in brackets"
            )
        };
        let (name, port) = match text.rsplit_once(':') {
            // The colons of an IPv6 address are inside brackets.
            Some((name, port)) if !port.ends_with(']') => (name, port.parse().map_err(|_| invalid())?),
            _ => (text, PORT),
        };
        let name = match name.strip_prefix('[').map(|name| name.strip_suffix(']')) {
            Some(name) => name.ok_or_else(invalid)?,
            None => name,
        };
        if name.is_empty() || name.contains(['/', '@', '?', '#', '%', ' ']) {
            return Err(invalid());
        }
        Ok(Self {
            name: name.to_owned(),
            port,
        })
    }
}

impl FromStr for RedisAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text
            .split_once("://")
            .ok_or("expected `redis://HOST:PORT/DATABASE`")?;
        let (has_tls, is_cluster) = match scheme {
            "redis" => (false, false),
            "rediss" => (true, false),
            "redis+cluster" => (false, true),
            "rediss+cluster" => (true, true),
            _ => {
                return Err(
                    "expected `redis://`, `rediss://`, `redis+cluster://` or `rediss+cluster://`".to_owned(),
                );
            }
        };
        let (user, rest) = match rest.rsplit_once('@') {
            Some((user, _)) if user.contains(':') => {
                return Err(
                    "the address has a password, which other users of the machine can read; set `sessions.password_env` to the name of an environment variable with the password".to_owned(),
                );
            }
            Some((user, rest)) => (Some(user.to_owned()).filter(|user| !user.is_empty()), rest),
            None => (None, rest),
        };
        let (hosts, database) = rest.split_once('/').unwrap_or((rest, ""));
        let database = match database {
            "" => 0,
            number => number
                .parse()
                .ok()
                .filter(|number| *number >= 0)
                .ok_or_else(|| format!("expected the number of a database, got `{number}`"))?,
        };
        let hosts = hosts.split(',').map(str::parse).collect::<Result<Vec<_>, _>>()?;
        if hosts.len() > 1 && !is_cluster {
            return Err("expected one host; several hosts of a cluster need `redis+cluster://`".to_owned());
        }
        if database != 0 && is_cluster {
            return Err(format!(
                "a cluster has only the database 0; leave `/{database}` out"
            ));
        }
        Ok(Self {
            hosts,
            user,
            database,
            has_tls,
            is_cluster,
        })
    }
}

impl RedisAddress {
    /// Returns an error for a user without a password: the default user would run the commands.
    pub(crate) fn check_password(&self, has_password: bool) -> Result<(), String> {
        match &self.user {
            Some(user) if !has_password => Err(format!(
                "missing password of the user `{user}`; set `sessions.password_env` to the name of an environment variable with the password"
            )),
            _ => Ok(()),
        }
    }
}

/// Writes the hosts and ports, for the log.
impl fmt::Display for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Host { name, port }) in self.hosts.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            if name.contains(':') {
                write!(f, "{comma}[{name}]:{port}")?;
            } else {
                write!(f, "{comma}{name}:{port}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed_and_shown_with_host_and_port_only() {
        for (text, shown) in [
            ("redis://localhost", "localhost:6379"),
            ("redis://ada@localhost:7000/3", "localhost:7000"),
            ("rediss://@[::1]:7000/", "[::1]:7000"),
            ("redis://[::1]", "[::1]:6379"),
            ("redis+cluster://ada@a,b:1,[::1]:2/0", "a:6379,b:1,[::1]:2"),
            ("rediss+cluster://a", "a:6379"),
        ] {
            assert_eq!(
                text.parse::<RedisAddress>().map(|address| address.to_string()),
                Ok(shown.to_owned())
            );
        }
        let address: RedisAddress = "rediss://ada@localhost:7000/3".parse().unwrap();
        assert_eq!(
            (address.user.as_deref(), address.database, address.has_tls),
            (Some("ada"), 3, true)
        );
    }

    #[test]
    fn rejects_passwords_and_invalid_addresses() {
        let error = |text: &str| text.parse::<RedisAddress>().unwrap_err();
        for password in ["redis://ada:hush@localhost", "rediss://:hush@localhost/1"] {
            let error = error(password);
            assert!(
                error.contains("sessions.password_env") && !error.contains("hush"),
                "{error}"
            );
        }
        for text in [
            "localhost:6379",
            "http://localhost",
            "redis://",
            "redis://localhost:x",
            "redis://localhost:99999",
            "redis://[::1",
            "redis://localhost/x",
            "redis://localhost/-1",
            "redis://a,b",
            "redis+cluster://a/1",
            "redis://localhost?x=1",
        ] {
            error(text);
        }
    }
}
