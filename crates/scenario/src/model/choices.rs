//! What can be chosen for a connection.

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// Every choice, in the order of the reference.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The words of [`Self::ALL`].
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The choice that `word` is.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|choice| choice.word() == word)
            }

            /// The word in a scenario file.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    };
}
pub(crate) use words;

words! {
    /// How losses are found and repaired.
    Recovery {
        /// Fast retransmit, then slow start.
        Tahoe = "tahoe",
        /// Fast recovery (RFC 5681), ended by the first new ACK.
        Reno = "reno",
        /// Fast recovery with partial ACKs (RFC 6582).
        NewReno = "newreno",
        /// Selective acknowledgements (RFC 6675).
        Sack = "sack",
    }
}

words! {
    /// What NewReno does with partial ACKs: those of something new, but not of all that was outstanding when the repair
    /// began.
    PartialAcks {
        /// The first one restarts the retransmit timer. The window deflates by what each acknowledges, less a packet
        /// (RFC 6582).
        Impatient = "impatient",
        /// Each one restarts the timer (RFC 3782 section 4). The window deflates in the same way.
        SlowButSteady = "slow-but-steady",
        /// Each one restarts the timer, and takes away what duplicate ACKs added to the window: ns-2 before May 2003.
        Ns2Of2002 = "ns2-2002",
    }
}

words! {
    /// When a receiver acknowledges.
    Receiver {
        /// Every packet at once.
        AckEveryPacket = "ack-every-packet",
        /// Every second packet, or when the timer fires (RFC 5681 section 4.2).
        Delayed = "delayed-ack",
        /// Every packet at first, then as `Delayed` (Linux).
        QuickAckThenDelayed = "quickack-then-delayed",
    }
}

words! {
    /// What an idle time longer than the retransmission timeout does to the window.
    IdleRestart {
        /// Back to the initial window (RFC 5681 section 4.1).
        Restart = "restart",
        /// Nothing.
        Keep = "keep",
        /// Half for each timeout that passed, and half of what the application leaves unused (RFC 2861). What profile
        /// `linux` does as `Restart`.
        Validate = "validate",
        /// Most of it leaves at an even pace until the first ACK (`rate-based-pacing`).
        Pace = "pace",
    }
}

words! {
    /// What the packet that opens a connection carries.
    DataInSyn {
        /// No data.
        Never = "never",
        /// The first packet of it; the others wait for the answer (TCP Fast Open, RFC 7413).
        Tfo = "tfo",
        /// The first packet, which the rest of the initial window follows at once (T/TCP, RFC 1644).
        Ttcp = "t/tcp",
    }
}

/// When the receiving application reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// At once.
    Eager,
    /// Only when this many bytes have come, or the last one.
    Every(u64),
}

/// How much of an ACK may enlarge the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// One packet per ACK (RFC 5681).
    PerAck,
    /// The bytes acknowledged, at most two packets per ACK (RFC 3465).
    ByteCounting,
    /// All the bytes acknowledged (Linux).
    AllAcked,
}
