//! Offloads the results of a turn. The settings are in [`Offload`](crate::settings::offload::Offload).

pub(crate) mod sweep;

use tool_builtins::offload::WithoutOffload;
use tool_runtime::Context;

use crate::server::turns::job::Job;
use crate::server::turns::shared::Shared;
use crate::settings::offload::READ_OFFLOADED;

/// Creates the context of a turn's calls. If `ReadOffloaded` is an external tool in this request, no result is offloaded, since the model
/// could not read the file.
pub(crate) fn context(shared: &Shared, job: &Job) -> Context {
    let context = Context::new()
        .with_session(job.session.to_string())
        .with_extension(job.client.principal.clone());
    let context = shared.mcp.with_request_headers(context, &job.parts.headers);
    let mut tools = job.tools.internal.iter();
    let is_readable = tools.any(|name| shared.settings.tools.ownership.internal_name(name) == READ_OFFLOADED);
    if shared.settings.offload.is_none() || is_readable {
        return context;
    }
    context.with_extension(WithoutOffload)
}
