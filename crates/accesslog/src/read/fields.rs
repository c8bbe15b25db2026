//! Fields that several formats share.

use std::net::{IpAddr, Ipv6Addr};

use firstflight_document::calendar::number;

/// File name extensions of inline images, which Zhang, Qiu and Keshav leave out.
const IMAGES: [&[u8]; 8] = [b".gif", b".jpg", b".jpeg", b".png", b".ico", b".svg", b".webp", b".bmp"];

/// An address: `192.0.2.7`, `192.0.2.7:51234`, `2001:db8::7`, `[2001:db8::7]:443`, `fe80::7%eth0`. An IPv4 address within IPv6
/// is that IPv4 address.
pub(super) fn address(text: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(text).ok()?;
    if let Some(inner) = text.strip_prefix('[') {
        let (inner, port) = inner.split_once(']')?;
        let valid = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        return inner.parse::<Ipv6Addr>().ok().filter(|_| valid).map(|ip| ip.to_canonical());
    }
    let own = || text.parse::<IpAddr>().ok();
    let zoned = || text.split_once('%')?.0.parse::<Ipv6Addr>().ok().map(IpAddr::from);
    own().or_else(|| before_port(text)).or_else(zoned).map(|ip| ip.to_canonical())
}

/// An address with a port behind it, also that of IPv6 without brackets: `2001:db8::7:51234`.
pub(super) fn with_port(text: &[u8]) -> Option<IpAddr> {
    let own = || before_port(str::from_utf8(text).ok()?);
    own().map(|ip| ip.to_canonical()).or_else(|| address(text))
}

fn before_port(text: &str) -> Option<IpAddr> {
    let (address, port) = text.rsplit_once(':')?;
    address.parse().ok().filter(|_| is_port(port))
}

fn is_port(text: &str) -> bool {
    number(text.as_bytes()).is_some_and(|port| port <= 65_535)
}

/// Whether an address is one of the public Internet, as far as the ranges of RFC 1918, RFC 4193, RFC 6598 and those of links and
/// hosts show.
pub(super) fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            let shared = ip.octets()[0] == 100 && ip.octets()[1] & 0xc0 == 64;
            !(ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_unspecified() || shared)
        }
        IpAddr::V6(ip) => {
            !(ip.is_loopback() || ip.is_unspecified() || ip.is_unique_local() || ip.is_unicast_link_local())
        }
    }
}

/// Bytes of an answer. Servers write `-` for none.
pub(super) fn size(text: &[u8]) -> Option<u64> {
    match text {
        b"-" => Some(0),
        digits => number(digits).map(|bytes| bytes as u64),
    }
}

/// Whether the path of a request, without its query, has the extension of an image.
pub(super) fn is_image(path: &[u8]) -> bool {
    let path = path.split(|&byte| byte == b'?').next().unwrap_or_default();
    IMAGES.iter().any(|ending| {
        path.len().checked_sub(ending.len()).is_some_and(|from| path[from..].eq_ignore_ascii_case(ending))
    })
}

/// The path of a request such as `GET / HTTP/1.1`.
pub(super) fn path(request: &[u8]) -> &[u8] {
    request.split(|&byte| byte == b' ').nth(1).unwrap_or_default()
}

/// The client of a connection from `peer`: a peer of a private network is a proxy if it `named` a client.
pub(super) fn beyond(peer: IpAddr, named: impl FnOnce() -> Option<IpAddr>) -> IpAddr {
    if is_public(peer) { peer } else { named().unwrap_or(peer) }
}

/// The first address of a list of forwarded addresses, which proxies extend at its end.
pub(super) fn forwarded(list: &[u8]) -> Option<IpAddr> {
    address(list.split(|&byte| byte == b',').next()?.trim_ascii())
}

/// The first address of a text that is a list of addresses and nothing else.
pub(super) fn forwarded_only(list: &[u8]) -> Option<IpAddr> {
    let mut all = list.split(|&byte| byte == b',').map(|one| address(one.trim_ascii()));
    let first = all.next()??;
    all.all(|other| other.is_some()).then_some(first)
}

/// The text between the first quotation mark and the next without a backslash before it, and what follows.
pub(super) fn quoted(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let from = line.iter().position(|&byte| byte == b'"')? + 1;
    let mut escaped = false;
    let end = line[from..].iter().position(|&byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })?;
    Some((&line[from..from + end], &line[from + end + 1..]))
}

/// Fields of a line that white space separates.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|field| !field.is_empty())
}
