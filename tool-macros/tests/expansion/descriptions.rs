/// Send a message.
///
/// - At most one a minute.
///   Others are refused.
#[doc = include_str!("limits.md")]
#[tool]
async fn send(
    #[doc = concat!("Up to ", 200, " characters.")]
    text: String,
    /** Who
     * gets it.
     */
    to: String,
) {
}
