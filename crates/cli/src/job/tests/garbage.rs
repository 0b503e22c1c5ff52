//! Whatever the file and the command line hold, there is an answer and no panic.

use std::path::Path;

use proptest::prelude::*;

use super::super::Job;
use super::super::key_list::JOB;
use super::super::keys::Keys;

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|value| value.to_string()),
        any::<f64>().prop_map(|value| format!("{value:?}")),
        any::<bool>().prop_map(|value| value.to_string()),
        "[a-z_]{0,12}".prop_map(|text| format!("{text:?}")),
        Just("[]".to_owned()),
        Just("[[]]".to_owned()),
        Just("{}".to_owned()),
        Just("[{}]".to_owned()),
        Just("1979-05-27".to_owned()),
        Just("99999999999999999999".to_owned()),
        "[ -~]{0,12}",
    ]
}

fn path() -> impl Strategy<Value = String> {
    let known: Vec<String> = Keys::new(JOB).iter().map(|key| key.path.replace("[]", ".0")).collect();
    prop_oneof![4 => prop::sample::select(known), 1 => "[a-z.0-9]{0,12}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn random_text_never_panics(text in "(?s).{0,200}") {
        let _ = Job::parse("job.toml", &text, Path::new(""), &[]).map_err(|problems| problems.to_string());
    }

    #[test]
    fn random_assignments_never_panic(lines in prop::collection::vec((path(), value()), 0..12)) {
        let text: String = lines.iter().map(|(path, value)| format!("{} = {value}\n", path.replace(".0.", "."))).collect();
        let _ = Job::parse("job.toml", &text, Path::new(""), &[]).map_err(|problems| problems.to_string());
    }

    #[test]
    fn random_sets_never_panic(sets in prop::collection::vec((path(), value()), 0..6)) {
        let sets: Vec<String> = sets.iter().map(|(path, value)| format!("{path}={value}")).collect();
        if let Err(problems) = Job::load(None, &sets) {
            prop_assert!(problems.iter().count() > 0);
            prop_assert!(!problems.to_string().is_empty());
        }
    }
}
