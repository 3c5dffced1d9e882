//! Mistakes in a configuration that `tool-gateway serve --check-config` reports.

use crate::program::{Directory, command};

/// Checks a file with this text and these environment variables. Returns the exit status and standard error.
fn check(text: &str, environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let directory = Directory::new();
    let file = directory.file("gateway.toml", text);
    let mut checked = command(&["serve", "--config", &file, "--check-config"]);
    for variable in [
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "TOOL_GATEWAY_CLIENT_KEYS",
    ] {
        checked.env_remove(variable);
    }
    let ran = checked.envs(environment.iter().copied()).output().unwrap();
    (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
}

#[track_caller]
fn is_refused(text: &str, environment: &[(&str, &str)], wanted: &str) {
    let (status, stderr) = check(text, environment);
    assert_eq!(status, Some(2), "{text} {environment:?}: {stderr}");
    assert!(stderr.contains(wanted), "{stderr}\n{wanted}");
}

#[track_caller]
fn is_accepted(text: &str, environment: &[(&str, &str)]) {
    let (status, stderr) = check(text, environment);
    assert_eq!(status, Some(0), "{text} {environment:?}: {stderr}");
}

#[test]
fn invalid_url_of_chat_completions_is_the_only_mistake() {
    let (status, stderr) = check(
        "[upstream]\nkind = \"openai\"\nurl = \"http://localhost:8000/v1\"",
        &[],
    );
    assert_eq!(status, Some(2), "{stderr}");
    assert!(stderr.contains("gateway.toml:3: upstream.url: "), "{stderr}");
    assert!(stderr.contains("remove /v1"), "{stderr}");
    assert!(!stderr.contains("missing"), "{stderr}");
}

#[test]
fn keys_for_chat_completions_are_rejected_with_another_kind() {
    for (line, key) in [
        ("profile = \"vllm\"", "profile"),
        ("quirks.role = \"system\"", "quirks"),
        ("fit_max_tokens = false", "fit_max_tokens"),
        ("pass_client_key = true", "pass_client_key"),
    ] {
        is_refused(
            &format!("[upstream]\nkind = \"anthropic\"\n{line}"),
            &[],
            &format!("gateway.toml:3: upstream.{key}: only for `kind = \"openai\"`"),
        );
        is_accepted(
            &format!("[upstream]\nkind = \"openai\"\nurl = \"http://localhost:8000\"\n{line}"),
            &[],
        );
    }
    is_accepted("upstream.profile = \"auto\"", &[]);
}

#[test]
fn key_variable_that_is_not_set_is_a_warning() {
    let text = "[upstream]\nkind = \"KIND\"\nurl = \"http://localhost:8000\"\nkey_env = \"NO_KEY_IS_HERE\"";
    for kind in ["openai", "anthropic"] {
        let text = text.replace("KIND", kind);
        for (environment, is_warned) in [(&[][..], true), (&[("NO_KEY_IS_HERE", "sk-secret")][..], false)] {
            let (status, stderr) = check(&text, environment);
            assert_eq!(status, Some(0), "{stderr}");
            let is_in_log = stderr.contains("is not set") && stderr.contains("NO_KEY_IS_HERE");
            assert_eq!(is_in_log, is_warned, "{kind}: {stderr}");
            assert!(!stderr.contains("sk-secret"), "{stderr}");
        }
    }
}

#[test]
fn invalid_upstreams_are_rejected_with_their_setting() {
    is_refused(
        "\n[upstream]\nurl = \"api.anthropic.com\"",
        &[],
        "gateway.toml:3: upstream.url: invalid base URL api.anthropic.com: missing scheme; expected for example https://",
    );
    is_refused(
        "listen = \"127.0.0.1:8484\"\n[upstream]\nurl = \"http://localhost:8484\"",
        &[],
        "the upstream http://localhost:8484 is this gateway itself",
    );
    is_refused(
        "",
        &[("ANTHROPIC_BASE_URL", "example.com")],
        "ANTHROPIC_BASE_URL: invalid base URL example.com: missing scheme",
    );
    is_refused(
        "",
        &[("ANTHROPIC_API_KEY", "key\n")],
        "ANTHROPIC_API_KEY: invalid API key: it contains a character that a header cannot have",
    );
    is_accepted("upstream.url = \"http://localhost:8000/prefix\"", &[]);
    // The server is not contacted.
    is_accepted(
        "upstream.kind = \"script\"",
        &[("ANTHROPIC_BASE_URL", "example.com")],
    );
}

#[test]
fn rejects_invalid_and_shared_client_keys() {
    let unsendable = "the client `ada`: the key cannot be sent in a header as it is";
    for key in ["schlüssel", "Bearer key", " key", "k\ney"] {
        let keys = format!("ada={key}");
        is_refused("", &[("TOOL_GATEWAY_CLIENT_KEYS", &keys)], unsendable);
    }
    is_refused(
        "[[clients]]\nname = \"ada\"\nkey_env = \"ADA_KEY\"",
        &[("ADA_KEY", "key\n")],
        unsendable,
    );
    let client =
        |name: &str, digest: &str| format!("[[clients]]\nname = \"{name}\"\nkey_sha256 = \"{digest}\"\n");
    let of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    is_refused(
        &client("ada", of_nothing),
        &[],
        "the client `ada`: key_sha256 is the digest of nothing",
    );
    // SHA-256 of `secret`.
    let digest = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    is_refused(&client("", digest), &[], "a client has no name");
    let same =
        "the clients `ada` and `bob` have the same key, and could not be distinguished; give each its own";
    is_refused(
        &(client("ada", digest) + &client("bob", &digest.to_uppercase())),
        &[],
        same,
    );
    is_refused("", &[("TOOL_GATEWAY_CLIENT_KEYS", "ada=key, bob=key")], same);
    is_refused(
        &client("bob", digest),
        &[("TOOL_GATEWAY_CLIENT_KEYS", "ada=secret")],
        "the clients `bob` and `ada` have the same key",
    );
}

#[test]
fn rejects_unknown_clients_and_tools_of_clients() {
    let ada = "[[clients]]\nname = \"ada\"\nkey_sha256 = \"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\"\n";
    let rule = |client: &str| {
        format!(
            "[[permissions]]\ntool = \"*\"\ndecision = \"deny\"\nclients = [\"{client}\"]\n{ada}tools = [\"TodoRead\"]"
        )
    };
    is_accepted(&rule("ada"), &[]);
    is_refused(
        &rule("eve"),
        &[],
        "gateway.toml:4: permissions.clients: unknown client `eve`; expected the name of a client with a key",
    );
    is_refused(
        &format!("{ada}tools = [\"Todo\"]"),
        &[],
        "gateway.toml:4: clients.tools: there is no tool `Todo`",
    );
    let other = ada.replace("25b", "25c");
    is_refused(
        &format!("{ada}tools = [\"TodoRead\"]\n{other}"),
        &[],
        "the client `ada` has another list of tools above; write the same",
    );
}

#[test]
fn rejects_listeners_and_paths_that_cannot_be_served() {
    for (text, wanted) in [
        (
            "[metrics]\nlisten = \"0.0.0.0:9484\"",
            "gateway.toml:2: metrics.listen: 0.0.0.0:9484 can be reached from other machines without a key",
        ),
        (
            "listen = \"example.com:80\"",
            "expected an IP address or `localhost`, and a port",
        ),
        (
            "base_path = \"llm/\"",
            "gateway.toml:1: base_path: expected a path such as \"/llm\"",
        ),
        (
            "allowed_origins = [\"*\"]",
            "gateway.toml:1: allowed_origins: invalid origin \"*\"",
        ),
    ] {
        is_refused(text, &[], wanted);
    }
    is_accepted(
        "listen = \"localhost:0\"\nbase_path = \"/a/b\"\n[metrics]\nlisten = \"0.0.0.0:9484\"\nany_host = true",
        &[],
    );
}

/// The message may be logged, so it contains no part of the key.
#[test]
fn rejects_keys_where_a_variable_is_named() {
    for section in ["[upstream]", "[[clients]]\nname = \"ada\""] {
        let (status, stderr) = check(&format!("{section}\nkey_env = \"sk-ant-secret\""), &[]);
        assert_eq!(status, Some(2), "{stderr}");
        assert!(
            stderr.contains("key_env: expected the name of an environment variable")
                && !stderr.contains("secret"),
            "{stderr}"
        );
    }
}

/// Without a time at which neither key is accepted.
#[test]
fn a_client_may_have_an_old_key_and_a_new_one() {
    is_accepted("", &[("TOOL_GATEWAY_CLIENT_KEYS", "ada=old,ada=new")]);
}

#[test]
fn calls_in_text_are_configured() {
    let openai = "[upstream]\nkind = \"openai\"\nurl = \"http://localhost:8000\"\n";
    let split = "[text_calls]\nformats = [\"tags\", \"json\"]\nthoughts = \"split\"\n";
    is_accepted(&format!("{openai}{split}"), &[]);
    is_refused(
        split,
        &[],
        "gateway.toml:3: text_calls.thoughts: \"split\" is only for `kind = \"openai\"`",
    );
    is_refused(
        "[text_calls]\nformats = [\"xml\"]",
        &[],
        "unknown format `xml`; expected one of `tags`, `json`, `python`",
    );
    let rule = "[[permissions]]\ntool = \"Todo*\"\nfrom_text = true\ndecision = \"ask\"";
    is_accepted(rule, &[]);
}

/// A rule with a typing error in its pattern would have no effect.
#[test]
fn rejects_rules_about_unknown_tools_with_their_line() {
    let deny = |tool: &str| format!("[[permissions]]\ntool = \"{tool}\"\ndecision = \"deny\"\n");
    is_refused(
        &(deny("Todo*") + &deny("TodoWrit")),
        &[],
        "gateway.toml:5: permissions.tool: no tool of the gateway is called `TodoWrit`, so this rule does nothing; \
         the tools are TodoWrite, TodoRead; did you mean `TodoWrite`?",
    );
    is_refused(
        &deny("todo*"),
        &[],
        "gateway.toml:2: permissions.tool: no tool of the gateway is called `todo*`",
    );
    // The client runs its own tools, and the gateway cannot deny their calls.
    is_refused(
        &deny("Bash"),
        &[],
        "the client's own tools are not the gateway's to permit",
    );
    is_refused(
        &deny("ReadOffloaded"),
        &[],
        "no tool of the gateway is called `ReadOffloaded`",
    );
    is_accepted(
        &format!("[offload]\ndirectory = \"offload\"\n{}", deny("ReadOff*")),
        &[],
    );
    // The last rule may be the only one that matters.
    is_accepted(&format!("tools.names = []\n{}", deny("*")), &[]);
}

#[test]
fn rejects_invalid_keys_and_values_of_format_fixing() {
    is_refused(
        "[format_fixing]\ntarget_tool = [\"Edit\"]",
        &[],
        "gateway.toml:2: format_fixing.target_tool: unknown key; expected one of `enabled`, `target_tools`, `strict_validation`, \
         `fallback_on_error`, `debug_logging`; did you mean `target_tools`?",
    );
    is_refused(
        "[format_fixing]\ntarget_tools = \"Edit\"",
        &[],
        "gateway.toml:2: format_fixing.target_tools: invalid value \"Edit\"; expected a list of tool names, or \"*\" for every tool",
    );
    // The client's tools may have any names.
    is_accepted("[format_fixing]\ntarget_tools = [\"Edit\", \"Bash\"]", &[]);
    is_accepted("format_fixing.target_tools = \"*\"", &[]);
    is_accepted("format_fixing.enabled = false", &[]);
}

#[test]
fn strict_validation_stays_on_before_a_server_of_chat_completions() {
    let warning = "format_fixing.strict_validation = false has no effect before a server of Chat Completions";
    for (kind, is_warned) in [("openai", true), ("anthropic", false)] {
        let text = format!(
            "upstream = {{ kind = \"{kind}\", url = \"http://127.0.0.1:9\" }}\nformat_fixing.strict_validation = false"
        );
        let (status, stderr) = check(&text, &[]);
        assert_eq!(
            (status, stderr.contains(warning)),
            (Some(0), is_warned),
            "{stderr}"
        );
    }
}

#[test]
fn rejects_unknown_tool_names_with_the_nearest_name() {
    is_refused(
        "[tools]\nnames = [\"TodoWrit\"]",
        &[],
        "gateway.toml:2: tools.names: there is no tool `TodoWrit`; the tools are TodoWrite, TodoRead; did you mean `TodoWrite`?",
    );
    is_refused(
        "[tools]\nnames = []\ninternal = [\"TodoWrite\"]",
        &[],
        "gateway.toml:3: tools.internal: there is no tool `TodoWrite`; no tools are registered",
    );
    // The client's tools may have any names, even names that the gateway does not have yet.
    is_accepted("[tools]\nexternal = [\"Bash\"]", &[]);
}

#[test]
fn all_mistakes_are_reported_in_the_order_of_their_lines() {
    let text = r#"
listen = "0.0.0.0:8484"
store = "disk"

[tools]
names = [
    "TodoWrite",
    "TodoRaed",
]
ofer = "always"
internal = ["TodoWrite"]
external = ["TodoWrite"]
alias.list = "TodoRead"

[upstream]
kind = "anthropic"
script = "turns.json"

[limits]
rounds = 0

[[clients]]
name = "ada"
key_env = "TOOL_GATEWAY_NO_SUCH_KEY"
key_sha256 = "secret"

[[clients]]
name = "bob"
key_env = "TOOL_GATEWAY_NO_SUCH_KEY"

[[permissions]]
tool = "Bash"
decision = "deny"
"#;
    let (status, stderr) = check(text, &[("ANTHROPIC_API_KEY", "key\n")]);
    assert_eq!(status, Some(2), "{stderr}");
    let mut lines = stderr.lines();
    assert_eq!(
        lines.next(),
        Some("error: 12 mistakes in the configuration"),
        "{stderr}"
    );
    for wanted in [
        "gateway.toml:3: store: expected `memory`, `file:PATH` or `redis://HOST:PORT`",
        "gateway.toml:8: tools.names: there is no tool `TodoRaed`; the tools are TodoWrite, TodoRead; did you mean `TodoRead`?",
        "gateway.toml:10: tools.ofer: unknown key; expected one of `names`, `offer`, `ownership`, `internal`, `external`, \
         `deferred`, `alias`, `bash`; did you mean `offer`?",
        "gateway.toml:12: tools.external: `TodoWrite` is in `internal`, too; leave it out of one of the two",
        "gateway.toml:13: tools.alias.list: there is no tool `TodoRead`; the tools are TodoWrite",
        "gateway.toml:17: upstream.script: only for `kind = \"script\"`; leave one of the two out",
        "gateway.toml:20: limits.rounds: invalid value 0; expected an integer of at least 1",
        "gateway.toml:24: clients.key_env: the key of the client `ada` is not set: put it into the environment as ",
        "gateway.toml:25: clients.key_sha256: expected the 64 hexadecimal digits that `printf %s \"$KEY\" | sha256sum` prints",
        "gateway.toml:29: clients.key_env: the key of the client `bob` is not set: put it into the environment as ",
        "gateway.toml:32: permissions.tool: no tool of the gateway is called `Bash`, so this rule does nothing; ",
        "ANTHROPIC_API_KEY: invalid API key: it contains a character that a header cannot have",
    ] {
        let line = lines.next().unwrap();
        let line = line
            .split_once("/gateway.toml")
            .map_or(line.to_owned(), |(_, rest)| format!("gateway.toml{rest}"));
        assert!(line.starts_with(wanted), "{line}\n{wanted}");
    }
    assert_eq!(lines.next(), None, "{stderr}");
}

const SECRET: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[cfg(feature = "redis")]
#[test]
fn rejects_invalid_addresses_of_redis_with_the_form_that_is_expected() {
    for (address, wanted) in [
        (
            "redis://ada:hush@localhost",
            "the address has a password, which other users of the machine can read; set `sessions.password_env` to the name of an \
             environment variable with the password",
        ),
        (
            "redis://ada@localhost",
            "missing password of the user `ada`; set `sessions.password_env` to the name of an environment variable with the password",
        ),
        (
            "redis://a,b",
            "expected one host; several hosts of a cluster need `redis+cluster://`",
        ),
        (
            "redis+cluster://a,b/1",
            "a cluster has only the database 0; leave `/1` out",
        ),
        (
            "redis://localhost/x",
            "expected the number of a database, got `x`",
        ),
        (
            "redis://localhost:x",
            "invalid host and port `localhost:x`; expected HOST or HOST:PORT, with an IPv6 address in brackets",
        ),
        ("redis:localhost", "expected `redis://HOST:PORT/DATABASE`"),
    ] {
        is_refused(
            &format!("\nstore = \"{address}\""),
            &[],
            &format!("gateway.toml:2: store: {wanted}"),
        );
        let directory = Directory::new();
        let file = directory.file("gateway.toml", "");
        let ran = command(&["serve", "--config", &file, "--check-config", "--store", address]).output();
        let ran = ran.unwrap();
        let stderr = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(&format!("--store: {wanted}")), "{stderr}");
        assert!(!stderr.contains("hush"), "{stderr}");
    }
    for address in [
        "redis://localhost",
        "rediss://[::1]:7000/3",
        "redis+cluster://a,b:7000",
        "rediss+cluster://a",
    ] {
        // Redis is not asked: nothing listens at these addresses.
        is_accepted(&format!("store = \"{address}\""), &[]);
    }
}

#[cfg(feature = "redis")]
#[test]
fn variables_of_a_store_in_redis_are_checked() {
    let text = |lines: &str| format!("store = \"redis://ada@localhost\"\n[sessions]\n{lines}");
    for (lines, value, wanted) in [
        (
            "password_env = \"STORE_VARIABLE\"",
            "",
            "password_env: the variable STORE_VARIABLE is not set; put the password of Redis into it, or leave the key out",
        ),
        (
            "secret_env = \"STORE_VARIABLE\"",
            "",
            "secret_env: the variable STORE_VARIABLE is not set; put 64 hexadecimal digits, as `openssl rand -hex 32` prints, into it",
        ),
        (
            "secret_env = \"STORE_VARIABLE\"",
            "hush",
            "secret_env: expected 64 hexadecimal digits, as `openssl rand -hex 32` prints, in the variable STORE_VARIABLE",
        ),
        (
            "encryption_key_env = \"STORE_VARIABLE\"",
            &SECRET[1..],
            "encryption_key_env: expected 64 hexadecimal digits, as `openssl rand -hex 32` prints, in the variable STORE_VARIABLE",
        ),
        (
            "encryption_key_env = \"a3a3a3a3a3a3a3a3a3a3a3a3a3a3\"",
            "",
            "encryption_key_env: expected the name of an environment variable",
        ),
        (
            "wait_replicas = -1",
            "",
            "wait_replicas: invalid value -1; expected an integer from 0 to 4294967295",
        ),
        (
            "join_seconds = -1",
            "",
            "join_seconds: invalid value -1; expected an integer of at least 0",
        ),
        (
            "mb = 512",
            "",
            "mb: a store in Redis has the size that `maxmemory` of Redis allows; leave the key out",
        ),
    ] {
        let (status, stderr) = check(&text(lines), &[("STORE_VARIABLE", value)]);
        assert_eq!(status, Some(2), "{lines}: {stderr}");
        assert!(
            stderr.contains(&format!("gateway.toml:3: sessions.{wanted}")),
            "{stderr}\n{wanted}"
        );
        assert!(!stderr.contains("hush") && !stderr.contains("a3a3"), "{stderr}");
    }
    is_accepted(
        &text(
            "password_env = \"STORE_PASSWORD\"\nsecret_env = \"STORE_SECRET\"\nencryption_key_env = \"STORE_SECRET\"\nwait_replicas = 1\njoin_seconds = 0",
        ),
        &[("STORE_PASSWORD", "hush"), ("STORE_SECRET", SECRET)],
    );
}

#[test]
fn keys_of_a_store_in_redis_are_rejected_with_another_store() {
    for store in ["memory", "file:sessions"] {
        for line in [
            "password_env = \"STORE_VARIABLE\"",
            "secret_env = \"STORE_VARIABLE\"",
            "encryption_key_env = \"STORE_VARIABLE\"",
            "wait_replicas = 1",
        ] {
            let key = line.split(' ').next().unwrap();
            is_refused(
                &format!("store = \"{store}\"\n[sessions]\n{line}"),
                &[("STORE_VARIABLE", SECRET)],
                &format!(
                    "gateway.toml:3: sessions.{key}: only for a store in Redis; leave the key out, or set `store = \"redis://HOST:PORT\"`"
                ),
            );
        }
    }
}

/// A session may move to a gateway without the files.
#[cfg(feature = "redis")]
#[test]
fn directories_beside_a_store_in_redis_must_be_shared() {
    let folder = Directory::new();
    let folder = folder.path().display();
    for (section, key) in [("offload", "directory"), ("workspace", "root")] {
        let text = format!("store = \"redis://localhost\"\n[{section}]\n{key} = \"{folder}\"");
        let (status, stderr) = check(&text, &[]);
        assert_eq!(status, Some(2), "{stderr}");
        for wanted in [
            format!("gateway.toml:3: {section}.{key}: several gateways use the store"),
            format!("set `shared = true` in [{section}]"),
        ] {
            assert!(stderr.contains(&wanted), "{stderr}\n{wanted}");
        }
        is_accepted(&format!("{text}\nshared = true"), &[]);
        // The option sets the store in place of the file.
        let directory = Directory::new();
        let file = directory.file("gateway.toml", format!("[{section}]\n{key} = \"{folder}\""));
        let arguments = [
            "serve",
            "--config",
            &file,
            "--check-config",
            "--store",
            "redis://localhost",
        ];
        let ran = command(&arguments).output().unwrap();
        assert_eq!(ran.status.code(), Some(2));
    }
}

#[cfg(not(feature = "redis"))]
#[test]
fn store_in_redis_needs_the_feature() {
    for address in [
        "redis://localhost",
        "rediss://localhost",
        "redis+cluster://localhost",
    ] {
        is_refused(
            &format!("store = \"{address}\""),
            &[],
            "gateway.toml:1: store: this program was built without the feature `redis`; build it with `--features redis`",
        );
    }
}

#[cfg(feature = "redis")]
#[test]
fn deployed_configuration_is_valid() {
    let text = include_str!("../../deploy/gateway.toml");
    is_accepted(
        text,
        &[
            ("REDIS_PASSWORD", "hush"),
            ("TOOL_GATEWAY_CLIENT_KEYS", "ada=a-key-of-ada"),
        ],
    );
}
