//! Formats of logs.

use super::{Flaw, Found, balancer, bracketed, json, w3c};

/// A format of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// NCSA's common and Apache's combined format, with or without the virtual host.
    Combined,
    /// JSON objects, one in a line.
    Json,
    /// HAProxy's formats for HTTP and TCP.
    Haproxy,
    /// W3C's extended log file format.
    W3c,
    /// Amazon's load balancers.
    Alb,
}

/// Names of a format, and its description.
const FORMATS: [(Format, &[&str], &str); 5] = [
    (
        Format::Combined,
        &["combined", "common", "vhost"],
        "combined (Apache, nginx; also common, or with the virtual host first; Envoy, Amazon S3)",
    ),
    (
        Format::Json,
        &["json", "caddy", "traefik"],
        "json (lines of nginx, Caddy, Traefik, Envoy, HAProxy, CloudFront, Cloudflare; also within those of Docker)",
    ),
    (Format::Haproxy, &["haproxy"], "haproxy (its HTTP and TCP formats)"),
    (Format::W3c, &["w3c", "iis", "cloudfront"], "w3c (IIS, CloudFront)"),
    (Format::Alb, &["alb", "elb", "nlb"], "alb (Amazon's Application, Classic and Network Load Balancers)"),
];

impl Format {
    /// All names, those of one format together.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FORMATS.iter().flat_map(|(_, names, _)| names.iter().copied())
    }

    /// The format of this name.
    pub fn named(name: &str) -> Option<Self> {
        FORMATS.iter().find(|(_, names, _)| names.contains(&name)).map(|(format, ..)| *format)
    }

    /// The first name.
    pub fn name(self) -> &'static str {
        FORMATS.iter().find(|(format, ..)| *format == self).map_or("", |(_, names, _)| names[0])
    }

    /// The description in errors and the help: its name and the servers that write it.
    pub fn describe(self) -> &'static str {
        FORMATS.iter().find(|(format, ..)| *format == self).map_or("", |(.., description)| description)
    }

    /// The descriptions of all formats.
    pub fn list() -> String {
        FORMATS.map(|(.., description)| description).join("; ")
    }
}

/// A reader of lines.
#[derive(Clone, Debug)]
pub(super) enum Reader {
    Combined,
    Json,
    Haproxy,
    W3c(w3c::Fields),
    Alb,
}

impl Reader {
    pub(super) fn new(format: Format) -> Self {
        match format {
            Format::Combined => Self::Combined,
            Format::Json => Self::Json,
            Format::Haproxy => Self::Haproxy,
            Format::W3c => Self::W3c(w3c::Fields::default()),
            Format::Alb => Self::Alb,
        }
    }

    pub(super) fn format(&self) -> Format {
        match self {
            Self::Combined => Format::Combined,
            Self::Json => Format::Json,
            Self::Haproxy => Format::Haproxy,
            Self::W3c(_) => Format::W3c,
            Self::Alb => Format::Alb,
        }
    }

    /// The reader of the format that most of the lines have; of formats that have equally many, the one that has the most lines of
    /// which only the client is not an address. [`None`] if no line has any format.
    pub(super) fn recognised<'a>(lines: impl Iterator<Item = &'a [u8]> + Clone) -> Option<Self> {
        let score = |format: Format| {
            let mut reader = Self::new(format);
            let (mut read, mut near) = (0_u32, 0_u32);
            for line in lines.clone().filter(|line| !line.is_empty()) {
                if reader.skips(line) {
                    continue;
                }
                match reader.read(line).map(|_| ()) {
                    Ok(()) => read += 1,
                    Err(Flaw::Client | Flaw::TwoClients) => near += 1,
                    // An object of JSON without the fields; a line of W3C's can be any if none names the fields.
                    Err(Flaw::Fields | Flaw::Time) if format == Format::Json => near += 1,
                    Err(Flaw::TooLong | Flaw::Shape | Flaw::Time | Flaw::Fields) => {}
                }
            }
            (read, near)
        };
        let scores = FORMATS.map(|(format, ..)| (score(format), format));
        // The first of the best.
        let best = scores.into_iter().rev().max_by_key(|(score, _)| *score)?;
        (best.0 != (0, 0)).then(|| Self::new(best.1))
    }

    /// Whether a line has no request: it is blank, a comment, or names the fields of the others, which are taken.
    pub(super) fn skips(&mut self, line: &[u8]) -> bool {
        if line.first() == Some(&b'#')
            && let Self::W3c(fields) = self
        {
            fields.directive(line);
        }
        matches!(line.first(), None | Some(b'#'))
    }

    pub(super) fn read<'a>(&self, line: &'a [u8]) -> Result<Found<'a>, Flaw> {
        match self {
            Self::Combined => bracketed::common(line),
            Self::Json => json::line(line),
            Self::Haproxy => bracketed::haproxy(line),
            Self::W3c(fields) => fields.line(line),
            Self::Alb => balancer::line(line),
        }
    }
}
