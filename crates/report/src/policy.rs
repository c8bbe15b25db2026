//! The content security policy of every page.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

/// Content-Security-Policy of a page that loads nothing: only these scripts and style sheets of its own apply. Without
/// scripts, none runs.
pub fn policy(scripts: &[&str], styles: &[&str]) -> String {
    let hash = |text: &&str| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let directive = |name: &str, own: &[&str]| match own {
        [] => String::new(),
        own => format!(" {name}{};", own.iter().map(hash).collect::<String>()),
    };
    let (scripts, styles) = (directive("script-src", scripts), directive("style-src", styles));
    format!("default-src 'none';{scripts}{styles} base-uri 'none'; form-action 'none'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hashed_scripts_and_styles_are_allowed() {
        // `printf a | openssl dgst -sha256 -binary | base64`
        let a = "'sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs='";
        assert_eq!(
            policy(&["a"], &["a", "a"]),
            format!(
                "default-src 'none'; script-src {a}; style-src {a} {a}; base-uri 'none'; form-action 'none'"
            )
        );
        assert_eq!(policy(&[], &[]), "default-src 'none'; base-uri 'none'; form-action 'none'");
    }
}
