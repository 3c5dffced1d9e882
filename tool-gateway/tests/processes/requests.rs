//! Requests to two gateways in turn.

use serde_json::json;

use crate::cluster::{Cluster, call, until};
use crate::conversation::{Conversation, RETRY, text};

#[tokio::test(flavor = "multi_thread")]
async fn conversation_continues_on_any_gateway() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let plan = |turn: usize| {
        let key = |name: &str| format!("{name}{turn}");
        [
            json!([call("write", &key("a"), 0), call("lookup", &key("b"), 0)]),
            json!([call("write", &key("c"), 0), call("weather", &key("d"), 0)]),
            json!(format!("Done {turn}.")),
        ]
    };
    let mut conversation = Conversation::new(&plan(0));
    let mut session = None;
    let gateways = [&cluster.one, &cluster.two];
    for turn in 0..5 {
        if turn > 0 {
            conversation.plan(&plan(turn));
        }
        for step in 0..2 {
            let reply = conversation.ask(gateways[(turn * 2 + step) % 2]).await;
            let (id, found) = reply.session();
            assert_eq!(*session.get_or_insert(id.clone()), id);
            assert_eq!(found == "new", turn + step == 0, "{turn} {step}: {found}");
            if step == 1 {
                assert_eq!(text(&reply), format!("Done {turn}."));
            }
            conversation.answer(&reply);
        }
    }
    let begun = cluster.begun();
    let of_write = begun.iter().filter(|run| run.starts_with("write")).count();
    assert_eq!((of_write, begun.len()), (10, 15), "{begun:?}");
    // Each request to the upstream extends the one before.
    let requests = cluster.upstream.requests();
    assert_eq!(requests.len(), 15);
    for pair in requests.windows(2) {
        let [before, after] = [&pair[0], &pair[1]].map(|request| request["messages"].as_array().unwrap());
        assert_eq!(before[..], after[..before.len()]);
    }
}

/// One request to the upstream in each round, one run, and two equal answers.
#[tokio::test(flavor = "multi_thread")]
async fn request_and_its_retry_on_another_gateway_are_one_turn() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let conversation = Conversation::new(&[json!([call("write", "a", 3_000)]), json!("Done.")]);
    let retry = async {
        until(|| !cluster.begun().is_empty()).await;
        cluster.two.post(&conversation.body, &[RETRY]).await.unwrap()
    };
    let (first, second) = tokio::join!(conversation.ask(&cluster.one), retry);
    assert_eq!((first.status, text(&first)), (200, "Done.".to_owned()));
    assert_eq!(
        (first.json(), first.session().0),
        (second.json(), second.session().0)
    );
    assert_eq!(cluster.begun(), ["write a"]);
    assert_eq!(cluster.upstream.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_requests_without_a_sign_are_two_turns() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let conversation = Conversation::new(&[json!([call("write", "a", 1_000)]), json!("Done.")]);
    let (first, second) = tokio::join!(conversation.ask(&cluster.one), conversation.ask(&cluster.two));
    assert_eq!(
        (text(&first), text(&second)),
        ("Done.".to_owned(), "Done.".to_owned())
    );
    assert_ne!(first.session().0, second.session().0);
    assert_eq!(cluster.begun(), ["write a", "write a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_with_one_idempotency_key_are_one_turn() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let conversation = Conversation::new(&[json!([call("write", "a", 1_000)]), json!("Done.")]);
    let headers = [("idempotency-key", "k")];
    let (first, second) = tokio::join!(
        cluster.one.post(&conversation.body, &headers),
        cluster.two.post(&conversation.body, &headers)
    );
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!((first.status, text(&first)), (200, "Done.".to_owned()));
    assert_eq!(
        (first.json(), first.session().0),
        (second.json(), second.session().0)
    );
    assert_eq!(cluster.begun(), ["write a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn deferred_call_runs_once_if_both_gateways_resume() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let plan = [
        json!([call("later", "a", 1_000), call("weather", "b", 0)]),
        json!("Done."),
    ];
    let mut conversation = Conversation::new(&plan);
    let suspended = conversation.ask(&cluster.one).await;
    conversation.answer(&suspended);
    let (first, second) = tokio::join!(conversation.ask(&cluster.one), conversation.ask(&cluster.two));
    assert_eq!(
        (text(&first), text(&second)),
        ("Done.".to_owned(), "Done.".to_owned())
    );
    assert_eq!(cluster.begun(), ["later a"]);
}
