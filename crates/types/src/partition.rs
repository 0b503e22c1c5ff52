//! Where parameters live: fixed partitions, whatever the number of servers, so that results and checkpoints do
//! not depend on it.

use std::ops::Range;

use crate::{Key, ServerId, TableId};

/// Partitions of a job. Fixed: more than any sensible number of servers.
pub const PARTITIONS: u32 = 1024;

/// Dense parameters are cut into chunks of this many floats; a chunk is never split between servers.
pub const DENSE_CHUNK: usize = 1024;

/// Maps keys and dense chunks to partitions and partitions to servers. Each server owns a contiguous range of
/// partitions and so a contiguous range of the flat dense parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionMap {
    servers: u32,
}

impl PartitionMap {
    /// A map over `servers` servers, 1 to [`PARTITIONS`]; other numbers are clamped.
    #[must_use]
    pub fn new(servers: u32) -> Self {
        Self { servers: servers.clamp(1, PARTITIONS) }
    }

    /// Number of servers.
    #[must_use]
    pub fn servers(self) -> u32 {
        self.servers
    }

    /// Partition of a row. The multiply mixes the table in and spreads keys that are not well hashed.
    #[must_use]
    #[inline]
    pub fn partition_of_key(table: TableId, key: Key) -> u32 {
        let mixed = (key.0 ^ u64::from(table.0).wrapping_mul(0xA24B_AED4_963E_E407))
            .wrapping_mul(0x9FB2_1C65_1E98_DF25);
        ((mixed ^ (mixed >> 32)) as u32) % PARTITIONS
    }

    /// Partition of dense chunk `chunk` of `chunks`; monotone in `chunk`.
    #[must_use]
    pub fn partition_of_chunk(chunk: usize, chunks: usize) -> u32 {
        (chunk as u64 * u64::from(PARTITIONS) / chunks.max(1) as u64) as u32
    }

    /// The server that owns `partition`.
    #[must_use]
    #[inline]
    pub fn server_of(self, partition: u32) -> ServerId {
        ServerId((u64::from(partition) * u64::from(self.servers) / u64::from(PARTITIONS)) as u32)
    }

    /// The server that holds a row.
    #[must_use]
    #[inline]
    pub fn server_of_key(self, table: TableId, key: Key) -> ServerId {
        if self.servers == 1 {
            return ServerId(0);
        }
        self.server_of(Self::partition_of_key(table, key))
    }

    /// The partitions that `server` owns.
    #[must_use]
    pub fn partitions_of(self, server: ServerId) -> Range<u32> {
        let first = |server: u32| {
            (u64::from(server) * u64::from(PARTITIONS)).div_ceil(u64::from(self.servers)) as u32
        };
        first(server.0)..first(server.0 + 1)
    }

    /// The range of the flat dense parameters (of `len` floats) that `server` holds; may be empty.
    #[must_use]
    pub fn dense_range_of(self, server: ServerId, len: usize) -> Range<usize> {
        let chunks = len.div_ceil(DENSE_CHUNK);
        let owned = self.partitions_of(server);
        let first = |partition: u32| {
            (0..=chunks)
                .find(|&chunk| chunk == chunks || Self::partition_of_chunk(chunk, chunks) >= partition)
                .unwrap_or(chunks)
        };
        let start = first(owned.start) * DENSE_CHUNK;
        let end = first(owned.end) * DENSE_CHUNK;
        start.min(len)..end.min(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_own_every_partition_and_dense_float_once() {
        for servers in [1, 2, 3, 7, 64, 1023, 1024] {
            let map = PartitionMap::new(servers);
            let (mut partition, mut float) = (0, 0);
            for server in 0..servers {
                let owned = map.partitions_of(ServerId(server));
                assert_eq!(owned.start, partition);
                partition = owned.end;
                for inside in owned {
                    assert_eq!(map.server_of(inside), ServerId(server));
                }
                let dense = map.dense_range_of(ServerId(server), 492_801);
                assert_eq!(dense.start, float);
                float = dense.end;
            }
            assert_eq!((partition, float), (PARTITIONS, 492_801));
        }
    }

    /// Checkpoints and the sharing out of rows depend on these values: they must never change.
    #[test]
    fn partitions_are_fixed_for_ever() {
        let of = |table, key| PartitionMap::partition_of_key(TableId(table), Key(key));
        assert_eq!([0, 832, 214, 116], [of(0, 0), of(0, 1), of(1, 1), of(25, u64::MAX)]);
        assert_eq!(PartitionMap::partition_of_chunk(7, 13), 551);
    }

    #[test]
    fn small_keys_spread_over_partitions() {
        let mut counts = vec![0_u32; PARTITIONS as usize];
        for key in 0..102_400 {
            counts[PartitionMap::partition_of_key(TableId(3), Key(key)) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| count > 40 && count < 250), "uneven: {counts:?}");
    }
}
