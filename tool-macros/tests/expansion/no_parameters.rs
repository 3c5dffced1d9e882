/// Tell the time.
#[tool]
async fn now() -> String {
    clock()
}
