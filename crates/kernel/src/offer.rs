//! Offering a chain of schemes as a congestion control of the running kernel.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use firstflight_contract::{Beginning, Declaration, Role, Signals, StartupExit};
use firstflight_document::nearest;
use firstflight_kernel_face::{FAULTS, LASTS, Member, STARTUPS};
use flate2::read::GzDecoder;
use libbpf_rs::{
    ErrorKind, Link, MapCore as _, MapFlags, MapHandle, ObjectBuilder, OpenObject, PrintLevel,
    RingBufferBuilder,
};
use object::elf::{self, FileHeader64};
use object::endian::LittleEndian;
use object::read::elf::{FileHeader as _, SectionHeader as _, Sym as _};

use crate::prefix::{Memory, Prefix};
use crate::record::{Record, Totals, exit_in_state};
use crate::refusal::Refusal;

/// The object, compressed; `make kernel` rebuilds it.
static OBJECT: &[u8] = include_bytes!("../bpf/firstflight.bpf.o.gz");
/// The name that the object has for the congestion control.
const PLACEHOLDER: &[u8] = b"ff_placeholder\0";
/// Bytes of the name of a congestion control, without the zero at its end (TCP_CA_NAME_MAX).
const LONGEST_NAME: usize = 15;

/// Attempts to attach under a name that is taken, and the time between two: a second in all.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);
/// Lines of libbpf's words that a refusal repeats: the cause stands last.
const LINES: usize = 4;

/// Signals that the kernel gives.
pub const SIGNALS: Signals =
    Signals::RTT.union(Signals::PACING).union(Signals::RATE).union(Signals::HANDSHAKE).union(Signals::PLAN);

/// Words of libbpf and of the verifier about the load under way.
static WORDS: Mutex<String> = Mutex::new(String::new());

fn keep_words(_: PrintLevel, words: String) {
    if let Ok(mut kept) = WORDS.lock() {
        kept.push_str(&words);
    }
}

/// A chain of schemes that this program can run in the kernel.
#[derive(Clone, Debug)]
pub struct Offer {
    startup: Option<usize>,
    last: usize,
    name: String,
    /// Bytes; zero for none.
    ssthresh: u64,
    traced: bool,
    /// In the place of the start-up scheme, for a test.
    fault: Option<&'static str>,
}

impl Offer {
    /// The chain with these labels: a start-up scheme and an avoidance scheme, or one standalone scheme.
    ///
    /// # Errors
    /// [`Refusal`] if a label is unknown, the labels make no chain, or a scheme needs what the kernel does not give.
    pub fn new(labels: &[&str]) -> Result<Self, Refusal> {
        let (leading, last) = match labels {
            [last] => (None, last),
            [first, last] => (Some(first), last),
            [] => return Err(Refusal::Chain("no scheme is named".into())),
            more => return Err(Refusal::Chain(format!("{} are {} schemes", more.join("+"), more.len()))),
        };
        let last = find(LASTS, last)?;
        let declaration: &Declaration = LASTS[last].declaration;
        let startup = leading.map(|label| find(STARTUPS, label)).transpose()?;
        match startup {
            Some(_) if declaration.beginning == Beginning::Alone || declaration.role == Role::Standalone => {
                return Err(Refusal::Chain(format!("{} begins the connection itself", declaration.label)));
            }
            None if declaration.role != Role::Standalone && declaration.beginning == Beginning::Startup => {
                return Err(Refusal::Chain(format!(
                    "{} needs a start-up scheme before it",
                    declaration.label
                )));
            }
            _ => {}
        }
        Ok(Self { startup, last, name: name(startup, last), ssthresh: 0, traced: false, fault: None })
    }

    /// With the parameters of profile `linux` in place of the defaults: cubic by the kernel's rules. The other schemes have the same
    /// parameters in both.
    #[must_use]
    pub fn as_in_linux(self) -> Self {
        let name = format!("{}_linux", LASTS[self.last].name);
        match LASTS.iter().position(|member| member.name == name) {
            Some(last) => Self { last, name: self::name(self.startup, last), ..self },
            None => self,
        }
    }

    /// Connections begin with this slow-start threshold, bytes. The kernel's own is infinite.
    #[must_use]
    pub fn initial_ssthresh(mut self, bytes: u64) -> Self {
        self.ssthresh = bytes;
        self
    }

    /// For tests: slow start that panics at its twentieth ACK, then Reno.
    ///
    /// # Errors
    /// Never: these schemes make a chain.
    #[doc(hidden)]
    pub fn that_panics() -> Result<Self, Refusal> {
        let offer = Self::new(&["slow-start", "reno"])?;
        Ok(Self { fault: Some(FAULTS[0].name), name: "ff_panicking".into(), ..offer })
    }

    /// Also records every event, for [`Offered::watch`].
    #[must_use]
    pub fn traced(mut self) -> Self {
        self.traced = true;
        self
    }

    /// The name under which applications select it: `TCP_CONGESTION`, at most 15 characters.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Loads the schemes into the kernel and offers them until the value is dropped or the process ends.
    ///
    /// # Errors
    /// [`Refusal`] if the kernel cannot run them.
    pub fn load(&self) -> Result<Offered, Refusal> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(Refusal::Machine("Linux on x86-64"));
        }
        if !Path::new("/sys/kernel/btf/vmlinux").exists() {
            return Err(Refusal::Kernel("type information (CONFIG_DEBUG_INFO_BTF)"));
        }
        let mut bytes = vec![];
        let read = GzDecoder::new(OBJECT).read_to_end(&mut bytes);
        read.map_err(|error| failed("the object of this program", error))?;
        self.place(&mut bytes).map_err(|error| failed("the object of this program", error))?;
        libbpf_rs::set_print(Some((PrintLevel::Info, keep_words)));
        if let Ok(mut words) = WORDS.lock() {
            words.clear();
        }
        let open = ObjectBuilder::default()
            .name("firstflight")
            .map_err(|e| failed("libbpf", e))?
            .open_memory(&bytes);
        let mut open =
            open.map_err(|error| failed("libbpf cannot read the object of this program", error))?;
        self.choose(&mut open)?;
        let mut object = open.load().map_err(refused)?;
        let link = self.attach(&mut object)?;
        Ok(Offered { name: self.name.clone(), _link: link, object })
    }

    /// Gives the kernel the congestion control. One that was taken back a moment ago keeps its name until the kernel has waited for its
    /// last users (an RCU grace period), so a name that is taken is tried again for a second.
    fn attach(&self, object: &mut libbpf_rs::Object) -> Result<Link, Refusal> {
        let ops = object.maps_mut().find(|map| map.name() == "ff_control_ops");
        let mut ops = ops.ok_or(Refusal::Kernel("struct_ops"))?;
        for _ in 0..TRIES {
            match ops.attach_struct_ops() {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => thread::sleep(PAUSE),
                attached => return attached.map_err(refused),
            }
        }
        Err(Refusal::Taken(self.name.clone()))
    }

    /// Puts the chosen schemes in their places: calls of a place become calls of the scheme.
    fn place(&self, object: &mut [u8]) -> object::Result<()> {
        // Without a start-up scheme nothing calls its place.
        let startup = self.fault.or(self.startup.map(|at| STARTUPS[at].name)).unwrap_or("startup");
        let endian = LittleEndian;
        let header = FileHeader64::<LittleEndian>::parse(&*object)?;
        let sections = header.sections(endian, &*object)?;
        let symbols = sections.symbols(endian, &*object, elf::SHT_SYMTAB)?;
        let number = |name: String| {
            let named = |index: &object::SymbolIndex| {
                let symbol = symbols.symbol(*index);
                symbol.is_ok_and(|symbol| symbol.name(endian, symbols.strings()) == Ok(name.as_bytes()))
            };
            (0..symbols.len()).map(object::SymbolIndex).find(named)
        };
        let mut moved = vec![];
        for (place, scheme) in [("startup", startup), ("last", LASTS[self.last].name)] {
            for part in ["run", "begin"] {
                moved.extend(number(format!("{part}_{place}")).zip(number(format!("{part}_{scheme}"))));
            }
        }
        let mut patches = vec![];
        for section in sections.iter() {
            let Some((relocations, _)) = section.rel(endian, &*object)? else { continue };
            for (at, relocation) in relocations.iter().enumerate() {
                if let Some((_, to)) =
                    moved.iter().find(|(from, _)| from.0 == relocation.r_sym(endian) as usize)
                {
                    // `r_info` is the second word: the symbol above the type.
                    let info = (to.0 as u64) << 32 | u64::from(relocation.r_type(endian).0);
                    patches.push((section.sh_offset(endian) as usize + 16 * at + 8, info));
                }
            }
        }
        for (at, info) in patches {
            object[at..at + 8].copy_from_slice(&info.to_le_bytes());
        }
        Ok(())
    }

    /// Sets the constants and the name.
    fn choose(&self, open: &mut OpenObject) -> Result<(), Refusal> {
        let startup = self.startup.unwrap_or(STARTUPS.len()) as u64;
        let words = [startup, self.last as u64, self.traced.into(), self.ssthresh].map(u64::to_ne_bytes);
        for mut map in open.maps_mut() {
            let of_choice = map.name() == ".rodata.choice";
            let of_ops = map.name() == "ff_control_ops";
            let Some(data) = map.initial_value_mut() else { continue };
            if of_choice {
                data[..32].copy_from_slice(words.as_flattened());
                data[32..32 + self.name.len()].copy_from_slice(self.name.as_bytes());
            } else if of_ops {
                let at = data.windows(PLACEHOLDER.len()).position(|bytes| bytes == PLACEHOLDER);
                let at = at.ok_or(Refusal::Failed { what: "the object", error: "it has no name".into() })?;
                let place = &mut data[at..=at + LONGEST_NAME];
                place.fill(0);
                place[..self.name.len()].copy_from_slice(self.name.as_bytes());
            }
        }
        Ok(())
    }
}

fn failed(what: &'static str, error: impl ToString) -> Refusal {
    Refusal::Failed { what, error: error.to_string() }
}

/// The refusal that an error of the kernel stands for.
fn refused(error: libbpf_rs::Error) -> Refusal {
    let words = WORDS.lock().map(|words| words.clone()).unwrap_or_default();
    if error.kind() == ErrorKind::PermissionDenied && !words.contains("BEGIN PROG LOAD LOG") {
        return Refusal::Privileges;
    }
    if words.contains("struct tcp_congestion_ops is not found")
        || words.contains("bpf_struct_ops_tcp_congestion_ops")
    {
        return Refusal::Kernel("congestion control in eBPF (struct_ops)");
    }
    if words.contains("bpf_throw") && words.contains("extern") {
        return Refusal::Kernel("exceptions of eBPF (bpf_throw)");
    }
    // The verifier's reason stands before its statistics.
    let reason = words.lines().rev().map(str::trim).find(|line| {
        !line.is_empty()
            && ["processed ", "-- END", "libbpf:", "verification time", "stack depth", "insns_"]
                .iter()
                .all(|start| !line.starts_with(start))
    });
    match reason {
        Some(reason) if words.contains("BEGIN PROG LOAD LOG") => {
            Refusal::Verifier { reason: reason.to_owned(), log: words }
        }
        _ => failed("loading the schemes into the kernel", in_short(&error.to_string(), &words)),
    }
}

/// An error in one line, with the last of libbpf's words.
fn in_short(error: &str, words: &str) -> String {
    let said: Vec<_> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = &said[said.len().saturating_sub(LINES)..];
    [error].iter().chain(last).copied().collect::<Vec<_>>().join("; ")
}

/// The position of the scheme with this label.
fn find(members: &'static [Member], label: &str) -> Result<usize, Refusal> {
    if let Some(at) = members.iter().position(|member| member.declaration.label == label) {
        return Ok(at);
    }
    let place = if std::ptr::eq(members, STARTUPS) { Role::LEADING } else { Role::LAST };
    let other = firstflight_schemes::registry::AnyPhase::with_role(label, place);
    if let Some(scheme) = other {
        let missing = scheme.info().needs.without(SIGNALS).names().collect();
        return Err(Refusal::Signals { label: label.into(), missing });
    }
    let labels = members.iter().map(|member| member.declaration.label);
    Err(Refusal::Unknown { label: label.into(), nearest: nearest(label, labels) })
}

/// `ff_` and the scheme that differs from slow-start+reno; of two such schemes, three letters from both ends of each.
fn name(startup: Option<usize>, last: usize) -> String {
    let plain = |name: &str| {
        let name = name.strip_suffix("_start").unwrap_or(name);
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>()
    };
    let ends = |name: &str, first: usize, end: usize| match name.len() {
        length if length <= first + end => name.to_owned(),
        length => format!("{}{}", &name[..first], &name[length - end..]),
    };
    let after = LASTS[last].name;
    let name = match startup.map(|at| STARTUPS[at].name) {
        None | Some("slow_start") => plain(after),
        Some(start) if after == "reno" => plain(start),
        Some(start) => format!("{}_{}", ends(&plain(start), 3, 3), ends(&plain(after), 3, 2)),
    };
    let mut name = format!("ff_{name}");
    name.truncate(LONGEST_NAME);
    name
}

/// A congestion control of the kernel. Dropping it takes the offer back; its connections go on until they end.
pub struct Offered {
    name: String,
    // Before the object, whose programs it holds.
    _link: Link,
    object: libbpf_rs::Object,
}

impl core::fmt::Debug for Offered {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Offered").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Offered {
    /// The name under which applications select it.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn map(&self, name: &str) -> Result<libbpf_rs::Map<'_>, Refusal> {
        let found = self.object.maps().find(|map| map.name() == name);
        found.ok_or_else(|| Refusal::Failed { what: "the object", error: format!("it has no map {name}") })
    }

    /// Makes every connection that a process of this cgroup opens or accepts from now on use the schemes, until the answer is
    /// dropped or the process ends. The root of the hierarchy holds every process of the host.
    ///
    /// # Errors
    /// If `cgroup` is no folder of a cgroup2 hierarchy, or the kernel refuses.
    pub fn select_for(&mut self, cgroup: &Path) -> Result<Selected, Refusal> {
        let folder = File::open(cgroup).map_err(|error| Refusal::Cgroup(cgroup.into(), error.to_string()))?;
        let program = self.object.progs_mut().find(|program| program.name() == "ff_select");
        let program = program.ok_or(Refusal::Kernel("programs for sockets (sock_ops)"))?;
        let link = program.attach_cgroup(folder.as_raw_fd());
        let link = link.map_err(|error| Refusal::Cgroup(cgroup.into(), error.to_string()))?;
        Ok(Selected { _link: link })
    }

    /// Totals over all connections since the offer.
    ///
    /// # Errors
    /// If the kernel does not let the totals be read.
    pub fn totals(&self) -> Result<Totals, Refusal> {
        let bytes = self.map(".bss.totals")?.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY);
        let bytes = bytes.map_err(|error| failed("the totals of the schemes", error))?;
        Ok(Totals::read(&bytes.unwrap_or_default()))
    }

    /// The ends of start-up of its connections.
    ///
    /// # Errors
    /// If the kernel does not let them be read.
    pub fn exits(&self) -> Result<Exits, Refusal> {
        let connections = MapHandle::try_from(&self.map("ff_connections")?);
        connections
            .map(|connections| Exits { connections })
            .map_err(|error| failed("the state of the connections", error))
    }

    /// Shows `each` record as it comes, until `over` answers true between two batches.
    ///
    /// # Errors
    /// If the kernel does not let the records be read.
    pub fn watch(&self, mut over: impl FnMut() -> bool, mut each: impl FnMut(Record)) -> Result<(), Refusal> {
        let records = self.map("ff_records")?;
        let mut ring = RingBufferBuilder::new();
        let take = |bytes: &[u8]| {
            if let Some(record) = Record::read(bytes) {
                each(record);
            }
            0
        };
        ring.add(&records, take).map_err(|error| failed("the records of the schemes", error))?;
        let ring = ring.build().map_err(|error| failed("the records of the schemes", error))?;
        loop {
            let last = over();
            let polled = ring.poll(if last { Duration::ZERO } else { Duration::from_millis(20) });
            match polled {
                Err(error) if error.kind() != ErrorKind::Interrupted => {
                    return Err(failed("the records of the schemes", error));
                }
                _ if last => return Ok(()),
                _ => {}
            }
        }
    }

    /// Remembers the path to the destinations of a prefix: planned starts follow it.
    ///
    /// # Errors
    /// If the memory is full, or the kernel refuses.
    pub fn remember(&self, prefix: Prefix, memory: Memory) -> Result<(), Refusal> {
        let stored = self.map("ff_memories")?.update(&prefix.to_bytes(), &memory.to_bytes(), MapFlags::ANY);
        stored.map_err(|error| failed("the memory of paths", error))
    }

    /// Forgets what [`Offered::remember`] stored for exactly this prefix.
    ///
    /// # Errors
    /// If nothing is stored for it.
    pub fn forget(&self, prefix: Prefix) -> Result<(), Refusal> {
        let removed = self.map("ff_memories")?.delete(&prefix.to_bytes());
        removed.map_err(|error| failed("the memory of paths", error))
    }
}

/// The ends of start-up of an offer's connections, read through their sockets.
#[derive(Debug)]
pub struct Exits {
    connections: MapHandle,
}

impl Exits {
    /// The end of start-up of the connection of this socket, on CLOCK_MONOTONIC; `None` before it, and for a socket of another
    /// congestion control.
    pub fn of(&self, socket: BorrowedFd<'_>) -> Option<StartupExit> {
        // A socket is the key of its own state.
        let key = socket.as_raw_fd().to_ne_bytes();
        exit_in_state(&self.connections.lookup(&key, MapFlags::ANY).ok()??)
    }
}

/// The sockets of a cgroup use the schemes while this value lives.
pub struct Selected {
    _link: Link,
}

impl core::fmt::Debug for Selected {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Selected").finish_non_exhaustive()
    }
}

/// The root of this host's cgroup2 hierarchy: all its processes. `None` if none is mounted.
pub fn every_process() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mut fields = mounts.lines().map(|line| line.split(' '));
    fields.find_map(|mut fields| {
        let (_, place, kind) = (fields.next()?, fields.next()?, fields.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(place))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_pair_has_a_name_of_its_own_that_fits() {
        let mut names = BTreeSet::new();
        for startup in 0..STARTUPS.len() {
            for last in 0..LASTS.len() {
                let name = name(Some(startup), last);
                assert!(name.len() <= LONGEST_NAME && names.insert(name.clone()), "{name}");
            }
        }
        assert!(names.contains("ff_hystartpp") && names.contains("ff_cubic"));
    }

    #[test]
    fn what_cannot_run_is_refused_by_name() {
        let refusal = |labels: &[&str]| Offer::new(labels).expect_err("a refusal").to_string();
        assert_eq!(
            refusal(&["quick-start", "reno"]),
            "quick-start needs router-grant, which the Linux kernel does not offer; run it in the simulator"
        );
        assert!(
            refusal(&["fast-start", "reno"]).starts_with("fast-start needs start-over, per-packet-send,")
        );
        assert!(refusal(&["slow-start", "xcp"]).starts_with("xcp needs router-feedback,"));
        assert!(refusal(&["bbr3"]).starts_with("bbr3 needs per-packet-loss, which the Linux kernel"));
        assert!(refusal(&["hystart", "renno"]).ends_with("the nearest is reno"));
        assert!(refusal(&["reno"]).starts_with("reno needs a start-up scheme before it;"));
        assert!(refusal(&["slow-start", "bbr"]).starts_with("bbr begins the connection itself;"));
    }

    #[test]
    fn every_scheme_of_the_registry_runs_or_is_refused_for_its_signals() {
        for info in firstflight_schemes::registry::SCHEMES {
            let label = info.label;
            let offer = match info.role {
                Role::Startup => Offer::new(&[label, "reno"]),
                Role::Avoidance => Offer::new(&["slow-start", label]),
                Role::Standalone => Offer::new(&[label]),
            };
            match offer {
                Ok(_) => assert_eq!(info.needs.without(SIGNALS), Signals::NONE, "{label}"),
                Err(Refusal::Signals { missing, .. }) => assert!(!missing.is_empty(), "{label}"),
                Err(other) => panic!("{label}: {other}"),
            }
        }
    }
}
