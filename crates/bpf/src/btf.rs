//! BTF, the description of types in an object, and the relocations of `.BTF.ext`. The format is that of the kernel's
//! `Documentation/bpf/btf.rst`.

use crate::error::ObjectError;

const MAGIC: u16 = 0xeb9f;

/// One type.
#[derive(Clone, Debug)]
pub(crate) struct Type {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// Kind of a type, as far as the loader needs it.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Int {
        size: u32,
    },
    Pointer(u32),
    Array {
        of: u32,
        count: u32,
    },
    Composite {
        size: u32,
        members: Vec<Member>,
    },
    Enum {
        size: u32,
        values: Vec<String>,
    },
    /// A typedef, a qualifier or a tag of another type.
    Alias(u32),
    Prototype {
        parameters: u32,
    },
    Variable {
        of: u32,
    },
    Section {
        variables: Vec<Placed>,
    },
    Other,
}

/// A member of a struct or a union.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) of: u32,
    /// Distance from the beginning of the struct, bits.
    pub(crate) bit: u32,
}

/// A variable in a section.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) variable: u32,
}

/// One relocation of a field, type or enumerator.
#[derive(Clone, Debug)]
pub(crate) struct CoreRelocation {
    /// Section of the instruction.
    pub(crate) section: String,
    /// Distance of the instruction from the beginning of its section, bytes.
    pub(crate) at: u64,
    pub(crate) root: u32,
    /// Path from the root: indices joined by colons.
    pub(crate) path: String,
    pub(crate) kind: u32,
}

/// The types of an object.
#[derive(Clone, Debug)]
pub(crate) struct Btf {
    /// Type 0 is `void`.
    types: Vec<Type>,
    strings: Vec<u8>,
}

/// Bytes of a section, read in order.
struct Reader<'a> {
    section: &'static str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn word(&mut self) -> Result<u32, ObjectError> {
        let word =
            self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<4>()).ok_or_else(|| self.ends())?;
        self.at += 4;
        Ok(u32::from_le_bytes(*word))
    }

    fn words<const N: usize>(&mut self) -> Result<[u32; N], ObjectError> {
        let mut words = [0; N];
        for word in &mut words {
            *word = self.word()?;
        }
        Ok(words)
    }

    fn ends(&self) -> ObjectError {
        ObjectError::malformed(self.section, format!("it ends at byte {} within a record", self.bytes.len()))
    }

    /// The `length` bytes from `from` on.
    fn part(&self, from: usize, length: usize) -> Result<&'a [u8], ObjectError> {
        let end = from.checked_add(length).ok_or_else(|| self.ends())?;
        self.bytes.get(from..end).ok_or_else(|| self.ends())
    }
}

/// The header that both sections begin with: a reader behind the header's first 8 bytes, and the header's length.
fn begin<'a>(section: &'static str, bytes: &'a [u8]) -> Result<(Reader<'a>, usize), ObjectError> {
    let mut reader = Reader { section, bytes, at: 0 };
    let [first, length] = reader.words()?;
    if first as u16 != MAGIC {
        return Err(ObjectError::malformed(section, "it does not begin with the bytes 9f eb"));
    }
    Ok((reader, length as usize))
}

impl Btf {
    /// Reads the section `.BTF`.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ObjectError> {
        let (mut header, length) = begin(".BTF", bytes)?;
        let [types_at, types_length, strings_at, strings_length] = header.words::<4>()?.map(|n| n as usize);
        let place = |at: usize| length.checked_add(at).ok_or_else(|| header.ends());
        let types = header.part(place(types_at)?, types_length)?;
        let strings = header.part(place(strings_at)?, strings_length)?.to_vec();
        let mut btf = Self { types: vec![Type { name: "void".into(), kind: Kind::Other }], strings };
        let mut reader = Reader { section: ".BTF", bytes: types, at: 0 };
        while reader.at < types.len() {
            let read = btf.read_type(&mut reader)?;
            btf.types.push(read);
        }
        Ok(btf)
    }

    fn read_type(&self, reader: &mut Reader<'_>) -> Result<Type, ObjectError> {
        let [name, info, value] = reader.words()?;
        let (count, flag) = (info & 0xffff, info >> 31 == 1);
        let kind = match info >> 24 & 0x1f {
            1 => {
                reader.word()?;
                Kind::Int { size: value }
            }
            2 => Kind::Pointer(value),
            3 => {
                let [of, _, count] = reader.words()?;
                Kind::Array { of, count }
            }
            4 | 5 => {
                let mut members = vec![];
                for _ in 0..count {
                    let [name, of, bit] = reader.words()?;
                    let bit = if flag { bit & 0xff_ffff } else { bit };
                    members.push(Member { name: self.text(name)?, of, bit });
                }
                Kind::Composite { size: value, members }
            }
            6 | 19 => {
                let long = info >> 24 & 0x1f == 19;
                let mut values = vec![];
                for _ in 0..count {
                    let [name, _] = reader.words()?;
                    if long {
                        reader.word()?;
                    }
                    values.push(self.text(name)?);
                }
                Kind::Enum { size: value, values }
            }
            8..=11 | 18 => Kind::Alias(value),
            13 => {
                for _ in 0..count {
                    reader.words::<2>()?;
                }
                Kind::Prototype { parameters: count }
            }
            14 => {
                reader.word()?;
                Kind::Variable { of: value }
            }
            15 => {
                let mut variables = vec![];
                for _ in 0..count {
                    let [variable, _, _] = reader.words()?;
                    variables.push(Placed { variable });
                }
                Kind::Section { variables }
            }
            17 => {
                reader.word()?;
                Kind::Other
            }
            7 | 12 | 16 => Kind::Other,
            unknown => return Err(ObjectError::malformed(".BTF", format!("unknown kind of type {unknown}"))),
        };
        Ok(Type { name: self.text(name)?, kind })
    }

    /// Reads the relocations in the section `.BTF.ext`.
    pub(crate) fn read_relocations(&self, bytes: &[u8]) -> Result<Vec<CoreRelocation>, ObjectError> {
        let (mut header, length) = begin(".BTF.ext", bytes)?;
        // Older objects have no relocations, and a shorter header.
        if length < 32 {
            return Ok(vec![]);
        }
        let [_, _, _, _, at, size] = header.words::<6>()?.map(|n| n as usize);
        if size == 0 {
            return Ok(vec![]);
        }
        let part = header.part(length.checked_add(at).ok_or_else(|| header.ends())?, size)?;
        let mut reader = Reader { section: ".BTF.ext", bytes: part, at: 0 };
        if reader.word()? != 16 {
            return Err(ObjectError::malformed(".BTF.ext", "a relocation is not of 16 bytes"));
        }
        let mut all = vec![];
        while reader.at < part.len() {
            let [section, count] = reader.words()?;
            let section = self.text(section)?;
            for _ in 0..count {
                let [at, root, path, kind] = reader.words()?;
                let section = section.clone();
                all.push(CoreRelocation { section, at: at.into(), root, path: self.text(path)?, kind });
            }
        }
        Ok(all)
    }

    fn text(&self, at: u32) -> Result<String, ObjectError> {
        let rest = self.strings.get(at as usize..);
        let text = rest.and_then(|rest| rest.split(|&byte| byte == 0).next());
        let text = text.and_then(|bytes| std::str::from_utf8(bytes).ok());
        text.map(str::to_owned).ok_or_else(|| ObjectError::malformed(".BTF", format!("no name at byte {at}")))
    }

    /// The type `id`, as it is declared.
    pub(crate) fn get(&self, id: u32) -> Result<&Type, ObjectError> {
        self.types
            .get(id as usize)
            .ok_or_else(|| ObjectError::malformed(".BTF", format!("there is no type {id}")))
    }

    /// The type behind typedefs and qualifiers.
    pub(crate) fn plain(&self, mut id: u32) -> Result<&Type, ObjectError> {
        for _ in 0..64 {
            match self.get(id)? {
                Type { kind: Kind::Alias(of), .. } => id = *of,
                found => return Ok(found),
            }
        }
        Err(ObjectError::malformed(".BTF", "a chain of more than 64 typedefs"))
    }

    /// Size of a type, bytes.
    pub(crate) fn size(&self, id: u32) -> Result<u64, ObjectError> {
        let mut times = 1u64;
        let mut id = id;
        for _ in 0..64 {
            let found = self.plain(id)?;
            let size = match &found.kind {
                Kind::Int { size } | Kind::Composite { size, .. } | Kind::Enum { size, .. } => *size,
                Kind::Pointer(_) => 8,
                Kind::Array { of, count } => {
                    times = times.saturating_mul((*count).into());
                    id = *of;
                    continue;
                }
                _ => {
                    let why = format!("the type \"{}\" has no size", found.name);
                    return Err(ObjectError::malformed(".BTF", why));
                }
            };
            return Ok(u64::from(size).saturating_mul(times));
        }
        Err(ObjectError::malformed(".BTF", "an array of more than 64 dimensions"))
    }

    /// The type of the variable `name` in the section `section`.
    pub(crate) fn variable(&self, section: &str, name: &str) -> Option<u32> {
        let sections = self.types.iter().filter(|one| one.name == section);
        let placed = sections.filter_map(|one| match &one.kind {
            Kind::Section { variables } => Some(variables),
            _ => None,
        });
        placed.flatten().find_map(|placed| match self.get(placed.variable).ok()? {
            Type { name: found, kind: Kind::Variable { of } } if found == name => Some(*of),
            _ => None,
        })
    }
}

/// A name without the flavour that follows three underscores: `tcp_sock___v6` is `tcp_sock`.
pub(crate) fn essential(name: &str) -> &str {
    match name.find("___") {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}
