//! The machine: eBPF as RFC 9669 defines it, with bounds on time and memory, and the memory that a program sees.
//!
//! Addresses are not those of this process: the upper half names a region, the lower half a byte in it. A program thus sees
//! the same addresses in every run, and an access outside its regions is found without `unsafe`.

use crate::calls::Call;
use crate::error::Fault;
use crate::view::{self, Field, Sender, read, write};

/// Most instructions in one callback: the bound of the kernel's verifier on what it follows (`BPF_COMPLEXITY_LIMIT_INSNS`).
pub(crate) const MOST_INSTRUCTIONS: u64 = 1_000_000;
/// Bytes of stack of one function (`MAX_BPF_STACK`).
const STACK: usize = 512;
/// Most functions that call one another (`MAX_CALL_FRAMES`).
const FRAMES: usize = 8;

/// An address: the region in the upper half.
pub(crate) const fn address(region: u32) -> u64 {
    (region as u64) << 32
}

/// The arguments of a callback.
pub(crate) const CONTEXT: u32 = 1;
const STACK_REGION: u32 = 2;
/// The sender.
pub(crate) const SENDER: u32 = 3;
/// `ack_sample`.
pub(crate) const ACK: u32 = 4;
/// `rate_sample`.
pub(crate) const RATE: u32 = 5;
/// The first section of data.
pub(crate) const SECTIONS: u32 = 0x100;
/// The first map; a program only hands its address on.
pub(crate) const MAPS: u32 = 0x1_0000;
/// The value that a map has for the connection.
const VALUES: u32 = 0x2_0000;

/// One instruction, its jumps and calls resolved. The second half of a 64-bit constant keeps its place and is skipped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    /// The operation code of RFC 9669.
    pub(crate) code: u8,
    pub(crate) to: u8,
    pub(crate) from: u8,
    /// Of memory operations, the offset; of arithmetic, the offset field.
    pub(crate) offset: i16,
    /// Of jumps and calls of functions, the position to go to.
    pub(crate) target: u32,
    /// The immediate value, extended; of a constant, all 64 bits.
    pub(crate) value: i64,
    /// Of other calls, what is called.
    pub(crate) call: Option<Call>,
}

/// A section of data.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) bytes: Vec<u8>,
    pub(crate) writable: bool,
}

/// A program, which connections share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) code: Vec<Instruction>,
    /// Name of each function, with the position at which it begins.
    pub(crate) functions: Vec<(usize, String)>,
    pub(crate) sections: Vec<Section>,
    /// Bytes of each map's value.
    pub(crate) maps: Vec<usize>,
}

impl Program {
    /// The function of an instruction.
    fn function(&self, at: usize) -> &str {
        let found = self.functions.iter().rev().find(|(start, _)| *start <= at);
        found.map_or("", |(_, name)| name)
    }
}

/// The memory of one connection, and its clock.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) sender: Sender,
    pub(crate) ack: [u8; view::ACK],
    pub(crate) rate: [u8; view::RATE],
    context: [u8; 40],
    stack: Box<[u8; STACK * FRAMES]>,
    sections: Vec<Section>,
    values: Vec<Option<Vec<u8>>>,
    /// Time since the machine began, nanoseconds.
    pub(crate) now: u64,
    /// Nanoseconds of a jiffy.
    pub(crate) jiffy: u64,
}

impl Memory {
    /// The memory before the connection begins.
    pub(crate) fn new(program: &Program) -> Self {
        Self {
            sender: Sender::default(),
            ack: [0; view::ACK],
            rate: [0; view::RATE],
            context: [0; 40],
            stack: Box::new([0; STACK * FRAMES]),
            sections: program.sections.clone(),
            values: vec![None; program.maps.len()],
            now: 0,
            jiffy: 1,
        }
    }

    /// Writes CONFIG_HZ where the object has it: a section, and its bytes.
    pub(crate) fn set_hz(&mut self, place: Option<(usize, usize)>, hz: u64) {
        if let Some((section, size)) = place {
            self.sections[section].bytes.copy_from_slice(&hz.to_le_bytes()[..size]);
        }
    }

    /// Sets a field of `ack_sample` or `rate_sample`.
    pub(crate) fn put_sample(&mut self, field: Field, value: u64) {
        let bytes: &mut [u8] =
            if (field as usize) < Field::RatePriorMstamp as usize { &mut self.ack } else { &mut self.rate };
        write(bytes, field.at(), field.size(), value).expect("the field lies in the struct");
    }

    /// The jiffies counter.
    pub(crate) fn jiffies(&self) -> u64 {
        self.now / self.jiffy
    }

    /// The bytes of the region of an address that may be read.
    fn region(&self, region: u32) -> Option<&[u8]> {
        Some(match region {
            CONTEXT => &self.context,
            STACK_REGION => &self.stack[..],
            SENDER => &self.sender.0[..],
            ACK => &self.ack,
            RATE => &self.rate,
            SECTIONS..MAPS => &self.sections.get((region - SECTIONS) as usize)?.bytes,
            VALUES.. => self.values.get((region - VALUES) as usize)?.as_deref()?,
            _ => return None,
        })
    }

    #[inline]
    fn load(&self, address: u64, size: usize) -> Result<u64, Fault> {
        let found =
            self.region((address >> 32) as u32).and_then(|bytes| read(bytes, address as u32 as usize, size));
        found.ok_or(Fault::Read { address, size })
    }

    /// The `size` bytes that may be written at an address.
    fn writable(&mut self, address: u64, size: usize) -> Result<&mut [u8], Fault> {
        let (region, at) = ((address >> 32) as u32, address as u32 as usize);
        let refused = |field| Fault::Write { address, size, field };
        let bytes = match region {
            STACK_REGION => &mut self.stack[..],
            SENDER => {
                view::may_write(at, size).map_err(refused)?;
                &mut self.sender.0[..]
            }
            SECTIONS..MAPS => match self.sections.get_mut((region - SECTIONS) as usize) {
                Some(section) if section.writable => &mut section.bytes[..],
                _ => return Err(refused(None)),
            },
            VALUES.. => match self.values.get_mut((region - VALUES) as usize) {
                Some(Some(value)) => &mut value[..],
                _ => return Err(refused(None)),
            },
            _ => return Err(refused(None)),
        };
        bytes.get_mut(at..at + size).ok_or(refused(None))
    }

    #[inline]
    fn store(&mut self, address: u64, size: usize, value: u64) -> Result<(), Fault> {
        if (address >> 32) as u32 == STACK_REGION
            && write(&mut self.stack[..], address as u32 as usize, size, value).is_some()
        {
            return Ok(());
        }
        self.writable(address, size)?.copy_from_slice(&value.to_le_bytes()[..size]);
        Ok(())
    }

    fn answer(
        &mut self,
        program: &Program,
        call: Call,
        [one, two, three, four]: [u64; 4],
    ) -> Result<u64, Fault> {
        Ok(match call {
            Call::SlowStart => self.sender.slow_start(two as u32).into(),
            Call::CongAvoidAi => {
                self.sender.cong_avoid_ai(two as u32, three as u32);
                0
            }
            Call::RenoSsthresh => self.sender.reno_ssthresh().into(),
            Call::RenoCongAvoid => {
                self.sender.reno_cong_avoid(three as u32);
                0
            }
            Call::RenoUndoCwnd => self.sender.reno_undo_cwnd().into(),
            Call::KtimeNs => self.now,
            Call::Jiffies64 => self.jiffies(),
            Call::ProbeRead => self.probe_read(one, two as u32 as usize, three)?,
            Call::StorageGet => self.storage(program, one, three, four & 1 == 1)?,
            Call::StorageDelete => {
                let value = self.map(one)?;
                // -ENOENT where there is none.
                if value.take().is_some() { 0 } else { -2i64 as u64 }
            }
            Call::Print => 0,
            Call::Fault(name) => return Err(Fault::Call(name)),
            Call::Missing => return Err(Fault::Missing),
        })
    }

    /// `bpf_probe_read_kernel`: an address that cannot be read gives zeros and -EFAULT.
    fn probe_read(&mut self, to: u64, size: usize, from: u64) -> Result<u64, Fault> {
        let at = from as u32 as usize;
        let bytes = self.region((from >> 32) as u32).and_then(|bytes| bytes.get(at..at.checked_add(size)?));
        let copy = bytes.map(<[u8]>::to_vec);
        let target = self.writable(to, size)?;
        match copy {
            Some(bytes) => {
                target.copy_from_slice(&bytes);
                Ok(0)
            }
            None => {
                target.fill(0);
                Ok(-14i64 as u64)
            }
        }
    }

    fn map(&mut self, address: u64) -> Result<&mut Option<Vec<u8>>, Fault> {
        let index = ((address >> 32) as u32).checked_sub(MAPS);
        let value = index.and_then(|index| self.values.get_mut(index as usize));
        value.ok_or(Fault::Read { address, size: 1 })
    }

    /// `bpf_sk_storage_get`: the address of the map's value for this connection, which `create` makes from `initial`.
    fn storage(&mut self, program: &Program, map: u64, initial: u64, create: bool) -> Result<u64, Fault> {
        let index = ((map >> 32) as u32).wrapping_sub(MAPS);
        let exists = self.map(map)?.is_some();
        if !exists && !create {
            return Ok(0);
        }
        if !exists {
            let size = program.maps[index as usize];
            let mut value = vec![0; size];
            if initial != 0 {
                for (at, byte) in value.iter_mut().enumerate() {
                    *byte = self.load(initial.wrapping_add(at as u64), 1)? as u8;
                }
            }
            *self.map(map)? = Some(value);
        }
        Ok(address(VALUES + index))
    }
}

/// State of a function that has called another: the position to return to, and the registers that survive the call.
#[derive(Clone, Copy)]
struct Frame {
    back: usize,
    saved: [u64; 4],
}

/// Runs the function at `start` with these arguments; its answer, or the fault and the function in which it happened.
pub(crate) fn run(
    program: &Program,
    memory: &mut Memory,
    start: usize,
    arguments: [u64; 4],
) -> Result<u64, (Fault, String)> {
    for (index, argument) in arguments.into_iter().enumerate() {
        memory.context[8 * index..8 * index + 8].copy_from_slice(&argument.to_le_bytes());
    }
    let mut at = start;
    execute(program, memory, &mut at).map_err(|fault| (fault, program.function(at).to_owned()))
}

fn execute(program: &Program, memory: &mut Memory, position: &mut usize) -> Result<u64, Fault> {
    let mut registers = [0u64; 16];
    registers[1] = address(CONTEXT);
    // The stack grows downwards: beyond the first function's there is nothing.
    registers[10] = address(STACK_REGION) + (STACK * FRAMES) as u64;
    let mut frames = [Frame { back: 0, saved: [0; 4] }; FRAMES];
    let mut depth = 0;
    let mut next = *position;
    for _ in 0..MOST_INSTRUCTIONS {
        *position = next;
        let one = &program.code[next];
        next += 1;
        let (to, from) = (usize::from(one.to & 15), usize::from(one.from & 15));
        let right = if one.code & 8 == 8 { registers[from] } else { one.value as u64 };
        match one.code & 7 {
            // BPF_LD: the checks leave one kind, the 64-bit constant.
            0 => {
                registers[to] = one.value as u64;
                next += 1;
            }
            // BPF_LDX
            1 => {
                let size = size_of(one.code);
                let word = memory.load(registers[from].wrapping_add_signed(one.offset.into()), size)?;
                registers[to] =
                    if one.code & 0xe0 == 0x80 { sign_extend(word, 8 * size as u32) } else { word };
            }
            // BPF_ST, BPF_STX
            class @ (2 | 3) => {
                let size = size_of(one.code);
                let place = registers[to].wrapping_add_signed(one.offset.into());
                if one.code & 0xe0 == 0xc0 {
                    let old = memory.load(place, size)?;
                    let new = atomic(one.value as u32, old, registers[from], registers[0], size);
                    memory.store(place, size, new)?;
                    match one.value as u32 {
                        0xf1 => registers[0] = old,
                        fetching if fetching & 1 == 1 => registers[from] = old,
                        _ => {}
                    }
                } else {
                    memory.store(place, size, if class == 3 { registers[from] } else { one.value as u64 })?;
                }
            }
            // BPF_ALU
            4 => registers[to] = arithmetic_32(one, registers[to] as u32, right as u32).into(),
            // BPF_ALU64
            7 => registers[to] = arithmetic_64(one, registers[to], right),
            // BPF_JMP
            5 if one.code == 0x85 => match one.call {
                Some(call) => {
                    let [_, one, two, three, four, ..] = registers;
                    registers[0] = memory.answer(program, call, [one, two, three, four])?;
                }
                None => {
                    let frame = frames.get_mut(depth).filter(|_| depth + 1 < FRAMES).ok_or(Fault::Depth)?;
                    frame.back = next;
                    frame.saved.copy_from_slice(&registers[6..10]);
                    depth += 1;
                    registers[10] -= STACK as u64;
                    next = one.target as usize;
                }
            },
            5 if one.code == 0x95 => {
                if depth == 0 {
                    return Ok(registers[0]);
                }
                depth -= 1;
                registers[6..10].copy_from_slice(&frames[depth].saved);
                registers[10] += STACK as u64;
                next = frames[depth].back;
            }
            5 => {
                if jumps(one.code, registers[to], right, registers[to] as i64, right as i64) {
                    next = one.target as usize;
                }
            }
            // BPF_JMP32
            _ => {
                let (left, right) = (registers[to] as u32, right as u32);
                if jumps(one.code, left.into(), right.into(), i64::from(left as i32), i64::from(right as i32))
                {
                    next = one.target as usize;
                }
            }
        }
    }
    Err(Fault::Endless(MOST_INSTRUCTIONS))
}

/// Bytes of a memory operation.
pub(crate) const fn size_of(code: u8) -> usize {
    match code & 0x18 {
        0x00 => 4,
        0x08 => 2,
        0x10 => 1,
        _ => 8,
    }
}

fn sign_extend(word: u64, bits: u32) -> u64 {
    if bits >= 64 { word } else { ((word << (64 - bits)) as i64 >> (64 - bits)) as u64 }
}

/// The new value of an atomic operation. (RFC 9669, section 5.3)
fn atomic(operation: u32, old: u64, operand: u64, expected: u64, size: usize) -> u64 {
    match operation & !1 {
        0x00 => old.wrapping_add(operand),
        0x40 => old | operand,
        0x50 => old & operand,
        0xa0 => old ^ operand,
        0xe0 => operand,
        // 0xf0: compare and exchange.
        _ => {
            let expected = if size == 4 { expected & 0xffff_ffff } else { expected };
            if old == expected { operand } else { old }
        }
    }
}

/// RFC 9669, section 4.1, of 32 bits. Division by zero gives zero, a remainder by zero the dividend.
fn arithmetic_32(one: &Instruction, left: u32, right: u32) -> u32 {
    let signed = one.offset == 1;
    match one.code & 0xf0 {
        0x00 => left.wrapping_add(right),
        0x10 => left.wrapping_sub(right),
        0x20 => left.wrapping_mul(right),
        0x30 if right == 0 => 0,
        0x30 if signed => (left as i32).wrapping_div(right as i32) as u32,
        0x30 => left / right,
        0x40 => left | right,
        0x50 => left & right,
        0x60 => left.wrapping_shl(right),
        0x70 => left.wrapping_shr(right),
        0x80 => left.wrapping_neg(),
        0x90 if right == 0 => left,
        0x90 if signed => (left as i32).wrapping_rem(right as i32) as u32,
        0x90 => left % right,
        0xa0 => left ^ right,
        0xb0 if one.offset > 0 => sign_extend(right.into(), one.offset as u32) as u32,
        0xb0 => right,
        0xc0 => (left as i32).wrapping_shr(right) as u32,
        _ => unreachable!("the checks at load know every operation"),
    }
}

/// RFC 9669, section 4.1, of 64 bits, and section 4.2 (byte swaps).
fn arithmetic_64(one: &Instruction, left: u64, right: u64) -> u64 {
    let signed = one.offset == 1;
    match one.code & 0xf0 {
        0x00 => left.wrapping_add(right),
        0x10 => left.wrapping_sub(right),
        0x20 => left.wrapping_mul(right),
        0x30 if right == 0 => 0,
        0x30 if signed => (left as i64).wrapping_div(right as i64) as u64,
        0x30 => left / right,
        0x40 => left | right,
        0x50 => left & right,
        0x60 => left.wrapping_shl(right as u32),
        0x70 => left.wrapping_shr(right as u32),
        0x80 => left.wrapping_neg(),
        0x90 if right == 0 => left,
        0x90 if signed => (left as i64).wrapping_rem(right as i64) as u64,
        0x90 => left % right,
        0xa0 => left ^ right,
        0xb0 if one.offset > 0 => sign_extend(right, one.offset as u32),
        0xb0 => right,
        0xc0 => (left as i64).wrapping_shr(right as u32) as u64,
        _ => unreachable!("the checks at load know every operation"),
    }
}

/// Whether a jump is taken. (RFC 9669, section 4.3)
fn jumps(code: u8, left: u64, right: u64, signed_left: i64, signed_right: i64) -> bool {
    match code & 0xf0 {
        0x00 => true,
        0x10 => left == right,
        0x20 => left > right,
        0x30 => left >= right,
        0x40 => left & right != 0,
        0x50 => left != right,
        0x60 => signed_left > signed_right,
        0x70 => signed_left >= signed_right,
        0xa0 => left < right,
        0xb0 => left <= right,
        0xc0 => signed_left < signed_right,
        0xd0 => signed_left <= signed_right,
        _ => unreachable!("the checks at load know every operation"),
    }
}

/// Whether the machine has an instruction: its operation, its registers and its offset. The reason if it has not.
pub(crate) fn check(one: &Instruction) -> Result<(), String> {
    let Instruction { code, to, from, offset, value, .. } = *one;
    if to > 10 || from > 10 {
        return Err(format!("there is no register r{}", to.max(from)));
    }
    let class = code & 7;
    let known = match class {
        0 => code == 0x18,
        1 => matches!(code & 0xe0, 0x60) || code & 0xe0 == 0x80 && code & 0x18 != 0x18,
        2 => code & 0xe0 == 0x60,
        3 if code & 0xe0 == 0xc0 => {
            let operation =
                matches!(value, 0x00 | 0x01 | 0x40 | 0x41 | 0x50 | 0x51 | 0xa0 | 0xa1 | 0xe1 | 0xf1);
            operation && size_of(code) >= 4
        }
        3 => code & 0xe0 == 0x60,
        // Division and remainder may be signed, moves may extend; byte swaps are not among what clang emits for these
        // programs.
        4 | 7 => match code & 0xf0 {
            0x30 | 0x90 => matches!(offset, 0 | 1),
            0xb0 => matches!(offset, 0 | 8 | 16) || class == 7 && offset == 32,
            0x00..=0xc0 => offset == 0,
            _ => false,
        },
        5 => {
            matches!(code & 0xf0, 0x00..=0xd0)
                && !(code & 0xf0 == 0 && code != 5)
                && !matches!(code, 0x8d | 0x9d)
        }
        _ => matches!(code & 0xf0, 0x00..=0x70 | 0xa0..=0xd0) && !(code & 0xf0 == 0 && code != 6),
    };
    if !known {
        return Err(format!("the machine has no operation {code:#04x} with the offset {offset}"));
    }
    let writes = matches!(class, 0 | 1 | 4 | 7);
    if writes && to == 10 {
        return Err("it writes to r10, the frame pointer".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(code: u8, to: u8, from: u8, offset: i16, value: i64) -> Instruction {
        Instruction { code, to, from, offset, target: 0, value, call: None }
    }

    const EXIT: Instruction =
        Instruction { code: 0x95, to: 0, from: 0, offset: 0, target: 0, value: 0, call: None };

    fn answer(code: Vec<Instruction>) -> Result<u64, Fault> {
        for one in &code {
            check(one).expect("the machine has these instructions");
        }
        let program = Program { code, ..Program::default() };
        let mut memory = Memory::new(&program);
        run(&program, &mut memory, 0, [0; 4]).map_err(|(fault, _)| fault)
    }

    #[test]
    fn an_immediate_value_is_extended_by_its_sign_in_a_comparison_of_64_bits() {
        // r1 = -1; r0 = 0; if r1 != -1 goto the end; r0 = 1.
        let jump = Instruction { target: 4, ..plain(0x55, 1, 0, 1, -1) };
        let code =
            vec![plain(0xb7, 1, 0, 0, -1), plain(0xb7, 0, 0, 0, 0), jump, plain(0xb7, 0, 0, 0, 1), EXIT];
        assert_eq!(answer(code), Ok(1));
    }

    #[test]
    fn an_access_that_begins_inside_and_ends_outside_is_a_fault() {
        // Eight bytes at the last byte of the stack.
        let code = vec![plain(0x79, 0, 10, -1, 0), EXIT];
        assert!(matches!(answer(code), Err(Fault::Read { size: 8, .. })));
        let inside = vec![plain(0x7a, 10, 0, -8, 7), plain(0x79, 0, 10, -8, 0), EXIT];
        assert_eq!(answer(inside), Ok(7));
    }

    #[test]
    fn a_loop_without_end_is_stopped() {
        assert_eq!(answer(vec![plain(0x05, 0, 0, -1, 0), EXIT]), Err(Fault::Endless(MOST_INSTRUCTIONS)));
    }

    #[test]
    fn divisions_and_shifts_are_those_of_the_standard() {
        let of = |code, offset, left: i64, right: i64| {
            answer(vec![
                plain(0xb7, 0, 0, 0, left),
                plain(0xb7, 1, 0, 0, right),
                plain(code, 0, 1, offset, 0),
                EXIT,
            ])
            .expect("no fault") as i64
        };
        // By zero: a quotient of zero, the dividend as remainder (RFC 9669, section 4.1).
        assert_eq!((of(0x3f, 0, 7, 0), of(0x9f, 0, 7, 0)), (0, 7));
        // Signed, truncated towards zero.
        assert_eq!((of(0x3f, 1, -13, 3), of(0x9f, 1, -13, 3)), (-4, -1));
        // 32 bits: the upper half becomes zero.
        assert_eq!(of(0x0c, 0, -1, 1), 0);
        assert_eq!(of(0x1c, 0, 0, 1), 0xffff_ffff);
        // Shifts use the low bits of the count.
        assert_eq!((of(0x6f, 0, 1, 65), of(0xcf, 0, -8, 1), of(0xcc, 0, -8, 1)), (2, -4, 0xffff_fffc));
    }

    #[test]
    fn an_exchange_writes_only_where_the_expected_value_stands() {
        // The slot has 5. r0 expects 5, r1 is 9: r0 = 5, the slot is 9. Then r0 expects 5 again: r0 = 9, and it stays.
        let slot = |value| plain(0x7a, 10, 0, -8, value);
        let exchange = plain(0xdb, 10, 1, -8, 0xf1);
        let code = vec![
            slot(5),
            plain(0xb7, 0, 0, 0, 5),
            plain(0xb7, 1, 0, 0, 9),
            exchange,
            plain(0xb7, 0, 0, 0, 5),
            plain(0xb7, 1, 0, 0, 1),
            exchange,
            EXIT,
        ];
        assert_eq!(answer(code), Ok(9));
    }
}
