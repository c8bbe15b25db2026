//! The Debian package: it is made, unpacked, and used from there.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::Scratch;

#[test]
fn the_package_holds_a_program_that_works_its_manual_and_a_service_that_systemd_accepts() {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        return println!("not run here: dpkg-deb is missing");
    }
    let scratch = Scratch::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let made = Command::new(root.join("tools/deb"))
        .arg(env!("CARGO_BIN_EXE_firstflight"))
        .arg(scratch.path())
        .output()
        .expect("the script runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let package = String::from_utf8(made.stdout).expect("text").trim().to_owned();
    let unpacked = scratch.path().join("unpacked");
    let ran =
        Command::new("dpkg-deb").arg("-x").arg(&package).arg(&unpacked).status().expect("dpkg-deb runs");
    assert!(ran.success());

    let program = unpacked.join("usr/bin/firstflight");
    let ran = Command::new(&program).args(["presets", "--json"]).output().expect("the program runs");
    assert!(ran.status.success() && String::from_utf8_lossy(&ran.stdout).contains("cable"));
    for file in [
        "usr/share/man/man1/firstflight-gateway-run.1.gz",
        "usr/share/man/man1/firstflight-compare.1.gz",
        "usr/share/bash-completion/completions/firstflight",
        "usr/share/doc/firstflight/gateway.md",
        "usr/share/doc/firstflight/copyright",
        "etc/firstflight/gateway.toml",
    ] {
        let size = fs::metadata(unpacked.join(file)).map_or(0, |data| data.len());
        assert!(size > 100, "{file} has {size} bytes");
    }

    let unit =
        fs::read_to_string(unpacked.join("lib/systemd/system/firstflight-gateway.service")).expect("a unit");
    // The unit with the unpacked program in place of the installed one, which need not be there.
    let unit = unit.replace("/usr/bin/firstflight", &program.display().to_string());
    let unit = unit.lines().filter(|line| !line.starts_with("Documentation=")).collect::<Vec<_>>().join("\n");
    let file = scratch.path().join("firstflight-gateway.service");
    fs::write(&file, unit).expect("written");
    match Command::new("systemd-analyze").arg("verify").arg(&file).output() {
        Err(error) => println!("the unit is not checked here: systemd-analyze: {error}"),
        Ok(checked) => {
            let said = String::from_utf8_lossy(&checked.stderr).into_owned();
            assert!(checked.status.success() && !said.contains("firstflight-gateway"), "{said}");
        }
    }
}

#[test]
fn the_configuration_of_the_package_is_valid_and_observes() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/gateway.toml");
    let text = fs::read_to_string(file).expect("the file");
    let read =
        firstflight_gateway::Configuration::parse(&text, "gateway.toml").expect("a valid configuration");
    assert_eq!(read.settings.mode, firstflight_gateway::Mode::Observe);
}
