//! Benchmark of rmcp. Its `ToolRouter` needs a `RequestContext`, which a server creates for each request.

use std::hint::black_box;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::{tool::ToolCallContext, wrapper::Parameters};
use rmcp::model::{CallToolRequestParams, CallToolResponse, NumberOrString};
use rmcp::service::{Peer, RequestContext, RoleServer, RunningService, serve_directly};
use rmcp::{ServerHandler, tool, tool_router};
use serde_json::{Map, Value};

use crate::row::{BATCH, Row, again, each_with, runtime};
use crate::task::{JSON, answer, hundred, yes};

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub struct Args {
    /// Glob pattern.
    pattern: String,
    /// Whether case matters.
    #[serde(default = "yes")]
    case_sensitive: bool,
    /// The most results to return.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 10_000))]
    max_results: i64,
}

#[derive(Clone)]
pub struct Files;

#[tool_router(vis = "pub")]
impl Files {
    /// Search files in the project.
    #[tool]
    pub async fn search_files(&self, Parameters(args): Parameters<Args>) -> String {
        answer(&args.pattern, args.case_sensitive, args.max_results)
    }

    /// Panic.
    #[tool]
    async fn explode(&self) -> String {
        panic!("intended panic")
    }
}

impl ServerHandler for Files {}

/// Tool router, and the running service whose peer every `RequestContext` refers to.
pub struct Served {
    router: ToolRouter<Files>,
    peer: Peer<RoleServer>,
    _running: RunningService<RoleServer, Files>,
}

impl Served {
    pub fn new() -> Self {
        let runtime = runtime();
        let _inside = runtime.enter();
        let (here, _there) = tokio::io::duplex(4096);
        let running = serve_directly::<RoleServer, _, _, _, _>(Files, tokio::io::split(here), None);
        Self {
            router: Files::tool_router(),
            peer: running.peer().clone(),
            _running: running,
        }
    }

    pub async fn call(&self, arguments: Map<String, Value>) -> CallToolResponse {
        self.call_tool("search_files", arguments).await.unwrap()
    }

    async fn call_tool(
        &self,
        name: &'static str,
        arguments: Map<String, Value>,
    ) -> Result<CallToolResponse, rmcp::ErrorData> {
        let request = CallToolRequestParams::new(black_box(name)).with_arguments(arguments);
        let context = RequestContext::new(NumberOrString::Number(1), self.peer.clone());
        let call = ToolCallContext::new(&Files, request, context);
        self.router.call(call).await
    }
}

pub fn row() -> Row {
    let Value::Object(map) = serde_json::from_str(JSON).unwrap() else {
        unreachable!("the arguments are an object");
    };
    let (by_text, by_value) = (Served::new(), Served::new());
    Row {
        name: "rmcp 3.9.0",
        from_text: again(async move || by_text.call(serde_json::from_str(black_box(JSON)).unwrap()).await),
        from_value: each_with(
            BATCH,
            move || map.clone(),
            async move |map| by_value.call(map).await,
        ),
        conversions: [
            "text parsed into a `Map`, the context of a request made",
            "the context of a request made",
        ],
    }
}

/// Returns the answer to a call. The transport would serialize it.
pub fn ask(name: &'static str, text: &str) -> String {
    let Ok(arguments) = serde_json::from_str(text) else {
        return "the transport parses the text".to_owned();
    };
    let answer = runtime().block_on(Served::new().call_tool(name, arguments));
    format!("{answer:?}")
}

/// Returns the effect of a second tool with an equal name.
pub fn register_twice() -> String {
    let router = Files::tool_router() + Files::tool_router();
    format!("no error; 4 tools became {}", router.list_all().len())
}
