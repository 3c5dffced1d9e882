//! [`OffloadLayer`]: offloads tool results that are too long for the model.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tool_runtime::result::Content;
use tool_runtime::{Context as CallContext, ToolCall, ToolOutcome, ToolResult};
use tower_layer::Layer;
use tower_service::Service;

use super::deadline_writer::DeadlineWriter;
use super::function::{OffloadError, OffloadOptions, put, put_new};
use super::local::LocalWriter;
use super::read_back;
use super::writer::{FileWriter, Writer};

/// A layer that offloads each result whose content has at least [`threshold`](Self::with_threshold) characters. Content
/// blocks are measured as compact JSON. The results of failed calls are offloaded, too.
///
/// Images are content blocks, and the model does not see an offloaded image. Register tools that return images for the
/// model in a registry without this layer.
///
/// A file contains only the tool's content: [notes](ToolOutcome::notes) remain in the result after the pointer.
///
/// Files are in the directory of the call's session ([`Context::session`](tool_runtime::Context::session)); the
/// `session_id` of the options applies to calls without a session.
///
/// After a failed write, the result is unchanged, and a warning is logged with [`tracing`]. A panic of the writer is a
/// failed write, and so is a write that does not end before the call's deadline or cancellation. Without a deadline, the
/// time of a write is not limited.
///
/// **No file is overwritten**: a file has the name of its `tool_use_id`, and a later result with the same id in the
/// session gets a number (`call_0.md`, `call_0-2.md`), since earlier messages still point to the first file. Some
/// servers repeat ids in every turn. [`overwriting`](Self::overwriting) changes this.
///
/// The model reads a file with [`read_offloaded`](super::read_offloaded()), if the registry has that tool, or with
/// another tool. Results of `ReadOffloaded` under any prefix, results of the tools in [`excluding`](Self::excluding),
/// and results of calls with [`WithoutOffload`] are never offloaded.
///
/// ```
/// use tool_builtins::offload::{OffloadLayer, OffloadOptions};
/// use tool_runtime::ToolRegistry;
///
/// let options = OffloadOptions::new("no-session", ".offload");
/// let registry = ToolRegistry::new().layer(OffloadLayer::new(options).with_threshold(4000));
/// # let _ = registry;
/// ```
#[derive(Debug, Clone)]
pub struct OffloadLayer {
    options: OffloadOptions,
    writer: Writer,
    threshold: usize,
    overwrites: bool,
    excluded: Arc<BTreeSet<String>>,
}

impl OffloadLayer {
    /// Creates a layer that offloads results of 1000 characters or more to local files.
    pub fn new(options: OffloadOptions) -> Self {
        Self {
            options,
            writer: Writer::new(LocalWriter),
            threshold: THRESHOLD,
            overwrites: false,
            excluded: Arc::default(),
        }
    }

    /// Sets the minimum number of characters of offloaded results.
    #[must_use]
    pub fn with_threshold(mut self, characters: usize) -> Self {
        self.threshold = characters;
        self
    }

    /// Sets the writer of the contents, in place of local files.
    #[must_use]
    pub fn with_writer(mut self, writer: impl FileWriter) -> Self {
        self.writer = Writer::new(writer);
        self
    }

    /// Keeps a single file for each id, always `<tool_use_id>.md`: a later result overwrites the earlier one.
    #[must_use]
    pub fn overwriting(mut self) -> Self {
        self.overwrites = true;
        self
    }

    /// Excludes the results of these tools from offloading. An example is a tool that reads files, whose result would be
    /// written to another file. A tool of a nested registry is named as the model names it, or by its name in the registry of
    /// this layer.
    ///
    /// ```
    /// use tool_builtins::offload::{OffloadLayer, OffloadOptions};
    ///
    /// let layer = OffloadLayer::new(OffloadOptions::new("no-session", ".offload")).excluding(["Read", "Grep"]);
    /// # let _ = layer;
    /// ```
    #[must_use]
    pub fn excluding<N: Into<String>>(mut self, tools: impl IntoIterator<Item = N>) -> Self {
        Arc::make_mut(&mut self.excluded).extend(tools.into_iter().map(Into::into));
        self
    }

    fn applies_to(&self, call: &ToolCall) -> bool {
        let names = [call.qualified_name(), &call.name];
        // The name is compared first, since `is_call_of` builds the declaration of the function.
        let reads_back =
            call.name.ends_with(read_back::NAME) && call.is_call_of::<read_back::read_offloaded>();
        !reads_back
            && !names.iter().any(|name| self.excluded.contains(*name))
            && call.context.extension::<WithoutOffload>().is_none()
    }

    /// Replaces the content of a result that is too long.
    async fn shorten(&self, result: &mut ToolResult, context: CallContext) -> Result<(), OffloadError> {
        let text = match &result.content {
            Content::Text(text) => Cow::Borrowed(text.as_str()),
            // Blocks are JSON values, so their serialization cannot fail.
            Content::Blocks(blocks) => Cow::Owned(serde_json::to_string(blocks).unwrap_or_default()),
        };
        if text.chars().count() < self.threshold {
            return Ok(());
        }
        let mut options = self.options.clone();
        if let Some(session) = context.session() {
            session.clone_into(&mut options.session_id);
        }
        let writer = DeadlineWriter {
            writer: self.writer.clone(),
            context,
        };
        let id = &result.tool_use_id;
        let pointer = if self.overwrites {
            put(&text, id, &options, &writer).await?
        } else {
            put_new(&text, id, &options, &writer).await?
        };
        result.content = Content::Text(pointer.text);
        Ok(())
    }
}

impl<S> Layer<S> for OffloadLayer {
    type Service = Offloading<S>;

    fn layer(&self, inner: S) -> Offloading<S> {
        Offloading {
            inner,
            layer: self.clone(),
        }
    }
}

/// Extension of a call's [`Context`](tool_runtime::Context) that excludes the call from offloading, for example if the model
/// has no tool to read the file.
///
/// ```
/// use tool_builtins::offload::WithoutOffload;
/// use tool_runtime::{Context, ToolCall};
///
/// let call = ToolCall::new("toolu_1", "catalogue", "{}").with_context(Context::new().with_extension(WithoutOffload));
/// # let _ = call;
/// ```
#[derive(Debug, Clone, Copy)]
pub struct WithoutOffload;

/// A service inside an [`OffloadLayer`].
#[derive(Debug, Clone)]
pub struct Offloading<S> {
    inner: S,
    layer: OffloadLayer,
}

impl<S> Service<ToolCall> for Offloading<S>
where
    S: Service<ToolCall, Response = ToolOutcome>,
    S::Future: Send + 'static,
{
    type Response = ToolOutcome;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<ToolOutcome, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, call: ToolCall) -> Self::Future {
        let layer = self.layer.clone();
        let context = call.context.clone();
        let applies = layer.applies_to(&call);
        let answer = self.inner.call(call);
        Box::pin(async move {
            let mut outcome = answer.await?;
            if !applies {
                return Ok(outcome);
            }
            if let Err(error) = layer.shorten(&mut outcome.result, context).await {
                tracing::warn!(
                    gen_ai.tool.call.id = %outcome.result.tool_use_id,
                    error = %error,
                    "a long result was not offloaded and is returned unchanged",
                );
            }
            Ok(outcome)
        })
    }
}

/// Default threshold in characters (R-OFF-5, R-OFF-26).
const THRESHOLD: usize = 1000;
