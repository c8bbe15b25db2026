//! The keys of `gateway.toml`. The reader looks them up here, and the reference is made of the same rows.

use firstflight_document::format::{Absent, Floor, Key, Kind, Range, Section};

use crate::estimate::HOSTS;
use crate::settings::{MOST, STOCK};

pub(crate) const MODES: &[&str] = &["observe", "advise", "enforce"];
/// `measured`, and the labels of the policies of `firstflight_paths`.
pub(crate) const POLICIES: &[&str] =
    &["measured", "liss", "iss", "miss", "js", "cached", "careful-resume", "averaged", "spand"];
pub(crate) const ACTIONS: &[&str] = &["off", "freeze"];

/// Every section, in the order of the reference.
pub(crate) const SECTIONS: &[&Section] =
    &[&ROOT, &PREFIXES, &ESTIMATOR, &PLAN, &TRIAL, &CANARY, &TRANSFERS, &SHARE, &SITE, &METRICS, &OVERRIDE];

/// The keys outside any table.
pub(crate) const ROOT: Section = Section {
    name: "The gateway",
    doc: "Keys outside any table.",
    keys: &[
        key(
            "mode",
            Kind::Word(MODES),
            "`observe`",
            "Use of the plans: `observe` learns only, `advise` shows the plans, `enforce` puts them in force.",
        ),
        key(
            "policy",
            Kind::Word(POLICIES),
            "`measured`",
            "Source of the windows: the estimator of measured rates, or a policy of the simulator's shared memory with its \
             defaults. Every policy is held to the same bounds. `liss`, `iss`, `miss`, `js` and `averaged` plan from live \
             connections, which the gateway knows only as far as they are reported before they end.",
        ),
        key(
            "cgroup",
            Kind::Text,
            "the root of the cgroup2 hierarchy",
            "Folder of the cgroup whose connections are learned from and planned.",
        ),
        key(
            "state",
            Kind::Text,
            "`/var/lib/firstflight`",
            "Folder of the saved state and of the log of decisions.",
        ),
        key("socket", Kind::Text, "`/run/firstflight/gateway.sock`", "Unix socket of the interface."),
        key(
            "user",
            Kind::Text,
            "`firstflight`, else `nobody`",
            "User that the gateway becomes when root starts it, a name or a number. It owns the state folder.",
        ),
        key("read_group", Kind::Text, "root only", "System group that may read through the socket."),
        key(
            "admin_group",
            Kind::Text,
            "root only",
            "System group that may also give orders through the socket.",
        ),
        key(
            "plan_group",
            Kind::Text,
            "root only",
            "System group that may also ask for plans of single transfers through the socket.",
        ),
        table("prefixes", &PREFIXES),
        table("estimator", &ESTIMATOR),
        table("plan", &PLAN),
        table("trial", &TRIAL),
        Key { absent: Absent::Means("plans are for every connection"), ..table("canary", &CANARY) },
        table("transfers", &TRANSFERS),
        Key { absent: Absent::Means("nothing is shared"), ..table("share", &SHARE) },
        Key { absent: Absent::Means("no other host is served or heard"), ..table("site", &SITE) },
        Key { absent: Absent::Means("they are at the socket alone"), ..table("metrics", &METRICS) },
        Key {
            name: "override",
            kind: Kind::Tables(&OVERRIDE),
            absent: Absent::Means("none"),
            doc: "Orders for prefixes; no two may overlap.",
        },
    ],
};

/// `[prefixes]`.
pub(crate) const PREFIXES: Section = Section {
    name: "`[prefixes]`",
    doc: "Addresses that share a plan.",
    keys: &[
        key("v4", bits(8, 32), "24", "Leading bits that the IPv4 addresses of a plan share."),
        key("v6", bits(16, 64), "48", "Leading bits that the IPv6 addresses of a plan share."),
        key(
            "split",
            Kind::Flag,
            "true",
            "Whether a prefix whose hosts disagree is split; otherwise it has no plan.",
        ),
        key("split_v4", bits(9, 32), "28", "Leading bits of the parts of a split IPv4 prefix."),
        key("split_v6", bits(17, 64), "56", "Leading bits of the parts of a split IPv6 prefix."),
        key(
            "most",
            Kind::Integer { min: 16, max: 16_000_000 },
            "1000000",
            "Most prefixes that are kept; the one that was reported longest ago makes room. The kernel takes 64 bytes for each at the start.",
        ),
    ],
};

/// `[estimator]`.
pub(crate) const ESTIMATOR: Section = Section {
    name: "`[estimator]`",
    doc: "Evidence that a plan needs.",
    keys: &[
        key(
            "half_life",
            Kind::Time(Floor::AboveZero),
            "\"10 min\"",
            "Time after which a sample has half its weight, from 10 s to 1440 min.",
        ),
        key("samples", Kind::Integer { min: 1, max: 1000 }, "8", "Least weight of samples, in new ones."),
        key("hosts", Kind::Integer { min: 1, max: HOSTS as u64 }, "3", "Least number of distinct hosts."),
    ],
};

/// `[plan]`.
pub(crate) const PLAN: Section = Section {
    name: "`[plan]`",
    doc: "Bounds of a plan. The kernel's program holds each connection to `window`, `ssthresh`, `lease` and the holdout of \
          `[trial]`, whatever the gateway asks for.",
    keys: &[
        key(
            "window",
            Kind::Integer { min: 11, max: MOST as u64 },
            "45",
            "Largest first window, segments. A Linux peer first offers 64240 bytes over IPv4, 44 segments, and 64800 bytes over IPv6, 45.",
        ),
        key(
            "ssthresh",
            Kind::Flag,
            "false",
            "Whether plans set the slow-start threshold, to the estimate. Loads a congestion control that writes it.",
        ),
        key(
            "idle",
            Kind::Flag,
            "false",
            "Whether a connection that sends again after an idle time starts with its plan, too. Loads a congestion control that idle \
             connections have until they send. It looks for them once a second, in the gateway's own network namespace, so that shorter idle times may be missed.",
        ),
        key(
            "retreat",
            Kind::Flag,
            "false",
            "Whether a loss in a planned first window leaves half of what arrived of that window, at least five segments, where the \
             connection's own congestion control leaves more. Loads a congestion control that writes the threshold.",
        ),
        key(
            "lease",
            Kind::Time(Floor::AboveZero),
            "\"10 s\"",
            "Time for which the kernel uses plans without a sign of life of the gateway, from 1 s to 60 min.",
        ),
        key(
            "lifetime",
            Kind::Time(Floor::AboveZero),
            "\"30 min\"",
            "Time for which a plan is used without a renewal, from 1 min to 1440 min.",
        ),
        key(
            "hold_down",
            Kind::Time(Floor::AboveZero),
            "\"10 min\"",
            "Time without a larger window after an overflow of first windows, from 1 s to 1440 min.",
        ),
        key(
            "freeze",
            Kind::Time(Floor::AboveZero),
            "\"60 min\"",
            "Time without a plan after three such overflows or after harm, from 1 s to 10080 min.",
        ),
    ],
};

/// `[trial]`.
pub(crate) const TRIAL: Section = Section {
    name: "`[trial]`",
    doc: "The comparison with connections that start without their plan.",
    keys: &[
        key(
            "holdout",
            Kind::Number(Range { min: 1.0, min_taken: true, max: 50.0, max_taken: true }),
            "5",
            "Connections that start without their plan, per cent.",
        ),
        key(
            "false_alarm_prefix",
            LEVEL,
            "0.01",
            "Probability that a trial of a prefix (256 blocks) reverts it without harm.",
        ),
        key(
            "false_alarm_host",
            LEVEL,
            "0.001",
            "Probability that a trial of the host (256 blocks) reverts it without harm.",
        ),
    ],
};

/// `[canary]`.
pub(crate) const CANARY: Section = Section {
    name: "`[canary]`",
    doc: "Plans for a share of the connections first, and for more of them while planned connections do no worse than those that are held out.",
    keys: &[
        key(
            "ports",
            Kind::Text,
            "every port",
            "Local ports whose connections may have plans, with spaces between them, as in `443 8443`.",
        ),
        key(
            "cgroups",
            Kind::Text,
            "every one beneath `cgroup`",
            "Folders of the cgroups whose connections may have plans, with spaces between them, at most 64. The cgroup of an accepted \
             connection is that of the process that opened the listening socket.",
        ),
        key(
            "ramp",
            Kind::Text,
            "`1 % 60 min, 5 % 240 min, 25 % 1440 min, 100 %`",
            "Steps, with commas between them: the share of the networks that may have plans, and the time of the step. A step also lasts \
             until `evidence` connections were held out in it. The last step may have no time, and its share stays.",
        ),
        key(
            "retransmissions",
            Kind::Number(Range { min: 0.0, min_taken: true, max: 100.0, max_taken: true }),
            "1",
            "Most by which the retransmitted share of the segments of planned connections may be above that of held-out ones, percentage \
             points.",
        ),
        key(
            "p95",
            Kind::Number(Range { min: 0.0, min_taken: true, max: 1000.0, max_taken: true }),
            "10",
            "Most by which the 95th percentile of the completion times of planned connections may be later than that of held-out ones of \
             the same size class, per cent.",
        ),
        key(
            "evidence",
            Kind::Integer { min: 10, max: 1_000_000 },
            "200",
            "Held-out connections of a step that the first comparison needs; the next ones are at twice as many each.",
        ),
    ],
};

/// `[transfers]`.
pub(crate) const TRANSFERS: Section = Section {
    name: "`[transfers]`",
    doc: "Starts for single transfers whose size the application knows.",
    keys: &[
        key(
            "apply",
            Kind::Flag,
            "false",
            "Whether such a start is applied to the socket, in the mode `enforce`. Loads a congestion control, and a program that sees \
             each `setsockopt` in the cgroup. Without it, the socket answers with the start only.",
        ),
        key(
            "ssthresh",
            Kind::Flag,
            "false",
            "Whether such a start sets the slow-start threshold to its window, as TCP SPAND has it.",
        ),
    ],
};

/// `[share]`.
pub(crate) const SHARE: Section = Section {
    name: "`[share]`",
    doc: "Observations of other hosts. Without the store the gateway goes on alone.",
    keys: &[
        need(
            "url",
            Kind::Text,
            "Store: `redis://` or `valkey://`, a user and a password if it has any, a host and a port; with TLS 1.3 `rediss://` or \
             `valkeys://`; or `unix://` and the path of its socket.",
        ),
        key(
            "ca_file",
            Kind::Text,
            "/etc/ssl/certs/ca-certificates.crt",
            "File of the certificates, PEM, of the authorities that may vouch for a store with TLS.",
        ),
        need(
            "key_file",
            Kind::Text,
            "File of the private key, Ed25519 in PEM, by which this host signs its observations. Nobody else may use the file.",
        ),
        need(
            "keys",
            Kind::Text,
            "Folder of the hosts' public keys, PEM: `HOST.pem`, and `HOST.ANYTHING.pem` for more keys of the same host. It is read \
             again every minute. Nobody but its owner may write it.",
        ),
        need("host", Kind::Name, "Name of this host in its observations; each host has its own."),
        key(
            "weight",
            Kind::Number(Range { min: 0.0, min_taken: false, max: 1.0, max_taken: true }),
            "0.5",
            "Weight of an observation of another host, in the weight of an own one.",
        ),
        key(
            "max_age",
            Kind::Time(Floor::AboveZero),
            "\"30 min\"",
            "Age from which an observation is refused, from 10 s to 1440 min.",
        ),
    ],
};

/// `[site]`.
pub(crate) const SITE: Section = Section {
    name: "`[site]`",
    doc: "The interface between the gateway of a site and those of its hosts. All of them have the same table but for `listen`.",
    keys: &[
        need(
            "listen",
            Kind::Text,
            "Address and port, as in `10.0.0.1:4646`, at which this gateway serves and hears the others by HTTP. The gateway of \
             the site pushes to the address of the server that a client asks, at the same port.",
        ),
        need(
            "hosts",
            Kind::Text,
            "Prefixes of the hosts of the site, with spaces between them: they may ask, and their connections are learned from.",
        ),
        need(
            "key_file",
            Kind::Text,
            "File of the key of the site, Ed25519 in PEM: the private one at the gateway of the site, which signs, and the public one at \
             its hosts. Nobody else may use a file with a private key.",
        ),
        key(
            "weight",
            Kind::Number(Range { min: 0.0, min_taken: false, max: 1.0, max_taken: true }),
            "0.5",
            "Weight of an observation that is pushed to this gateway, in the weight of an own one.",
        ),
    ],
};

/// `[metrics]`.
pub(crate) const METRICS: Section = Section {
    name: "`[metrics]`",
    doc: "Ways to the metrics besides the socket. They have counts, and no address and no prefix.",
    keys: &[
        key(
            "listen",
            Kind::Text,
            "no address",
            "Address and port, as in `127.0.0.1:9475`, at which Prometheus reads `/metrics` by HTTP. Nothing else is served there. Every process \
             that reaches the address may read.",
        ),
        key("any_host", Kind::Flag, "false", "Whether `listen` may be an address that other hosts reach."),
        key(
            "textfile",
            Kind::Text,
            "no file",
            "File, as in `/run/firstflight/firstflight.prom`, for the textfile collector of node_exporter. It is replaced as a whole, and removed \
             at the end. The gateway's user must be able to write its folder.",
        ),
        key(
            "every",
            Kind::Time(Floor::AboveZero),
            "\"15 s\"",
            "Time between two writings of `textfile`, from 1 s to 60 min.",
        ),
    ],
};

/// `[[override]]`.
pub(crate) const OVERRIDE: Section = Section {
    name: "`[[override]]`",
    doc: "An order for a prefix: a window or an action.",
    keys: &[
        need("prefix", Kind::Text, "The prefix, as in `192.0.2.0/24`."),
        key(
            "window",
            Kind::Integer { min: STOCK as u64, max: MOST as u64 },
            "no window",
            "This first window, segments, at most `plan.window`. Linux starts no connection with fewer than 10.",
        ),
        key(
            "action",
            Kind::Word(ACTIONS),
            "none",
            "`off`: no plan. `freeze`: the plan in force stays as it is.",
        ),
    ],
};

const LEVEL: Kind = Kind::Number(Range { min: 0.0, min_taken: false, max: 0.2, max_taken: true });

const fn bits(min: u64, max: u64) -> Kind {
    Kind::Integer { min, max }
}

const fn key(name: &'static str, kind: Kind, absent: &'static str, doc: &'static str) -> Key {
    Key { name, kind, absent: Absent::Means(absent), doc }
}

const fn need(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, absent: Absent::Refused, doc }
}

const fn table(name: &'static str, section: &'static Section) -> Key {
    Key { name, kind: Kind::Table(section), absent: Absent::Means("its defaults"), doc: section.doc }
}
