//! Reasons why an object is refused, and why a scheme stopped.

/// Reason why an object, or a congestion control of it, cannot run here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// The bytes are not an object of eBPF.
    #[error("not an eBPF object: {0}; expected what clang --target=bpf -g writes")]
    NotAnObject(String),
    /// A part of the object cannot be read.
    #[error("section {section}: {why}")]
    Malformed {
        /// The section.
        section: String,
        /// The problem.
        why: String,
    },
    /// The object has no `tcp_congestion_ops`.
    #[error(
        "it has no congestion control; expected a struct tcp_congestion_ops in the section .struct_ops or .struct_ops.link"
    )]
    NoControl,
    /// The kernel refuses a congestion control without these callbacks too.
    #[error(
        "the congestion control \"{name}\" has no {missing}; expected ssthresh, undo_cwnd, and cong_avoid or cong_control"
    )]
    Incomplete {
        /// The congestion control.
        name: String,
        /// The first missing callback.
        missing: &'static str,
    },
    /// A name that cannot be a label.
    #[error("the name \"{0}\" cannot be a label; expected letters, digits, - and _")]
    Name(String),
    /// A program reads a field that the sender here does not have.
    #[error("{function} uses {field}, which the sender here does not have{}", did_you_mean(nearest))]
    Field {
        /// The function of the object.
        function: String,
        /// Struct and field.
        field: String,
        /// The known field with the nearest name.
        nearest: Option<String>,
    },
    /// A program calls a function or a helper that does not exist here.
    #[error("{function} calls {call}, which does not exist here; expected one of: {}", known.join(", "))]
    Call {
        /// The function of the object.
        function: String,
        /// The name of what it calls.
        call: String,
        /// Names that may be called.
        known: Vec<&'static str>,
    },
    /// A program uses a map of a kind that does not exist here.
    #[error("{function} uses the map \"{map}\"; only maps of type BPF_MAP_TYPE_SK_STORAGE exist here")]
    Map {
        /// The function of the object.
        function: String,
        /// The map.
        map: String,
    },
    /// A program uses a variable of the kernel that does not exist here.
    #[error(
        "{function} uses the kernel's \"{symbol}\"; only CONFIG_HZ, and weak symbols that may be missing, exist here"
    )]
    Symbol {
        /// The function of the object.
        function: String,
        /// The variable.
        symbol: String,
    },
    /// An instruction that the machine does not have, or that leaves the program.
    #[error("{function}, instruction {at}: {why}")]
    Instruction {
        /// The function of the object.
        function: String,
        /// Position of the instruction within the function.
        at: usize,
        /// The problem.
        why: String,
    },
}

impl ObjectError {
    pub(crate) fn malformed(section: &str, why: impl Into<String>) -> Self {
        Self::Malformed { section: section.into(), why: why.into() }
    }
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

/// Reason why a program stopped in the middle of a run. The kernel's verifier finds most of these before it loads a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A read outside the memory that the program was given.
    #[error("it reads {size} bytes at {address:#x}, outside its memory")]
    Read {
        /// Address.
        address: u64,
        /// Bytes.
        size: usize,
    },
    /// A write outside the memory that the program may write.
    #[error("it writes {size} bytes at {address:#x}, where it may not write{}", in_field(field))]
    Write {
        /// Address.
        address: u64,
        /// Bytes.
        size: usize,
        /// The field of the sender at this address.
        field: Option<&'static str>,
    },
    /// More instructions than the bound.
    #[error("it runs for more than {0} instructions")]
    Endless(u64),
    /// More nested calls than the kernel allows.
    #[error("more than 8 nested calls")]
    Depth,
    /// A function that is offered, but only to a program that does not call it.
    #[error("it calls {0}, which has no meaning for a sender here")]
    Call(&'static str),
    /// An instruction whose field does not exist, behind a test for the field.
    #[error("it uses a field that it had found missing")]
    Missing,
}

fn in_field(field: &Option<&'static str>) -> String {
    field.map_or_else(String::new, |name| format!(" ({name})"))
}
