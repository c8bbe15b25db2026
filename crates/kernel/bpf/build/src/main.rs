//! Builds the eBPF objects for the Linux kernel: `make kernel`.
//!
//! The object of the gateway's hooks is C alone. The object of the schemes has three steps:
//! 1. rustc compiles `face`, and with it the schemes, to LLVM IR for the building machine.
//! 2. [`lower`] makes IR for the pinned clang of it.
//! 3. clang links the IR into the shim and compiles for eBPF. Type information comes from C alone.
//!
//! Run it from the repository's folder. `--to FILE` writes the object of the schemes elsewhere, and no other.

mod lower;
mod sources;

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use firstflight_kernel_face::{FAULTS, LASTS, Member, STARTUPS};
use flate2::Compression;
use flate2::write::GzEncoder;

use sources::Object;

/// The compilers. Another version makes another object.
const RUSTC: &str = "1.95.0";
const CLANG: &str = "clang-19";
const LINK: &str = "llvm-link-19";
const OPT: &str = "opt-19";
const STRIP: &str = "llvm-strip-19";

/// Crates whose code the object has.
const CRATES: [&str; 4] =
    ["firstflight_contract", "firstflight_host", "firstflight_schemes", "firstflight_kernel_face"];
const SHIM: &str = "crates/kernel/bpf/shim";
const HOOKS: &str = "crates/hooks/bpf";
const WORK: &str = "target/kernel";

type Outcome<T> = Result<T, String>;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let to = match (arguments.next().as_deref(), arguments.next()) {
        (None, _) => None,
        (Some("--to"), Some(to)) => Some(PathBuf::from(to)),
        _ => return fail("usage: firstflight-kernel-build [--to FILE]"),
    };
    let built = match to {
        Some(to) => schemes().and_then(|object| pack(&object, &to)),
        None => {
            let steps: [(Object, Build); 2] = [(sources::SCHEMES, schemes), (sources::HOOKS, hooks)];
            steps.into_iter().try_for_each(|(object, build)| ship(&object, &build()?))
        }
    };
    built.map_or_else(|error| fail(&error), |()| ExitCode::SUCCESS)
}

/// Builds an object and answers with its path.
type Build = fn() -> Outcome<PathBuf>;

/// Writes an object into the repository, and the hash of its sources beside it.
fn ship(object: &Object, built: &Path) -> Outcome<()> {
    pack(built, Path::new(object.path))?;
    let hash = object.hash(Path::new(".")).map_err(|error| format!("the sources: {error}"))?;
    write(Path::new(object.built_from), &(hash + "\n"))
}

/// Strips an object of what only debuggers use, and compresses it.
fn pack(object: &Path, to: &Path) -> Outcome<()> {
    run(Command::new(STRIP).arg("--strip-debug").arg(object))?;
    let bytes = fs::read(object).map_err(|error| format!("{}: {error}", object.display()))?;
    let mut compressed = GzEncoder::new(vec![], Compression::best());
    let packed = compressed.write_all(&bytes).and_then(|()| compressed.finish());
    let packed = packed.map_err(|error| error.to_string())?;
    fs::write(to, packed).map_err(|error| format!("{}: {error}", to.display()))?;
    println!("{}", to.display());
    Ok(())
}

/// The compiler of C for eBPF, with the options that both objects have.
fn compiler() -> Command {
    let mut compile = Command::new(CLANG);
    compile.args(["-target", "bpf", "-mcpu=v3", "-std=gnu17", "-ffreestanding", "-O2", "-g"]);
    compile.args(["-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-unused-parameter"]);
    compile.args(["-Wno-missing-declarations", "-D__TARGET_ARCH_x86"]);
    // The folder of the build is not part of an object.
    compile.args(["-ffile-prefix-map=.=.", "-fdebug-compilation-dir=."]);
    compile.args(["-I", SHIM]);
    compile
}

/// The object of the gateway's hooks.
fn hooks() -> Outcome<PathBuf> {
    let out = Path::new(WORK).join("hooks");
    fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let object = out.join("hooks.bpf.o");
    let mut compile = compiler();
    compile.args(["-I", HOOKS, "-c"]).arg(format!("{HOOKS}/hooks.bpf.c"));
    run(compile.arg("-o").arg(&object))?;
    Ok(object)
}

fn fail(error: &str) -> ExitCode {
    eprintln!("firstflight-kernel-build: {error}");
    ExitCode::FAILURE
}

/// The object of the schemes.
fn schemes() -> Outcome<PathBuf> {
    let work = Path::new(WORK);
    let modules = intermediate_code(work)?;
    let out = work.join("object");
    fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    write(&out.join("schemes.h"), &header())?;
    let mut compile = compiler();
    compile.args(["-Wno-address-of-packed-member", "-fno-vectorize", "-fno-slp-vectorize"]);
    compile.args(["-fno-jump-tables", "-mllvm", "-unroll-threshold=0"]);
    compile.arg("-I").arg(&out).args(["-I", "crates/contract/include"]);
    let mut link = Command::new(LINK);
    for (name, text) in modules {
        let lowered = out.join(format!("{name}.ll"));
        let bitcode = out.join(format!("{name}.bc"));
        write(&lowered, &lower::lower(&text))?;
        let mut assemble = Command::new(CLANG);
        assemble.args(["-target", "bpf", "-mcpu=v3", "-Xclang", "-disable-llvm-passes"]);
        assemble.args(["-Wno-override-module", "-x", "ir", "-emit-llvm", "-c"]);
        run(assemble.arg(&lowered).arg("-o").arg(&bitcode))?;
        link.arg(bitcode);
    }
    let linked = out.join("schemes.bc");
    run(link.arg("-o").arg(&linked))?;
    // Code that this LLVM does not understand stops here.
    run(Command::new(OPT).arg("-passes=verify").arg(&linked).args(["-o", "/dev/null"]))?;
    for argument in [OsStr::new("-mlink-builtin-bitcode"), linked.as_os_str()] {
        compile.arg("-Xclang").arg(argument);
    }
    let object = out.join("firstflight.bpf.o");
    run(compile.arg("-c").arg(format!("{SHIM}/firstflight.bpf.c")).arg("-o").arg(&object))?;
    Ok(object)
}

/// The LLVM IR of the crates, by name.
fn intermediate_code(work: &Path) -> Outcome<Vec<(&'static str, String)>> {
    let dependencies = work.join("release/deps");
    let mut cargo = Command::new("cargo");
    // Files of an earlier build would be taken for this one's.
    for path in files_of(&dependencies, "ll") {
        fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let _ = fs::remove_dir_all(work.join("release/.fingerprint"));
    cargo.arg(format!("+{RUSTC}")).args([
        "build",
        "--locked",
        "--release",
        "--package",
        "firstflight-kernel-face",
    ]);
    cargo.args(["--features", "object", "--target-dir"]).arg(work);
    cargo.env(
        "RUSTFLAGS",
        "-Cno-vectorize-loops -Cno-vectorize-slp -Cjump-tables=no -Cllvm-args=-unroll-threshold=0 --emit=llvm-ir,metadata,link",
    );
    for (setting, value) in
        [("LTO", "off"), ("CODEGEN_UNITS", "1"), ("PANIC", "abort"), ("OVERFLOW_CHECKS", "false")]
    {
        cargo.env(format!("CARGO_PROFILE_RELEASE_{setting}"), value);
    }
    run(&mut cargo)?;
    let found = files_of(&dependencies, "ll");
    CRATES
        .into_iter()
        .map(|name| {
            let starts = |path: &&PathBuf| {
                path.file_name()
                    .and_then(OsStr::to_str)
                    .is_some_and(|file| file.starts_with(&format!("{name}-")))
            };
            let path = found.iter().find(starts).ok_or_else(|| format!("rustc wrote no IR of {name}"))?;
            let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok((name, text))
        })
        .collect()
}

fn files_of(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension() == Some(OsStr::new(extension))).collect()
}

/// The lists of schemes for the shim.
fn header() -> String {
    let list = |name: &str, members: &[Member]| {
        let lines = members.iter().map(|member| format!(" \\\n\tX({})", member.name));
        format!("#define {name}(X){}\n", lines.collect::<String>())
    };
    list("FF_STARTUPS", STARTUPS) + &list("FF_LASTS", LASTS) + &list("FF_FAULTS", FAULTS)
}

fn write(path: &Path, text: &str) -> Outcome<()> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn run(command: &mut Command) -> Outcome<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} failed: {status}")),
        Err(error) => Err(format!("{program}: {error}; `make packages-kernel` installs it")),
    }
}
