//! Places at which a capture contains a packet another time.

use serde::Serialize;

use crate::tap::Tap;

/// Numbers of packets that are left out because the capture contains them another time, by the place of the copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Copies {
    /// At the same interface.
    pub same_interface: u64,
    /// At another interface, or with other link addresses.
    pub other_interface: u64,
    /// On another side of a router: the TTL or hop limit differs.
    pub other_side_of_router: u64,
    /// In another file of the same place: the captures overlap, or one is a copy of the other.
    pub other_file: u64,
    /// In a file from the other end of the connection, or from another place on its path.
    pub other_end: u64,
}

impl Copies {
    /// All of them.
    pub fn all(&self) -> u64 {
        let Self { same_interface, other_interface, other_side_of_router, other_file, other_end } = *self;
        same_interface + other_interface + other_side_of_router + other_file + other_end
    }

    pub(crate) fn count(&mut self, place: CopyPlace) {
        *match place {
            CopyPlace::SameInterface => &mut self.same_interface,
            CopyPlace::OtherInterface => &mut self.other_interface,
            CopyPlace::OtherSideOfRouter => &mut self.other_side_of_router,
            CopyPlace::OtherFile => &mut self.other_file,
            CopyPlace::OtherEnd => &mut self.other_end,
        } += 1;
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.same_interface += other.same_interface;
        self.other_interface += other.other_interface;
        self.other_side_of_router += other.other_side_of_router;
        self.other_file += other.other_file;
        self.other_end += other.other_end;
    }

    /// Numbers and places, as part of a sentence.
    pub(crate) fn places(&self) -> String {
        let places = [
            (self.same_interface, "at the same interface"),
            (self.other_interface, "at another interface"),
            (self.other_side_of_router, "on another side of a router"),
            (self.other_file, "in another file"),
            (
                self.other_end,
                "in a file from another point of their path; the one nearest to the sender of the data is used",
            ),
        ];
        let some = places.into_iter().filter(|(count, _)| *count > 0);
        some.map(|(count, place)| format!("{count} {place}")).collect::<Vec<_>>().join(", ")
    }
}

/// Place of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyPlace {
    SameInterface,
    OtherInterface,
    OtherSideOfRouter,
    OtherFile,
    OtherEnd,
}

impl CopyPlace {
    /// Place of a copy in the file of its packet, from the points at which both were captured.
    pub(crate) fn of(packet: Tap, copy: Tap) -> Self {
        if packet.hops != copy.hops {
            Self::OtherSideOfRouter
        } else if packet.link != copy.link {
            Self::OtherInterface
        } else {
            Self::SameInterface
        }
    }
}
