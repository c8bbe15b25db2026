//! Any bytes as the saved state of a gateway: refused as a whole, or a gateway that works and can be saved again.

use firstflight_contract::Nanos;
use firstflight_gateway::{Gateway, STATE_VERSION};
use sha2::{Digest, Sha256};

use crate::gateways::{enforcing, exercised, held};
use crate::{Form, Target, refused};

pub(crate) const TARGET: Target = Target {
    name: "gateway_state",
    about: "bytes as a gateway's saved state, as they are and as contents with their checksum: refused as a whole, or a gateway \
            that works and is saved again",
    run,
    longest: 8 << 10,
    form: Form::Binary,
};

/// Bytes before the contents.
const HEAD: usize = 48;

fn run(bytes: &[u8]) {
    restored(bytes);
    // The same as contents: no damage has the right checksum, but a state of another program may.
    let mut state = b"FFGW".to_vec();
    state.extend(STATE_VERSION.to_le_bytes());
    state.extend((bytes.len() as u64).to_le_bytes());
    state.extend(Sha256::digest(bytes));
    state.extend(bytes);
    restored(&state);
}

fn restored(state: &[u8]) {
    let now = Nanos::from_secs(100);
    let mut gateway = Gateway::new(enforcing());
    let before = gateway.save();
    if let Err(error) = gateway.load(state, now, Nanos::from_secs(60)) {
        assert_eq!(gateway.save(), before, "a refused state has changed the gateway");
        return refused(error);
    }
    held(&gateway, &[]);
    let saved = gateway.save();
    let mut again = Gateway::new(enforcing());
    again.load(&saved, now, Nanos::ZERO).unwrap_or_else(|error| panic!("a saved state is refused: {error}"));
    assert_eq!(again.prefixes(), gateway.prefixes());
    exercised(&mut gateway, now);
    let saved = gateway.save();
    again.load(&saved, now, Nanos::ZERO).unwrap_or_else(|error| panic!("a saved state is refused: {error}"));
}

/// The contents of a state with two prefixes, without its head.
pub(crate) fn contents() -> Vec<u8> {
    let mut gateway = Gateway::new(enforcing());
    exercised(&mut gateway, Nanos::from_secs(5));
    gateway.save()[HEAD..].to_vec()
}

/// A whole state.
pub(crate) fn whole() -> Vec<u8> {
    Gateway::new(enforcing()).save()
}
