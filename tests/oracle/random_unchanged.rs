//! Random schemas of dynamic tools accept the same values as the schemas that are shown.

use tests::instances;
use tests::long::properties_long;
use tests::random::Random;
use tests::schemas::{self, Kinds};

use crate::oracle::unchanged::{is_shown, shown};

const SCHEMAS: usize = 100;
const SCHEMAS_LONG: usize = 50_000;

/// Values per schema.
const INSTANCES: usize = 8;

#[test]
fn random_schemas_are_shown_unchanged() {
    let schemas = if properties_long() { SCHEMAS_LONG } else { SCHEMAS };
    let mut random = Random::new(7);
    for _ in 0..schemas {
        let unions = random.one_in(2);
        let mut schema = schemas::tool(&mut random, Kinds { unions });
        if random.one_in(3) {
            schemas::add_assertions(&mut random, &mut schema);
        }
        if random.one_in(3) {
            schema.as_object_mut().unwrap().shift_remove("type");
        }
        assert!(is_shown(&schema, "random"), "{schema}");
        let shown = shown(&schema).unwrap();
        let [written, shown] = [&schema, &shown].map(|schema| jsonschema::validator_for(schema).unwrap());
        for _ in 0..INSTANCES {
            let instance = instances::object(&mut random, &schema);
            if !instance.is_object() {
                continue;
            }
            assert_eq!(
                written.is_valid(&instance),
                shown.is_valid(&instance),
                "{schema}\n{instance}"
            );
        }
    }
}
