#[tool(name = "send mail", timeout = "soon", idempotnt)]
async fn send(
    /// To whom, judged by the compiler.
    to: Address,
    text: String,
    /// A reference.
    subject: &'a str,
    #[arg(rnge = 1..)] copies: u8,
    outbox: State<Outbox>,
) {
}
