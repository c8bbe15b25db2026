//! Writes the report of an invented comparison into a folder and prints its table, for work on the page:
//! `cargo run -p firstflight-report --example preview -- DIR [capture|path] [COLUMNS]`.

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use std::path::Path;

use firstflight_report::{Colour, table, write_all};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let dir = arguments.first().ok_or("missing argument: the output folder")?;
    let report = match arguments.get(1).map(String::as_str) {
        Some("path") => fixture::from_path(),
        _ => fixture::from_capture(),
    };
    let columns = arguments.get(2).map_or(Ok(100), |c| c.parse())?;
    print!("{}", table(&report, columns, Colour::Ansi));
    for path in write_all(Path::new(dir), &report)? {
        println!("{}", path.display());
    }
    Ok(())
}
