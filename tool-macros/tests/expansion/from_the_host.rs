/// Say who is asking.
#[tool(read_only)]
async fn whoami(users: State<Users>, context: Context, cancel: CancellationToken) -> Blocks {
    users.introduce(call, cancel).await
}
