//! Place at which a packet was captured: the file, the interface, the addresses of its link header, and how many hops it had left.
//! Copies of a packet mostly differ in it.

/// A place of capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tap {
    /// Number of the file.
    pub(crate) file: u16,
    /// TTL or hop limit.
    pub(crate) hops: u8,
    /// Hash of the interface and of the link header's addresses.
    pub(crate) link: u32,
}

impl Tap {
    /// The place of a frame of `link_type` with the captured bytes `data`, on interface number `interface` of file number `file`.
    pub(crate) fn new(file: u16, interface: u32, link_type: u32, data: &[u8]) -> Self {
        let mut hash = Hash(0x811c_9dc5);
        hash.add(&interface.to_le_bytes());
        let addresses: &[(usize, usize)] = match link_type {
            // both addresses, and a VLAN tag
            1 if matches!(data.get(12..14), Some([0x81, 0] | [0x88, 0xa8])) => &[(0, 12), (14, 16)],
            1 => &[(0, 12)],
            // Linux cooked: packet type, address; in version 2 the interface too
            113 => &[(0, 2), (6, 14)],
            276 => &[(4, 8), (10, 11), (12, 20)],
            _ => &[],
        };
        for &(from, to) in addresses {
            hash.add(data.get(from..to).unwrap_or_default());
        }
        Self { file, hops: 0, link: hash.0 }
    }

    /// The place of a packet with this number of hops, in encapsulations with this hash.
    pub(crate) fn behind(self, hops: u8, layers: u32) -> Self {
        Self { hops, link: self.link ^ layers, ..self }
    }
}

/// Fowler, Noll and Vo's hash FNV-1a of 32 bits.
struct Hash(u32);

impl Hash {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
    }
}
