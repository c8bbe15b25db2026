//! Choices for a connection.

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

            /// The choice of this word.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|choice| choice.word() == word)
            }

            /// Word in a scenario file.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    };
}
pub(crate) use words;

words! {
    /// Loss detection and retransmission.
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
    /// Response of NewReno to partial ACKs: ACKs that acknowledge new data, but not all data that was outstanding when
    /// recovery began.
    PartialAcks {
        /// The first one restarts the retransmission timer. The window deflates by the bytes that each acknowledges,
        /// less a packet (RFC 6582).
        Impatient = "impatient",
        /// Each one restarts the timer (RFC 3782 section 4). The window deflates in the same way.
        SlowButSteady = "slow-but-steady",
        /// Each one restarts the timer, and removes the inflation of the window by duplicate ACKs: ns-2 before May 2003.
        Ns2Of2002 = "ns2-2002",
    }
}

words! {
    /// Times at which a receiver acknowledges.
    Receiver {
        /// Every packet at once.
        AckEveryPacket = "ack-every-packet",
        /// Every second packet, or when the timer fires (RFC 5681 section 4.2).
        Delayed = "delayed-ack",
        /// Every packet at first, later as `Delayed` (Linux).
        QuickAckThenDelayed = "quickack-then-delayed",
        /// The same in front of a receive buffer that grows while the application reads (Linux by default).
        Tuned = "tuned-buffer",
        /// Every tenth packet, or when the timer fires, as a sender of QUIC may ask for (draft-ietf-quic-ack-frequency).
        EveryTenth = "ack-every-ten",
    }
}

words! {
    /// Effect on the window of an idle time longer than the retransmission timeout.
    IdleRestart {
        /// Back to the initial window (RFC 5681 section 4.1).
        Restart = "restart",
        /// No effect.
        Keep = "keep",
        /// The window is halved for each timeout that passed, and by half of the part that the application leaves unused
        /// (RFC 2861). Profile `linux` has this behaviour as `Restart`.
        Validate = "validate",
        /// Most of the window leaves at an even pace until the first ACK (`rate-based-pacing`).
        Pace = "pace",
    }
}

words! {
    /// Data in the SYN of a connection.
    DataInSyn {
        /// No data.
        Never = "never",
        /// The first packet of data; the others wait for the SYN-ACK (TCP Fast Open, RFC 7413).
        Tfo = "tfo",
        /// The first packet of data; the rest of the initial window follows at once (T/TCP, RFC 1644).
        Ttcp = "t/tcp",
    }
}

/// Times at which the receiving application reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// At once.
    Eager,
    /// Once this number of bytes has arrived, or the last byte.
    Every(u64),
}

/// Growth of the window that one ACK allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// One packet per ACK (RFC 5681).
    PerAck,
    /// The bytes acknowledged, at most two packets per ACK (RFC 3465).
    ByteCounting,
    /// All the bytes acknowledged (Linux).
    AllAcked,
}
