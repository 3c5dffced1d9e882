//! Offloads the results of a turn. The settings are in [`Offload`](crate::settings::offload::Offload).

mod owner;
pub(crate) mod sweep;

use tool_builtins::offload::WithoutOffload;
use tool_runtime::Context;

use crate::server::turns::job::Job;
use crate::server::turns::shared::Shared;
use crate::session::store::Reach;
use crate::settings::offload::READ_OFFLOADED;

/// Records the client of a session with offloaded files, for the removal of the files: a store of several gateways looks up sessions by their
/// client.
pub(crate) async fn record_client(shared: &Shared, job: &Job) {
    let Some(directory) = shared.offload_directory() else {
        return;
    };
    if shared.store.reach() != Reach::Shared {
        return;
    }
    let (directory, client) = (directory.join(job.session.to_string()), job.client.digest);
    if let Err(error) = sweep::on_disk(move || owner::record(&directory, client)).await {
        tracing::warn!(session = %job.session, %error, "offloaded files will not be removed with their session");
    }
}

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
