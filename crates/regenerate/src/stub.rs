//! The stub of the Python extension module.

use std::path::Path;

use pyo3_introspection::{introspect_cdylib, module_stub_files};

use crate::{Made, Repository};

/// The stub of the module that was built with this program.
pub(crate) fn stub(repository: &Repository) -> Made {
    let library = repository.built.join("lib_firstflight.so");
    let module = introspect_cdylib(&library, "_firstflight")
        .map_err(|error| format!("{}: {error}", library.display()))?;
    let files = module_stub_files(&module);
    let text = files.get(Path::new("__init__.pyi")).ok_or("the extension module has no stub")?;
    // The modules that annotations in the source name.
    let imports = "import collections.abc\nimport os\nimport typing";
    Repository::whole(
        "crates/python/python/firstflight/_firstflight.pyi",
        format!("# Generated from the Rust source by `make regenerate`; do not edit.\n{imports}\n\n{text}"),
    )
}
