/// Say who is asking.
#[tool(read_only)]
async fn whoami(users: State<Users>, call: Context, cancel: CancellationToken) -> Blocks {
    users.introduce(call, cancel).await
}
