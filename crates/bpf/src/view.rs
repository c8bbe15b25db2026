//! The structs of the kernel as a program sees them here: the fields that exist, where each lies, and where its value comes
//! from. An object finds the fields by name, so their places need not be the kernel's.

/// Origin of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The value that the Linux sender of the simulator has.
    Exact,
    /// Calculated from the events of the contract; the note says how.
    Derived,
    /// The same value always.
    Constant,
    /// Belongs to the program, or is what the program wrote last.
    Program,
}

impl Origin {
    const fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Derived => "derived",
            Self::Constant => "constant",
            Self::Program => "program's",
        }
    }
}

/// One field of the view.
#[derive(Clone, Copy, Debug)]
pub struct FieldInfo {
    /// Struct and field: `tcp_sock.snd_cwnd`.
    pub name: &'static str,
    /// Bytes; of a bit field, the bytes that hold it.
    pub size: usize,
    /// Bits, of a bit field; zero of any other.
    pub bits: u32,
    /// Whether the value is signed.
    pub signed: bool,
    /// Whether a program may write it, as in the kernel (`bpf_tcp_ca_btf_struct_access`).
    pub writable: bool,
    /// Origin of the value.
    pub origin: Origin,
    /// Unit and meaning.
    pub note: &'static str,
}

macro_rules! fields {
    ($($field:ident $name:literal $size:literal $([$bits:literal bits])? $($signed:ident)? $(= $writable:ident)?,
        $origin:ident, $note:literal;)+) => {
        /// A field of the sender, of `ack_sample` or of `rate_sample`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(dead_code, reason = "some fields are the program's alone, or always zero")]
        pub(crate) enum Field { $($field),+ }

        /// Every field, in the order of its place.
        pub const FIELDS: &[FieldInfo] = &[$(FieldInfo {
            name: $name,
            size: $size,
            bits: 0 $(+ $bits)?,
            signed: fields!(@is $($signed)?),
            writable: fields!(@is $($writable)?),
            origin: Origin::$origin,
            note: $note,
        }),+];
    };
    (@is) => { false };
    (@is $word:ident) => { true };
}

// Larger fields first within each struct, so that each field is aligned.
fields! {
    CaPriv "inet_connection_sock.icsk_ca_priv" 104 = writable, Program, "zero at the beginning";
    PacingRate "sock.sk_pacing_rate" 8 = writable, Derived,
        "bytes/s; without cong_control, the kernel's rule from cwnd, ssthresh and srtt after each ACK";
    MaxPacingRate "sock.sk_max_pacing_rate" 8, Constant, "no limit";
    Mstamp "tcp_sock.tcp_mstamp" 8, Exact, "us; the clock began 300 s before the run";
    BytesSent "tcp_sock.bytes_sent" 8, Exact, "bytes, in whole segments";
    BytesRetrans "tcp_sock.bytes_retrans" 8, Exact, "bytes, in whole segments";
    BytesAcked "tcp_sock.bytes_acked" 8, Derived, "delivered bytes: ahead of the kernel's while segments are missing";
    PacingStatus "sock.sk_pacing_status" 4 = writable, Exact, "2 (fq) if the stack paces, else 0; or what the program wrote";
    SndNxt "tcp_sock.snd_nxt" 4, Exact, "bytes from 1; exact at each ACK, and plus what was sent since";
    SndUna "tcp_sock.snd_una" 4, Derived, "1 + delivered bytes: exact while no segment is missing, ahead of it otherwise";
    RcvNxt "tcp_sock.rcv_nxt" 4, Constant, "1: the sender receives no data";
    Delivered "tcp_sock.delivered" 4, Exact, "segments";
    DeliveredCe "tcp_sock.delivered_ce" 4, Exact, "segments whose ACK echoed a mark";
    Lost "tcp_sock.lost" 4, Exact, "segments";
    SndCwnd "tcp_sock.snd_cwnd" 4 = writable, Exact, "segments";
    SndCwndCnt "tcp_sock.snd_cwnd_cnt" 4 = writable, Exact, "segments";
    SndCwndClamp "tcp_sock.snd_cwnd_clamp" 4, Constant, "no limit";
    SndSsthresh "tcp_sock.snd_ssthresh" 4 = writable, Exact, "segments; 0x7fffffff is infinite";
    PriorCwnd "tcp_sock.prior_cwnd" 4, Exact, "segments, at the last reduction";
    PriorSsthresh "tcp_sock.prior_ssthresh" 4, Derived, "segments, at the last reduction";
    MaxPacketsOut "tcp_sock.max_packets_out" 4, Derived,
        "segments: the window while the sender was limited by it, else at most half of it";
    PacketsOut "tcp_sock.packets_out" 4, Derived, "segments in the network, so that tcp_packets_in_flight is exact";
    SackedOut "tcp_sock.sacked_out" 4, Derived, "0, as above";
    LostOut "tcp_sock.lost_out" 4, Derived, "0, as above";
    RetransOut "tcp_sock.retrans_out" 4, Derived, "0, as above";
    TotalRetrans "tcp_sock.total_retrans" 4, Exact, "segments";
    DataSegsOut "tcp_sock.data_segs_out" 4, Exact, "segments";
    SrttUs "tcp_sock.srtt_us" 4, Exact, "eighths of a us";
    MssCache "tcp_sock.mss_cache" 4, Exact, "bytes";
    Lsndtime "tcp_sock.lsndtime" 4, Exact, "jiffies";
    HighSeq "tcp_sock.high_seq" 4, Exact, "snd_nxt at the last reduction";
    RateDelivered "tcp_sock.rate_delivered" 4, Derived, "segments, of the last rate sample";
    RateIntervalUs "tcp_sock.rate_interval_us" 4, Derived, "us, of the last rate sample";
    AppLimited "tcp_sock.app_limited" 4, Derived, "above 0 while the rate sample is limited by the application";
    State "sock_common.skc_state" 1, Constant, "1: established";
    CaState "inet_connection_sock.icsk_ca_state" 1 [5 bits], Derived,
        "Open, CWR, Recovery, Loss; Disorder is reported as Open";
    AckPending "inet_connection_sock.icsk_ack.pending" 1 = writable, Constant, "0: no ACK is delayed";
    EcnFlags "tcp_sock.ecn_flags" 1 = writable, Derived, "1 (ECN is in use) if the object asks for ECN";
    IsCwndLimited "tcp_sock.is_cwnd_limited" 1 [1 bits], Derived,
        "whether the window limited the sender; below the threshold, by slow start's wider rule";
    RateAppLimited "tcp_sock.rate_app_limited" 1 [1 bits], Exact, "of the last rate sample";
    SamplePktsAcked "ack_sample.pkts_acked" 4, Derived, "segments that the ACK delivered, selectively too";
    SampleRttUs "ack_sample.rtt_us" 4 signed, Exact, "us; -1 without a sample";
    SampleInFlight "ack_sample.in_flight" 4, Derived, "bytes delivered since the newest delivered segment was sent";
    RatePriorMstamp "rate_sample.prior_mstamp" 8, Derived, "us: the beginning of the interval";
    RateInterval "rate_sample.interval_us" 8 signed, Derived, "us: delivered segments over the rate; -1 without a sample";
    RateRtt "rate_sample.rtt_us" 8 signed, Exact, "us; -1 without a sample";
    RatePriorDelivered "rate_sample.prior_delivered" 4, Exact, "segments";
    RateSampleDelivered "rate_sample.delivered" 4 signed, Exact, "segments; -1 without a sample";
    RateLosses "rate_sample.losses" 4 signed, Exact, "segments newly declared lost";
    RateAckedSacked "rate_sample.acked_sacked" 4, Exact, "segments";
    RatePriorInFlight "rate_sample.prior_in_flight" 4, Exact, "segments";
    RateIsAppLimited "rate_sample.is_app_limited" 1, Exact, "whether the application limited the sender during the interval";
    RateIsRetrans "rate_sample.is_retrans" 1, Derived, "whether the ACK gave no RTT sample";
    RateIsAckDelayed "rate_sample.is_ack_delayed" 1, Exact, "whether the ACK covers one segment that the receiver may have held back";
}

/// Structs that lie at the beginning of another, so that a pointer to one is a pointer to the other.
const EMBEDDED: [&str; 4] =
    ["sock.__sk_common", "inet_sock.sk", "inet_connection_sock.icsk_inet", "tcp_sock.inet_conn"];

/// Structs whose pointers programs are given.
const STRUCTS: [&str; 7] =
    ["sock_common", "sock", "inet_sock", "inet_connection_sock", "tcp_sock", "ack_sample", "rate_sample"];

/// Enumerators of the kernel, which its programs name.
const ENUMERATORS: [(&str, u64); 19] = [
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("CA_EVENT_TX_START", 0),
    ("CA_EVENT_CWND_RESTART", 1),
    ("CA_EVENT_COMPLETE_CWR", 2),
    ("CA_EVENT_LOSS", 3),
    ("CA_EVENT_ECN_NO_CE", 4),
    ("CA_EVENT_ECN_IS_CE", 5),
    ("CA_ACK_SLOWPATH", 1),
    ("CA_ACK_WIN_UPDATE", 2),
    ("CA_ACK_ECE", 4),
    ("SK_PACING_NONE", 0),
    ("SK_PACING_NEEDED", 1),
    ("SK_PACING_FQ", 2),
    ("TCP_CONG_NON_RESTRICTED", 1),
    ("TCP_CONG_NEEDS_ECN", 2),
];

/// The field at which each struct of a buffer of its own begins.
const ACK_SAMPLE: usize = Field::SamplePktsAcked as usize;
const RATE_SAMPLE: usize = Field::RatePriorMstamp as usize;

/// Place of each field in its struct, bytes.
const PLACES: [usize; FIELDS.len()] = {
    let mut places = [0; FIELDS.len()];
    let (mut at, mut index) = (0, 0);
    while index < FIELDS.len() {
        if index == ACK_SAMPLE || index == RATE_SAMPLE {
            at = 0;
        }
        places[index] = at;
        at += FIELDS[index].size;
        index += 1;
    }
    places
};

const fn end_of(field: usize) -> usize {
    (PLACES[field] + FIELDS[field].size).next_multiple_of(8)
}

/// Bytes of the sender.
pub(crate) const SENDER: usize = end_of(ACK_SAMPLE - 1);
/// Bytes of `ack_sample`.
pub(crate) const ACK: usize = end_of(RATE_SAMPLE - 1);
/// Bytes of `rate_sample`.
pub(crate) const RATE: usize = end_of(FIELDS.len() - 1);

impl Field {
    /// Distance from the beginning of the struct, bytes.
    pub(crate) const fn at(self) -> usize {
        PLACES[self as usize]
    }

    /// Bytes.
    pub(crate) const fn size(self) -> usize {
        FIELDS[self as usize].size
    }
}

/// The fields of the sender.
#[derive(Clone, Debug)]
pub(crate) struct Sender(pub(crate) Box<[u8; SENDER]>);

impl Default for Sender {
    fn default() -> Self {
        Self(Box::new([0; SENDER]))
    }
}

impl Sender {
    /// A field of at most four bytes.
    pub(crate) fn get(&self, field: Field) -> u32 {
        read(&self.0[..], field.at(), field.size()).expect("the field lies in the struct") as u32
    }

    /// Sets a field of at most four bytes.
    pub(crate) fn put(&mut self, field: Field, value: u32) {
        self.put_long(field, value.into());
    }

    /// A field of at most eight bytes.
    pub(crate) fn get_long(&self, field: Field) -> u64 {
        read(&self.0[..], field.at(), field.size()).expect("the field lies in the struct")
    }

    /// Sets a field of at most eight bytes.
    pub(crate) fn put_long(&mut self, field: Field, value: u64) {
        write(&mut self.0[..], field.at(), field.size(), value).expect("the field lies in the struct");
    }
}

/// The number of `size` bytes at `at`; `None` outside the bytes.
pub(crate) fn read(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let mut word = [0; 8];
    word.get_mut(..size)?.copy_from_slice(bytes.get(at..at.checked_add(size)?)?);
    Some(u64::from_le_bytes(word))
}

/// Writes the lowest `size` bytes of a number at `at`; `None` outside the bytes.
pub(crate) fn write(bytes: &mut [u8], at: usize, size: usize, value: u64) -> Option<()> {
    bytes.get_mut(at..at.checked_add(size)?)?.copy_from_slice(value.to_le_bytes().get(..size)?);
    Some(())
}

/// The field of the sender at `at`, if it may be written with the `size` bytes from there on.
pub(crate) fn may_write(at: usize, size: usize) -> Result<(), Option<&'static str>> {
    let inside = |index: &usize| (PLACES[*index]..PLACES[*index] + FIELDS[*index].size).contains(&at);
    match (0..ACK_SAMPLE).find(inside) {
        Some(index) if FIELDS[index].writable && at + size <= PLACES[index] + FIELDS[index].size => Ok(()),
        Some(index) => Err(Some(FIELDS[index].name)),
        None => Err(None),
    }
}

/// Kinds of names of a struct and a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A struct at the beginning of the other.
    Embedded,
    /// A field: its index in [`FIELDS`].
    Field(usize),
    /// A struct without a name, of which a member may be known.
    Group,
}

/// Looks up `tcp_sock.snd_cwnd`, or a name that others begin with.
pub(crate) fn find(name: &str) -> Option<Found> {
    if EMBEDDED.contains(&name) {
        return Some(Found::Embedded);
    }
    if let Some(index) = FIELDS.iter().position(|field| field.name == name) {
        return Some(Found::Field(index));
    }
    let group =
        FIELDS.iter().any(|field| field.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')));
    group.then_some(Found::Group)
}

/// The field of the same struct whose name is nearest to an unknown one, if one is near.
pub(crate) fn nearest(name: &str) -> Option<String> {
    let (of, field) = name.split_once('.')?;
    let fields = FIELDS.iter().filter_map(|field| field.name.strip_prefix(of)?.strip_prefix('.'));
    firstflight_document::nearest(field, fields).map(|field| format!("{of}.{field}"))
}

/// Whether programs are given pointers to this struct.
pub(crate) fn has_struct(name: &str) -> bool {
    STRUCTS.contains(&name)
}

/// Value of an enumerator.
pub(crate) fn enumerator(name: &str) -> Option<u64> {
    ENUMERATORS.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// Place of a field, bytes, by its index in [`FIELDS`].
pub(crate) fn place(index: usize) -> usize {
    PLACES[index]
}

/// The table of the documentation, as Markdown.
pub fn table() -> String {
    let mut out = String::from("| field | value | written | meaning |\n|---|---|---|---|\n");
    for FieldInfo { name, writable, origin, note, .. } in FIELDS {
        let written = if *writable { "yes" } else { "" };
        out += &format!("| `{name}` | {} | {written} | {note} |\n", origin.word());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_is_aligned_and_none_overlaps_the_next() {
        for (index, field) in FIELDS.iter().enumerate() {
            let alignment = field.size.min(8);
            assert_eq!(PLACES[index] % alignment, 0, "{}", field.name);
            let next = index + 1;
            if next < FIELDS.len() && next != ACK_SAMPLE && next != RATE_SAMPLE {
                assert_eq!(PLACES[next], PLACES[index] + field.size, "{}", field.name);
            }
        }
    }

    #[test]
    fn only_what_the_kernel_allows_is_written() {
        let names = FIELDS.iter().filter(|field| field.writable).map(|field| field.name);
        // Linux 6.1, net/ipv4/bpf_tcp_ca.c, bpf_tcp_ca_btf_struct_access.
        assert_eq!(names.collect::<Vec<_>>().len(), 8);
        assert_eq!(may_write(Field::SndCwnd.at(), 4), Ok(()));
        assert_eq!(may_write(Field::SndCwnd.at() + 2, 4), Err(Some("tcp_sock.snd_cwnd")));
        assert_eq!(may_write(Field::SndUna.at(), 4), Err(Some("tcp_sock.snd_una")));
    }
}
