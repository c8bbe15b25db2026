//! Any bytes as a qlog: what [`capture`](crate::capture) promises of a capture.

use crate::{Form, Target, capture};

pub(crate) const TARGET: Target = Target {
    name: "qlog",
    about: "bytes of a qlog, read and its path inferred: intervals in order, totals that agree",
    run: capture::check,
    longest: 24 << 10,
    form: Form::Text(&[
        "\u{1e}",
        "\n",
        "{\"qlog_version\":\"0.3\",\"trace\":{\"vantage_point\":{\"type\":\"server\"}}}",
        "{\"qlog_format\":\"JSON\",\"traces\":[",
        "\"vantage_point\":{\"type\":\"client\"}",
        "\"common_fields\":{\"reference_time\":\"1500\",\"time_format\":\"delta\"}",
        "\"configuration\":{\"time_units\":\"us\"}",
        "\"event_fields\":[\"relative_time\",\"category\",\"event\",\"data\"]",
        "\"events\":[",
        "{\"time\":1.5,\"name\":\"transport:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":1},\"raw\":{\"length\":1200}}}",
        "[7,\"transport\",\"packet_received\",{\"packet_type\":\"initial\",\"header\":{\"packet_size\":1200}}]",
        "{\"time\":2,\"name\":\"recovery:packet_lost\",\"data\":{\"header\":{\"packet_number\":1}}}",
        "\"frames\":[{\"frame_type\":\"ack\",\"acked_ranges\":[[0,3],[5]]}]",
        "\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":0,\"length\":1100}]",
        "\"group_id\":\"a\"",
        "18446744073709551615",
        "-1e300",
    ]),
};
