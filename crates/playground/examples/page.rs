//! Writes the playground and the scripts of the live figures: MODULE.wasm FOLDER. `make playground` builds the module and calls this.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let [module, folder] = &env::args().skip(1).map(PathBuf::from).collect::<Vec<_>>()[..] else {
        return Err("expected two paths: MODULE.wasm FOLDER".into());
    };
    let bytes = fs::read(module).map_err(|error| format!("{}: {error}", module.display()))?;
    let live = firstflight_playground::live(&bytes);
    println!("the module: {} KB before compression", bytes.len() / 1000);
    for (name, text) in [
        ("playground.html", firstflight_playground::page(&bytes)),
        ("figure.js", live.figure),
        ("figure-module.js", live.module),
    ] {
        let path = folder.join(name);
        fs::write(&path, &text)?;
        println!("{}: {} KB", path.display(), text.len() / 1000);
    }
    Ok(())
}
