//! LLVM IR of rustc made into IR that an older LLVM compiles to eBPF.
//!
//! rustc compiled for the building machine, which has the layout of eBPF: 64 bits, little endian. What remains is text:
//! notations newer than the pinned clang go; panics, wide arithmetic and large copies become calls of functions that the
//! object has.

/// Attributes that are hints, newer than the pinned LLVM. Those with arguments end in `(`.
const HINTS: [&str; 6] =
    ["captures(", "initializes(", "range(", "dead_on_return(", "dead_on_return", "samesign"];

/// Intrinsics that only inform, in a notation that changed.
const INFORM: [&str; 2] = ["@llvm.experimental.noalias.scope.decl", "@llvm.assume"];

/// Intrinsics that let places on the stack be shared; the older LLVM also wants a size, -1 for all of the place.
const LIFETIMES: [&str; 2] = ["@llvm.lifetime.start.p0(", "@llvm.lifetime.end.p0("];

/// Instructions on 128 bits that eBPF lacks, and the functions of `face/src/wide.rs`.
const WIDE: [(&str, &str); 5] = [
    ("mul", "ff_mul128"),
    ("udiv", "ff_udiv128"),
    ("urem", "ff_urem128"),
    ("shl", "ff_shl128"),
    ("lshr", "ff_lshr128"),
];

/// Products with a report of overflow: the width, the product, and the function that reports.
const OVERFLOWS: [(&str, &str, &str); 2] =
    [("i64", "mul i64 ", "ff_over64"), ("i128", "call i128 @ff_mul128", "ff_over128")];

/// Functions of `core` that panic.
const PANICS: [&str; 6] = [
    "panicking",
    "slice_index_fail",
    "unwrap_failed",
    "expect_failed",
    "slice_end_index",
    "panic_for_nonpositive",
];

/// Bytes that clang copies or clears without a call.
const INLINE_BYTES: u64 = 128;

/// Declarations of the functions above, without those that the module itself defines.
fn declarations(module: &str) -> String {
    let wide = WIDE.map(|(_, name)| format!("i128 @{name}(i128, i128)"));
    let others = [
        "i1 @ff_over64(i64, i64)",
        "i1 @ff_over128(i128, i128)",
        "void @ff_memset(ptr, i8, i64)",
        "void @ff_memcpy(ptr, ptr, i64)",
        "void @ff_panic()",
    ];
    let all = wide.iter().map(String::as_str).chain(others);
    let name = |signature: &str| {
        signature[signature.find('@').unwrap_or(0)..signature.find('(').unwrap_or(0)].to_owned() + "("
    };
    let defined = |signature: &str| {
        module.lines().any(|line| line.starts_with("define") && line.contains(&name(signature)))
    };
    all.filter(|signature| !defined(signature)).map(|signature| format!("declare {signature}\n")).collect()
}

/// `text` from its opening bracket on: the length up to the closing one, both included.
fn bracketed(text: &str) -> usize {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 1 => return at + 1,
            b')' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// Removes every hint.
fn without_hints(line: &str) -> String {
    let mut line = line.to_owned();
    for hint in HINTS {
        let mut from = 0;
        while let Some(at) = line[from..].find(&format!(" {hint}")).map(|at| at + from) {
            let name_end = at + 1 + hint.len();
            let end = match hint.strip_suffix('(') {
                Some(_) => name_end - 1 + bracketed(&line[name_end - 1..]),
                None if line[name_end..].starts_with([' ', ',', ')']) => name_end,
                None => {
                    from = name_end;
                    continue;
                }
            };
            line.replace_range(at..end, "");
        }
    }
    line
}

/// `%x = mul nuw i128 %a, %b` as a call.
fn wide_instruction(line: &str) -> Option<String> {
    let (result, operation) = line.split_once(" = ")?;
    let (operation, operands) = operation.split_once(" i128 ")?;
    let mut words = operation.split(' ');
    let (_, function) = WIDE.into_iter().find(|(name, _)| words.clone().next() == Some(name))?;
    words.next();
    if !words.all(|word| matches!(word, "nuw" | "nsw" | "exact")) {
        return None;
    }
    let (a, rest) = operands.split_once(", ")?;
    let (b, metadata) = rest.split_once(',').map_or((rest, ""), |(b, _)| (b, ""));
    // Shifts by a constant are fine.
    if function.contains("sh") && !b.starts_with('%') {
        return None;
    }
    Some(format!("{result} = call i128 @{function}(i128 {a}, i128 {b}){metadata}"))
}

/// `%x = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %a, i64 %b)` as a product and a call.
fn overflow(line: &str) -> Option<String> {
    let (result, call) = line.split_once(" = ")?;
    let (width, product, function) = OVERFLOWS
        .into_iter()
        .find(|(width, ..)| call.contains(&format!("@llvm.umul.with.overflow.{width}(")))?;
    let open = call.find("@llvm")? + call[call.find("@llvm")?..].find('(')?;
    let arguments = &call[open..open + bracketed(&call[open..])];
    let value = |argument: &str| argument.trim_matches([' ', '(', ')']).rsplit(' ').next().map(str::to_owned);
    let (a, b) = arguments.split_once(", ")?;
    let (a, b) = (value(a)?, value(b)?);
    let product = match product.starts_with("call") {
        true => format!("{product}({width} {a}, {width} {b})"),
        false => format!("{product}{a}, {b}"),
    };
    let result = result.trim();
    // A number alone would have to be the next one.
    let name = format!("%over.{}", result.trim_start_matches('%'));
    let pair = format!("{{ {width}, i1 }}");
    Some(format!(
        "  {name}.p = {product}\n  {name}.o = call i1 @{function}({width} {a}, {width} {b})\n  \
         {name}.h = insertvalue {pair} poison, {width} {name}.p, 0\n  \
         {result} = insertvalue {pair} {name}.h, i1 {name}.o, 1"
    ))
}

/// A value that may be anything as zero: the verifier lets no register be read that was never written.
fn chosen(line: &str) -> Option<String> {
    let (_, operation) = line.split_once(" = ")?;
    let phi = operation.starts_with("phi i") || operation.starts_with("phi ptr");
    if !phi && !operation.starts_with("select ") {
        return None;
    }
    let zero = if phi && operation.starts_with("phi ptr") { "null" } else { "0" };
    let mut line = line.to_owned();
    for any in ["undef", "poison"] {
        line = line.replace(&format!("[ {any},"), &format!("[ {zero},"));
        for width in ["i1", "i8", "i16", "i32", "i64", "i128"] {
            line = line.replace(&format!(", {width} {any}"), &format!(", {width} 0"));
        }
        line = line.replace(&format!(", ptr {any}"), ", ptr null");
    }
    Some(line)
}

/// A large `memset` or copy as a call.
fn large_copy(line: &str) -> Option<String> {
    let at = line.find("@llvm.mem")?;
    let function = if line[at..].starts_with("@llvm.memset.") { "ff_memset" } else { "ff_memcpy" };
    let open = at + line[at..].find('(')?;
    let arguments: Vec<&str> = line[open + 1..open + bracketed(&line[open..]) - 1].split(", ").collect();
    let bytes = arguments.get(2)?.strip_prefix("i64 ")?;
    if bytes.parse::<u64>().is_ok_and(|bytes| bytes <= INLINE_BYTES) {
        return None;
    }
    let value = |argument: &str| argument.rsplit(' ').next().unwrap_or_default().to_owned();
    let second = if function == "ff_memset" { "i8" } else { "ptr" };
    Some(format!(
        "  call void @{function}(ptr {}, {second} {}, i64 {bytes})",
        value(arguments[0]),
        value(arguments[1])
    ))
}

/// The declaration of a function that panics as its definition: it calls the shim's.
fn panic(line: &str) -> Option<String> {
    let signature =
        line.strip_prefix("declare void ").or_else(|| line.strip_prefix("declare noundef i64 "))?;
    let name = &signature[..signature.find('(')?];
    PANICS.iter().any(|panic| name.contains(panic)).then(|| {
        let open = name.len();
        let arguments = &signature[open..open + bracketed(&signature[open..])];
        let result = if line.starts_with("declare void") { "void" } else { "i64" };
        format!(
            "define internal {result} {name}{arguments} noreturn nounwind alwaysinline {{\n  call void @ff_panic()\n  unreachable\n}}"
        )
    })
}

/// One attribute group: nothing unwinds, and a value from memory is no index, of which the verifier knows no bound.
fn attributes(line: &str) -> String {
    let name = line.split(" = ").next().unwrap_or_default();
    let no_return = if line.contains("noreturn") { " noreturn" } else { "" };
    format!("{name} = {{ nounwind{no_return} \"no-jump-tables\"=\"true\" }}")
}

/// One line without hints.
fn replaced(line: String) -> String {
    if line.starts_with("attributes #") {
        return attributes(&line);
    }
    if line.starts_with("define ") {
        // A function of its own would need type information, which C alone gives.
        return line.replace(" personality ptr @rust_eh_personality", "").replacen(
            " unnamed_addr",
            " unnamed_addr alwaysinline",
            1,
        );
    }
    if let Some(name) = LIFETIMES.into_iter().find(|name| line.contains(name)) {
        let size = if line.starts_with("declare") { "i64, " } else { "i64 -1, " };
        return line.replacen(name, &format!("{name}{size}"), 1);
    }
    panic(&line)
        .or_else(|| wide_instruction(&line))
        .or_else(|| overflow(&line))
        .or_else(|| chosen(&line))
        .or_else(|| large_copy(&line))
        .unwrap_or(line)
}

/// The whole module.
pub(crate) fn lower(module: &str) -> String {
    let dropped = |line: &&str| line.starts_with("target ") || INFORM.iter().any(|name| line.contains(name));
    let lines = module.lines().filter(|line| !dropped(line));
    let lowered: String = lines.map(|line| replaced(without_hints(line)) + "\n").collect();
    let declarations = declarations(&lowered);
    lowered + &declarations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_notation_goes() {
        let line = "define void @f(ptr noundef align 8 captures(address, read_provenance) dereferenceable(8) %p, i64 range(i64 0, 2) %n) unnamed_addr #3 personality ptr @rust_eh_personality {";
        let expected = "define void @f(ptr noundef align 8 dereferenceable(8) %p, i64 %n) unnamed_addr alwaysinline #3 {";
        assert!(lower(line).starts_with(expected), "{}", lower(line));
        assert_eq!(without_hints("%c = icmp samesign ult i64 %a, %b"), "%c = icmp ult i64 %a, %b");
    }

    #[test]
    fn wide_arithmetic_is_called() {
        let call = |line| wide_instruction(line).expect("a wide instruction");
        assert_eq!(call("  %x = mul nuw i128 %a, 3"), "  %x = call i128 @ff_mul128(i128 %a, i128 3)");
        assert_eq!(call("  %x = lshr i128 %a, %b"), "  %x = call i128 @ff_lshr128(i128 %a, i128 %b)");
        assert_eq!(wide_instruction("  %x = lshr i128 %a, 64"), None);
        assert_eq!(wide_instruction("  %x = mul i64 %a, %b"), None);
        assert_eq!(wide_instruction("  %x = add nuw i128 %a, %b"), None);
    }

    #[test]
    fn overflow_is_reported_by_a_call() {
        let line = "  %x = tail call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %a, i64 8)";
        let lines = overflow(line).expect("a product");
        let first = "  %over.x.p = mul i64 %a, 8\n  %over.x.o = call i1 @ff_over64(i64 %a, i64 8)\n";
        assert!(lines.starts_with(first), "{lines}");
        assert!(lines.ends_with("  %x = insertvalue { i64, i1 } %over.x.h, i1 %over.x.o, 1"), "{lines}");
    }

    #[test]
    fn no_value_is_left_open() {
        let line = "  %x = phi i64 [ undef, %a ], [ %n, %b ]";
        assert_eq!(chosen(line).expect("a choice"), "  %x = phi i64 [ 0, %a ], [ %n, %b ]");
        let line = "  %x = select i1 %c, i32 %n, i32 poison";
        assert_eq!(chosen(line).expect("a choice"), "  %x = select i1 %c, i32 %n, i32 0");
    }

    #[test]
    fn large_copies_are_called() {
        let copy = "  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(152) %to, ptr noundef align 8 %from, i64 152, i1 false), !noalias !4";
        assert_eq!(
            large_copy(copy).expect("a large copy"),
            "  call void @ff_memcpy(ptr %to, ptr %from, i64 152)"
        );
        assert_eq!(large_copy(&copy.replace("i64 152", "i64 128")), None);
    }

    #[test]
    fn a_panic_calls_the_shim() {
        let line = "declare void @_RNv4core9panicking5panic(ptr noundef, i64) unnamed_addr #4";
        assert_eq!(
            panic(line).expect("a panic"),
            "define internal void @_RNv4core9panicking5panic(ptr noundef, i64) noreturn nounwind alwaysinline {\n  call void @ff_panic()\n  unreachable\n}"
        );
    }
}
