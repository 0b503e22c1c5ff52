//! Damaged and arbitrary bytes: an error or bad lines, never a panic, and never more rows than there are lines.
#![expect(clippy::unwrap_used, reason = "tests stop on errors")]

mod support;

use proptest::prelude::*;
use support::{criteo_lines, gzip, options, read, zstd};

fn read_bytes(kind: &str, name: &str, bytes: &[u8]) -> Result<support::Read, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), bytes).unwrap();
    let schema = if kind == "criteo" {
        String::new()
    } else {
        "[delimited]\ndelimiter = \",\"\ncolumns = [\"y\", \"x\", \"z\"]\nlabel = { column = \"y\", at_least = 1 }\n\
         feature = [{ name = \"x\", column = \"x\", kind = \"multi\", separator = \"|\" },\n\
         { name = \"n\", column = \"z\", kind = \"numeric\" }, { name = \"h\", column = \"z\", kind = \"hour\" },\n\
         { name = \"p\", column = \"x\", pattern = \"b.\" }]"
            .to_owned()
    };
    let job = format!("kind = \"{kind}\"\ntrain = [\"{name}\"]\nblock_rows = 50\n{schema}");
    read(&options(&job), folder.path(), 0).map_err(|error| error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn packed_files_with_changed_bytes(at in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in any::<prop::sample::Index>(), cuts in any::<bool>()) {
        let text = criteo_lines(120);
        for (name, mut bytes) in [("a.gz", gzip(text.as_bytes())), ("a.zst", zstd(text.as_bytes()))] {
            let whole = bytes.clone();
            for (index, value) in &at {
                let place = index.index(bytes.len());
                bytes[place] = *value;
            }
            if cuts {
                bytes.truncate(cut.index(bytes.len()));
            }
            match read_bytes("criteo", name, &bytes) {
                Ok(read) if bytes == whole => prop_assert_eq!(read.rows.samples(), 120),
                // A frame's or member's checksum lets only changes of its header and nothing else through.
                Ok(read) => prop_assert!(read.rows.samples() == 120 || bytes.is_empty()),
                Err(message) => prop_assert!(message.contains(name) && message.contains("unpacking"), "{}", message),
            }
        }
    }

    #[test]
    fn any_text(bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b','), Just(b'"'), Just(b'\t'), Just(b'1'), Just(b'|'), Just(b'\r'), any::<u8>()], 0..400)) {
        let lines = bytes.split(|&byte| byte == b'\n').count();
        for kind in ["criteo", "delimited"] {
            match read_bytes(kind, "a.txt", &bytes) {
                Ok(read) => {
                    let all = read.rows.samples() + read.bad_lines as usize;
                    prop_assert!(all == lines || all + 1 == lines);
                }
                Err(message) => prop_assert!(message.contains("give its name the ending"), "{}", message),
            }
        }
    }
}
