//! Tools that block their thread: `#[tool(blocking)]`. Effects of stopped tools are tested in `tests/faults/time.rs`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use tool_runtime::result::Failure;
use tool_runtime::{CancellationToken, Context, State, ToolCall, ToolRegistry, tool, tools};

const HOUR: Duration = Duration::from_secs(3600);

/// Count the bytes of a text.
#[tool(blocking, read_only)]
fn count(
    /// The text.
    text: String,
    /// Number to add.
    #[arg(default = 0)]
    add: usize,
    threads: State<Arc<Mutex<Vec<ThreadId>>>>,
) -> Result<usize, String> {
    threads.lock().unwrap().push(thread::current().id());
    if text.is_empty() {
        return Err("there is no text".to_owned());
    }
    Ok(text.len() + add)
}

#[tokio::test]
async fn blocking_tool_runs_on_another_thread() {
    let threads = Arc::new(Mutex::new(Vec::new()));
    let mut registry = ToolRegistry::new().with_state(Arc::clone(&threads));
    registry.register::<count>().unwrap();
    let call = |arguments: &'static str| registry.call(ToolCall::new("toolu_1", "count", arguments));
    let outcome = call(r#"{"text": "four", "add": "2"}"#).await;
    assert_eq!((outcome.result.text(), outcome.warnings.len()), (Some("6"), 1));
    let outcome = call(r#"{"text": ""}"#).await;
    assert_eq!(
        (outcome.result.text(), outcome.failure),
        (Some("there is no text"), Some(Failure::Failed))
    );
    assert_eq!(call("{}").await.failure, Some(Failure::InvalidArguments));
    let threads = threads.lock().unwrap();
    assert_eq!(threads.len(), 2);
    assert!(!threads.contains(&thread::current().id()));
    // The function itself is unchanged.
    assert_eq!(count("a".to_owned(), 1, State::default()), Ok(2));
}

struct Archive {
    pages: Vec<&'static str>,
}

#[tools]
impl Archive {
    /// Read a page.
    #[tool(blocking)]
    fn read_page(
        &self,
        /// The number of the page.
        page: usize,
    ) -> Option<String> {
        self.pages.get(page).map(|page| (*page).to_owned())
    }

    /// Number of pages.
    #[tool(blocking)]
    fn pages(&self) -> usize {
        self.pages.len()
    }
}

#[tokio::test]
async fn methods_may_block() {
    let mut registry = ToolRegistry::new();
    registry.register_all(Archive { pages: vec!["first"] }).unwrap();
    let page = registry
        .execute_tool("toolu_1", "read_page", r#"{"page": 0}"#)
        .await;
    let pages = registry.execute_tool("toolu_2", "pages", "{}").await;
    assert_eq!((page.text(), pages.text()), (Some("first"), Some("1")));
}

/// Panic.
#[tool(blocking)]
fn fall_over() {
    panic!("too heavy");
}

#[tokio::test]
async fn panic_of_a_blocking_tool_is_a_panic() {
    let mut registry = ToolRegistry::new();
    registry.register::<fall_over>().unwrap();
    let outcome = registry.call(ToolCall::new("toolu_1", "fall_over", "{}")).await;
    assert_eq!(outcome.failure, Some(Failure::Panicked));
}

/// Wait until the call is stopped.
#[tool(blocking)]
fn wait(begun: State<mpsc::Sender<()>>, token: CancellationToken) -> &'static str {
    begun.send(()).unwrap();
    while !token.is_cancelled() {
        thread::sleep(Duration::from_millis(1));
    }
    "half of it"
}

#[tokio::test(start_paused = true)]
async fn blocking_tool_may_answer_in_the_grace_period() {
    let (begin, begun) = mpsc::channel::<()>();
    let mut registry = ToolRegistry::new().with_state(begin);
    registry.register::<wait>().unwrap();
    let context = Context::new().with_timeout(HOUR);
    let call = ToolCall::new("toolu_1", "wait", "{}").with_context(context);
    let (outcome, ()) = tokio::join!(registry.call(call), async {
        begun.recv().unwrap();
        // While a thread blocks, the clock does not advance automatically, so the grace period does not end.
        tokio::time::advance(HOUR * 2).await;
    });
    assert_eq!(
        (outcome.result.text(), outcome.failure),
        (Some("half of it"), Some(Failure::TimedOut))
    );
}

type Released = Mutex<mpsc::Receiver<()>>;

/// Hold a thread.
#[tool(blocking)]
fn hold(begun: State<Arc<AtomicUsize>>, released: State<Released>) {
    begun.fetch_add(1, Ordering::SeqCst);
    let _ = released.lock().unwrap().recv();
}

/// A tool that still waits for a free thread when its call is over never runs.
#[test]
fn does_not_run_if_stopped_before_it_has_a_thread() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let begun = Arc::new(AtomicUsize::new(0));
    let (release, released) = mpsc::channel();
    let mut registry = ToolRegistry::new()
        .with_state(Arc::clone(&begun))
        .with_state(Mutex::new(released));
    registry.register::<hold>().unwrap();
    let registry = Arc::new(registry);
    runtime.block_on(async {
        let first = tokio::spawn({
            let registry = Arc::clone(&registry);
            async move { registry.call(ToolCall::new("toolu_1", "hold", "{}")).await }
        });
        while begun.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        let context = Context::new().with_timeout(Duration::from_millis(20));
        let second = ToolCall::new("toolu_2", "hold", "{}").with_context(context);
        let second = registry.call(second).await;
        assert_eq!(second.failure, Some(Failure::TimedOut));
        release.send(()).unwrap();
        assert_eq!(first.await.unwrap().failure, None);
    });
    drop(release);
    // Waits for all threads.
    drop(runtime);
    assert_eq!(begun.load(Ordering::SeqCst), 1);
}
