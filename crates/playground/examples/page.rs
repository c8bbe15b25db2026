//! Writes the playground: MODULE.wasm PAGE.html. `make playground` builds the module and calls this.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let [module, page] = &env::args().skip(1).map(PathBuf::from).collect::<Vec<_>>()[..] else {
        return Err("expected two paths: MODULE.wasm PAGE.html".into());
    };
    let bytes = fs::read(module).map_err(|error| format!("{}: {error}", module.display()))?;
    let html = firstflight_playground::page(&bytes);
    fs::write(page, &html).map_err(|error| format!("{}: {error}", page.display()))?;
    println!(
        "{}: {} KB, of which the module takes {} KB before compression",
        page.display(),
        html.len() / 1000,
        bytes.len() / 1000
    );
    Ok(())
}
