//! Keys of the hosts, in PEM files as `openssl` writes them.

use std::fs;
use std::path::Path;

use firstflight_gateway::{Keys, Signer};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};

use crate::files;
use crate::service::Trouble;

/// Name of the gateway of a site in its observations.
pub(crate) const SITE: &str = "site";
/// Bytes before the 32 of a public key of Ed25519 (RFC 8410, section 4).
const PUBLIC: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// Most files in a folder of keys.
const MOST: usize = 4096;

/// The private key of this host.
pub(crate) fn private(key: &'static str, path: &Path, host: &str) -> Result<Signer, Trouble> {
    let bytes = files::secret(key, path)?;
    let found = PrivatePkcs8KeyDer::from_pem_slice(&bytes).ok();
    let signer = found.and_then(|found| Signer::from_pkcs8(host, found.secret_pkcs8_der()).ok());
    signer.ok_or_else(|| {
        let why = format!(
            "it has no private key of Ed25519 in PEM, and a secret that hosts share is not taken; expected what `openssl genpkey \
             -algorithm ed25519 -out {}` makes",
            path.display()
        );
        Trouble::of(key, path, &why)
    })
}

/// The key of a site: the private one, with which this gateway signs as the site, or the public ones.
///
/// # Errors
/// The file has none, or others may use it.
pub fn of_site(path: &Path) -> Result<(Option<Signer>, Keys), Trouble> {
    const KEY: &str = "site.key_file";
    let trouble = |error: &dyn ToString| Trouble::of(KEY, path, error);
    let bytes = files::read(KEY, path)?;
    let public = public(&bytes).map_err(|why| trouble(&why))?;
    if public.is_empty() || PrivatePkcs8KeyDer::from_pem_slice(&bytes).is_ok() {
        let signer = private(KEY, path, SITE)?;
        return Ok((Some(signer.clone()), Keys::of(&signer)));
    }
    files::is_guarded(KEY, path)?;
    let mut keys = Keys::new();
    public.into_iter().try_for_each(|public| keys.add(SITE, public)).map_err(|error| trouble(&error))?;
    Ok((None, keys))
}

/// The public keys in a folder, and that of this host.
pub(crate) fn of_hosts(folder: &Path, own: &Signer) -> Result<Keys, Trouble> {
    const KEY: &str = "share.keys";
    let trouble = |path: &Path, error: &dyn ToString| Trouble::of(KEY, path, error);
    files::is_guarded(KEY, folder)?;
    let entries = fs::read_dir(folder).map_err(|error| trouble(folder, &error))?;
    let mut names = vec![];
    for entry in entries {
        let name = entry.map_err(|error| trouble(folder, &error))?.file_name();
        // Notes and copies that an editor makes are no keys.
        if let Some(name) = name.to_str().filter(|name| name.ends_with(".pem") && !name.starts_with('.')) {
            names.push(name.to_owned());
        }
        if names.len() > MOST {
            return Err(trouble(folder, &format!("expected at most {MOST} files")));
        }
    }
    names.sort_unstable();
    let mut keys = Keys::of(own);
    for name in names {
        let path = folder.join(&name);
        let host = name.split('.').next().unwrap_or_default();
        files::is_guarded(KEY, &path)?;
        let public = public(&files::read(KEY, &path)?).map_err(|why| trouble(&path, &why))?;
        if public.is_empty() {
            let why = "it has no public key in PEM; expected what `openssl pkey -in KEY -pubout` prints";
            return Err(trouble(&path, &why));
        }
        public
            .into_iter()
            .try_for_each(|public| keys.add(host, public))
            .map_err(|error| trouble(&path, &error))?;
    }
    Ok(keys)
}

/// The public keys in the text of a file.
fn public(bytes: &[u8]) -> Result<Vec<[u8; 32]>, String> {
    SubjectPublicKeyInfoDer::pem_slice_iter(bytes)
        .map(|found| {
            let found = found.map_err(|error| error.to_string())?;
            let key = found.strip_prefix(&PUBLIC).and_then(|key| key.try_into().ok());
            key.ok_or_else(|| "it has a public key of another kind; expected Ed25519".to_owned())
        })
        .collect()
}
