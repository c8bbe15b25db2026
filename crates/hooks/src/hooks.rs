//! Plans, orders and reports: the use of hooks that are loaded.

use core::ffi::{c_int, c_void};
use core::ptr::{self, NonNull};
use std::fs::File;
use std::io::{self, Read as _};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use firstflight_contract::Nanos;
use firstflight_gateway::{Connection, Live, Plan};
use firstflight_paths::Prefix;
use libbpf_rs::libbpf_sys;

use crate::elsewhere::{Count, Elsewhere, own_list};
use crate::flight;
use crate::layout;
use crate::lines::Lines;
use crate::map::{Map, checked};
use crate::refusal::Refusal;

/// Words of the control map.
const ALIVE: [u8; 4] = 0_u32.to_ne_bytes();
const STOPPED: [u8; 4] = 1_u32.to_ne_bytes();
const PARTS: [u8; 4] = 2_u32.to_ne_bytes();
const PORTS: [u8; 4] = 3_u32.to_ne_bytes();
const CGROUPS: [u8; 4] = 4_u32.to_ne_bytes();
/// Most cgroups to which plans are limited: `HOOKS_MOST_CGROUPS` of the object.
pub const MOST_CGROUPS: usize = 64;
/// Reports that are read before the first of them is shown.
const BATCH: usize = 1024;

/// The time of plans and reports: `CLOCK_BOOTTIME`.
pub fn now() -> Nanos {
    clock(libc::clock_gettime, libc::CLOCK_BOOTTIME)
}

/// The length of a tick of the kernel: its coarse clocks advance once a tick.
fn tick() -> Nanos {
    clock(libc::clock_getres, libc::CLOCK_MONOTONIC_COARSE)
}

fn clock(
    read: unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int,
    id: libc::clockid_t,
) -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the answer.
    unsafe { read(id, &mut time) };
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// An order of the operator for a prefix, which comes before its plan. The longest prefix wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Override {
    /// Connections start as the stack starts them.
    Off,
    /// The plan in force stays in force when it has expired, as long as the daemon lives.
    Freeze,
    /// Each connection starts with this window, segments, within the limits. Neither the round-trip time nor the number of
    /// connections counts.
    Fixed(u32),
}

/// Numbers that hooks were loaded with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Bits of the prefixes of plans.
    pub(crate) bits: (u8, u8),
    /// Bits of the parts of prefixes.
    pub(crate) parts: Option<(u8, u8)>,
    pub(crate) plans: u32,
    /// Lines of prefixes, a power of two, and the seed of the hash that chooses one.
    pub(crate) lines: (u32, u64),
    pub(crate) overrides: u32,
    /// Whether sockets may have plans of their own.
    pub(crate) transfers: bool,
    /// Whether plans of prefixes may set the slow-start threshold.
    pub(crate) ssthresh: bool,
    /// Whether there is the congestion control that writes windows and thresholds.
    pub(crate) starter: bool,
}

impl Sizes {
    /// Number of descriptors of [`Hooks`].
    pub(crate) fn descriptors(&self) -> usize {
        let transfers = if self.transfers { 2 } else { 0 };
        MOST_DESCRIPTORS - 3 + transfers + usize::from(self.starter)
    }
}

/// Greatest number of descriptors of [`Hooks`].
pub(crate) const MOST_DESCRIPTORS: usize = 15;
/// Option of `setsockopt` at the level of TCP that has the plan of a socket applied: `HOOKS_TRANSFER` of the object.
pub const TRANSFER: c_int = 0x4646;
/// Time for which a plan for a transfer waits for its use.
const WAIT: Nanos = Nanos::from_secs(10);

/// Programs in the kernel that start connections as planned and report them. The programs leave the kernel when the value is
/// dropped or the process ends in any way. The stack then starts the next connection by itself.
#[derive(Debug)]
pub struct Hooks {
    // First: it unmaps the reports before their descriptor is closed.
    ring: Ring,
    plans: Lines,
    parts: Map<8>,
    orders: Map<20>,
    control: Map<4>,
    counts: Map<4>,
    flights: Map<4>,
    /// Local ports and cgroups to which plans are limited.
    ports: Map<4>,
    cgroups: Map<8>,
    limited_to: Vec<u64>,
    reports: OwnedFd,
    sockets: OwnedFd,
    adoption: OwnedFd,
    pub(crate) elsewhere: Elsewhere,
    transfers: Option<Transfers>,
    /// The congestion control by which transfers and thresholds start.
    starter: Option<OwnedFd>,
    census: Census,
    pub(crate) sizes: Sizes,
}

/// A count of all live connections, which goes on with each call.
#[derive(Debug, Default)]
struct Census {
    next: usize,
    sum: u64,
    /// Result of the newest whole count.
    whole: Option<u64>,
}

/// Lines that one call counts: 4 MB of memory, about a millisecond.
const COUNTED: usize = 1 << 16;

/// Plans of sockets, and the option that applies them.
#[derive(Debug)]
struct Transfers {
    plans: Map<8>,
    option: OwnedFd,
}

impl Hooks {
    /// Hooks of these descriptors, as many as the sizes need, in the order of [`Hooks::descriptors`], with so many plans of prefixes.
    pub(crate) fn of(descriptors: Vec<OwnedFd>, sizes: Sizes, planned: u32) -> Result<Self, Refusal> {
        let expected = sizes.descriptors();
        let wrong =
            |found: usize| Refusal::Handover(format!("{found} descriptors came: expected {expected}"));
        if descriptors.len() != expected {
            return Err(wrong(descriptors.len()));
        }
        let mut rest = descriptors.into_iter();
        let mut next = || rest.next().ok_or_else(|| wrong(0));
        let [lines, further, parts, orders, control] = [next()?, next()?, next()?, next()?, next()?];
        let [counts, flights, ports, cgroups] = [next()?, next()?, next()?, next()?];
        let [reports, sockets, adoption] = [next()?, next()?, next()?];
        let transfers = match sizes.transfers {
            true => Some(Transfers { plans: Map { fd: next()? }, option: next()? }),
            false => None,
        };
        let starter = if sizes.starter { Some(next()?) } else { None };
        let plans = Lines::of(lines, further, sizes.lines, (planned, sizes.plans))
            .map_err(|error| Refusal::failed("the plans of the hooks", error))?;
        Ok(Self {
            ring: Ring::of(&reports)?,
            plans,
            parts: Map { fd: parts },
            orders: Map { fd: orders },
            control: Map { fd: control },
            counts: Map { fd: counts },
            flights: Map { fd: flights },
            ports: Map { fd: ports },
            cgroups: Map { fd: cgroups },
            limited_to: vec![],
            reports,
            sockets,
            adoption,
            elsewhere: Elsewhere::default(),
            transfers,
            starter,
            census: Census::default(),
            sizes,
        })
    }

    /// The descriptors that a process needs to use the hooks.
    pub(crate) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let Self { plans, parts, orders, control, counts, flights, ports, cgroups, .. } = self;
        let Self { reports, sockets, adoption, .. } = self;
        let maps = [&parts.fd, &orders.fd, &control.fd, &counts.fd, &flights.fd, &ports.fd, &cgroups.fd];
        let mut rest = [maps.as_slice(), &[reports, sockets, adoption]].concat();
        if let Some(Transfers { plans, option }) = &self.transfers {
            rest.extend([&plans.fd, option]);
        }
        rest.extend(&self.starter);
        plans.descriptors().into_iter().chain(rest.into_iter().map(OwnedFd::as_fd)).collect()
    }

    /// Sets the plan of a prefix, or of a part of one, in place of an earlier one. Until it expires, the plan of a part
    /// comes before that of its prefix.
    ///
    /// # Errors
    /// If the prefix has another length than those of [`Setup`](crate::Setup), the plan has a slow-start threshold that the
    /// limits do not allow, or the table is full.
    pub fn set(&self, plan: &Plan) -> Result<(), Refusal> {
        if plan.ssthresh.is_some() && !self.sizes.ssthresh {
            return Err(Refusal::Ssthresh);
        }
        let (key, value) = (layout::key(&plan.prefix), layout::plan(plan));
        let (stored, what) = match self.is_part(&plan.prefix)? {
            false => (self.plans.set(key, &value), "plans"),
            true => {
                self.command(PARTS, 1)?;
                (self.parts.set(&key.to_ne_bytes(), &value), "plans of parts")
            }
        };
        stored.map_err(|error| full(error, what, self.sizes.plans))
    }

    /// Keeps a plan for the next transfer of the socket with this cookie (`SO_COOKIE`), for ten seconds at most. A process
    /// that holds the socket applies the plan by `setsockopt` with the option [`TRANSFER`](crate::TRANSFER) of TCP. `rate`
    /// is the pacing rate of the first window, bytes per second; zero leaves the stack's. The plan's slow-start threshold is
    /// used if [`Setup::transfers`](crate::Setup) allows it.
    ///
    /// # Errors
    /// If the hooks were loaded without plans for transfers, or the kernel refuses.
    pub fn transfer(&self, cookie: u64, plan: &Plan, rate: u64) -> Result<(), Refusal> {
        let transfers = self.transfers.as_ref().ok_or(Refusal::NoTransfers)?;
        let (v4, v6) = self.sizes.bits;
        let first = plan.prefix.first();
        // The program compares whole prefixes.
        let prefix = Prefix::around(first, if first.is_ipv4() { v4 } else { v6 });
        let plan = Plan { expires: plan.expires.min(now().saturating_add(WAIT)), ..*plan };
        let stored = transfers.plans.set(&cookie.to_ne_bytes(), &layout::transfer(&plan, &prefix, rate));
        stored.map_err(|error| Refusal::failed("the plan of a socket", error))
    }

    /// Removes the plan of a prefix or of a part; answers whether there was one.
    ///
    /// # Errors
    /// If the prefix has another length than those of [`Setup`](crate::Setup), or the kernel refuses.
    pub fn remove(&self, prefix: &Prefix) -> Result<bool, Refusal> {
        let key = layout::key(prefix);
        let removed = match self.is_part(prefix)? {
            false => self.plans.remove(key),
            true => self.parts.remove(&key.to_ne_bytes()),
        };
        removed.map_err(|error| Refusal::failed("removing a plan", error))
    }

    /// Open connections of the prefix around an address, and what they have in flight. Prefixes that share a line of the table share the
    /// numbers.
    ///
    /// # Errors
    /// If the kernel does not let the number be read.
    pub fn live(&self, address: IpAddr) -> Result<Live, Refusal> {
        let (v4, v6) = self.sizes.bits;
        let bits = if address.to_canonical().is_ipv4() { v4 } else { v6 };
        let (number, connections) = self.plans.live(layout::key(&Prefix::around(address, bits)));
        let mut word = [0; 8];
        let read = self.flights.get(&number.to_ne_bytes(), &mut word);
        read.map_err(|error| Refusal::failed("the data in flight", error))?;
        Ok(Live { connections, in_flight: flight::segments(u64::from_ne_bytes(word), now()) })
    }

    /// Live connections of all prefixes, by the newest count that is complete. Each call counts those of 65 536 lines of the table more:
    /// of a table for a million prefixes, 16 calls count all. [`None`] before that.
    pub fn live_connections(&mut self) -> Option<u64> {
        let Census { next, sum, whole } = &mut self.census;
        let (live, after) = self.plans.live_from(*next, COUNTED);
        (*next, *sum) = (after, *sum + live);
        if after == 0 {
            *whole = Some(core::mem::take(sum));
        }
        *whole
    }

    /// Number of plans of prefixes in the kernel.
    pub(crate) fn planned(&self) -> u32 {
        self.plans.used()
    }

    /// Whether prefixes of this one's length are parts.
    fn is_part(&self, prefix: &Prefix) -> Result<bool, Refusal> {
        let of_family = |(v4, v6)| if prefix.first().is_ipv4() { v4 } else { v6 };
        let (bits, part) = (of_family(self.sizes.bits), self.sizes.parts.map(of_family));
        let length = prefix.length();
        if length == bits {
            return Ok(false);
        }
        if Some(length) == part {
            return Ok(true);
        }
        let nearest = part.filter(|part| length.abs_diff(*part) < length.abs_diff(bits)).unwrap_or(bits);
        let nearest = Prefix::around(prefix.first(), nearest).to_string();
        let bits = part.map_or(bits.to_string(), |part| format!("{bits} or {part}"));
        Err(Refusal::Length { prefix: prefix.to_string(), bits, nearest })
    }

    /// Sets or lifts the operator's order for a prefix of any length.
    ///
    /// # Errors
    /// If the table is full.
    pub fn set_override(&self, prefix: &Prefix, order: Option<Override>) -> Result<(), Refusal> {
        let key = layout::prefix(prefix);
        let words = match order {
            None if key == layout::ALL_V4 => [0, 0],
            None => {
                let removed = self.orders.remove(&key);
                return removed.map(|_| ()).map_err(|error| Refusal::failed("lifting an override", error));
            }
            Some(Override::Off) => [1, 0],
            Some(Override::Freeze) => [2, 0],
            Some(Override::Fixed(window)) => [3, window],
        };
        let mut value = [0; 8];
        value.copy_from_slice(words.map(u32::to_ne_bytes).as_flattened());
        let stored = self.orders.set(&key, &value);
        stored.map_err(|error| full(error, "overrides", self.sizes.overrides))
    }

    /// Keeps the orders for IPv6 prefixes around `::ffff:0:0/96` from addresses of IPv4, which the table has there.
    pub(crate) fn part_families(&self) -> Result<(), Refusal> {
        self.set_override(&Prefix::around(Ipv4Addr::UNSPECIFIED.into(), 0), None)
    }

    /// Shows that the daemon lives. Plans are used for `limits.lease` from now on.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn renew(&self) -> Result<(), Refusal> {
        self.renew_at(now())
    }

    /// [`Hooks::renew`] as of another time, for a test. A time in the future is no sign of life.
    ///
    /// # Errors
    /// If the kernel refuses.
    #[doc(hidden)]
    pub fn renew_at(&self, time: Nanos) -> Result<(), Refusal> {
        self.command(ALIVE, time.0)
    }

    /// Has every new connection start as the stack starts it, until [`Hooks::resume`]. Connections are reported all
    /// the same.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn stop(&self) -> Result<(), Refusal> {
        self.command(STOPPED, 1)
    }

    /// Uses plans again after [`Hooks::stop`].
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn resume(&self) -> Result<(), Refusal> {
        self.command(STOPPED, 0)
    }

    /// Limits plans and orders to connections with one of these local ports, and to sockets of these cgroups and of those below them, by
    /// the numbers of their folders' inodes. An empty list limits nothing. The cgroup of an accepted connection is that of the process
    /// that made the listening socket.
    ///
    /// # Errors
    /// If there are more than [`MOST_CGROUPS`] cgroups, or the kernel refuses.
    pub fn limit_to(&mut self, ports: &[u16], cgroups: &[u64]) -> Result<(), Refusal> {
        if cgroups.len() > MOST_CGROUPS {
            return Err(Refusal::Full {
                what: "cgroups to which plans are limited",
                most: MOST_CGROUPS as u32,
            });
        }
        let failed = |error| Refusal::failed("the limits of plans to ports and cgroups", error);
        let mut bits = vec![0_u64; 1 << 10];
        for port in ports {
            bits[usize::from(*port >> 6)] |= 1 << (port & 63);
        }
        // A connection that begins while the lists change may meet a part of both.
        for cgroup in self.limited_to.iter().filter(|cgroup| !cgroups.contains(cgroup)) {
            self.cgroups.remove(&cgroup.to_ne_bytes()).map_err(failed)?;
        }
        for cgroup in cgroups {
            self.cgroups.set(&cgroup.to_ne_bytes(), &1_u32.to_ne_bytes()).map_err(failed)?;
        }
        self.limited_to = cgroups.to_vec();
        for (at, word) in (0_u32..).zip(&bits) {
            self.ports.set(&at.to_ne_bytes(), &word.to_ne_bytes()).map_err(failed)?;
        }
        self.command(PORTS, (!ports.is_empty()).into())?;
        self.command(CGROUPS, (!cgroups.is_empty()).into())
    }

    fn command(&self, word: [u8; 4], value: u64) -> Result<(), Refusal> {
        let stored = self.control.set(&word, &value.to_ne_bytes());
        stored.map_err(|error| Refusal::failed("the control words of the hooks", error))
    }

    /// Has [`Hooks::adopt`] report the connections of other network namespaces, too: of each in which a process of `/proc` is now, at most
    /// 250 of them. Answers with their number, and the reason if some are missed. It needs CAP_SYS_ADMIN, and CAP_SYS_PTRACE for
    /// processes of other users.
    pub fn look_elsewhere(&mut self) -> &Count {
        self.elsewhere = Elsewhere::open(self.adoption.as_fd());
        self.elsewhere()
    }

    /// Network namespaces that [`Hooks::look_elsewhere`] found.
    pub fn elsewhere(&self) -> &Count {
        &self.elsewhere.count
    }

    /// Reports the connections that are older than the hooks, from the network namespace of this thread and from those of
    /// [`Hooks::look_elsewhere`], as
    /// [`Stage::Live`](firstflight_gateway::Stage::Live), and once more when they end; answers with their number. Their
    /// age counts from now. [`Hooks::drain`] shows the reports; a connection of which no data were acknowledged is not reported
    /// before it ends. A second call reports only connections that were missed, of this thread's namespace, and gives the reports of ends
    /// back to connections from which a foreign program has taken them.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn adopt(&mut self) -> Result<usize, Refusal> {
        let own = own_list(self.adoption.as_fd())?;
        let others = std::mem::take(&mut self.elsewhere.lists);
        let mut adopted = 0;
        for list in others.into_iter().chain([own]) {
            adopted += self.adopt_all(File::from(list))?;
        }
        Ok(adopted)
    }

    /// Adopts the connections of an iterator.
    fn adopt_all(&mut self, mut list: File) -> Result<usize, Refusal> {
        let (mut bytes, mut adopted) = ([0; BATCH], 0);
        loop {
            match list.read(&mut bytes) {
                Ok(0) => return Ok(adopted),
                // The reports are taken out as they come, so that their buffer never holds more than those of one read.
                Ok(read) => {
                    adopted += read;
                    self.ring.fetch()?;
                }
                // The kernel asks to go on after a million sockets in one call.
                Err(error)
                    if [io::ErrorKind::Interrupted, io::ErrorKind::WouldBlock].contains(&error.kind()) => {}
                Err(error) => return Err(Refusal::failed("the list of connections", error)),
            }
        }
    }

    /// Prepares the connections of this thread's network namespace that have been idle for longer than their retransmission timeout: their
    /// next data start as the plan of their prefix then has it, or as the stack starts them ([`Setup::idle`](crate::Setup)). Also
    /// [adopts](Hooks::adopt) what was missed. A connection that is idle between two calls is not prepared.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn prepare_idle(&mut self) -> Result<usize, Refusal> {
        self.adopt()
    }

    /// Shows `each` report. Waits for one at most `timeout` and answers with their number. Reports do not wake the
    /// reader until an eighth of the buffer is full: call it every 20 ms to see each connection within that time.
    ///
    /// # Errors
    /// If the kernel does not let the reports be read.
    pub fn drain(&mut self, timeout: Duration, mut each: impl FnMut(Connection)) -> Result<usize, Refusal> {
        let mut shown = self.ring.take(&mut each)?;
        if shown == 0 && !timeout.is_zero() {
            self.ring.wait(timeout)?;
            shown = self.ring.take(&mut each)?;
        }
        Ok(shown)
    }

    /// Number of reports for which there was no room, since the hooks were loaded.
    ///
    /// # Errors
    /// If the kernel does not let the number be read.
    pub fn lost(&self) -> Result<u64, Refusal> {
        self.count(0)
    }

    /// Number of plans that were not used. A route or another program had chosen the first window of the connection.
    ///
    /// # Errors
    /// If the kernel does not let the number be read.
    pub fn other_windows(&self) -> Result<u64, Refusal> {
        self.count(1)
    }

    /// Number of connections that ended after another program had taken the callbacks by which they are measured.
    ///
    /// # Errors
    /// If the kernel does not let the number be read.
    pub fn taken(&self) -> Result<u64, Refusal> {
        self.count(2)
    }

    /// The sum over processors of a count of the object.
    fn count(&self, at: u32) -> Result<u64, Refusal> {
        let processors = libbpf_rs::num_possible_cpus();
        let processors = processors.map_err(|error| Refusal::failed("the number of processors", error))?;
        let mut words = vec![0; 8 * processors];
        let read = self.counts.get(&at.to_ne_bytes(), &mut words);
        read.map_err(|error| Refusal::failed("the counts of the hooks", error))?;
        let words = words.chunks_exact(8).map(|word| u64::from_ne_bytes(std::array::from_fn(|i| word[i])));
        Ok(words.sum())
    }
}

/// The refusal for an error in storing.
fn full(error: io::Error, what: &'static str, most: u32) -> Refusal {
    match error.raw_os_error() {
        Some(libc::E2BIG | libc::ENOSPC) => Refusal::Full { what, most },
        _ => Refusal::failed("the kernel's tables", error),
    }
}

/// The reader of reports.
#[derive(Debug)]
struct Ring {
    ring: NonNull<libbpf_sys::ring_buffer>,
    /// Reports that [`keep`] has read. Boxed: libbpf has its address.
    kept: Box<Kept>,
}

#[derive(Debug)]
struct Kept {
    tick: Nanos,
    reports: Vec<Connection>,
}

// SAFETY: libbpf's reader is used through `&mut` only and has no thread of its own.
unsafe impl Send for Ring {}
// SAFETY: no method takes `&self`.
unsafe impl Sync for Ring {}

extern "C" fn keep(kept: *mut c_void, bytes: *mut c_void, length: u64) -> c_int {
    // SAFETY: the address that `Ring::of` gave, of a box that outlives the reader and is not in use elsewhere while
    // libbpf reads.
    let kept = unsafe { &mut *kept.cast::<Kept>() };
    // SAFETY: libbpf shows as many bytes of the buffer.
    let bytes = unsafe { core::slice::from_raw_parts(bytes.cast::<u8>(), length as usize) };
    kept.reports.extend(layout::report(bytes, kept.tick));
    0
}

impl Ring {
    fn of(reports: &OwnedFd) -> Result<Self, Refusal> {
        let mut kept = Box::new(Kept { tick: tick(), reports: Vec::with_capacity(BATCH) });
        let context: *mut Kept = &mut *kept;
        // SAFETY: the descriptor is open, and `keep` takes the context for what it is.
        let ring = unsafe {
            libbpf_sys::ring_buffer__new(reports.as_raw_fd(), Some(keep), context.cast(), ptr::null())
        };
        let ring = NonNull::new(ring).ok_or_else(|| Refusal::last("the reports of the hooks"))?;
        Ok(Self { ring, kept })
    }

    /// Shows all that is there.
    fn take(&mut self, each: &mut impl FnMut(Connection)) -> Result<usize, Refusal> {
        let mut shown = 0;
        loop {
            let read = self.fetch()?;
            shown += self.kept.reports.len();
            self.kept.reports.drain(..).for_each(&mut *each);
            if read == 0 {
                return Ok(shown);
            }
        }
    }

    /// Keeps at most [`BATCH`] further reports; answers with their number.
    fn fetch(&mut self) -> Result<usize, Refusal> {
        // SAFETY: the reader is alive, and nothing else holds `kept`.
        let read = unsafe { libbpf_sys::ring_buffer__consume_n(self.ring.as_ptr(), BATCH as u64) };
        checked(read).map_err(|error| Refusal::failed("the reports of the hooks", error))?;
        Ok(read as usize)
    }

    /// Waits until the kernel wakes this thread.
    fn wait(&mut self, timeout: Duration) -> Result<(), Refusal> {
        // SAFETY: the reader is alive.
        let fd = unsafe { libbpf_sys::ring_buffer__epoll_fd(self.ring.as_ptr()) };
        let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let timeout = c_int::try_from(timeout.as_micros().div_ceil(1000)).unwrap_or(c_int::MAX);
        // SAFETY: one descriptor, and the kernel writes into `poll` only.
        if unsafe { libc::poll(&mut poll, 1, timeout) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(Refusal::failed("waiting for reports", error));
            }
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the reader is alive, and nobody uses it afterwards.
        unsafe { libbpf_sys::ring_buffer__free(self.ring.as_ptr()) };
    }
}
