/// Compile a crate.
#[allow(clippy::too_many_lines)]
#[tool]
#[tracing::instrument(skip_all)]
#[cfg_attr(docsrs, doc(cfg(feature = "compiler")))]
#[cfg(all(feature = "compiler", not(windows)))]
#[deprecated = "use `check`"]
pub async fn compile(
    /// Its name.
    #[allow(unused_variables)]
    #[arg(not_blank)]
    name: String,
) -> Answer {
    //! Inside.
    build(&name)
}
