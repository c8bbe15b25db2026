//! Which schemes this kernel takes: every start-up scheme with reno, every last scheme with slow-start; every pair with
//! `--every-pair`; or the kernel's words about one chain, with its labels as arguments.

#![expect(clippy::disallowed_methods, reason = "the time that the kernel takes to load")]

use std::time::Instant;

use firstflight_kernel::{Offer, Refusal};
use firstflight_kernel_face::{LASTS, STARTUPS};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let every = arguments.first().is_some_and(|argument| argument == "--every-pair");
    if !every && !arguments.is_empty() {
        let labels: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match Offer::new(&labels).and_then(|offer| offer.load()) {
            Err(Refusal::Verifier { log, .. }) => println!("{log}"),
            other => println!("{other:?}"),
        }
        return;
    }
    let mut refused = 0;
    println!("| schemes | congestion control | loads in ms |\n|---|---|---|");
    let startups = STARTUPS.iter().map(|member| member.declaration.label);
    let lasts = LASTS.iter().map(|member| member.declaration);
    for last in lasts {
        let leading: Vec<Option<&str>> = match last.role {
            firstflight_contract::Role::Standalone => vec![None],
            _ => startups.clone().map(Some).collect(),
        };
        for startup in leading {
            if !every && last.label != "reno" && startup.is_some_and(|label| label != "slow-start") {
                continue;
            }
            let labels: Vec<&str> = startup.into_iter().chain([last.label]).collect();
            let offer = Offer::new(&labels).expect("a chain of the object's schemes");
            let before = Instant::now();
            let loaded = offer.load();
            let took = before.elapsed().as_secs_f64() * 1e3;
            let row = match &loaded {
                Ok(_) => format!("{took:.0}"),
                Err(error) => error.to_string(),
            };
            refused += usize::from(loaded.is_err());
            println!("| {} | `{}` | {row} |", labels.join("+"), offer.name());
        }
    }
    println!("\n{refused} refused");
}
