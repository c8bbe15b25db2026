//! CO-RE: an instruction that names a field of the kernel by its path through the object's own types gets the place of that
//! field in the view. The kinds are those of `enum bpf_core_relo_kind` in the kernel's `include/uapi/linux/bpf.h`.

use crate::btf::{Btf, CoreRelocation, Kind, essential};
use crate::error::ObjectError;
use crate::view::{self, Found};

/// The answer to a relocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The instruction's number.
    Value(u64),
    /// The place of a field of this size, which the instruction may read or write.
    Place {
        /// Distance from the beginning of the struct, bytes.
        at: u64,
        /// Bytes of the field; `None` of an array or a struct.
        size: Option<usize>,
    },
    /// The field, with its struct, does not exist here.
    Unknown(String),
}

/// A field as its path names it.
enum Target {
    /// The field at this index of the view, and bytes within it.
    Field {
        index: usize,
        within: u64,
        at: u64,
    },
    /// A struct or a group of fields that begins where the view does.
    Embedded,
    Unknown(String),
}

/// Answers one relocation.
pub(crate) fn answer(btf: &Btf, relocation: &CoreRelocation) -> Result<Answer, ObjectError> {
    let kind = relocation.kind;
    let exists = |yes: bool| Ok(Answer::Value(u64::from(yes)));
    let root = btf.plain(relocation.root)?;
    let name = essential(&root.name).to_owned();
    match kind {
        0..=5 => {}
        6 => return Ok(Answer::Value(relocation.root.into())),
        8 | 12 => return exists(view::has_struct(&name)),
        10 | 11 => {
            let Kind::Enum { values, .. } = &root.kind else {
                return Err(ObjectError::malformed(".BTF.ext", format!("\"{name}\" is no enumeration")));
            };
            let index = relocation.path.parse::<usize>().ok();
            let value = index.and_then(|index| values.get(index));
            let value = value.map(|value| essential(value)).unwrap_or_default();
            return match (kind, view::enumerator(value)) {
                (10, found) => exists(found.is_some()),
                (_, Some(number)) => Ok(Answer::Value(number)),
                _ => Ok(Answer::Unknown(format!("{name} {value}"))),
            };
        }
        7 | 9 => return Ok(Answer::Unknown(format!("the size or the number of struct {name}"))),
        other => {
            return Err(ObjectError::malformed(".BTF.ext", format!("unknown kind of relocation {other}")));
        }
    }
    let target = follow(btf, relocation, &name)?;
    if kind == 2 {
        return exists(!matches!(target, Target::Unknown(_)));
    }
    let (index, within, at) = match target {
        Target::Field { index, within, at } => (index, within, at),
        Target::Embedded if kind == 0 => return Ok(Answer::Place { at: 0, size: None }),
        Target::Embedded => return Ok(Answer::Unknown(format!("the size of a part of struct {name}"))),
        Target::Unknown(field) => return Ok(Answer::Unknown(field)),
    };
    let field = &view::FIELDS[index];
    // A bit field lies in the lowest bits of its byte.
    let bits = if field.bits > 0 { field.bits } else { 8 * field.size.min(8) as u32 };
    Ok(match kind {
        0 => Answer::Place { at: at + within, size: (field.size <= 8).then_some(field.size) },
        1 => Answer::Value(field.size as u64),
        3 => Answer::Value(field.signed.into()),
        // FIELD_LSHIFT_U64 and FIELD_RSHIFT_U64 bring a value to the upper end of 64 bits, and back.
        _ => Answer::Value(64 - u64::from(bits)),
    })
}

fn follow(btf: &Btf, relocation: &CoreRelocation, name: &str) -> Result<Target, ObjectError> {
    let wrong =
        || ObjectError::malformed(".BTF.ext", format!("\"{}\" is no path in {name}", relocation.path));
    let steps = relocation.path.split(':').map(|step| step.parse::<usize>().map_err(|_| wrong()));
    let steps = steps.collect::<Result<Vec<_>, _>>()?;
    let (&first, rest) = steps.split_first().ok_or_else(wrong)?;
    let mut prefix = name.to_owned();
    if first != 0 {
        return Ok(Target::Unknown(format!("element {first} of an array of struct {prefix}")));
    }
    let mut current = relocation.root;
    let mut found: Option<(usize, u64)> = None;
    for &step in rest {
        let here = btf.plain(current)?;
        match &here.kind {
            Kind::Array { of, .. } => {
                let Some((_, within)) = &mut found else { return Ok(Target::Unknown(prefix)) };
                *within += btf.size(*of)?.saturating_mul(step as u64);
                current = *of;
            }
            Kind::Composite { members, .. } => {
                let member = members.get(step).ok_or_else(wrong)?;
                current = member.of;
                if member.name.is_empty() {
                    continue;
                }
                let path = format!("{prefix}.{}", member.name);
                match view::find(&path) {
                    Some(Found::Embedded) => {
                        let inner = btf.plain(member.of)?;
                        prefix = essential(&inner.name).to_owned();
                    }
                    Some(Found::Group) => prefix = path,
                    Some(Found::Field(index)) => {
                        found = Some((index, 0));
                        prefix = path;
                    }
                    None => return Ok(Target::Unknown(path)),
                }
            }
            _ => return Err(wrong()),
        }
    }
    Ok(match found {
        Some((index, within)) if within >= view::FIELDS[index].size as u64 => {
            Target::Unknown(format!("{}, {within} bytes within it,", view::FIELDS[index].name))
        }
        Some((index, within)) => Target::Field { index, within, at: view::place(index) as u64 },
        None if view::has_struct(&prefix) => Target::Embedded,
        None => Target::Unknown(prefix),
    })
}
