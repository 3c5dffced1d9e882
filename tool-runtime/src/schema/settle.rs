//! The last pass over the forms: what can only be known when all of them are there.

use std::collections::{HashSet, VecDeque};

use super::check::SchemaError;
use super::pointer;
use super::shape::{Alternatives, Form, FormId, Kind, KnownKeys, Plain, Rest, Shape, Tag};
use super::types::Types;

/// Works out the types of composite forms, how their alternatives are told apart, and which keys they know. The path of an
/// error leads through the forms: from where the schema has a reference or a union, it may not be found there.
pub(super) fn settle(forms: Vec<Form>) -> Result<Shape, SchemaError> {
    let mut shape = Shape::new(forms);
    let mut done = vec![State::Open; shape.forms.len()];
    for id in shape.ids() {
        if let Err(error) = shape.settle_types(id, &mut done, 0) {
            let path = shape.pointer_to(id);
            return Err(SchemaError { path, ..error });
        }
    }
    let mut done = vec![State::Open; shape.forms.len()];
    for id in shape.ids() {
        shape.settle_lists(id, &mut done);
    }
    Ok(shape)
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Open,
    Visiting,
    Done,
}

/// How deep unions and conjunctions may stand in one another without a property or an item between.
const MOST: usize = 16;

impl Shape {
    fn ids(&self) -> impl Iterator<Item = FormId> + use<> {
        (0..u32::try_from(self.forms.len()).unwrap_or(u32::MAX)).map(FormId)
    }

    fn settle_types(&mut self, id: FormId, done: &mut [State], depth: usize) -> Result<(), SchemaError> {
        let Some(state) = done.get_mut(id.0 as usize) else {
            return Ok(());
        };
        match state {
            State::Done => return Ok(()),
            State::Visiting => {
                let reason = "a schema leads back to itself; put a property or an item between the two";
                return Err(SchemaError::new("", reason));
            }
            State::Open if depth > MOST => {
                let reason = format!("more than {MOST} unions stand directly in one another; make them one");
                return Err(SchemaError::new("", reason));
            }
            State::Open => *state = State::Visiting,
        }
        for inner in self.form(id).kind.composed_of().to_vec() {
            self.settle_types(inner, done, depth + 1)?;
        }
        let mut form = self.form(id).clone();
        match &mut form.kind {
            Kind::Alternatives(alternatives) => {
                self.settle_alternatives(alternatives);
                self.count_null(alternatives);
                let types = alternatives.forms.iter().map(|form| self.form(*form).types);
                let null = if alternatives.null {
                    Types::NULL
                } else {
                    Types::NONE
                };
                form.types = types.fold(null, |all, types| all | types);
                alternatives.keys = self.known_keys(&alternatives.forms);
            }
            Kind::Parts(parts) => {
                let types = parts.forms.iter().map(|form| self.form(*form).types);
                form.types = types.fold(Types::ALL, Types::and);
                parts.keys = self.known_keys(&parts.forms);
            }
            Kind::Plain(_) | Kind::Free => {}
        }
        if let Some(place) = self.forms.get_mut(id.0 as usize) {
            *place = form;
        }
        if let Some(state) = done.get_mut(id.0 as usize) {
            *state = State::Done;
        }
        Ok(())
    }

    /// A shortest way to a form, as keywords lead there.
    fn pointer_to(&self, target: FormId) -> String {
        let mut seen = HashSet::new();
        let mut open = VecDeque::from([(FormId::ROOT, String::new())]);
        while let Some((id, at)) = open.pop_front() {
            if id == target {
                return at;
            }
            if seen.insert(id) {
                let form = self.form(id);
                open.extend(form.kind.composed_of().iter().map(|inner| (*inner, at.clone())));
                open.extend(form.plain().into_iter().flat_map(|plain| plain.inside(&at)));
            }
        }
        String::new()
    }

    fn settle_alternatives(&self, alternatives: &mut Alternatives) {
        // One left beside `null`, itself a union: one union with `null`, unless it matters how many take that.
        if let [only] = alternatives.forms.as_slice()
            && let Form {
                strict: false,
                kind: Kind::Alternatives(inner),
                types,
                ..
            } = self.form(*only)
            && !(alternatives.null && types.has(Types::NULL) && (alternatives.exclusive || inner.exclusive))
        {
            let null = alternatives.null || inner.null;
            *alternatives = (**inner).clone();
            alternatives.null = null;
        }
        alternatives.tag = self.tag(alternatives);
    }

    /// Makes `null` an alternative like others where another takes it, too, and only one may.
    fn count_null(&mut self, alternatives: &mut Alternatives) {
        let mut forms = alternatives.forms.iter();
        let is_twice = alternatives.exclusive
            && alternatives.null
            && forms.any(|form| self.form(*form).types.has(Types::NULL));
        if is_twice && let Ok(id) = u32::try_from(self.forms.len()) {
            self.forms.push(Form {
                types: Types::NULL,
                ..Form::ANY
            });
            alternatives.forms.push(FormId(id));
            alternatives.null = false;
        }
    }

    /// What tells the objects among the alternatives apart.
    fn tag(&self, alternatives: &Alternatives) -> Option<Tag> {
        let forms = alternatives.forms.iter().copied();
        let objects: Vec<FormId> = forms
            .filter(|id| self.form(*id).types.has(Types::OBJECT))
            .collect();
        let plain = objects
            .iter()
            .all(|id| self.form(*id).types == Types::OBJECT && self.object(*id).is_some());
        if objects.len() < 2 || !plain {
            return None;
        }
        // An untagged enum is an `anyOf`, and its alternatives may share keys that they do not declare.
        let by_key = self.key_tag(&objects).filter(|_| alternatives.exclusive);
        by_key.or_else(|| self.property_tag(&objects))
    }

    fn key_tag(&self, objects: &[FormId]) -> Option<Tag> {
        let mut keys: Vec<(Box<str>, FormId)> = Vec::new();
        for id in objects {
            let object = self.object(*id)?;
            let [only] = object.properties.as_slice() else {
                return None;
            };
            let fits = only.required && object.also_required.is_empty() && object.patterns.is_empty();
            if !fits || keys.iter().any(|(name, _)| *name == only.name) {
                return None;
            }
            keys.push((only.name.clone(), *id));
        }
        Some(Tag::Key(keys))
    }

    fn property_tag(&self, objects: &[FormId]) -> Option<Tag> {
        let first = self.object(*objects.first()?)?;
        first.properties.iter().find_map(|candidate| {
            let mut values: Vec<(Box<str>, FormId)> = Vec::new();
            let mut case_sensitive = false;
            for id in objects {
                let object = self.object(*id)?;
                let property = object.properties.get(object.position(&candidate.name)?)?;
                let form = self.form(property.form);
                let own = form.plain().and_then(|plain| plain.values.as_ref())?;
                if !property.required || form.types != Types::STRING {
                    return None;
                }
                case_sensitive |= own.case_sensitive;
                for value in &own.texts {
                    if values.iter().any(|(known, _)| known == value) {
                        return None;
                    }
                    values.push((value.clone(), *id));
                }
            }
            Some(Tag::Property {
                name: candidate.name.clone(),
                folded: candidate.folded.clone(),
                values,
                case_sensitive,
            })
        })
    }

    fn object(&self, id: FormId) -> Option<&super::shape::Object> {
        self.form(id).plain()?.object.as_ref()
    }

    /// The keys that several forms know.
    fn known_keys(&self, forms: &[FormId]) -> KnownKeys {
        let (mut keys, mut seen) = (KnownKeys::default(), HashSet::new());
        for form in forms {
            self.declared(*form, &mut seen, &mut keys);
        }
        keys.declared.sort();
        keys.declared.dedup();
        keys
    }

    /// The keys that a form declares itself or through what it is composed of.
    fn declared(&self, id: FormId, seen: &mut HashSet<FormId>, whole: &mut KnownKeys) {
        if !seen.insert(id) {
            return;
        }
        let form = self.form(id);
        match &form.kind {
            Kind::Plain(plain) => {
                if let Some(object) = &plain.object {
                    let names = object.properties.iter().map(|property| property.name.clone());
                    whole.declared.extend(names);
                    whole.open |= matches!(object.rest, Rest::Any | Rest::Of(_));
                }
            }
            Kind::Free => {}
            composite => {
                for inner in composite.composed_of() {
                    self.declared(*inner, seen, whole);
                }
            }
        }
    }

    /// Works out whether lists of strings may come.
    fn settle_lists(&mut self, id: FormId, done: &mut [State]) {
        match done.get_mut(id.0 as usize) {
            Some(state @ State::Open) => *state = State::Done,
            _ => return,
        }
        for inner in self.form(id).kind.composed_of().to_vec() {
            self.settle_lists(inner, done);
        }
        let form = self.form(id);
        let takes_strings = |id: &FormId| self.form(*id).types.has(Types::STRING);
        let found = form.types.has(Types::ARRAY)
            && match &form.kind {
                Kind::Free => true,
                Kind::Plain(plain) => plain.list.as_ref().is_none_or(|list| match &list.rest {
                    Rest::Of(item) => takes_strings(item),
                    Rest::Denied => list.prefix.iter().any(takes_strings),
                    Rest::Unsaid | Rest::Any => !list.is_tuple() || list.prefix.iter().any(takes_strings),
                }),
                composite => composite
                    .composed_of()
                    .iter()
                    .any(|inner| self.form(*inner).lists_of_strings),
            };
        if let Some(place) = self.forms.get_mut(id.0 as usize) {
            place.lists_of_strings = found;
        }
    }
}

impl Plain {
    /// The forms of the values inside, each with its place.
    fn inside(&self, at: &str) -> Vec<(FormId, String)> {
        let rest = |rest: Rest, keyword: &str| match rest {
            Rest::Of(form) => Some((form, format!("{at}/{keyword}"))),
            _ => None,
        };
        let mut inside = Vec::new();
        if let Some(list) = &self.list {
            let prefix = list.prefix.iter().enumerate();
            inside.extend(prefix.map(|(place, form)| (*form, format!("{at}/prefixItems/{place}"))));
            inside.extend(rest(list.rest, "items"));
        }
        if let Some(object) = &self.object {
            for property in &object.properties {
                let place = pointer::join(&format!("{at}/properties"), &property.name);
                inside.push((property.form, place));
            }
            for (pattern, form) in &object.patterns {
                let place = pointer::join(&format!("{at}/patternProperties"), pattern.as_str());
                inside.push((*form, place));
            }
            inside.extend(rest(object.rest, "additionalProperties"));
            inside.extend(object.names.map(|names| (names, format!("{at}/propertyNames"))));
        }
        inside
    }
}

impl Kind {
    /// The forms that the same value is held against.
    pub(super) fn composed_of(&self) -> &[FormId] {
        match self {
            Self::Alternatives(alternatives) => &alternatives.forms,
            Self::Parts(parts) => &parts.forms,
            Self::Plain(_) | Self::Free => &[],
        }
    }
}
