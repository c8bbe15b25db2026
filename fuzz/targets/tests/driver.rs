//! The driver finds, keeps and repeats an input at which a target dies.

use std::process::Command;

use firstflight_fuzz_targets::drive::{Driven, Work, drive, work};
use firstflight_fuzz_targets::{Form, Target};

/// Dies at an input of at least three bytes that begins with a byte above 250; some one in a hundred does.
const MORTAL: Target = Target {
    name: "mortal",
    about: "",
    run: |bytes| assert!(bytes.len() < 3 || bytes[0] <= 250, "the offending input"),
    longest: 16,
    form: Form::Numbers,
};

/// Ends the process in a way that no handler of panics notices.
const OVERFLOWING: Target =
    Target { run: |bytes| assert!(depth(bytes.first().is_some_and(|&b| b > 250)) == 0), ..MORTAL };

const HEALTHY: Target = Target { run: |_| {}, ..MORTAL };

const TARGETS: [Target; 3] = [MORTAL, OVERFLOWING, HEALTHY];

/// Zero, or no end.
fn depth(endless: bool) -> u64 {
    let page = std::hint::black_box([1_u8; 4096]);
    if endless { depth(endless) + u64::from(page[0]) } else { 0 }
}

/// A worker of one of `TARGETS`: this test program again.
fn made(index: usize) -> impl Fn(Work) -> Command {
    move |work: Work| {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        let Work { seed, from, executions, seconds, careful } = work;
        let words = format!("{index} {seed} {from} {executions} {seconds} {}", u8::from(careful));
        command.args(["worker", "--exact", "--ignored", "--nocapture", "--test-threads=2"]).env(WORK, words);
        command
    }
}

const WORK: &str = "FIRSTFLIGHT_FUZZ_WORK";

#[test]
#[ignore = "a part of the other tests, which start it"]
#[expect(clippy::disallowed_methods, reason = "a test program has no other way to hand numbers to itself")]
fn worker() {
    let Ok(words) = std::env::var(WORK) else { return };
    let numbers: Vec<u64> = words.split(' ').map(|word| word.parse().expect("a number")).collect();
    let [index, seed, from, executions, seconds, careful] = numbers[..] else { panic!("{words}") };
    let asked = Work { seed, from, executions, seconds, careful: careful == 1 };
    work(&TARGETS[index as usize], &[], asked).expect("standard output");
}

fn driven(index: usize, seed: u64) -> Driven {
    let whole = Work { seed, from: 0, executions: 20_000, seconds: 60, careful: false };
    drive(&TARGETS[index], &[], whole, made(index), |_| {}).expect("workers run")
}

#[test]
fn an_input_at_which_the_target_panics_is_found_and_is_the_same_for_the_same_seed() {
    let first = driven(0, 1);
    let input = first.offending.clone().expect("one in a hundred");
    assert!(input.len() >= 3 && input[0] > 250, "{input:?}");
    assert!(first.said.contains("the offending input"), "{}", first.said);
    let again = driven(0, 1);
    assert_eq!((again.executions, again.offending), (first.executions, first.offending));
    assert_ne!(driven(0, 2).offending, Some(input));
}

#[test]
fn an_input_that_overflows_the_stack_is_found() {
    let found = driven(1, 1);
    assert!(found.offending.expect("one in a hundred")[0] > 250);
    assert!(found.said.contains("overflow"), "{}", found.said);
}

#[test]
fn executions_of_a_healthy_target_are_counted() {
    let run = driven(2, 1);
    assert_eq!((run.executions, run.offending), (20_000, None));
}
