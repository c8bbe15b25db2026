//! Types of other crates in the log and in the saved state: times as nanoseconds, policies as labels.

pub(crate) mod nanos {
    use firstflight_contract::Nanos;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &Nanos, to: S) -> Result<S::Ok, S::Error> {
        time.0.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Nanos, D::Error> {
        u64::deserialize(from).map(Nanos)
    }
}

pub(crate) mod range {
    use firstflight_contract::Nanos;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(range: &(Nanos, Nanos), to: S) -> Result<S::Ok, S::Error> {
        (range.0.0, range.1.0).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<(Nanos, Nanos), D::Error> {
        <(u64, u64)>::deserialize(from).map(|(low, high)| (Nanos(low), Nanos(high)))
    }
}

pub(crate) mod policy {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::settings::Policy;

    /// The label: a gateway's policies have their defaults.
    pub(crate) fn serialize<S: Serializer>(policy: &Policy, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(policy.label())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Policy, D::Error> {
        let label = String::deserialize(from)?;
        Policy::by_label(&label).ok_or_else(|| D::Error::custom(format!("there is no policy {label}")))
    }
}
