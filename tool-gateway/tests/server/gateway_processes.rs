//! Gateways in processes over one Redis, for the tests of `two_processes`.
//!
//! A process is this program, started again. It runs the same test up to the lab whose gateway is needed, and serves this gateway there, so that a
//! test configures its gateways by functions. The upstream and the list of calls stay with the first process.

use std::cell::Cell;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderValue, Request, Response};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tool_gateway::Gateway;
use tool_gateway::session::redis::RedisStore;
use tool_gateway::upstream::{AnthropicUpstream, Upstream as _};

use crate::lab::{Lab, Runs, registry};
use crate::protocol::Scripted;
use crate::redis_server::{RedisReply, RedisServer};
use crate::test_script::TestScript;

/// Environment variable with the settings of a process.
const SETTINGS: &str = "TOOL_GATEWAY_SERVER_TEST_PROCESS";

/// Test whose process serves the gateway of most tests.
const DEFAULT: &str = "two_processes::serves";

/// Factor of all times in these tests: messages between processes take longer than calls of functions.
const SLOWNESS: u64 = 4;

#[derive(Serialize, Deserialize)]
struct ProcessSettings {
    /// Number of the lab in its test; `None` for the gateway of most tests.
    lab: Option<usize>,
    redis: String,
    upstream: String,
    runs: PathBuf,
}

thread_local! {
    /// Number of labs in processes that the test has built. Each test has a thread.
    static LABS: Cell<usize> = const { Cell::new(0) };
}

static FILES: AtomicU32 = AtomicU32::new(0);

/// Returns whether the running test is one of `two_processes`. The test harness names the thread of a test after the test.
pub(crate) fn has_two_processes() -> bool {
    let thread = std::thread::current();
    thread
        .name()
        .is_some_and(|name| name.starts_with("two_processes::"))
}

/// Returns the milliseconds of a call or a pause in a test.
pub(crate) fn scaled(milliseconds: u64) -> u64 {
    milliseconds * if has_two_processes() { SLOWNESS } else { 1 }
}

/// Returns the settings of this process if it was started for a gateway.
fn settings() -> Option<ProcessSettings> {
    let settings = std::env::var(SETTINGS).ok()?;
    Some(serde_json::from_str(&settings).unwrap())
}

/// Starts a server for the gateways of a test in `two_processes`; `None` in other tests, in the processes of the gateways, and without a server.
pub(crate) fn redis() -> Option<Arc<RedisServer>> {
    if !has_two_processes() || settings().is_some() {
        return None;
    }
    Some(Arc::new(RedisServer::start()?))
}

/// Builds a lab whose gateway is in this number of processes. In such a process, the gateway is built and served, and the function does not
/// return. The function is returned if the gateway is needed in this process.
pub(crate) fn lab<G>(
    script: &TestScript,
    redis: Option<Arc<RedisServer>>,
    count: usize,
    gateway: G,
) -> Result<Lab, G>
where
    G: FnOnce(&Runs, Scripted) -> Gateway,
{
    if !has_two_processes() {
        return Err(gateway);
    }
    let number = LABS.replace(LABS.get() + 1);
    match (settings(), redis) {
        (Some(settings), _) if settings.lab == Some(number) => serve(&settings, gateway),
        (None, Some(redis)) => {
            let test = std::thread::current().name().unwrap().to_owned();
            Ok(start(&test, Some(number), script, redis, count))
        }
        _ => Err(gateway),
    }
}

/// Builds a lab whose gateways have no settings.
pub(crate) fn default_lab(script: &TestScript, redis: Arc<RedisServer>, count: usize) -> Lab {
    start(DEFAULT, None, script, redis, count)
}

/// Serves the gateway of most tests if this process was started for it.
pub(crate) fn serve_default() {
    if let Some(settings) = settings() {
        serve(&settings, |runs, upstream| {
            Gateway::new(registry(runs), upstream)
                .with_deferred(["later"])
                .unwrap()
        });
    }
}

/// Serves a gateway until the first process ends.
#[allow(clippy::print_stdout, reason = "the first process reads the address there")]
fn serve(settings: &ProcessSettings, gateway: impl FnOnce(&Runs, Scripted) -> Gateway) -> ! {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.unwrap();
    let upstream = AnthropicUpstream::new(&settings.upstream, None).unwrap();
    let store = RedisStore::new(&settings.redis.parse().unwrap(), None).unwrap();
    let gateway = gateway(
        &Runs::in_file(settings.runs.clone()),
        Scripted::Server(Box::new(upstream)),
    );
    // The test may be inside of a runtime with a paused clock.
    std::thread::spawn(move || {
        runtime.block_on(async move {
            store.connect().await.unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            println!("\nlistening on {}", listener.local_addr().unwrap());
            let router = gateway.with_store(store).router();
            axum::serve(listener, router).await.unwrap();
        });
    });
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    std::process::exit(0);
}

/// The processes of a lab, which are killed on drop.
struct GatewayProcesses {
    children: Vec<Child>,
    addresses: Vec<SocketAddr>,
    redis: Arc<RedisServer>,
}

impl Drop for GatewayProcesses {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        // The leases of killed processes end at once, in place of 15 seconds later, so that a test of many crashes is quick.
        if let RedisReply::List(keys) = self.redis.run(&["KEYS", "tg1:*:R:*:*"]) {
            for key in &keys {
                self.redis.run(&["HSET", key.text(), "until", "0"]);
            }
        }
    }
}

fn start(test: &str, lab: Option<usize>, script: &TestScript, redis: Arc<RedisServer>, count: usize) -> Lab {
    crate::subscriber::keep();
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let runs = std::env::temp_dir().join(format!("tool-gateway-runs-{}-{number}", std::process::id()));
    let settings = ProcessSettings {
        lab,
        redis: redis.url(),
        upstream: serve_script(script.clone()),
        runs: runs.clone(),
    };
    let settings = serde_json::to_string(&settings).unwrap();
    let (children, addresses) = (0..count).map(|_| spawn(test, &settings)).unzip();
    let processes = Arc::new(GatewayProcesses {
        children,
        addresses,
        redis,
    });
    resume_time();
    let requests = Arc::<AtomicUsize>::default();
    let app = Router::new().fallback(move |request: Request<Body>| {
        let number = requests.fetch_add(1, Ordering::Relaxed);
        let processes = Arc::clone(&processes);
        async move { forward(processes.addresses[number % processes.addresses.len()], request).await }
    });
    Lab {
        app,
        script: script.clone(),
        runs: Runs::in_file(runs),
    }
}

fn spawn(test: &str, settings: &str) -> (Child, SocketAddr) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--quiet"])
        .env(SETTINGS, settings)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let mut lines = stdout.lines().map_while(Result::ok);
    let address = lines.find_map(|line| Some(line.split_once("listening on ")?.1.to_owned()));
    let address = address.unwrap_or_else(|| panic!("the process of {test} does not serve"));
    std::thread::spawn(move || lines.for_each(drop));
    (child, address.parse().unwrap())
}

/// Resumes a paused clock: processes have no common clock.
fn resume_time() {
    let now = tokio::time::Instant::now();
    std::thread::sleep(Duration::from_millis(2));
    if tokio::time::Instant::now() == now {
        tokio::time::resume();
    }
}

/// Serves a script over HTTP, until this process ends. Returns the URL.
fn serve_script(script: TestScript) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(move |request: Request<Body>| {
        let script = script.clone();
        async move {
            let (head, body) = request.into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap();
            let answer = script.send(Request::from_parts(head, body)).await;
            answer.unwrap_or_else(|error| failed(&error))
        }
    });
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    std::thread::spawn(move || {
        runtime.block_on(async {
            let listener = TcpListener::from_std(listener).unwrap();
            axum::serve(listener, router).await.unwrap();
        });
    });
    url
}

fn failed(error: &impl ToString) -> Response<Body> {
    Response::builder()
        .status(502)
        .body(Body::from(error.to_string()))
        .unwrap()
}

/// Sends a request to a process. The connection ends with the body of the response.
async fn forward(address: SocketAddr, mut request: Request<Body>) -> Response<Body> {
    let Ok(stream) = TcpStream::connect(address).await else {
        return failed(&"no process");
    };
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let host = HeaderValue::from_str(&address.to_string()).unwrap();
    request.headers_mut().insert("host", host);
    match sender.send_request(request).await {
        Ok(response) => response.map(Body::new),
        Err(error) => failed(&error),
    }
}
