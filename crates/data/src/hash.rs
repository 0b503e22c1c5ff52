//! From a value's bytes to its 64-bit key: the hashing rules of Gearshift's data.
//!
//! 1. A categorical value's key is XXH3 (64 bit, seed 0, default secret; xxHash specification, "XXH3") of its
//!    bytes exactly as they stand in the file, after unquoting, `pattern`, `separator` and `nth` have been applied.
//!    Letter case and white space count. Criteo's hexadecimal categories are hashed as text likewise.
//! 2. The empty value has the key [`EMPTY_KEY`], which is the same function of no bytes. It also stands for a
//!    `pattern` that does not match, an `nth` piece that is absent, and a join without a partner.
//! 3. Keys are per table: the feature's name does not enter, so features that share a table share rows.
//! 4. Hour and weekday have the key of their decimal text (`"0"`..`"23"`; Monday is `"0"`).
//! 5. A number under the `bucket` transform ([`key_of_number`]): x <= 2 has the key of its shortest decimal text
//!    (`"2"`, `"-1"`, `"0.5"`); x > 2 has the key of `"b"` followed by floor(ln(x)^2) in decimal (`"b1"` for 3). The
//!    letter keeps buckets apart from small numbers. Source of the rule: the winning entry of Criteo's 2014 display
//!    advertising challenge (Juan, Zhuang, Chin, "3 Idiots' approach"), section "preprocessing".

use gearshift_types::Key;
use twox_hash::XxHash3_64;

/// The key of the empty value.
pub const EMPTY_KEY: Key = Key(0x2d06_8005_38d3_94c2);

/// The key of a value.
#[must_use]
#[inline]
pub fn key_of(value: &[u8]) -> Key {
    Key(XxHash3_64::oneshot(value))
}

/// The key of a finite number under the `bucket` transform.
#[must_use]
pub fn key_of_number(x: f64) -> Key {
    if x <= 2.0 {
        // Adding 0 turns -0 into 0.
        key_of((x + 0.0).to_string().as_bytes())
    } else {
        let log = x.ln();
        key_of_bucket((log * log) as u64)
    }
}

fn key_of_bucket(bucket: u64) -> Key {
    key_of(format!("b{bucket}").as_bytes())
}

/// [`key_of_number`] with the keys of small whole numbers and usual buckets held ready.
#[derive(Clone, Debug)]
pub(crate) struct NumberKeys {
    /// Of whole numbers from [`SMALLEST`] on.
    whole: Vec<Key>,
    buckets: Vec<Key>,
}

const SMALLEST: i64 = -16;

impl NumberKeys {
    pub(crate) fn new() -> Self {
        Self {
            whole: (SMALLEST..4096).map(|x| key_of_number(x as f64)).collect(),
            buckets: (0..2048).map(key_of_bucket).collect(),
        }
    }

    #[inline]
    pub(crate) fn of_whole(&self, x: i64) -> Key {
        match usize::try_from(x.wrapping_sub(SMALLEST)).ok().and_then(|at| self.whole.get(at)) {
            Some(&key) => key,
            None => self.of(x as f64),
        }
    }

    pub(crate) fn of(&self, x: f64) -> Key {
        if x > 2.0 {
            let log = x.ln();
            let bucket = (log * log) as usize;
            return self.buckets.get(bucket).copied().unwrap_or_else(|| key_of_bucket(bucket as u64));
        }
        key_of_number(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_of_xxh3() {
        assert_eq!(key_of(b""), EMPTY_KEY);
        // Made with the Python package xxhash 4.1.0 (the C library): xxh3_64_hexdigest.
        assert_eq!(key_of(b"a"), Key(0xe6c6_32b6_1e96_4e1f));
        assert_eq!(key_of(b"abc"), Key(0x78af_5f94_892f_3950));
        assert_eq!(key_of(b"0a1b2c3d"), Key(0x4ba6_ce90_4a65_1fb1));
    }

    #[test]
    fn small_numbers_and_buckets_have_different_keys() {
        assert_eq!(key_of_number(2.0), key_of(b"2"));
        assert_eq!(key_of_number(-0.0), key_of(b"0"));
        assert_eq!(key_of_number(0.5), key_of(b"0.5"));
        assert_eq!(key_of_number(3.0), key_of(b"b1"));
        assert_eq!(key_of_number(1000.0), key_of(b"b47"));
        assert_ne!(key_of_number(3.0), key_of_number(1.0));
    }

    #[test]
    fn the_cache_agrees_with_the_rule() {
        let keys = NumberKeys::new();
        for x in [i64::MIN, -17, -16, -1, 0, 1, 2, 3, 4, 4095, 4096, 1 << 40, i64::MAX] {
            assert_eq!(keys.of_whole(x), key_of_number(x as f64), "{x}");
        }
        for x in [-1.5, 0.25, 2.0, 2.5, 1e9, 1e300] {
            assert_eq!(keys.of(x), key_of_number(x), "{x}");
        }
    }
}
