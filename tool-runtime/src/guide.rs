#![doc = include_str!("docs/guide_links.md")]
#![doc = ""]
#![doc = include_str!("docs/guide/README.md")]
//!
//! Items: [`#[tool]`](macro@crate::tool) with every key, [`ToolRegistry`](crate::ToolRegistry) with every method.

// The pages are in docs/guide/ of the repository; this file makes a module of each. Their blocks are tests.

/// Makes a module of each page; links to the items of the page follow it.
macro_rules! chapters {
    ($($(#[$items:meta])* $name:ident $page:literal,)*) => {$(
        #[doc = include_str!("docs/guide_links.md")]
        #[doc = ""]
        #[doc = include_str!($page)]
        #[doc = ""]
        $(#[$items])*
        pub mod $name {}
    )*};
}

chapters! {
    /// Items: [`ToolRegistry::call`](crate::ToolRegistry::call).
    _1_first_tool "docs/guide/01_first_tool.md",
    /// Items: [`#[tool]`](macro@crate::tool), [`Patch`](crate::Patch).
    _2_arguments "docs/guide/02_arguments.md",
    /// Items: [`Issue`](crate::Issue), [`Policy`](crate::Policy),
    /// [`ToolRegistry::with_warnings_in_results`](crate::ToolRegistry::with_warnings_in_results).
    _3_sloppy_calls "docs/guide/03_sloppy_calls.md",
    /// Items: [`Structured`](crate::Structured), [`ToolDefinition::output_schema`](crate::ToolDefinition::output_schema),
    /// [`ToolError::retry`](crate::ToolError::retry), [`ToolError`](crate::ToolError),
    /// [`ToolOutput::with_structured`](crate::ToolOutput::with_structured), [`ToolOutput`](crate::ToolOutput),
    /// [`result::Failure::Retryable`](crate::result::Failure::Retryable), [`result::Failure`](crate::result::Failure),
    /// [`schemars::JsonSchema`], [`testing`](crate::testing).
    _4_answers "docs/guide/04_answers.md",
    /// Items: [`#functions-that-block`](#functions-that-block), [`CancellationToken`](crate::CancellationToken),
    /// [`Context::deadline`](crate::Context::deadline), [`Context::progress`](crate::Context::progress),
    /// [`Context::with_deadline`](crate::Context::with_deadline),
    /// [`Context::with_extension`](crate::Context::with_extension),
    /// [`Context::with_progress`](crate::Context::with_progress), [`Context::with_timeout`](crate::Context::with_timeout),
    /// [`Context`](crate::Context), [`Extension`](crate::Extension), [`Progress`](crate::Progress),
    /// [`SessionState`](crate::SessionState), [`State`](crate::State),
    /// [`ToolCall::with_context`](crate::ToolCall::with_context),
    /// [`ToolRegistry::set_timeout`](crate::ToolRegistry::set_timeout),
    /// [`ToolRegistry::with_state`](crate::ToolRegistry::with_state),
    /// [`permission::Permission`](crate::permission::Permission).
    _5_host "docs/guide/05_host.md",
    /// Items: [`ToolRegistry::nest`](crate::ToolRegistry::nest), [`tool_set`](crate::tool_set).
    _6_family "docs/guide/06_family.md",
    /// Items: [`#filters`](#filters), [`#the-order-of-layers`](#the-order-of-layers),
    /// [`Context::with_session`](crate::Context::with_session), [`ToolCall::definition`](crate::ToolCall::definition),
    /// [`ToolCall::prepare`](crate::ToolCall::prepare), [`ToolCall`](crate::ToolCall), [`ToolOutcome`](crate::ToolOutcome),
    /// [`ToolRegistry::layer_tool`](crate::ToolRegistry::layer_tool), [`ToolRegistry::merge`](crate::ToolRegistry::merge),
    /// [`ToolRegistry::nest`](crate::ToolRegistry::nest), [`ToolRegistry::prepare`](crate::ToolRegistry::prepare),
    /// [`permission::AllowRules`](crate::permission::AllowRules),
    /// [`permission::Permission::by_hints`](crate::permission::Permission::by_hints),
    /// [`permission::PermissionRequest::rule_for_call`](crate::permission::PermissionRequest::rule_for_call),
    /// [`permission::PermissionRequest::rule_for_tool`](crate::permission::PermissionRequest::rule_for_tool),
    /// [`permission::Permission`](crate::permission::Permission).
    _7_layers "docs/guide/07_layers.md",
    /// Items: [`ToolRegistry::with_max_concurrency`](crate::ToolRegistry::with_max_concurrency),
    /// [`format::anthropic::ResponseReader`](crate::format::anthropic::ResponseReader),
    /// [`format::anthropic::Response`](crate::format::anthropic::Response).
    _8_a_turn "docs/guide/08_a_turn.md",
    /// Items: [`format::mcp::output`](crate::format::mcp::output),
    /// [`format::openai::chat::Response`](crate::format::openai::chat::Response), [`format`](mod@crate::format).
    _9_formats "docs/guide/09_formats.md",
    /// Items: [`ToolRegistry::register_source`](crate::ToolRegistry::register_source),
    /// [`ToolRegistry::set_policy`](crate::ToolRegistry::set_policy),
    /// [`ToolRegistry::set_timeout`](crate::ToolRegistry::set_timeout),
    /// [`ToolRegistry::with_schema_corrections`](crate::ToolRegistry::with_schema_corrections),
    /// [`format::mcp::output`](crate::format::mcp::output).
    _10_dynamic "docs/guide/10_dynamic.md",
    /// Items: [`Context`](crate::Context), [`ToolCall`](crate::ToolCall), [`ToolOutcome::notes`](crate::ToolOutcome::notes),
    /// [`assert_definitions`](crate::assert_definitions),
    /// [`testing::CallAssert::assert_notes`](crate::testing::CallAssert::assert_notes),
    /// [`testing::CallAssert::assert_structured`](crate::testing::CallAssert::assert_structured),
    /// [`testing::run_call`](crate::testing::run_call), [`testing::run_in`](crate::testing::run_in),
    /// [`testing::run`](crate::testing::run).
    _11_testing "docs/guide/11_testing.md",
    _12_expansion "docs/guide/12_expansion.md",
    /// Items: [`repair::stream::RepairedStream`](crate::repair::stream::RepairedStream),
    /// [`repair::stream::StreamRepairer`](crate::repair::stream::StreamRepairer), [`repair`](mod@crate::repair).
    _13_repair "docs/guide/13_repair.md",
    /// Items: [`SessionState::lock`](crate::SessionState::lock), [`SessionStateStore`](crate::SessionStateStore),
    /// [`SessionState`](crate::SessionState), [`State`](crate::State),
    /// [`ToolRegistry::remove_session`](crate::ToolRegistry::remove_session),
    /// [`permission::AllowRules`](crate::permission::AllowRules).
    _14_sessions "docs/guide/14_sessions.md",
    /// Items: [`State`](crate::State), [`permission::Permission`](crate::permission::Permission).
    _15_machine "docs/guide/15_machine.md",
}
