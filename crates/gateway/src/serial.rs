//! Types of other crates in the log and in the saved state: times as nanoseconds, prefixes as text.

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

pub(crate) mod prefix {
    use firstflight_paths::Prefix;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(prefix: &Prefix, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(prefix)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Prefix, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}
