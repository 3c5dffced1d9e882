//! Tagged unions: a property or a key selects the alternative of an object.

use std::rc::Rc;

use super::Coercer;
use super::context::CoercionContext;
use crate::arguments::input::tree::node::{Members, Node};
use crate::arguments::report::expected;
use crate::arguments::report::messages;
use crate::arguments::report::path::Path;
use crate::arguments::report::schema_hint::SchemaHint;
use crate::arguments::rules::Mode;
use crate::schema::compiled::name::fold;
use crate::schema::compiled::spelling::find_resembling;
use crate::schema::compiled::{Additional, SchemaId, Tag, Values};
use crate::wire::issue::Code;

impl<'a> Coercer<'_, 'a, '_> {
    /// Returns the schema that an object's tag selects; reports an unknown tag.
    pub(in crate::arguments) fn tagged(
        &mut self,
        members: &Members<'_>,
        owner: SchemaId,
        tag: &Tag,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<SchemaId> {
        match tag {
            Tag::Key(keys) => self.key_tagged(members, owner, keys, at, context),
            Tag::Property {
                name,
                folded,
                values,
                case_sensitive,
            } => {
                let at = Path::Key(at, name);
                let allowed = || Values::from_texts(values.iter().map(|(value, _)| value.clone()).collect());
                let Some(sent) = member(members, name, folded, context.mode) else {
                    self.report.refuse(&at, || {
                        // Reads `{"circle": …}` as `{"type": "circle", …}`.
                        let schemas = || values.iter().map(|(_, schema)| *schema);
                        let mut keys = members.entries.iter();
                        let hint = keys.find_map(|(key, _)| SchemaHint::named(self.compiled, schemas(), key));
                        match hint {
                            Some(hint) => messages::missing(&at, name, expected::Within(&allowed(), hint)),
                            None => messages::missing(&at, name, expected::Listed(&allowed())),
                        }
                    });
                    return None;
                };
                let text = match sent {
                    Node::Text(text) => Some(&**text),
                    Node::Number(number) if context.mode.coerces() => Some(&*number.text),
                    Node::Null => {
                        self.report
                            .refuse(&at, || messages::null(expected::Listed(&allowed())));
                        return None;
                    }
                    _ => None,
                };
                let exact = values.iter().find(|(value, _)| text == Some(value));
                let respells = context.respells() && !case_sensitive;
                let found = exact.or_else(|| {
                    let names = values.iter().map(|(value, _)| &**value);
                    values.get(find_resembling(names, text.filter(|_| respells)?)?)
                });
                if found.is_none() {
                    self.report.refuse(&at, || messages::not_among(&allowed(), sent));
                }
                found.map(|(_, schema)| *schema)
            }
        }
    }

    /// Returns whether an object with the keys of several alternatives may match one of them: on the wire, other keys
    /// are allowed unless `additionalProperties` is `false`.
    pub(in crate::arguments) fn may_match_with_other_keys(&self, members: &Members<'_>, tag: &Tag) -> bool {
        let Tag::Key(keys) = tag else { return false };
        let mut sent = keys.iter().filter(|(key, _)| members.get(key).is_some());
        let is_open = |(_, schema): &(Box<str>, SchemaId)| {
            let object = self.compiled.object(*schema);
            object.is_some_and(|object| object.additional == Additional::Unspecified)
        };
        !self.compiled.is_typed() && sent.clone().count() > 1 && sent.any(is_open)
    }

    /// Returns an object with only the key that is its tag, for a type: serde selects the variant by the only key.
    pub(in crate::arguments) fn only_variant(
        &self,
        node: Node<'a>,
        keys: &[(Box<str>, SchemaId)],
    ) -> Node<'a> {
        match node {
            Node::Object(mut members) if !self.keeps_unknown => {
                Rc::make_mut(&mut members.entries)
                    .retain(|(key, _)| keys.iter().any(|(tag, _)| **tag == **key));
                members.repeated.clear();
                Node::Object(members)
            }
            node => node,
        }
    }

    fn key_tagged(
        &mut self,
        members: &Members<'_>,
        owner: SchemaId,
        keys: &[(Box<str>, SchemaId)],
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<SchemaId> {
        let exact: Vec<_> = keys
            .iter()
            .filter(|(key, _)| members.get(key).is_some())
            .collect();
        let present = if exact.is_empty() && context.respells() {
            keys.iter()
                .filter(|(key, _)| member(members, key, &fold(key), context.mode).is_some())
                .collect()
        } else {
            exact
        };
        if let [(_, schema)] = present.as_slice() {
            return Some(*schema);
        }
        let (compiled, wanted) = (self.compiled, self.wanted(owner));
        self.report.refuse(at, || {
            let sent = Node::Object(members.clone());
            let code = if present.is_empty() {
                Code::NoAlternativeFits
            } else {
                Code::AmbiguousValue
            };
            // Reads `{"type": "circle", …}` as `{"circle": …}`.
            let texts = members.entries.iter().filter_map(|(_, node)| match node {
                Node::Text(text) => Some(text),
                _ => None,
            });
            let schemas = || keys.iter().map(|(_, schema)| *schema);
            let mut hint = texts.filter_map(|text| SchemaHint::named(compiled, schemas(), text));
            match hint.next() {
                Some(hint) if present.is_empty() => messages::invalid_type(code, &sent, hint),
                _ => messages::invalid_type(code, &sent, wanted),
            }
        });
        None
    }
}

/// Returns a member by its name or, if the mode coerces, by another spelling.
fn member<'m, 'a>(members: &'m Members<'a>, name: &str, folded: &str, mode: Mode) -> Option<&'m Node<'a>> {
    members.get(name).or_else(|| {
        let mut candidates = members
            .entries
            .iter()
            .filter(|(key, _)| mode.coerces() && *fold(key) == *folded);
        candidates
            .next()
            .filter(|_| candidates.next().is_none())
            .map(|(_, node)| node)
    })
}
