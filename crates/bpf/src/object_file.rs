//! An object file: its congestion controls, and for each the program that its callbacks make.

use std::collections::BTreeMap;

use object::elf::EM_BPF;
use object::read::elf::{ElfFile64, FileHeader};
use object::{
    Endianness, Object as _, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionIndex,
    SymbolIndex,
};

use crate::btf::{Btf, CoreRelocation, Kind, essential};
use crate::calls::{self, Call};
use crate::error::ObjectError;
use crate::machine::{self, Instruction, MAPS, Program, SECTIONS, Section, address, check};
use crate::relocate::{Answer, answer};
use crate::view;

/// The kernel's `BPF_MAP_TYPE_SK_STORAGE`.
const SK_STORAGE: u32 = 24;
/// Relocations of a 64-bit constant and of a call (LLVM's `BPF.def`).
const CONSTANT: u32 = 1;
const CALL: u32 = 10;
/// Bytes of an instruction.
const SIZE: usize = 8;

/// The callbacks of `tcp_congestion_ops` that are called here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callback {
    Init,
    Ssthresh,
    CongAvoid,
    SetState,
    CwndEvent,
    InAckEvent,
    UndoCwnd,
    PktsAcked,
    CongControl,
}

/// Names of the callbacks, in the order of [`Callback`].
const CALLBACKS: [&str; 9] = [
    "init",
    "ssthresh",
    "cong_avoid",
    "set_state",
    "cwnd_event",
    "in_ack_event",
    "undo_cwnd",
    "pkts_acked",
    "cong_control",
];

/// One congestion control of an object.
#[derive(Clone, Debug)]
pub(crate) struct Operations {
    /// Its name in the kernel.
    pub(crate) name: String,
    /// Whether it asks for ECN (`TCP_CONG_NEEDS_ECN`).
    pub(crate) needs_ecn: bool,
    /// Whether `cong_control` also takes the ACK and its flags (Linux 6.10).
    pub(crate) long_control: bool,
    pub(crate) program: Program,
    /// Position of each callback in the program.
    callbacks: [Option<usize>; CALLBACKS.len()],
    /// Where CONFIG_HZ lies: the section, and its bytes.
    pub(crate) hz: Option<(usize, usize)>,
}

impl Operations {
    /// Position of a callback in the program.
    pub(crate) fn callback(&self, callback: Callback) -> Option<usize> {
        self.callbacks[callback as usize]
    }
}

/// First byte of a function: section and offset.
type Place = (usize, u64);

struct File<'a> {
    elf: ElfFile64<'a, Endianness>,
    btf: Btf,
    /// CO-RE relocations by section and byte.
    fields: BTreeMap<(String, u64), CoreRelocation>,
}

/// The complete congestion controls of an object.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Operations>, ObjectError> {
    let elf =
        ElfFile64::<Endianness>::parse(bytes).map_err(|error| ObjectError::NotAnObject(error.to_string()))?;
    if elf.elf_header().e_machine(elf.endian()) != EM_BPF || elf.endian() != Endianness::Little {
        return Err(ObjectError::NotAnObject(
            "it is for another machine, or has the most significant byte first".into(),
        ));
    }
    let section = |name| elf.section_by_name(name).and_then(|section| section.data().ok());
    let types = section(".BTF")
        .ok_or_else(|| ObjectError::malformed(".BTF", "missing: the object was compiled without -g"))?;
    let btf = Btf::read(types)?;
    let relocations = section(".BTF.ext").map_or_else(|| Ok(vec![]), |bytes| btf.read_relocations(bytes))?;
    let fields = relocations.into_iter().map(|one| ((one.section.clone(), one.at), one)).collect();
    let file = File { elf, btf, fields };
    let mut found = vec![];
    let mut incomplete = None;
    for name in [".struct_ops", ".struct_ops.link"] {
        let Some(section) = file.elf.section_by_name(name) else { continue };
        for symbol in file.elf.symbols().filter(|symbol| symbol.section_index() == Some(section.index())) {
            if symbol.kind() == object::SymbolKind::Section {
                continue;
            }
            let variable = symbol.name().unwrap_or_default();
            let Some(of) = file.btf.variable(name, variable) else {
                return Err(ObjectError::malformed(name, format!("the variable \"{variable}\" has no type")));
            };
            if essential(&file.btf.plain(of)?.name) != "tcp_congestion_ops" {
                continue;
            }
            match file.operations(&section, of, symbol.address())? {
                Ok(operations) => found.push(operations),
                Err(missing) => incomplete = incomplete.or(Some(missing)),
            }
        }
    }
    match (found.is_empty(), incomplete) {
        (true, Some(missing)) => Err(missing),
        (true, None) => Err(ObjectError::NoControl),
        _ => Ok(found),
    }
}

impl<'a> File<'a> {
    fn symbol(&self, index: SymbolIndex) -> Result<object::read::elf::ElfSymbol64<'a, '_>, ObjectError> {
        self.elf.symbol_by_index(index).map_err(|error| ObjectError::malformed(".symtab", error.to_string()))
    }

    /// The symbol of a relocation, and its type.
    fn target(
        &self,
        relocation: &object::Relocation,
    ) -> Result<(object::read::elf::ElfSymbol64<'a, '_>, u32), ObjectError> {
        match (relocation.target(), relocation.flags()) {
            (RelocationTarget::Symbol(index), RelocationFlags::Elf { r_type }) => {
                Ok((self.symbol(index)?, r_type.0))
            }
            _ => Err(ObjectError::malformed(".rel", "a relocation without a symbol")),
        }
    }

    fn data(&self, section: SectionIndex) -> Result<(String, &'a [u8]), ObjectError> {
        let wrong = |error: object::Error| ObjectError::malformed("header", error.to_string());
        let section = self.elf.section_by_index(section).map_err(wrong)?;
        Ok((section.name().map_err(wrong)?.to_owned(), section.data().map_err(wrong)?))
    }

    /// The congestion control in a variable; the inner error if the kernel would not register it either.
    fn operations(
        &self,
        section: &object::read::elf::ElfSection64<'a, '_>,
        of: u32,
        at: u64,
    ) -> Result<Result<Operations, ObjectError>, ObjectError> {
        let here = section.name().unwrap_or(".struct_ops").to_owned();
        let data = section.data().map_err(|error| ObjectError::malformed(&here, error.to_string()))?;
        let Kind::Composite { size, members } = &self.btf.plain(of)?.kind else {
            return Err(ObjectError::malformed(&here, "struct tcp_congestion_ops has no members"));
        };
        let ends = || ObjectError::malformed(&here, "it ends within struct tcp_congestion_ops");
        let bytes = usize::try_from(at)
            .ok()
            .and_then(|at| data.get(at..at.checked_add(*size as usize)?))
            .ok_or_else(ends)?;
        let mut functions: BTreeMap<u64, Place> = BTreeMap::new();
        for (offset, relocation) in section.relocations() {
            if let Some(offset) = offset.checked_sub(at).filter(|offset| *offset < u64::from(*size)) {
                let (symbol, _) = self.target(&relocation)?;
                let Some(section) = symbol.section_index() else { continue };
                let stored =
                    bytes.get(offset as usize..).and_then(|rest| rest.first_chunk::<8>()).ok_or_else(ends)?;
                functions
                    .insert(offset, (section.0, symbol.address().wrapping_add(u64::from_le_bytes(*stored))));
            }
        }
        let mut operations = Operations {
            name: String::new(),
            needs_ecn: false,
            long_control: false,
            program: Program::default(),
            callbacks: [None; CALLBACKS.len()],
            hz: None,
        };
        let mut wanted: [Option<Place>; CALLBACKS.len()] = [None; CALLBACKS.len()];
        for member in members {
            let offset = (member.bit / 8) as usize;
            let rest = bytes.get(offset..).ok_or_else(ends)?;
            match &*member.name {
                "name" => {
                    let text = rest.split(|&byte| byte == 0).next().unwrap_or_default();
                    let length = self.btf.size(member.of)? as usize;
                    operations.name = String::from_utf8_lossy(&text[..text.len().min(length)]).into_owned();
                }
                "flags" => operations.needs_ecn = rest.first().is_some_and(|flags| flags & 2 == 2),
                name => {
                    let Some(index) = CALLBACKS.iter().position(|known| *known == name) else { continue };
                    wanted[index] = functions.get(&(offset as u64)).copied();
                    if index == Callback::CongControl as usize
                        && let Kind::Pointer(to) = self.btf.plain(member.of)?.kind
                        && let Kind::Prototype { parameters } = self.btf.plain(to)?.kind
                    {
                        operations.long_control = parameters > 2;
                    }
                }
            }
        }
        let has = |callback: Callback| wanted[callback as usize].is_some();
        let missing = match () {
            () if !has(Callback::Ssthresh) => Some("ssthresh"),
            () if !has(Callback::UndoCwnd) => Some("undo_cwnd"),
            () if !has(Callback::CongAvoid) && !has(Callback::CongControl) => {
                Some("cong_avoid or cong_control")
            }
            () => None,
        };
        if let Some(missing) = missing {
            return Ok(Err(ObjectError::Incomplete { name: operations.name, missing }));
        }
        let mut linker = Linker {
            file: self,
            program: Program::default(),
            functions: BTreeMap::new(),
            sections: vec![],
            maps: vec![],
            hz: None,
        };
        for (index, place) in wanted.into_iter().enumerate() {
            if let Some(place) = place {
                operations.callbacks[index] = Some(linker.function(place)?);
            }
        }
        operations.hz = linker.hz;
        operations.program = linker.program;
        Ok(Ok(operations))
    }
}

/// Puts the functions that the callbacks reach into one program.
struct Linker<'a, 'b> {
    file: &'b File<'a>,
    program: Program,
    functions: BTreeMap<Place, usize>,
    /// Sections of the object that the program has, in the order of the program's.
    sections: Vec<Option<SectionIndex>>,
    maps: Vec<String>,
    hz: Option<(usize, usize)>,
}

/// One function while it is read.
struct Body<'a> {
    name: String,
    section: String,
    bytes: &'a [u8],
    /// Byte of its section at which it begins.
    begin: u64,
    /// Position in the program.
    start: usize,
}

impl<'a> Linker<'a, '_> {
    /// The position of the function at `place`, which is added, with all that it calls, if it is new.
    fn function(&mut self, place: Place) -> Result<usize, ObjectError> {
        if let Some(&start) = self.functions.get(&place) {
            return Ok(start);
        }
        let (index, begin) = place;
        let (section, data) = self.file.data(SectionIndex(index))?;
        let here = self.file.elf.symbols().find(|symbol| {
            symbol.kind() == object::SymbolKind::Text
                && symbol.section_index() == Some(SectionIndex(index))
                && symbol.address() == begin
        });
        let Some(symbol) = here else {
            return Err(ObjectError::malformed(&section, format!("there is no function at byte {begin}")));
        };
        let name = symbol.name().unwrap_or_default().to_owned();
        let end = begin.checked_add(symbol.size());
        let bytes = end
            .and_then(|end| data.get(begin as usize..end as usize))
            .filter(|bytes| !bytes.is_empty() && bytes.len() % SIZE == 0);
        let Some(bytes) = bytes else {
            return Err(ObjectError::malformed(
                &section,
                format!("the function {name} is not whole instructions"),
            ));
        };
        let start = self.program.code.len();
        self.functions.insert(place, start);
        self.program.functions.push((start, name.clone()));
        let body = Body { name, section, bytes, begin, start };
        self.decode(&body)?;
        let calls = self.relocate(index, &body)?;
        self.check(&body)?;
        for (at, place) in calls {
            let target = self.function(place)?;
            self.program.code[start + at].target = target as u32;
        }
        Ok(start)
    }

    fn decode(&mut self, body: &Body<'_>) -> Result<(), ObjectError> {
        let (whole, _) = body.bytes.as_chunks::<SIZE>();
        let mut wide = false;
        for (at, &[code, registers, low, high, value @ ..]) in whole.iter().enumerate() {
            let value = i64::from(i32::from_le_bytes(value));
            let offset = i16::from_le_bytes([low, high]);
            let mut one = Instruction {
                code,
                to: registers & 15,
                from: registers >> 4,
                offset,
                target: 0,
                value,
                call: None,
            };
            if wide {
                // The second half of a constant: nothing jumps to it.
                wide = false;
                one.code = 0;
            } else if code == 0x18 {
                wide = true;
                let upper = whole
                    .get(at + 1)
                    .map(|bytes| i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]));
                let Some(upper) = upper else {
                    return Err(instruction(body, at, "the second half of a constant is missing"));
                };
                one.value = value & 0xffff_ffff | i64::from(upper) << 32;
            } else if matches!(code & 7, 5 | 6) && !matches!(code, 0x85 | 0x95) {
                // The long jump has its distance in the immediate value.
                let distance = if code == 6 { value } else { offset.into() };
                let target = at as i64 + 1 + distance;
                if !(0..whole.len() as i64).contains(&target) {
                    return Err(instruction(body, at, "it jumps out of the function"));
                }
                one.target = (body.start as i64 + target) as u32;
                one.offset = 0;
            }
            self.program.code.push(one);
        }
        Ok(())
    }

    /// Resolves what the function names: fields, data, maps, helpers and functions of the kernel. Returns its calls of
    /// other functions of the object.
    fn relocate(&mut self, index: usize, body: &Body<'_>) -> Result<Vec<(usize, Place)>, ObjectError> {
        let mut calls = vec![];
        let mut resolved = vec![];
        let section = self.file.elf.section_by_index(SectionIndex(index));
        let section = section.map_err(|error| ObjectError::malformed(&body.section, error.to_string()))?;
        let range = body.begin..body.begin + body.bytes.len() as u64;
        for (offset, relocation) in section.relocations().filter(|(offset, _)| range.contains(offset)) {
            let at = ((offset - body.begin) as usize) / SIZE;
            let (symbol, kind) = self.file.target(&relocation)?;
            let name = symbol.name().unwrap_or_default().to_owned();
            let one = self.program.code[body.start + at];
            resolved.push(at);
            match kind {
                CONSTANT if one.code == 0x18 => {
                    let value = self.constant(body, &symbol, &name, one.value)?;
                    self.program.code[body.start + at].value = value as i64;
                }
                CALL if one.code == 0x85 => match symbol.section_index() {
                    Some(section) => {
                        // A call of a section has its distance, in instructions, in the immediate value.
                        let begin = if symbol.kind() == object::SymbolKind::Section {
                            (one.value + 1) * SIZE as i64
                        } else {
                            symbol.address() as i64
                        };
                        calls.push((at, (section.0, begin as u64)));
                    }
                    None => match calls::function(&name) {
                        Some(call) => self.program.code[body.start + at].call = Some(call),
                        None => {
                            return Err(ObjectError::Call {
                                function: body.name.clone(),
                                call: name,
                                known: calls::functions(),
                            });
                        }
                    },
                },
                _ => {
                    return Err(instruction(
                        body,
                        at,
                        &format!("relocation {kind} of \"{name}\" is unknown"),
                    ));
                }
            }
        }
        for at in 0..body.bytes.len() / SIZE {
            let one = self.program.code[body.start + at];
            if one.code == 0x85 && !resolved.contains(&at) {
                match one.from {
                    0 => {
                        let number = one.value as i32;
                        let Some(call) = calls::helper(number) else {
                            return Err(ObjectError::Call {
                                function: body.name.clone(),
                                call: format!("helper {number}"),
                                known: calls::helpers(),
                            });
                        };
                        self.program.code[body.start + at].call = Some(call);
                    }
                    1 => {
                        let begin = body.begin as i64 + (at as i64 + 1 + one.value) * SIZE as i64;
                        calls.push((at, (index, begin as u64)));
                    }
                    _ => return Err(instruction(body, at, "a call of an unknown kind")),
                }
            }
            if one.code == 0x18 && !resolved.contains(&at) && one.from != 0 {
                return Err(instruction(body, at, "a constant that only the kernel can fill in"));
            }
        }
        self.fields(body)?;
        Ok(calls)
    }

    /// The address of data.
    fn constant(
        &mut self,
        body: &Body<'_>,
        symbol: &object::read::elf::ElfSymbol64<'a, '_>,
        name: &str,
        stored: i64,
    ) -> Result<u64, ObjectError> {
        let Some(index) = symbol.section_index() else {
            return self.variable(body, symbol, name);
        };
        let (section, data) = self.file.data(index)?;
        if section == ".maps" {
            return self.map(body, name);
        }
        if ![".data", ".rodata", ".bss"].iter().any(|prefix| section.starts_with(prefix)) {
            return Err(ObjectError::Symbol {
                function: body.name.clone(),
                symbol: format!("{section} {name}"),
            });
        }
        let known = self.sections.iter().position(|one| *one == Some(index));
        let number = match known {
            Some(number) => number,
            None => {
                let elf = self.file.elf.section_by_index(index);
                let elf = elf.map_err(|error| ObjectError::malformed(&section, error.to_string()))?;
                if elf.relocations().next().is_some() {
                    let why = "it holds addresses, which only the kernel can fill in";
                    return Err(ObjectError::malformed(&section, why));
                }
                // .bss has no bytes in the file.
                let mut bytes = data.to_vec();
                let size = usize::try_from(elf.size()).ok().filter(|size| *size <= 1 << 20);
                let Some(size) = size else {
                    return Err(ObjectError::malformed(&section, "more than 1 MiB of data"));
                };
                bytes.resize(size, 0);
                self.add(Some(index), bytes, !section.starts_with(".rodata"))
            }
        };
        let offset = symbol.address().wrapping_add_signed(stored);
        Ok(address(SECTIONS + number as u32).wrapping_add(offset))
    }

    fn add(&mut self, index: Option<SectionIndex>, bytes: Vec<u8>, writable: bool) -> usize {
        self.sections.push(index);
        self.program.sections.push(Section { bytes, writable });
        self.sections.len() - 1
    }

    /// A variable of the kernel: CONFIG_HZ, or a weak one, which is missing.
    fn variable(
        &mut self,
        body: &Body<'_>,
        symbol: &object::read::elf::ElfSymbol64<'a, '_>,
        name: &str,
    ) -> Result<u64, ObjectError> {
        if name == "CONFIG_HZ"
            && let Some(of) = self.file.btf.variable(".kconfig", name)
        {
            let size = self.file.btf.size(of)? as usize;
            let (number, _) = match self.hz {
                Some(place) => place,
                None => {
                    let place = (self.add(None, vec![0; size.min(8)], false), size.min(8));
                    self.hz = Some(place);
                    place
                }
            };
            return Ok(address(SECTIONS + number as u32));
        }
        if symbol.is_weak() {
            return Ok(0);
        }
        Err(ObjectError::Symbol { function: body.name.clone(), symbol: name.to_owned() })
    }

    /// The address that stands for a map of values for each connection.
    fn map(&mut self, body: &Body<'_>, name: &str) -> Result<u64, ObjectError> {
        if let Some(number) = self.maps.iter().position(|known| known == name) {
            return Ok(address(MAPS + number as u32));
        }
        let refused = || ObjectError::Map { function: body.name.clone(), map: name.to_owned() };
        let btf = &self.file.btf;
        let of = btf.variable(".maps", name).ok_or_else(refused)?;
        let Kind::Composite { members, .. } = &btf.plain(of)?.kind else { return Err(refused()) };
        // `__uint(type, X)` is a pointer to an array of X elements, `__type(value, T)` a pointer to T.
        let pointed =
            |member: &str| match members.iter().find(|one| one.name == member).map(|one| btf.plain(one.of)) {
                Some(Ok(found)) => match found.kind {
                    Kind::Pointer(to) => Some(to),
                    _ => None,
                },
                _ => None,
            };
        let kind = pointed("type").map(|to| btf.plain(to)).transpose()?;
        let storage = matches!(kind.map(|kind| &kind.kind), Some(Kind::Array { count: SK_STORAGE, .. }));
        let value = pointed("value").filter(|_| storage).ok_or_else(refused)?;
        let size =
            usize::try_from(btf.size(value)?).ok().filter(|size| *size <= 1 << 16).ok_or_else(refused)?;
        self.maps.push(name.to_owned());
        self.program.maps.push(size);
        Ok(address(MAPS + self.maps.len() as u32 - 1))
    }

    /// Gives each instruction that names a field the field's place.
    fn fields(&mut self, body: &Body<'_>) -> Result<(), ObjectError> {
        let begin = (body.section.clone(), body.begin);
        let end = (body.section.clone(), body.begin + body.bytes.len() as u64);
        let mut answers = vec![];
        for ((_, offset), relocation) in self.file.fields.range(begin..end) {
            let at = ((offset - body.begin) as usize) / SIZE;
            answers.push((at, relocation, answer(&self.file.btf, relocation)?));
        }
        for (at, relocation, found) in &answers {
            let one = &mut self.program.code[body.start + at];
            match found {
                Answer::Unknown(field) => {
                    // A program that asks first whether the field exists does not come here.
                    let asks = answers.iter().any(|(_, other, _)| {
                        matches!(other.kind, 2 | 10)
                            && (other.root, &other.path) == (relocation.root, &relocation.path)
                    });
                    if !asks {
                        return Err(ObjectError::Field {
                            function: body.name.clone(),
                            field: field.clone(),
                            nearest: view::nearest(field),
                        });
                    }
                    let wide = one.code == 0x18;
                    *one = Instruction { code: 0x85, call: Some(Call::Missing), ..*one };
                    if wide {
                        self.program.code[body.start + at + 1] = self.program.code[body.start + at];
                    }
                }
                Answer::Value(value) => {
                    patch(one, *value, None).map_err(|why| instruction(body, *at, why))?
                }
                Answer::Place { at: place, size } => {
                    patch(one, *place, *size).map_err(|why| instruction(body, *at, why))?;
                }
            }
        }
        Ok(())
    }

    fn check(&self, body: &Body<'_>) -> Result<(), ObjectError> {
        let code = &self.program.code[body.start..];
        let mut at = 0;
        while let Some(one) = code.get(at) {
            check(one).map_err(|why| instruction(body, at, &why))?;
            if matches!(one.code & 7, 5 | 6) && !matches!(one.code, 0x85 | 0x95) {
                let target = one.target as usize - body.start;
                let inside = target > 0 && code[target - 1].code == 0x18;
                if inside {
                    return Err(instruction(body, at, "it jumps into the middle of a constant"));
                }
            }
            at += if one.code == 0x18 { 2 } else { 1 };
        }
        let last = code.last().map(|one| one.code);
        if !matches!(last, Some(0x95 | 0x05 | 0x06)) {
            return Err(instruction(body, code.len() - 1, "the function ends without an exit"));
        }
        Ok(())
    }
}

/// Puts a number into the part of an instruction that a relocation means. A field of `size` bytes is read and written
/// whole.
fn patch(one: &mut Instruction, value: u64, size: Option<usize>) -> Result<(), &'static str> {
    match one.code & 7 {
        0 | 4 | 7 => one.value = value as i64,
        1..=3 => {
            one.offset = i16::try_from(value).map_err(|_| "the field is out of an instruction's reach")?;
            if let Some(size) = size.filter(|size| *size != machine::size_of(one.code)) {
                let bits = match size {
                    1 => 0x10,
                    2 => 0x08,
                    4 => 0x00,
                    _ => 0x18,
                };
                one.code = one.code & !0x18 | bits;
            }
        }
        _ => return Err("a jump cannot hold the place of a field"),
    }
    Ok(())
}

fn instruction(body: &Body<'_>, at: usize, why: &str) -> ObjectError {
    ObjectError::Instruction { function: body.name.clone(), at, why: why.to_owned() }
}
