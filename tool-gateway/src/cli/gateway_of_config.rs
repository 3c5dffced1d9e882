//! From the configuration to a gateway: its tools, its upstream, its settings, its store.

use std::env;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tool_cli::Failure;
use tool_runtime::ToolRegistry;
use tool_runtime::permission::{Decision, Permission, PermissionRequest};

use crate::cli::config::{
    Config, DecisionName, OffloadConfig, OwnershipRule, PermissionConfig, SessionsConfig,
};
use crate::cli::server_options::{OfferName, ServeOptions, StoreName, UpstreamKind};
use crate::cli::tools;
use crate::server::access::unknown_tool::UnknownTool;
use crate::server::http::gateway::Gateway;
use crate::server::offload::{InvalidOffload, Offload};
use crate::session::file::FileStore;
use crate::session::memory::MemoryStore;
use crate::session::store::StoreError;
use crate::turn::ownership::{Offer, Ownership};
use crate::upstream::anthropic::AnthropicUpstream;
use crate::upstream::script::ScriptUpstream;

/// The tools of the program, or those that were named, after the rules about calls.
pub(super) fn registry(config: &Config, options: &ServeOptions) -> Result<ToolRegistry, Failure> {
    let mut registry = tools::loaded()?;
    if let Some(names) = &config.tools.names {
        let setting = options.internal.as_ref().map_or("tools.names", |_| "--internal");
        UnknownTool::check(&registry, names.iter().map(String::as_str))
            .map_err(|error| Failure::Message(format!("{setting}: {error}")))?;
        registry = registry.subset(names);
    }
    if config.permissions.is_empty() {
        return Ok(registry);
    }
    let rules = Arc::new(config.permissions.clone());
    Ok(registry.layer(Permission::new(move |request: PermissionRequest| {
        let rules = Arc::clone(&rules);
        async move { decide(&rules, request.definition().name.as_str()) }
    })))
}

/// What the first rule that matches says.
fn decide(rules: &[PermissionConfig], tool: &str) -> Decision {
    match rules.iter().find(|rule| rule.matches(tool)) {
        None => Decision::Allow,
        Some(rule) => match rule.decision {
            DecisionName::Allow => Decision::Allow,
            DecisionName::Deny => Decision::Deny(rule.message.clone().unwrap_or_default()),
            DecisionName::Ask => Decision::Interrupt,
        },
    }
}

/// What is asked.
fn upstream_kind(config: &Config) -> Result<UpstreamKind, Failure> {
    let upstream = &config.upstream;
    match (upstream.kind, &upstream.script) {
        (Some(UpstreamKind::Anthropic), Some(_)) => Err(Failure::Message(
            "upstream.script is for upstream.kind = \"script\"; leave one of the two out".to_owned(),
        )),
        (Some(kind), _) => Ok(kind),
        (None, Some(_)) => Ok(UpstreamKind::Script),
        (None, None) => Ok(UpstreamKind::Anthropic),
    }
}

/// The script that answers instead of a server, if one does.
pub(super) fn script(config: &Config) -> Result<Option<ScriptUpstream>, Failure> {
    if upstream_kind(config)? == UpstreamKind::Anthropic {
        return Ok(None);
    }
    match &config.upstream.script {
        Some(file) => ScriptUpstream::from_file(file)
            .map(Some)
            .map_err(|error| Failure::Message(error.to_string())),
        None => Ok(Some(ScriptUpstream::embedded())),
    }
}

/// The server to ask. An error names the setting that its address or its key comes from.
pub(super) async fn anthropic(
    config: &Config,
    options: &ServeOptions,
    listen: SocketAddr,
) -> Result<AnthropicUpstream, Failure> {
    let from_environment = env::var("ANTHROPIC_BASE_URL").ok().filter(|url| !url.is_empty());
    let (setting, url) = match (&config.upstream.url, from_environment) {
        (Some(url), _) if options.upstream.is_some() => ("--upstream", url.clone()),
        (Some(url), _) => ("upstream.url", url.clone()),
        (None, Some(url)) => ("ANTHROPIC_BASE_URL", url),
        (None, None) => ("upstream.url", "https://api.anthropic.com".to_owned()),
    };
    AnthropicUpstream::check(&url).map_err(|error| Failure::Message(format!("{setting}: {error}")))?;
    let variable = config.upstream.key_env.as_deref().unwrap_or("ANTHROPIC_API_KEY");
    let key = env::var(variable)
        .ok()
        .filter(|key| !key.is_empty())
        .map(SecretString::from);
    let upstream = AnthropicUpstream::new(&url, key)
        .map_err(|error| Failure::Message(format!("{variable}: {error}")))?;
    if upstream.connects_to(listen).await {
        return Err(Failure::Message(format!(
            "the upstream {url} is this gateway itself, which would ask itself for ever (clients set ANTHROPIC_BASE_URL, too); \
             name another with --upstream"
        )));
    }
    Ok(upstream)
}

/// A gateway with what the configuration says of turns.
pub(super) fn configured(mut gateway: Gateway, config: &Config) -> Result<Gateway, Failure> {
    if let Some(OffloadConfig {
        directory,
        threshold,
        exclude,
    }) = &config.offload
    {
        let mut offload = Offload::new(directory).excluding(exclude);
        if let Some(characters) = threshold {
            offload = offload.with_threshold(*characters);
        }
        gateway = gateway.with_offload(offload).map_err(|error| {
            let key = match error {
                InvalidOffload::UnknownTool(_) => "offload.exclude",
                InvalidOffload::Directory(_) | InvalidOffload::Registry(_) => "offload",
            };
            Failure::Message(format!("{key}: {error}"))
        })?;
    }
    let names = gateway.tool_names();
    config
        .permissions
        .iter()
        .try_for_each(|rule| rule.check(&names))?;
    let (tools, limits) = (&config.tools, &config.limits);
    let ownership = match tools.ownership {
        OwnershipRule::BySchema => Ownership::by_schema(),
        OwnershipRule::ByName => Ownership::by_name(),
    };
    let ownership = ownership
        .with_internal(&tools.internal)
        .with_external(&tools.external);
    let with_alias =
        |ownership: Ownership, (declared, own): (&String, &String)| ownership.with_alias(declared, own);
    let unknown = |key: &'static str| move |error: UnknownTool| Failure::Message(format!("{key}: {error}"));
    let mut gateway = gateway
        .with_ownership(tools.alias.iter().fold(ownership, with_alias))
        .map_err(unknown("tools.internal or tools.alias"))?
        .with_deferred(tools.deferred.iter().map(String::as_str))
        .map_err(unknown("tools.deferred"))?
        .with_offer(match tools.offer {
            None | Some(OfferName::Declared) => Offer::Declared,
            Some(OfferName::Always) => Offer::Always,
        });
    if let Some(rounds) = limits.rounds {
        gateway = gateway.with_max_rounds(rounds.get());
    }
    if let Some(seconds) = limits.seconds {
        gateway = gateway.with_max_time(Duration::from_secs(seconds.get()));
    }
    if let Some(tokens) = limits.tokens {
        gateway = gateway.with_max_tokens(tokens.get());
    }
    gateway = gateway
        .with_format_fixing(config.format_fixing.clone())
        .with_client_idle(limits.client_idle());
    if let Some(seconds) = limits.upstream_idle_seconds {
        gateway = gateway.with_upstream_idle(Duration::from_secs(seconds.get()));
    }
    if let Some(requests) = limits.client_concurrency {
        gateway = gateway.with_client_concurrency(requests.get());
    }
    if let Some(requests) = limits.client_requests_per_minute {
        gateway = gateway.with_client_rate(requests.get());
    }
    if let Some(megabytes) = limits.body_mb {
        gateway = gateway.with_max_body(megabytes.get().saturating_mul(1 << 20));
    }
    Ok(gateway)
}

/// Gives a gateway the store of the configuration.
pub(super) fn with_store(gateway: Gateway, config: &Config) -> Result<Gateway, Failure> {
    let SessionsConfig {
        hours,
        mb,
        client_turns,
    } = config.sessions;
    let ttl = hours.map(|hours| Duration::from_secs(hours.get().saturating_mul(3600)));
    let bytes = mb.map(|mb| mb.get().saturating_mul(1 << 20));
    let Some(StoreName::File(path)) = &config.store else {
        let mut store = MemoryStore::new();
        store = ttl.into_iter().fold(store, MemoryStore::with_ttl);
        if let Some(bytes) = bytes {
            store = store.with_max_bytes(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
        if let Some(turns) = client_turns {
            store = store.with_max_turns_per_client(usize::try_from(turns.get()).unwrap_or(usize::MAX));
        }
        return Ok(gateway.with_store(store));
    };
    let opened = FileStore::open(path);
    let mut store = opened.map_err(|StoreError(error)| Failure::Message(format!("--store: {error}")))?;
    store = ttl.into_iter().fold(store, FileStore::with_ttl);
    store = bytes.into_iter().fold(store, FileStore::with_max_bytes);
    if let Some(turns) = client_turns {
        store = store.with_max_turns_per_client(turns.get());
    }
    Ok(gateway.with_store(store))
}
