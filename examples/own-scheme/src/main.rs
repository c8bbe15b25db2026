//! Prints the comparison: rank, scheme, completion time, dropped packets.

use own_scheme::comparison;

fn main() -> Result<(), firstflight::Error> {
    for row in comparison("dsl", "1 MB")?.comparison.results {
        let seconds = row.completion_s.expect("the transfer ends").median;
        println!("{}. {:22} {seconds:.3} s, {:.0} packets dropped", row.rank, row.scheme, row.drops.mean);
    }
    Ok(())
}
