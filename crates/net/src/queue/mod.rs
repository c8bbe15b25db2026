//! Queueing disciplines.
//!
//! Most disciplines decide when a packet arrives. Their link needs no event at the end of a transmission: the
//! service start of every packet is known on arrival, and so is the backlog that later arrivals find.
//! Disciplines that decide later, or drop queued packets, store their packets: [`dequeue`].

pub mod dequeue;
pub mod drop_tail;

use crate::catalogue::Discipline as Info;
use crate::router::{self, Header, Router, RouterConfig};
use crate::settings::{self, Conflict, Field, Key, Settings};
use crate::token_bucket::BucketConfig;
use codel::CodelConfig;
use dequeue::{Item, Outgoing};
use drop_tail::{DropTailBytes, DropTailPackets};
use firstflight_contract::Rate;
use firstflight_random::Stream;
use fq_codel::FqCodelConfig;
use red::RedConfig;
use std::collections::VecDeque;

pub use crate::arrival::{Arrival, Room, Verdict};

/// A link, for settings that depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Room of the queue.
    pub room: Room,
    /// Rate of the link.
    pub rate: Rate,
    /// Size of a full packet, bytes.
    pub packet: u32,
}

/// A link that is being built.
pub struct Site<'a> {
    /// Rate of the link; the mean rate if it varies.
    pub rate: Rate,
    /// Random stream of the link for a purpose.
    pub stream: &'a dyn Fn(&str) -> Stream,
}

/// Declares each discipline in its file. The file has `INFO`, `Settings`, a structure with the name of the discipline, and the
/// functions `configure`, `room` and `build`. One that decides on arrival has `DROPS_EARLY` too.
macro_rules! disciplines {
    (
        on arrival { $($early:ident($($e:ident: $et:ty),+) in $early_file:ident,)+ }
        at dequeue { $($late:ident($($l:ident: $lt:ty),+) in $late_file:ident,)+ }
    ) => {
        $(pub mod $early_file;)+
        $(pub mod $late_file;)+

        /// Kind and settings of a queue, as a scenario has them.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Discipline {
            /// First in, first out; a packet that finds no room is dropped.
            DropTail,
            $(#[doc = concat!("See [`", stringify!($early_file), "`].")] $early($early_file::Settings),)+
            $(#[doc = concat!("See [`", stringify!($late_file), "`].")] $late($late_file::Settings),)+
            /// First in, first out, at a router that takes part in congestion control.
            Router(router::Settings),
        }

        impl Discipline {
            /// Words in a scenario.
            pub const WORDS: &'static [&'static str] = &[
                drop_tail::INFO.label,
                $($early_file::INFO.label,)+
                $($late_file::INFO.label,)+
                router::INFO[0].label,
                router::INFO[1].label,
                router::INFO[2].label,
            ];
            /// Every discipline, in listing order.
            pub const INFO: &'static [Info] = &[
                drop_tail::INFO,
                $($early_file::INFO,)+
                $($late_file::INFO,)+
                router::INFO[0],
                router::INFO[1],
                router::INFO[2],
            ];

            /// The discipline of this word, with its defaults on a path of `bdp` packets.
            pub fn usual(word: &str, bdp: f64) -> Option<Self> {
                $(if word == $early_file::INFO.label { return Some(Self::$early(Settings::usual(bdp))); })+
                $(if word == $late_file::INFO.label { return Some(Self::$late(Settings::usual(bdp))); })+
                if word == drop_tail::INFO.label { return Some(Self::DropTail); }
                router::Settings::by_label(word).map(Self::Router)
            }

            /// Label.
            pub const fn label(&self) -> &'static str {
                match self {
                    Self::DropTail => drop_tail::INFO.label,
                    $(Self::$early(_) => $early_file::INFO.label,)+
                    $(Self::$late(_) => $late_file::INFO.label,)+
                    Self::Router(router) => router.label(),
                }
            }

            /// Whether the queue draws random numbers.
            pub fn draws(&self) -> bool {
                match self {
                    Self::DropTail | Self::Router(_) => false,
                    $(Self::$early(settings) => settings.draws(),)+
                    $(Self::$late(settings) => settings.draws(),)+
                }
            }

            /// Whether the queue marks packets.
            pub fn marks(&self) -> bool {
                match self {
                    Self::DropTail | Self::Router(_) => false,
                    $(Self::$early(settings) => settings.marks(),)+
                    $(Self::$late(settings) => settings.marks(),)+
                }
            }

            /// Whether the queue knows on arrival when a packet leaves, whatever the rate of its link.
            pub fn takes_a_shaper(&self) -> bool {
                matches!(self, Self::DropTail $(| Self::$early(_))+)
            }

            /// Whether the settings fit each other, and full packets of `packet` bytes.
            ///
            /// # Errors
            /// The first conflict.
            pub fn check(&self, packet: u32) -> Result<(), Conflict> {
                match self {
                    Self::DropTail | Self::Router(_) => Ok(()),
                    $(Self::$early(settings) => settings.check(packet),)+
                    $(Self::$late(settings) => settings.check(packet),)+
                }
            }

            fn all_fields(&mut self) -> Vec<(&'static str, Field<'_>)> {
                match self {
                    Self::DropTail => vec![],
                    $(Self::$early(settings) => settings.fields(),)+
                    $(Self::$late(settings) => settings.fields(),)+
                    Self::Router(router) => router.fields(),
                }
            }

            /// The queue of a link.
            pub fn at(&self, place: &Place) -> QueueConfig {
                match self {
                    Self::DropTail => place.room.into(),
                    $(Self::$early(settings) => $early_file::configure(settings, place),)+
                    $(Self::$late(settings) => $late_file::configure(settings, place),)+
                    Self::Router(router) => QueueConfig::Router(router.config(), place.room),
                }
            }
        }

        /// Kind and parameters of the queue of a link.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum QueueConfig {
            /// No limit.
            Unlimited,
            /// Drop-tail, limited in packets.
            Packets(u32),
            /// Drop-tail, limited in bytes.
            Bytes(u64),
            /// A router that takes part in congestion control, and its room.
            Router(RouterConfig, Room),
            $(#[doc = concat!("See [`", stringify!($early_file), "`].")] $early($($et),+),)+
            $(#[doc = concat!("See [`", stringify!($late_file), "`].")] $late($($lt),+),)+
        }

        impl QueueConfig {
            /// Whether the queue stores its packets and decides when the link is free.
            pub fn decides_at_dequeue(&self) -> bool {
                matches!(self, $(Self::$late(..))|+)
            }

            /// Whether the queue decides on arrival and may drop a packet that has room.
            pub fn drops_early(&self) -> bool {
                match self {
                    $(Self::$early(..) => $early_file::DROPS_EARLY,)+
                    _ => false,
                }
            }

            /// Room of the queue; `None` is no limit.
            pub fn room(&self) -> Option<Room> {
                Some(match *self {
                    Self::Unlimited => return None,
                    Self::Packets(limit) => Room::Packets(limit),
                    Self::Bytes(limit) => Room::Bytes(limit),
                    Self::Router(_, room) => room,
                    $(Self::$early($($e),+) => $early_file::room($($e),+),)+
                    $(Self::$late($($l),+) => $late_file::room($($l),+),)+
                })
            }

            /// The queue, if it decides on arrival; otherwise none.
            pub fn on_arrival(&self, site: &Site<'_>) -> Queue {
                match *self {
                    Self::Packets(limit) => Queue::Packets(DropTailPackets { limit }),
                    Self::Bytes(limit) => Queue::Bytes(DropTailBytes { limit }),
                    Self::Router(config, room) => Queue::Router(Box::new(Router::new(config, room, site.rate))),
                    $(Self::$early($($e),+) => Queue::$early(Box::new($early_file::build($($e),+, site))),)+
                    Self::Unlimited $(| Self::$late(..))+ => Queue::Unlimited,
                }
            }

            /// The queue, if it decides at dequeue time.
            pub fn at_dequeue<T: Copy>(&self, site: &Site<'_>) -> Option<DequeueQueue<T>> {
                match *self {
                    $(Self::$late($($l),+) => Some(DequeueQueue::$late(Box::new($late_file::build($($l),+, site)))),)+
                    Self::Unlimited | Self::Packets(_) | Self::Bytes(_) | Self::Router(..) $(| Self::$early(..))+ => None,
                }
            }
        }

        /// The disciplines that decide on arrival.
        #[derive(Clone, Debug)]
        pub enum Queue {
            /// No limit: an access link, or a path without loss.
            Unlimited,
            /// Drop-tail counted in packets.
            Packets(DropTailPackets),
            /// Drop-tail counted in bytes.
            Bytes(DropTailBytes),
            $(#[doc = concat!("See [`", stringify!($early_file), "`].")] $early(Box<$early_file::$early>),)+
            /// A router that takes part in congestion control.
            Router(Box<Router>),
        }

        impl Queue {
            /// Decision on an arriving packet; a router may change its header.
            #[inline]
            pub(crate) fn admit(&mut self, arrival: &Arrival, header: &mut Header) -> Verdict {
                match self {
                    Self::Unlimited => Verdict::Accept,
                    Self::Packets(queue) => queue.admit(arrival),
                    Self::Bytes(queue) => queue.admit(arrival),
                    $(Self::$early(queue) => queue.admit(arrival),)+
                    Self::Router(router) => router.admit(arrival, header),
                }
            }
        }

        /// The disciplines that decide at dequeue time.
        #[derive(Clone, Debug)]
        pub enum DequeueQueue<T> {
            $(#[doc = concat!("See [`", stringify!($late_file), "`].")] $late(Box<$late_file::$late<T>>),)+
        }

        impl<T: Copy> DequeueQueue<T> {
            pub(crate) fn enqueue(&mut self, item: Item<T>, free_at: u64, dropped: &mut VecDeque<Item<T>>) -> bool {
                match self { $(Self::$late(queue) => queue.enqueue(item, free_at, dropped),)+ }
            }

            pub(crate) fn dequeue(&mut self, now: u64, dropped: &mut VecDeque<Item<T>>) -> Option<Outgoing<T>> {
                match self { $(Self::$late(queue) => queue.dequeue(now, dropped),)+ }
            }

            pub(crate) fn len(&self) -> usize {
                match self { $(Self::$late(queue) => queue.len(),)+ }
            }
        }
    };
}

disciplines! {
    on arrival {
        Red(config: RedConfig) in red,
        Policer(config: BucketConfig, room: Room) in policer,
    }
    at dequeue {
        Choke(config: RedConfig) in choke,
        Codel(config: CodelConfig, room: Room) in codel,
        FqCodel(config: FqCodelConfig) in fq_codel,
        Priority(room: Room) in priority,
        AckFilter(room: Room) in ack_filter,
    }
}

impl Discipline {
    /// Keys in a scenario.
    pub fn keys(&self) -> &'static [Key] {
        let info = Self::INFO.iter().find(|info| info.label == self.label());
        info.map_or(&[], |info| info.keys)
    }

    /// The values by their keys, in the order of the canonical text.
    pub fn fields(&mut self) -> Vec<(&'static Key, Field<'_>)> {
        let keys = self.keys();
        let known = |(name, field)| keys.iter().find(|key| key.name == name).map(|key| (key, field));
        self.all_fields().into_iter().filter_map(known).collect()
    }
}

impl From<Room> for QueueConfig {
    fn from(room: Room) -> Self {
        match room {
            Room::Packets(limit) => Self::Packets(limit),
            Room::Bytes(limit) => Self::Bytes(limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Role;

    #[test]
    fn every_queue_has_its_section_on_the_page() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/queues.md");
        let text = std::fs::read_to_string(page).expect("the page of queues");
        let sections =
            text.lines().filter_map(|line| line.strip_prefix("## ")).filter(|name| *name != "References");
        let queues = Discipline::INFO.iter().filter(|info| info.role == Role::Queue).map(|info| info.label);
        assert_eq!(sections.collect::<Vec<_>>(), queues.collect::<Vec<_>>());
    }
}
