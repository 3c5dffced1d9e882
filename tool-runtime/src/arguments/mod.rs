//! Arguments against a schema: coerced, checked, read into typed values.

mod conform;
mod place;
mod keys;
mod exact;
mod node;
mod parse;
mod report;
mod rules;
mod limits;
mod wording;
mod whole;
mod coerce;
mod list;
mod object;
mod choose;
mod feed;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::call::RawArguments;
use crate::host::Host;
use crate::issue::{Code, Issue};
use crate::params::{Lookup, Params};
use crate::policy::Policy;
use crate::schema::Shape;
use crate::schema::pointer;
use crate::schema::shape::FormId;
use coerce::{Around, Coercer};
use feed::Refusal;
use node::{Members, Node};
use report::Path;

/// What reading found.
#[derive(Debug)]
pub(crate) struct Reading<V> {
    /// The values; `None` when an issue is an error.
    pub(crate) values: Option<V>,
    pub(crate) issues: Vec<Issue>,
}

/// Reads the arguments of a typed tool.
pub(crate) fn read<P: Params>(
    params: &P,
    shape: &Shape,
    input: &RawArguments,
    policy: Policy,
    host: &Host<'_>,
) -> Reading<P::Values> {
    if let RawArguments::Text(text) = input
        && let Some(values) = exact::read(params, shape, text, host)
    {
        return Reading {
            values: Some(values),
            issues: Vec::new(),
        };
    }
    let Fitted { object, mut issues } = fit(shape, input, policy, false);
    let values = object
        .filter(|_| !issues.iter().any(Issue::is_error))
        .and_then(|object| {
            params.pick(&Object(&object), host, &mut |name, refusal: Refusal| {
                issues.push(invalid(&object, name, &refusal));
            })
        });
    Reading { values, issues }
}

/// What coercing found.
#[derive(Debug)]
pub(crate) struct Coerced {
    /// The arguments: coerced, unknown ones kept, refused ones as they were sent.
    pub(crate) arguments: Map<String, Value>,
    pub(crate) issues: Vec<Issue>,
}

/// Coerces the arguments of a tool that is known by its schema.
pub(crate) fn coerce(shape: &Shape, input: &RawArguments, policy: Policy) -> Coerced {
    let Fitted { object, issues } = fit(shape, input, policy, true);
    Coerced {
        arguments: object.map(|object| object.to_map()).unwrap_or_default(),
        issues,
    }
}

struct Fitted<'a> {
    /// The arguments, if they are an object.
    object: Option<Members<'a>>,
    issues: Vec<Issue>,
}

fn fit<'a>(shape: &Shape, input: &'a RawArguments, policy: Policy, keeps_denied: bool) -> Fitted<'a> {
    let (sent, issues) = match whole::object(input, policy) {
        Ok(read) => read,
        Err(refused) => {
            return Fitted {
                object: None,
                issues: vec![refused],
            };
        }
    };
    let mut coercer = Coercer::new(shape, keeps_denied);
    coercer.report.issues = issues;
    let changed = coercer.fit(&sent, FormId::ROOT, &Path::Root, Around::all(policy.into()));
    Fitted {
        object: match changed.unwrap_or(sent) {
            Node::Object(members) => Some(members),
            _ => None,
        },
        issues: coercer.report.issues,
    }
}

/// A coerced object, whose members parameters look up.
struct Object<'n, 'a>(&'n Members<'a>);

impl<'n, 'a> Lookup<'n> for Object<'n, 'a> {
    type Value = &'n Node<'a>;

    fn value(&self, name: &str) -> Option<&'n Node<'a>> {
        self.0.get(name)
    }
}

/// What the schema allows and the parameter's type refuses.
fn invalid(object: &Members<'_>, name: &str, refusal: &Refusal) -> Issue {
    let sent = object.get(name).and_then(|node| node.at(refusal.steps()));
    let mut issue = match sent {
        Some(sent) => wording::refused(Code::InvalidValue, sent, refusal.message().to_owned()),
        None => Issue::error(Code::InvalidValue, "", refusal.message().to_owned()),
    };
    issue.path = refusal.path(&pointer::join("", name));
    issue
}
