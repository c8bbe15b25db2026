//! The Debian package: it is made, installed under a root of its own, used from there, and removed.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::Scratch;

/// dpkg on a root of its own.
fn dpkg(root: &Path) -> Command {
    let mut dpkg = Command::new("dpkg");
    // The root has no other packages.
    dpkg.args(["--force-not-root", "--force-depends", "--log=/dev/null"]);
    dpkg.arg(format!("--root={}", root.display()));
    dpkg
}

#[test]
fn the_package_is_installed_used_and_removed() {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        return firstflight_skip::skip("dpkg-deb is missing");
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
    let installed = scratch.path().join("root");
    for folder in ["info", "updates", "triggers"] {
        fs::create_dir_all(installed.join("var/lib/dpkg").join(folder)).expect("a folder");
    }
    fs::write(installed.join("var/lib/dpkg/status"), "").expect("written");
    let ran = dpkg(&installed).args(["--install", &package]).output().expect("dpkg runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));

    let program = installed.join("usr/bin/firstflight");
    let ran = Command::new(&program).args(["presets", "--json"]).output().expect("the program runs");
    assert!(ran.status.success() && String::from_utf8_lossy(&ran.stdout).contains("cable"));
    for file in [
        "usr/share/man/man1/firstflight-gateway-run.1.gz",
        "usr/share/man/man1/firstflight-compare.1.gz",
        "usr/share/doc/firstflight/gateway.md",
        "usr/share/doc/firstflight/copyright",
        "etc/firstflight/gateway.toml",
    ] {
        let size = fs::metadata(installed.join(file)).map_or(0, |data| data.len());
        assert!(size > 100, "{file} has {size} bytes");
    }
    let completions = installed.join("usr/share/bash-completion/completions/firstflight");
    let ask = format!(
        "source {}; COMP_WORDS=(firstflight comp); COMP_CWORD=1; _firstflight firstflight comp firstflight; \
         echo \"${{COMPREPLY[@]}}\"",
        completions.display()
    );
    let answer = Command::new("bash").args(["-c", &ask]).output().expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&answer.stdout).trim(), "compare completions");

    for (name, instance) in [
        ("firstflight-gateway.service", "firstflight-gateway.service"),
        ("firstflight-gateway-site@.service", "firstflight-gateway-site@mirror0.service"),
    ] {
        check_unit(
            &installed.join("lib/systemd/system").join(name),
            &scratch.path().join(instance),
            &program,
        );
    }

    let ran = dpkg(&installed).args(["--purge", "firstflight"]).output().expect("dpkg runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(!program.exists() && !installed.join("etc/firstflight").exists());
}

/// Has systemd verify a unit, with this program in place of the installed one, which need not be there, and judge its sandbox.
fn check_unit(unit: &Path, file: &Path, program: &Path) {
    let unit = fs::read_to_string(unit).expect("a unit");
    let unit = unit.replace("/usr/bin/firstflight", &program.display().to_string());
    let unit = unit.lines().filter(|line| !line.starts_with("Documentation=")).collect::<Vec<_>>().join("\n");
    fs::write(file, unit).expect("written");
    let checked = match Command::new("systemd-analyze").arg("verify").arg(file).output() {
        Err(error) => return println!("the units are not checked here: systemd-analyze: {error}"),
        Ok(checked) => checked,
    };
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(checked.status.success() && !said.contains("firstflight-gateway"), "{said}");
    // Exposure of at most 2.0 of 10 by systemd's own list, which ends "OK".
    let mut judge = Command::new("systemd-analyze");
    judge.args(["security", "--offline=yes", "--threshold=20", "--no-pager"]).arg(file);
    let judged = judge.output().expect("systemd-analyze runs");
    let said = String::from_utf8_lossy(&judged.stdout).into_owned();
    assert!(judged.status.success() && said.contains("Overall exposure level"), "{said}");
}

#[test]
fn the_configuration_of_the_package_is_valid_and_observes() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/gateway.toml");
    let text = fs::read_to_string(file).expect("the file");
    let read =
        firstflight_gateway::Configuration::parse(&text, "gateway.toml").expect("a valid configuration");
    assert_eq!(read.settings.mode, firstflight_gateway::Mode::Observe);
}
