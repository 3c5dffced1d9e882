//! Reads of the sample file, of files with one mistake, and of files with many mistakes.

use super::*;
use crate::settings::Settings;

const SAMPLE: &str = include_str!("../../../gateway.toml");

/// Returns the sample file with its examples.
fn with_examples() -> String {
    SAMPLE
        .lines()
        .map(|line| line.strip_prefix("#: ").unwrap_or(line).to_owned() + "\n")
        .collect()
}

fn mistakes(text: &str) -> Vec<(Option<usize>, String)> {
    let file = read::<Settings>(text);
    let mistakes = file.mistakes.into_iter();
    mistakes.map(|mistake| (mistake.line, mistake.message)).collect()
}

#[test]
fn sample_has_the_defaults() {
    let mut file = read::<Settings>(SAMPLE);
    assert_eq!(file.mistakes, []);
    let defaults = Settings::default();
    let upstream = &mut file.settings.upstream;
    assert_eq!(upstream.kind.take(), Some(defaults.upstream.kind()));
    assert_eq!(
        upstream.url.take().as_deref(),
        Some(crate::settings::upstream::DEFAULT_URL)
    );
    assert_eq!(file.settings, defaults);
}

#[test]
fn sample_has_every_key() {
    let mut file = read::<Settings>(&with_examples());
    assert_eq!(file.mistakes, []);
    // A client has one of two keys.
    let clients = std::mem::take(&mut file.settings.clients);
    assert!(clients.iter().any(|client| client.key_sha256.is_some()));
    assert!(clients.iter().any(|client| client.key_env.is_some()));
    let shown = format!("{:?}", file.settings);
    assert!(!shown.contains("None"), "every key has a value: {shown}");
    assert!(!file.settings.permissions.is_empty() && !file.settings.tools.ownership.aliases().is_empty());
}

/// Returns a line of the sample with another key, or with a value of another type.
fn mutated(line: &str, mutation: usize) -> Option<String> {
    let (key, value) = line.split_once(" = ").filter(|_| !line.starts_with('#'))?;
    if value == "[" {
        return None; // The value ends on a later line.
    }
    // Any table is a value of these keys.
    let tables = [
        "extra_body",
        "env",
        "headers",
        "headers_env",
        "headers_from_client",
    ];
    if tables.contains(&key) && mutation > 1 {
        return None;
    }
    let is_number = value.parse::<i64>().is_ok();
    let mutated = match mutation {
        0 => format!("{key}_ = {value}"),
        1 => format!("{key} = 1979-05-27"),
        2 if is_number => format!("{key} = -1"),
        _ => format!("{key} = {{ a = [1] }}"),
    };
    Some(mutated)
}

/// A file with a mistake in each line has the mistakes that each line has alone.
#[test]
fn all_mistakes_are_reported_like_single_mistakes() {
    let text = with_examples();
    let lines: Vec<&str> = text.lines().collect();
    for mutation in 0..4 {
        let mut expected = Vec::new();
        let mut all = String::new();
        for (index, line) in lines.iter().enumerate() {
            // Aliases and tools of clients may have any names.
            let mutated = mutated(line, mutation)
                .filter(|_| mutation != 0 || !line.starts_with("todo_write") && !line.starts_with("Edit"));
            all += mutated.as_deref().unwrap_or(line);
            all.push('\n');
            let Some(mutated) = mutated else { continue };
            let mut alone = lines.clone();
            alone[index] = &mutated;
            let found = mistakes(&alone.join("\n"));
            assert_eq!(found.len(), 1, "{mutated}: {found:?}");
            let (line, message) = &found[0];
            assert_eq!(*line, Some(index + 1), "{mutated}: {message}");
            let key = mutated.split(' ').next().unwrap();
            let (place, _) = message.split_once(": ").unwrap();
            assert!(
                place == key || place.ends_with(&format!(".{key}")),
                "{mutated}: {message}"
            );
            if mutation == 0 {
                let meant = format!("; did you mean `{}`?", key.trim_end_matches('_'));
                assert!(
                    message.contains("unknown key") && message.ends_with(&meant),
                    "{message}"
                );
            }
            for rust in [
                "NonZero",
                "usize",
                "u64",
                "struct ",
                "sequence",
                "map",
                "_SETTINGS",
                "Settings",
            ] {
                assert!(!message.contains(rust), "{message}");
            }
            expected.extend(found);
        }
        let mut found = mistakes(&all);
        found.sort();
        assert!(expected.len() > 20, "{expected:?}");
        assert_eq!(found, expected);
    }
}

#[test]
fn mistakes_in_values_name_line_key_and_expectation() {
    for (text, wanted) in [
        (
            "\nlisten = \"127.0.0.1:1\"\nlimit = 1",
            &[
                "3: limit: unknown key; expected one of `listen`, `base_path`, `allowed_origins`, `store`, `upstream`, `tools`, `client_tools`, `text_calls`, `offload`, `workspace`, `sessions`, `limits`, \
                 `format_fixing`, `metrics`, `mcp`, `clients`, `models`, `permissions`; did you mean `limits`?",
            ][..],
        ),
        (
            "limits.rounds = \"many\"",
            &["1: limits.rounds: invalid value \"many\"; expected an integer of at least 1"],
        ),
        (
            "[limits]\nclient_idle_seconds = 0\nshutdown_seconds = -1\nclient_requests_per_minute = 5_000_000_000",
            &[
                "2: limits.client_idle_seconds: invalid value 0; expected an integer of at least 1",
                "3: limits.shutdown_seconds: invalid value -1; expected an integer of at least 0",
                "4: limits.client_requests_per_minute: invalid value 5000000000; expected an integer from 1 to 4294967295",
            ],
        ),
        (
            "[sessions]\nhours = 1.5",
            &["2: sessions.hours: invalid value 1.5; expected an integer of at least 1"],
        ),
        (
            "\n[clients]\nname = \"ada\"",
            &["2: clients: invalid value a table; expected a list: write [[clients]]"],
        ),
        (
            "[[limits]]\nrounds = 1\n[[limits]]\n",
            &["1: limits: invalid value a list; expected a table"],
        ),
        ("limits = 5", &["1: limits: invalid value 5; expected a table"]),
        (
            "listen = \"8080\"",
            &[
                "1: listen: invalid value \"8080\"; expected an IP address or `localhost`, and a port, such as \"127.0.0.1:8484\"; other names are not looked up",
            ],
        ),
        (
            "store = \"disk\"\ntools.offer = \"alway\"\n",
            &[
                "1: store: expected `memory`, `file:PATH` or `redis://HOST:PORT`",
                "2: tools.offer: invalid value \"alway\"; expected `declared` or `always`; did you mean `always`?",
            ],
        ),
        (
            "tools.offer = 5",
            &["1: tools.offer: invalid value 5; expected a string"],
        ),
        (
            "[tools]\nnames = [\"a\", 1,\n\"b\", 2]\ninternal = \"TodoWrite\"",
            &[
                "2: tools.names: invalid value 1; expected a string",
                "3: tools.names: invalid value 2; expected a string",
                "4: tools.internal: invalid value \"TodoWrite\"; expected a list",
            ],
        ),
    ] {
        assert_reports(text, wanted);
    }
}

#[test]
fn mistakes_of_sections_name_their_lines() {
    for (text, wanted) in [
        // Each client has its own mistakes, and a missing key is reported only for its client.
        (
            "[[clients]]\nname = 1\nkey_env = 2\n[[clients]]\nkey_env = \"ADA\"\n[[clients]]\nnme = \"bob\"",
            &[
                "2: clients.name: invalid value 1; expected a string",
                "3: clients.key_env: invalid value 2; expected a string",
                "4: clients: missing key `name`",
                "7: clients.nme: unknown key; expected one of `name`, `key_sha256`, `key_env`, `tools`; did you mean `name`?",
            ][..],
        ),
        (
            "[[clients]]\nname = \"ada\"\nkey_sha256 = \"secret\"",
            &[
                "3: clients.key_sha256: expected the 64 hexadecimal digits that `printf %s \"$KEY\" | sha256sum` prints",
            ],
        ),
        (
            "[offload]\nthreshold = 9",
            &["1: offload: missing key `directory`"],
        ),
        (
            "[format_fixing]\nenable = true\n\nstrict_validation = \"yes\"\ntarget_tools = \"Edit\"",
            &[
                "2: format_fixing.enable: unknown key; expected one of `enabled`, `target_tools`, `strict_validation`, \
                 `fallback_on_error`, `debug_logging`; did you mean `enabled`?",
                "4: format_fixing.strict_validation: invalid value \"yes\"; expected true or false",
                "5: format_fixing.target_tools: invalid value \"Edit\"; expected a list of tool names, or \"*\" for every tool",
            ],
        ),
        (
            "format_fixing = true",
            &[
                "1: format_fixing: invalid value true; expected a table with the keys `enabled`, `target_tools`, `strict_validation`, \
               `fallback_on_error` and `debug_logging`",
            ],
        ),
        // An unreadable line does not hide other mistakes.
        (
            "listen = \nlimits.rounds = 0\nstore = \"memory\"\nstore = \"memory\"\n",
            &[
                "1: invalid TOML: string values must be quoted, expected literal string",
                "2: limits.rounds: invalid value 0; expected an integer of at least 1",
                "4: invalid TOML: duplicate key `store`",
            ],
        ),
        (
            "[mcp.servers.git]\ncommand = \"a\"\n[mcp.servers.git]\nurl = \"http://localhost/mcp\"\n",
            &["3: invalid TOML: duplicate key `git`"],
        ),
    ] {
        assert_reports(text, wanted);
    }
}

#[track_caller]
fn assert_reports(text: &str, wanted: &[&str]) {
    let found = mistakes(text).into_iter();
    let mut found: Vec<String> = found
        .map(|(line, message)| format!("{}: {message}", line.unwrap()))
        .collect();
    found.sort();
    assert_eq!(found, wanted, "{text}");
}
