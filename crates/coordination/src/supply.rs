//! The samples that can be granted: what has arrived, less what is granted, plus what is lost.

/// Counts samples; which samples they are is for the caller to know.
#[derive(Debug, Default)]
pub(crate) struct Supply {
    available: u64,
    exhausted: bool,
}

impl Supply {
    /// More samples arrived.
    pub(crate) fn arrived(&mut self, samples: u64) {
        assert!(!self.exhausted, "{samples} samples arrived after the end of data was announced");
        self.available += samples;
    }

    /// No more samples will arrive.
    pub(crate) fn exhaust(&mut self) {
        self.exhausted = true;
    }

    /// The samples of a lost lease come back.
    pub(crate) fn put_back(&mut self, samples: u32) {
        self.available += u64::from(samples);
    }

    /// Whether no sample is left and none will arrive. Lost leases may still bring some back.
    pub(crate) fn is_spent(&self) -> bool {
        self.exhausted && self.available == 0
    }

    /// Takes `size` samples; after the end of data also fewer, if fewer are left. `None` when there are not
    /// enough.
    pub(crate) fn take(&mut self, size: u32) -> Option<u32> {
        let taken = match u32::try_from(self.available) {
            Ok(available) if available < size => {
                if !self.exhausted || available == 0 {
                    return None;
                }
                available
            }
            _ => size,
        };
        self.available -= u64::from(taken);
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_full_batches_before_the_end_of_data() {
        let mut supply = Supply::default();
        supply.arrived(6);
        assert_eq!(supply.take(4), Some(4));
        assert_eq!(supply.take(4), None);
        supply.exhaust();
        assert!(!supply.is_spent());
        assert_eq!(supply.take(4), Some(2));
        assert_eq!(supply.take(4), None);
        assert!(supply.is_spent());
        supply.put_back(2);
        assert!(!supply.is_spent());
    }
}
