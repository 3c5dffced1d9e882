//! Ends the commands of sessions that have ended.

use std::sync::Arc;
use std::time::Duration;

use crate::server::http::running_turns::Turns;
use crate::session::record::SessionId;
use crate::session::store::{Reach, SessionStore};
use crate::settings::bash::Commands;

/// Time between two sweeps, unless sessions expire sooner.
const MAX_INTERVAL: Duration = Duration::from_secs(5 * 60);
const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// Time after which the outputs of a session are removed that the store does not know.
const MAX_IDLE: Duration = Duration::from_secs(60 * 60);

/// Ends the commands of sessions that are not in the store and have no turn, at intervals. A store of several gateways looks up sessions by
/// their client, and has no sessions of MCP clients: the commands of such sessions end after 30 minutes, and their outputs are removed an
/// hour after the last call.
pub(super) async fn sweep(commands: Commands, store: Arc<dyn SessionStore>, turns: &Turns) {
    let interval = (store.ttl() / 4).clamp(MIN_INTERVAL, MAX_INTERVAL);
    let is_shared = store.reach() == Reach::Shared;
    loop {
        tokio::time::sleep(interval).await;
        let idle = commands.idle_sessions(MAX_IDLE);
        for id in commands.sessions() {
            let session = SessionId::parse(&id).filter(|_| !is_shared);
            let Some(session) = session else {
                if idle.contains(&id) {
                    commands.end_session(&id).await;
                }
                continue;
            };
            if turns.has_active(&session) {
                continue;
            }
            match store.has_session(None, &session).await {
                // A turn may have begun meanwhile.
                Ok(false) if !turns.has_active(&session) => {
                    tracing::debug!(%session, "the commands of an ended session are ended");
                    commands.end_session(&id).await;
                }
                Ok(_) => {}
                // The commands end after 30 minutes, even if the store never works again.
                Err(error) => tracing::warn!(%error, "sessions with commands could not be checked"),
            }
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use axum::body::Body;
    use axum::http::Request;
    use serde_json::json;
    use tool_runtime::{Context, ToolCall, ToolRegistry};
    use tower::ServiceExt as _;

    use super::*;
    use crate::Gateway;
    use crate::session::memory::MemoryStore;
    use crate::session::tests::{Folder, save, turn};
    use crate::settings::bash::{BashSettings, SandboxName};
    use crate::settings::mistakes::Mistakes;
    use crate::upstream::script::ScriptUpstream;

    /// A session is in the store, another has its first turn, and a third has neither.
    #[tokio::test(start_paused = true)]
    async fn commands_end_with_their_session() {
        let folder = Folder::new("command-sessions");
        std::fs::create_dir(&folder.0).unwrap();
        let settings = BashSettings {
            enabled: true,
            allow_root: true,
            sandbox: SandboxName::Off,
            network: false,
        };
        let commands = settings.open(Some(&folder.0), true, &mut Mistakes::default());
        let commands = commands.unwrap();
        let registry = commands.install(ToolRegistry::new()).unwrap();
        let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());

        let (stored, ended) = (SessionId::random(), SessionId::random());
        save(&*store, turn("1", stored.as_str(), "point")).await;
        for session in [&stored, &ended] {
            let arguments = json!({ "command": "sleep 3600", "run_in_background": true });
            let call = ToolCall::new("toolu_1", "Bash", arguments)
                .with_context(Context::new().with_session(session.as_str()));
            let outcome = registry.call(call).await;
            assert!(!outcome.result.is_error, "{:?}", outcome.result);
        }
        let call = json!({ "type": "tool_use", "name": "Bash", "input": { "command": "sleep 3600", "timeout": 600_000 } });
        let script = json!({ "turns": [{ "content": [call] }] }).to_string();
        let gateway = Gateway::new(registry, ScriptUpstream::from_json(&script).unwrap());
        let gateway = gateway.with_shared_store(Arc::clone(&store));
        let turns = gateway.turns();
        let body = json!({
            "model": "m", "max_tokens": 9, "tools": [{ "name": "Bash" }],
            "messages": [{ "role": "user", "content": "Hi" }],
        });
        let request = Request::post("/v1/messages").body(Body::from(body.to_string()));
        let running = tokio::spawn(gateway.router().oneshot(request.unwrap()));
        let sessions = async |count| {
            while commands.sessions().len() != count {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            commands.sessions()
        };
        sessions(3).await;

        let swept = commands.clone();
        let sweep = tokio::spawn(async move { sweep(swept, store, &turns).await });
        let left = sessions(2).await;
        assert!(left.contains(&stored.to_string()) && !left.contains(&ended.to_string()));
        // The command of the running turn has a limit of ten minutes.
        tokio::time::sleep(MAX_INTERVAL / 2).await;
        assert_eq!(commands.sessions().len(), 2);
        assert!(!running.is_finished());
        sweep.abort();
        running.abort();
        let _ = tokio::task::spawn_blocking(move || commands.end()).await;
    }
}
