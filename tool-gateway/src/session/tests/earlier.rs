//! Sessions that the previous version of the program stored.

use serde_json::{Value, json};

use super::{Folder, save_for, turn};
use crate::session::chain::ChainKey;
use crate::session::client::{Client, call_digest};
use crate::session::encoding::encode;
use crate::session::file::FileStore;
use crate::session::known_history::Found;
use crate::session::message_groups::{AnswerContent, GroupedMessages, exact_points, groups};
use crate::session::principal::Principal;
use crate::session::recognize::recognize;
use crate::session::record::{TrueMessage, Turn};
use crate::wire::block::Block;
use crate::wire::request::MessagesRequest;
use crate::wire::role::Role;

/// Builds a turn after this history in the form of version 5: its point and its outline are digests of each text, and it has no other
/// digests.
fn earlier_turn(key: &ChainKey, client: &Client, history: &Value, id: &str) -> Turn {
    let request = MessagesRequest::parse(json!({ "messages": history }).to_string()).unwrap();
    let GroupedMessages { groups, digests, .. } = groups(key, client.beginning, &request);
    let point = exact_points(key, &request, &groups, &digests).last();
    let blocks = || request.blocks(request.messages.last().unwrap());
    let content = AnswerContent::new(key, &blocks());
    let hidden = Block::new(r#"{"type":"tool_use","id":"up_h","name":"Hidden","input":{}}"#);
    let stored = Turn {
        point: point.unwrap(),
        context: key.context(&request),
        answer: content.exact(),
        outline: content.trimmed(true),
        truth: vec![TrueMessage {
            role: Role::Assistant,
            blocks: [hidden]
                .into_iter()
                .chain(blocks().map(|block| Block::new(block.as_str())))
                .collect(),
        }],
        ..turn(id, "ses_a", "")
    };
    let mut record = serde_json::to_value(&stored).unwrap();
    assert!(
        record
            .as_object_mut()
            .unwrap()
            .shift_remove("is_joined")
            .is_some()
    );
    let record = serde_json::from_value::<Turn>(record).unwrap();
    assert!(!record.is_joined && encode(&record).is_ok());
    record
}

#[tokio::test]
async fn sessions_of_the_previous_version_are_found_and_continued() {
    let (key, folder) = (ChainKey::new([1; 32]), Folder::new("earlier"));
    let store = FileStore::open(folder.file()).unwrap();
    let client = Client::new(&key, Principal::from_key_name("ada"), Vec::new());
    let save = async |turn, calls| save_for(&store, client.digest, turn, calls, Vec::new()).await;
    let texts = |texts: &[&str]| {
        let blocks: Vec<_> = texts
            .iter()
            .map(|text| json!({ "type": "text", "text": text }))
            .collect();
        json!({ "role": "assistant", "content": blocks })
    };
    let user = |text: &str| json!({ "role": "user", "content": text });
    let first = json!([user("go"), texts(&["a ", "b"])]);
    save(earlier_turn(&key, &client, &first, "first"), Vec::new()).await;
    let recognize = async |messages: Value| {
        let request = MessagesRequest::parse(json!({ "messages": messages }).to_string()).unwrap();
        let recognized = recognize(&key, &store, &client, &request, None).await;
        recognized.unwrap().0
    };
    let known = recognize(json!([user("go"), texts(&["a ", "b"]), user("on")])).await;
    assert_eq!((known.found, known.last_known), (Found::Chain, Some(1)));
    // A session of both versions.
    let messages = json!([user("go"), texts(&["a ", "b"]), user("on"), texts(&["c", "d"])]);
    let request = MessagesRequest::parse(json!({ "messages": messages }).to_string()).unwrap();
    let later = Turn {
        point: *groups(&key, client.beginning, &request)
            .digests
            .points()
            .last()
            .unwrap(),
        context: key.context(&request),
        truth: Vec::new(),
        ..turn("later", "ses_a", "")
    };
    save(later, Vec::new()).await;
    let joined = json!([
        user("go"),
        texts(&["a ", "b"]),
        user("on"),
        texts(&["c\n\nd"]),
        user("and?")
    ]);
    let known = recognize(joined).await;
    assert_eq!((known.found, known.last_known), (Found::Chain, Some(3)));
    assert_eq!(known.turns[&1].id, "first");
    // An id finds a turn with trimmed texts, too.
    let call = Block::new(r#"{"type":"tool_use","id":"toolu_1","name":"n","input":{}}"#);
    let mut suspended = earlier_turn(&key, &client, &json!([user("go"), texts(&["a "])]), "suspended");
    let shown = [Block::text("a "), call.clone()];
    let content = AnswerContent::new(&key, &shown.iter());
    (suspended.answer, suspended.outline) = (content.exact(), content.trimmed(true));
    save(suspended, vec![call_digest(&key, &client.principal, "toolu_1")]).await;
    let call: Value = serde_json::from_str(call.as_str()).unwrap();
    let echo = json!({ "role": "assistant", "content": [{ "type": "text", "text": "a" }, call] });
    let known = recognize(json!([user("edited"), echo, user("on")])).await;
    assert_eq!((known.found, known.last_known), (Found::Minted, Some(1)));
}
