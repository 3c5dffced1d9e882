//! Excluded cases of the official suite, with reasons: keywords that are not enforced, and intended differences.

use std::collections::BTreeSet;

use serde_json::Value;

/// Keywords that are not enforced. The registration warns about each, once for each position.
const KEYWORDS: [(&str, &str); 2] = [
    (
        "$dynamicRef",
        "means another schema at every place it is used from",
    ),
    ("$dynamicAnchor", "see `$dynamicRef`"),
];

/// Files in `optional` that are run, with their drafts. Other files are about unsupported formats, about contents (annotations here), and
/// about several drafts in one schema.
pub const OPTIONAL: [(&str, &[&str]); 14] = [
    ("bignum", BOTH),
    ("float-overflow", BOTH),
    ("non-bmp-regex", BOTH),
    ("ecmascript-regex", BOTH),
    ("unknownKeyword", BOTH),
    ("dependencies-compatibility", NEW),
    ("format/date", BOTH),
    ("format/time", BOTH),
    ("format/date-time", BOTH),
    ("format/uuid", NEW),
    ("format/email", BOTH),
    ("format/ipv4", BOTH),
    ("format/ipv6", BOTH),
    ("format/uri", BOTH),
];

const BOTH: &[&str] = &["draft2020-12", "draft7"];
const NEW: &[&str] = &["draft2020-12"];

/// Cases with a different answer, by the end of the file's name, the beginning of the group's name, and the case's name (`""` for the whole
/// group).
const DIFFERENCES: [(&str, &str, &str, Why); 29] = [
    ("/refRemote", "", "", Why::Remote),
    (
        "/dynamicRef",
        "$ref to $dynamicRef finds detached",
        "",
        Why::Remote,
    ),
    ("/defs", "validate definition against metaschema", "", Why::Remote),
    (
        "/definitions",
        "validate definition against metaschema",
        "",
        Why::Remote,
    ),
    ("/ref", "remote ref, containing refs itself", "", Why::Remote),
    ("/ref", "$ref prevents a sibling $id", "", Why::InnerId),
    ("/ref", "Recursive references between schemas", "", Why::InnerId),
    ("/ref", "refs with relative uris and defs", "", Why::InnerId),
    (
        "/ref",
        "relative refs with absolute uris and defs",
        "",
        Why::InnerId,
    ),
    ("/ref", "order of evaluation: $id and $ref", "", Why::InnerId),
    ("/ref", "URN ref with nested pointer ref", "", Why::InnerId),
    ("/ref", "ref with absolute-path-reference", "", Why::InnerId),
    ("/ref", "Location-independent identifier with", "", Why::InnerId),
    (
        "/ref",
        "$id must be resolved against nearest parent",
        "",
        Why::InnerId,
    ),
    ("/ref", "ref to if", "", Why::InnerId),
    ("/ref", "ref to then", "", Why::InnerId),
    ("/ref", "ref to else", "", Why::InnerId),
    (
        "/optional/unknownKeyword",
        "$id inside an unknown keyword",
        "",
        Why::InnerId,
    ),
    (
        "/anchor",
        "Location-independent identifier with",
        "",
        Why::InnerId,
    ),
    (
        "/anchor",
        "same $anchor with different base uri",
        "",
        Why::InnerId,
    ),
    (
        "draft7/ref",
        "ref overrides any sibling keywords",
        "ref valid, maxItems ignored",
        Why::Shown,
    ),
    (
        "/vocabulary",
        "schema that uses custom metaschema",
        "",
        Why::Shown,
    ),
    (
        "/optional/bignum",
        "integer",
        "a bignum is an integer",
        Why::SixtyFourBits,
    ),
    (
        "/optional/bignum",
        "integer",
        "a negative bignum is an integer",
        Why::SixtyFourBits,
    ),
    (
        "/optional/float-overflow",
        "all integers are multiples of 0.5",
        "",
        Why::SixtyFourBits,
    ),
    (
        "/optional/ecmascript-regex",
        "ECMA 262 regex escapes control codes with \\c and upper",
        "",
        Why::NotUnderstood,
    ),
    (
        "/optional/ecmascript-regex",
        "ECMA 262 regex escapes control codes with \\c and lower",
        "",
        Why::NotUnderstood,
    ),
    (
        "/optional/ecmascript-regex",
        "ECMA 262 \\s matches whitespace",
        "",
        Why::OnlyAscii,
    ),
    (
        "/optional/ecmascript-regex",
        "ECMA 262 \\S matches everything but whitespace",
        "",
        Why::OnlyAscii,
    ),
];

/// Reason of a different answer.
#[derive(Debug, Clone, Copy)]
enum Why {
    /// The schema refers to another document, which the registration rejects; no document is fetched.
    Remote,
    /// A reference contains the `$id` of an inner schema, or is relative to one, which the registration rejects.
    InnerId,
    /// The schema for the model is enforced: beside a draft-07 `$ref`, too, and even if another document says otherwise.
    Shown,
    /// Integers have 64 bits.
    SixtyFourBits,
    /// The pattern is not supported. The registration warns about it.
    NotUnderstood,
    /// `\s` is ASCII white space.
    OnlyAscii,
}

/// The rows above, with the rows that were used.
#[derive(Debug, Default)]
pub struct Exclusions {
    used: BTreeSet<usize>,
    keywords: BTreeSet<&'static str>,
}

impl Exclusions {
    /// Returns whether a schema has a keyword that is not enforced.
    pub fn has_keyword(&mut self, schema: &Value) -> bool {
        let mut found = BTreeSet::new();
        keywords(schema, &mut found);
        let is_excluded = !found.is_empty();
        self.keywords.append(&mut found);
        is_excluded
    }

    /// Returns whether a case, or with `""` a group, is among the differences.
    pub fn names(&mut self, file: &str, group: &str, case: &str) -> bool {
        let row = DIFFERENCES.iter().position(|(its_file, its_group, its_case, _)| {
            file.ends_with(its_file)
                && group.starts_with(its_group)
                && (its_case.is_empty() || *its_case == case)
        });
        self.used.extend(row);
        row.is_some()
    }

    /// Returns the rows that were not used.
    pub fn unused(&self) -> BTreeSet<String> {
        let rows = DIFFERENCES
            .iter()
            .enumerate()
            .filter(|(place, _)| !self.used.contains(place));
        let keywords = KEYWORDS
            .iter()
            .filter(|(keyword, _)| !self.keywords.contains(keyword));
        rows.map(|(_, row)| format!("{row:?}"))
            .chain(keywords.map(|row| format!("{row:?}")))
            .collect()
    }
}

/// Returns the keywords of the first table that a schema contains.
fn keywords(schema: &Value, found: &mut BTreeSet<&'static str>) {
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        found.extend(
            KEYWORDS
                .iter()
                .map(|(known, _)| *known)
                .filter(|known| known == keyword),
        );
        match (keyword.as_str(), value) {
            ("const" | "enum" | "default" | "examples", _) => {}
            ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(named)) => {
                named.values().for_each(|schema| keywords(schema, found));
            }
            (_, Value::Array(schemas)) => schemas.iter().for_each(|schema| keywords(schema, found)),
            (_, schema) => keywords(schema, found),
        }
    }
}
