//! Makes the stub of the extension module: `stubs LIBRARY FILE` reads the compiled LIBRARY and writes FILE.

use std::path::Path;
use std::process::ExitCode;

use pyo3_introspection::{introspect_cdylib, module_stub_files};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [library, file] = &arguments[..] else {
        eprintln!("error: expected two arguments: the compiled library, and the file to write");
        return ExitCode::from(2);
    };
    match stub(Path::new(library)).and_then(|text| Ok(std::fs::write(file, text)?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {library}: {error}");
            ExitCode::from(2)
        }
    }
}

/// The stub of the module in a library.
fn stub(library: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let module = introspect_cdylib(library, "_firstflight")?;
    let files = module_stub_files(&module);
    let text = files.get(Path::new("__init__.pyi")).ok_or("the module has no stub")?;
    // The modules that annotations in the source name.
    let imports = "import collections.abc\nimport os\nimport typing";
    Ok(format!("# Generated from the Rust source by `make python-stubs`; do not edit.\n{imports}\n\n{text}"))
}
