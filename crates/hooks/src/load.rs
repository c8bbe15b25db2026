//! Loading the hooks into the kernel.

use std::ffi::CStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use firstflight_gateway::Limits;
use flate2::read::GzDecoder;
use libbpf_rs::libbpf_sys;
use libbpf_rs::{ErrorKind, Link, MapCore as _, Object, ObjectBuilder, OpenObject, PrintLevel, ProgramMut};

use crate::hooks::{Hooks, Sizes};
use crate::layout::Fixed;
use crate::refusal::Refusal;

/// The object, compressed; `make kernel` rebuilds it.
static OBJECT: &[u8] = include_bytes!("../bpf/hooks.bpf.o.gz");
/// Number of the root in a cgroup2 hierarchy.
const ROOT: u64 = 1;

/// Words of libbpf and of the verifier about the load under way.
static WORDS: Mutex<String> = Mutex::new(String::new());

fn keep_words(_: PrintLevel, words: String) {
    if let Ok(mut kept) = WORDS.lock() {
        kept.push_str(&words);
    }
}

/// Settings that are fixed when the hooks are loaded.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Bounds on every plan.
    pub limits: Limits,
    /// Folder of the cgroup2 hierarchy whose processes' connections are started and reported. [`None`] is the root:
    /// every process of the host.
    pub cgroup: Option<PathBuf>,
    /// Lengths of the prefixes of plans, bits: of IPv4 at most 32, of IPv6 at most 64.
    pub bits: (u8, u8),
    /// Lengths of the parts into which such prefixes may be split, bits: greater than `bits`, of IPv4 at most 32, of IPv6
    /// at most 64. [`None`] has no plans of parts.
    pub parts: Option<(u8, u8)>,
    /// Most plans of prefixes at a time, and most of parts at a time.
    pub plans: u32,
    /// Most orders of the operator at a time.
    pub overrides: u32,
    /// Whether connections that send again after an idle time start as the plan of their prefix has it, once
    /// [`Hooks::prepare_idle`] has seen them idle.
    pub idle: bool,
    /// Whether a loss in a planned window sets the slow-start threshold to half of what arrived of that window before it was seen.
    pub retreat: bool,
    /// Plans for single transfers of sockets. [`None`] loads no program for them.
    pub transfers: Option<Transfers>,
    /// Bytes of the buffer of reports, of which one needs 120: a power of two from 4096 to 1 GB.
    pub buffer: u32,
}

/// Bounds on plans for single transfers, besides those of [`Limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfers {
    /// Whether they may set the slow-start threshold.
    pub ssthresh: bool,
}

/// Most sockets that wait for the use of their plan; the one that waits longest makes room.
const WAITING: u32 = 1 << 14;
/// Most places of connections, of 64 bytes each. Further connections cost more time.
const PLACES: u32 = 1 << 18;
/// The congestion control by which transfers start, and the name that it has in the object.
const STARTER: &str = "hooks_start";
const PLACEHOLDER: &[u8] = b"ff_placeholder";

impl Setup {
    /// With these limits: every process, /24 and /48 without parts, a million plans, a thousand orders, no plans for transfers, a
    /// buffer of 8 MB (70 000
    /// reports, or 1.4 s at 50 000 ends a second).
    pub fn new(limits: Limits) -> Self {
        let (bits, plans) = ((24, 48), 1 << 20);
        Self {
            limits,
            cgroup: None,
            bits,
            parts: None,
            plans,
            overrides: 1024,
            idle: false,
            retreat: false,
            transfers: None,
            buffer: 8 << 20,
        }
    }

    fn check(&self) -> Result<(), Refusal> {
        let Limits { window, lease, holdout, .. } = self.limits;
        let settings: [(&'static str, u64, bool, &'static str); 8] = [
            ("limits.window", window.into(), (1..=65535).contains(&window), "1 to 65535 segments"),
            ("limits.lease", lease.0, lease.0 > 0, "1 nanosecond or more"),
            ("limits.holdout", holdout.into(), holdout <= 1000, "0 to 1000 of a thousand"),
            ("bits of IPv4", self.bits.0.into(), self.bits.0 <= 32, "0 to 32"),
            ("bits of IPv6", self.bits.1.into(), self.bits.1 <= 64, "0 to 64"),
            ("plans", self.plans.into(), (1..=1 << 26).contains(&self.plans), "1 to 67108864"),
            ("overrides", self.overrides.into(), (1..=1 << 20).contains(&self.overrides), "1 to 1048576"),
            (
                "buffer",
                self.buffer.into(),
                (4096..=1 << 30).contains(&self.buffer) && self.buffer.is_power_of_two(),
                "a power of two from 4096 to 1073741824 bytes",
            ),
        ];
        for (key, value, valid, expected) in settings {
            if !valid {
                return Err(Refusal::Setting { key, value, expected });
            }
        }
        if let Some(parts) = self.parts {
            let families = [
                (
                    "bits of the parts of IPv4",
                    parts.0,
                    self.bits.0,
                    32,
                    "more than the bits of IPv4 and at most 32, or no parts",
                ),
                (
                    "bits of the parts of IPv6",
                    parts.1,
                    self.bits.1,
                    64,
                    "more than the bits of IPv6 and at most 64, or no parts",
                ),
            ];
            for (key, value, whole, most, expected) in families {
                if value <= whole || value > most {
                    return Err(Refusal::Setting { key, value: value.into(), expected });
                }
            }
        }
        Ok(())
    }

    /// Whether the congestion control is needed that writes windows and thresholds.
    fn starter(&self) -> bool {
        self.transfers.is_some() || self.limits.ssthresh || self.idle || self.retreat
    }
}

impl Hooks {
    /// Loads the programs into the kernel and attaches them. No plan is used before the first [`Hooks::renew`].
    ///
    /// # Errors
    /// [`Refusal`] if a setting is out of range or the kernel cannot run the programs.
    pub fn load(setup: &Setup) -> Result<Self, Refusal> {
        setup.check()?;
        if !cfg!(all(target_os = "linux", target_endian = "little")) {
            return Err(Refusal::Machine);
        }
        if !Path::new("/sys/kernel/btf/vmlinux").exists() {
            return Err(Refusal::Kernel("type information (CONFIG_DEBUG_INFO_BTF)"));
        }
        let folder = setup.cgroup.clone().or_else(root).ok_or(Refusal::NoCgroup)?;
        let refuse =
            |error: &dyn ToString| Refusal::Cgroup { folder: folder.clone(), error: error.to_string() };
        let cgroup = File::open(&folder).map_err(|error| refuse(&error))?;
        let inode = cgroup.metadata().map_err(|error| refuse(&error))?.ino();
        let Setup { bits, parts, plans, overrides, .. } = *setup;
        let (transfers, ssthresh) = (setup.transfers.is_some(), setup.limits.ssthresh);
        let starter = setup.starter();
        let (lines, seed) = (plans.next_power_of_two().max(1 << 12), seed()?);
        let sizes =
            Sizes { bits, parts, plans, lines: (lines, seed), overrides, transfers, ssthresh, starter };
        let fixed = Fixed {
            limits: setup.limits,
            seed,
            cgroup: if inode == ROOT { 0 } else { inode },
            bits,
            parts,
            lines,
            wake: setup.buffer / 8,
            ssthresh: setup.transfers.is_some_and(|transfers| transfers.ssthresh),
            places: plans.next_power_of_two().clamp(1 << 12, PLACES),
            idle: setup.idle,
            retreat: setup.retreat,
        };
        let mut bytes = vec![];
        let read = GzDecoder::new(OBJECT).read_to_end(&mut bytes);
        read.map_err(|error| Refusal::failed("the object of this program", error))?;
        libbpf_rs::set_print(Some((PrintLevel::Info, keep_words)));
        if let Ok(mut words) = WORDS.lock() {
            words.clear();
        }
        let mut builder = ObjectBuilder::default();
        let open = builder
            .name("firstflight_hooks")
            .and_then(|builder| builder.open_memory(&bytes))
            .map_err(|error| Refusal::failed("libbpf cannot read the object of this program", error))?;
        let mut object = prepare(open, setup, &fixed)?.load().map_err(refused)?;
        let sockets = program(&mut object, "hooks_socket")?.attach_cgroup(cgroup.as_raw_fd());
        let sockets = sockets.map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => foreign(&folder).unwrap_or_else(|| refuse(&error)),
            _ => refuse(&error),
        })?;
        let adoption = program(&mut object, "hooks_adopt")?.attach().map_err(refused)?;
        let map = |name: &str| {
            let found = object.maps().find(|map| map.name() == name);
            let found =
                found.ok_or_else(|| Refusal::failed("the object", format!("it has no map {name}")))?;
            copy(found.as_fd())
        };
        let mut descriptors = vec![
            map("hooks_lines")?,
            map("hooks_plans")?,
            map("hooks_parts")?,
            map("hooks_orders")?,
            map("hooks_control")?,
            map("hooks_counts")?,
            map("hooks_flights")?,
            map("hooks_ports")?,
            map("hooks_cgroups")?,
            map("hooks_reports")?,
            link(&sockets)?,
            link(&adoption)?,
        ];
        if setup.transfers.is_some() {
            descriptors.push(map("hooks_transfers")?);
            let option = program(&mut object, "hooks_option")?.attach_cgroup(cgroup.as_raw_fd());
            descriptors.push(link(&option.map_err(|error| refuse(&error))?)?);
        }
        if setup.starter() {
            let starter = object.maps_mut().find(|map| map.name() == STARTER);
            let mut starter = starter.ok_or(Refusal::Kernel("struct_ops"))?;
            descriptors.push(link(&starter.attach_struct_ops().map_err(refused)?)?);
        }
        let hooks = Self::of(descriptors, sizes, 0)?;
        hooks.part_families()?;
        Ok(hooks)
    }
}

/// Sets the constants and the sizes of the maps.
fn prepare(mut open: OpenObject, setup: &Setup, fixed: &Fixed) -> Result<OpenObject, Refusal> {
    for mut program in open.progs_mut() {
        // libbpf leaves the programs of a congestion control out with its map.
        if setup.transfers.is_none() && program.name() == "hooks_option" {
            program.set_autoload(false);
        }
    }
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        let sized = match name.as_str() {
            STARTER | "hooks_beginnings" if !setup.starter() => map.set_autocreate(false),
            STARTER => {
                let value = map.initial_value_mut();
                let place = value.and_then(|value| {
                    let at = value.windows(PLACEHOLDER.len()).position(|bytes| bytes == PLACEHOLDER)?;
                    value.get_mut(at..at + 16)
                });
                let place = place.ok_or_else(|| Refusal::failed("the object", "a name is missing"))?;
                place.copy_from_slice(&fixed.starter());
                Ok(())
            }
            "hooks_transfers" if setup.transfers.is_some() => map.set_max_entries(WAITING),
            ".rodata.limits" => {
                let bytes = fixed.to_bytes();
                let place = map.initial_value_mut().and_then(|value| value.get_mut(..bytes.len()));
                let place = place.ok_or_else(|| Refusal::failed("the object", "it has no limits"))?;
                place.copy_from_slice(&bytes);
                Ok(())
            }
            "hooks_lines" | "hooks_flights" => map.set_max_entries(fixed.lines),
            // With as many prefixes as lines, a tenth finds its line full (Poisson: the mean excess above two).
            "hooks_plans" => map.set_max_entries((setup.plans / 4).max(1 << 10)),
            "hooks_parts" if setup.parts.is_some() => map.set_max_entries(setup.plans),
            // One more keeps the families apart.
            "hooks_orders" => map.set_max_entries(setup.overrides + 1),
            "hooks_places" => map.set_max_entries(fixed.places),
            "hooks_reports" => map.set_max_entries(setup.buffer),
            _ => Ok(()),
        };
        sized.map_err(|error| Refusal::failed("the sizes of the maps", error))?;
    }
    Ok(open)
}

fn program<'o>(object: &'o mut Object, name: &str) -> Result<ProgramMut<'o>, Refusal> {
    let found = object.progs_mut().find(|program| program.name() == name);
    found.ok_or_else(|| Refusal::failed("the object", format!("it has no program {name}")))
}

fn copy(descriptor: std::os::fd::BorrowedFd<'_>) -> Result<OwnedFd, Refusal> {
    descriptor.try_clone_to_owned().map_err(|error| Refusal::failed("a descriptor of the hooks", error))
}

/// A descriptor of a link: the program stays attached as long as one is open.
fn link(link: &Link) -> Result<OwnedFd, Refusal> {
    copy(link.as_fd())
}

/// A number that nobody foresees.
fn seed() -> Result<u64, Refusal> {
    let mut bytes = [0; 8];
    let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    read.map_err(|error| Refusal::failed("/dev/urandom", error))?;
    Ok(u64::from_ne_bytes(bytes))
}

/// The refusal that an error of the kernel stands for.
fn refused(error: libbpf_rs::Error) -> Refusal {
    let words = WORDS.lock().map(|words| words.clone()).unwrap_or_default();
    let log = words.contains("BEGIN PROG LOAD LOG");
    if error.kind() == ErrorKind::PermissionDenied && !log {
        return Refusal::Privileges;
    }
    // The verifier's reason stands before its statistics.
    let reason = words.lines().rev().map(str::trim).find(|line| {
        !line.is_empty()
            && ["processed ", "-- END", "libbpf:", "verification time", "stack depth", "insns_"]
                .iter()
                .all(|start| !line.starts_with(start))
    });
    match reason {
        Some(reason) if log => Refusal::Verifier { reason: reason.to_owned(), log: words },
        _ => Refusal::failed("loading the hooks into the kernel", format!("{error}\n{words}")),
    }
}

/// The number of a cgroup: that of the inode of its folder.
///
/// # Errors
/// If it is no folder of the cgroup2 hierarchy.
pub fn number_of(cgroup: &Path) -> Result<u64, Refusal> {
    let refuse = |error: &dyn ToString| Refusal::Cgroup { folder: cgroup.into(), error: error.to_string() };
    let folder = File::open(cgroup).map_err(|error| refuse(&error))?;
    // SAFETY: all zeroes are a value of this plain struct.
    let mut system: libc::statfs = unsafe { core::mem::zeroed() };
    // SAFETY: a place for the answer, and an open descriptor.
    if unsafe { libc::fstatfs(folder.as_raw_fd(), &raw mut system) } != 0 {
        return Err(refuse(&std::io::Error::last_os_error()));
    }
    let data = folder.metadata().map_err(|error| refuse(&error))?;
    if system.f_type != libc::CGROUP2_SUPER_MAGIC || !data.is_dir() {
        return Err(refuse(&"not of the cgroup2 hierarchy"));
    }
    Ok(data.ino())
}

/// The root of this host's cgroup2 hierarchy. `None` if none is mounted.
pub fn root() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mut fields = mounts.lines().map(|line| line.split(' '));
    fields.find_map(|mut fields| {
        let (_, place, kind) = (fields.next()?, fields.next()?, fields.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(place))
    })
}

/// The other sock_ops programs of a cgroup and of the folders above it, which see its connections, too: name and number of each. It needs
/// CAP_NET_ADMIN; without it nothing is found.
pub fn beside(cgroup: &Path) -> Vec<String> {
    let (Ok(folder), Some(root)) = (cgroup.canonicalize(), root()) else { return vec![] };
    let folders = folder.ancestors().take_while(|folder| folder.starts_with(&root));
    folders.flat_map(|folder| attached(folder).0).map(labelled).collect()
}

/// The sock_ops program that keeps others out of this cgroup: one of the cgroup or of a folder above it.
fn foreign(cgroup: &Path) -> Option<Refusal> {
    let folder = cgroup.canonicalize().ok()?;
    let root = root()?;
    folder.ancestors().take_while(|folder| folder.starts_with(&root)).find_map(|folder| {
        let program = alone(folder)?;
        Some(Refusal::Foreign { cgroup: folder.into(), program })
    })
}

/// Name and number of the sock_ops program that was attached to this folder without BPF_F_ALLOW_MULTI.
fn alone(folder: &Path) -> Option<String> {
    let (numbers, flags) = attached(folder);
    let first = numbers.first().filter(|_| flags & libbpf_sys::BPF_F_ALLOW_MULTI == 0)?;
    Some(labelled(*first))
}

/// Numbers of the sock_ops programs that were attached to this folder, at most 64, and the flags.
fn attached(folder: &Path) -> (Vec<u32>, u32) {
    let Ok(folder) = File::open(folder) else { return (vec![], 0) };
    let mut numbers = [0_u32; 64];
    let mut query = libbpf_sys::bpf_prog_query_opts {
        sz: size_of::<libbpf_sys::bpf_prog_query_opts>() as u64,
        prog_ids: numbers.as_mut_ptr(),
        ..Default::default()
    };
    query.__bindgen_anon_1.prog_cnt = numbers.len() as u32;
    // SAFETY: the query points to as many numbers as it says.
    let answer = unsafe {
        libbpf_sys::bpf_prog_query_opts(folder.as_raw_fd(), libbpf_sys::BPF_CGROUP_SOCK_OPS, &mut query)
    };
    // SAFETY: both fields of the union are this number.
    let count = unsafe { query.__bindgen_anon_1.prog_cnt };
    let count = if answer < 0 { 0 } else { numbers.len().min(count as usize) };
    (numbers[..count].to_vec(), query.attach_flags)
}

/// Name and number of a program.
fn labelled(number: u32) -> String {
    match name(number) {
        Some(name) => format!("{name} (program {number})"),
        None => format!("program {number}"),
    }
}

/// The name of the program with this number.
fn name(number: u32) -> Option<String> {
    use std::os::fd::FromRawFd as _;
    // SAFETY: takes no pointer.
    let program = unsafe { libbpf_sys::bpf_prog_get_fd_by_id(number) };
    if program < 0 {
        return None;
    }
    // SAFETY: a descriptor that this call has opened.
    let program = unsafe { OwnedFd::from_raw_fd(program) };
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = size_of::<libbpf_sys::bpf_prog_info>() as u32;
    // SAFETY: a place for the answer, and its length.
    let answer = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(program.as_raw_fd(), &mut info, &mut length) };
    // SAFETY: the kernel ends a name with a zero.
    let name = unsafe { CStr::from_ptr(info.name.as_ptr()) }.to_string_lossy().into_owned();
    (answer == 0 && !name.is_empty()).then_some(name)
}
