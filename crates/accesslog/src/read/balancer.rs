//! Logs of Amazon's load balancers (Elastic Load Balancing, "Access logs for your Application Load Balancer", "… Network Load
//! Balancer", and "… Classic Load Balancer"): fields separated by blanks, the first of them quoted texts after numbers.

use firstflight_contract::Nanos;
use firstflight_document::calendar::stamp;

use super::fields::{path, quoted, size, with_port, words};
use super::{Flaw, Found};

/// A line of an Application (`https 2018-07-02T22:23:00.186641Z app/… client:port target:port …`), a Classic (without the
/// type), or a Network Load Balancer (`tls 2.0 2018-12-20T02:59:40 net/… listener client:port …`).
pub(super) fn line(line: &[u8]) -> Result<Found<'_>, Flaw> {
    let mut fields: [&[u8]; 16] = [b""; 16];
    for (place, field) in fields.iter_mut().zip(words(line)) {
        *place = field;
    }
    let at = |place: usize| -> Option<Nanos> { stamp(fields[place]) };
    // Places of the client and of the bytes that were sent to it.
    let (at, client, sent) = match (at(0), at(1), at(2)) {
        (Some(at), ..) => (at, 2, 10),
        (_, Some(at), _) => (at, 3, 11),
        (_, _, Some(at)) if fields[0] == b"tls" => (at, 5, 10),
        _ => return Err(Flaw::Shape),
    };
    let bytes = Some(size(fields[sent]).ok_or(Flaw::Shape)?);
    let client = with_port(fields[client]).ok_or(Flaw::Client)?;
    Ok(Found { at, client, bytes, path: quoted(line).map_or(b"", |(request, _)| path(request)) })
}
