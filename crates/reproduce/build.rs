//! The papers are built in: they are read again when one of their files changes.

fn main() {
    println!("cargo:rerun-if-changed=../../papers");
}
