//! Handing hooks from the process that may load them to one that may not.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use crate::elsewhere::{self, Count, Elsewhere};
use crate::hooks::{Hooks, MOST_DESCRIPTORS, Sizes};
use crate::refusal::Refusal;

/// Beginning of the message, with the number of its version.
const TITLE: &[u8; 8] = b"ffhooks9";
const LENGTH: usize = 40;
/// Bytes of the second message.
const REASON: usize = 512;

impl Hooks {
    /// Gives the hooks to the process at the other end of a socket. That process needs no capability to use them, and
    /// they stay in the kernel for as long as it lives.
    ///
    /// # Errors
    /// If the socket does not take them.
    pub fn hand_over(self, to: &UnixStream) -> Result<(), Refusal> {
        let Sizes { bits: (v4, v6), parts, plans, lines, overrides, transfers, ssthresh, starter } =
            self.sizes;
        // No part has zero bits.
        let (v4_part, v6_part) = parts.unwrap_or((0, 0));
        let mut message = [0; LENGTH];
        message[..8].copy_from_slice(TITLE);
        message[8..12].copy_from_slice(&[v4, v6, v4_part, v6_part]);
        message[12..16].copy_from_slice(&plans.to_ne_bytes());
        message[16..20].copy_from_slice(&overrides.to_ne_bytes());
        message[20] = transfers.into();
        message[21] = ssthresh.into();
        message[22] = starter.into();
        message[24..28].copy_from_slice(&lines.0.to_ne_bytes());
        message[28..32].copy_from_slice(&self.planned().to_ne_bytes());
        message[32..].copy_from_slice(&lines.1.to_ne_bytes());
        let descriptors = self.descriptors();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let fits = ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        assert!(fits, "the space is for as many descriptors");
        let sent = sendmsg(to, &[IoSlice::new(&message)], &mut ancillary, SendFlags::NOSIGNAL);
        whole(sent, LENGTH)?;
        send_elsewhere(&self.elsewhere, to)
    }

    /// Takes the hooks that [`Hooks::hand_over`] sent.
    ///
    /// # Errors
    /// If the message is another, or the socket ends.
    pub fn receive(from: &UnixStream) -> Result<Self, Refusal> {
        let mut message = [0; LENGTH];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received =
            recvmsg(from, &mut [IoSliceMut::new(&mut message)], &mut ancillary, RecvFlags::CMSG_CLOEXEC);
        let received = received.map_err(|error| Refusal::Handover(error.to_string()))?;
        let descriptors = rights(&mut ancillary);
        if received.bytes != LENGTH || message[..8] != *TITLE {
            return Err(Refusal::Handover("the message is not one of this version of the program".into()));
        }
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| message[at + i]));
        let parts = Some((message[10], message[11])).filter(|parts| *parts != (0, 0));
        let bits = (message[8], message[9]);
        let [transfers, ssthresh, starter] = [20, 21, 22].map(|at| message[at] != 0);
        let (plans, overrides) = (word(12), word(16));
        let lines = (word(24), u64::from_ne_bytes(std::array::from_fn(|i| message[32 + i])));
        let sizes = Sizes { bits, parts, plans, lines, overrides, transfers, ssthresh, starter };
        let mut hooks = Self::of(descriptors, sizes, word(28))?;
        hooks.elsewhere = receive_elsewhere(from)?;
        Ok(hooks)
    }
}

/// The second message: the lists of other network namespaces, how many of them were missed, and the reason.
fn send_elsewhere(elsewhere: &Elsewhere, to: &UnixStream) -> Result<(), Refusal> {
    let Elsewhere { lists, count } = elsewhere;
    let mut message = count.missed.to_ne_bytes().to_vec();
    message.extend(count.why.iter().flat_map(|why| why.bytes()));
    // The receiver takes what stands behind it in the socket for something else.
    message.resize(REASON, 0);
    let lists: Vec<_> = lists.iter().map(OwnedFd::as_fd).collect();
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(elsewhere::MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let fits = lists.is_empty() || ancillary.push(SendAncillaryMessage::ScmRights(&lists));
    assert!(fits, "the space is for as many lists as there may be");
    whole(sendmsg(to, &[IoSlice::new(&message)], &mut ancillary, SendFlags::NOSIGNAL), message.len())
}

fn receive_elsewhere(from: &UnixStream) -> Result<Elsewhere, Refusal> {
    let mut message = [0; REASON];
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(elsewhere::MOST))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL;
    let received = recvmsg(from, &mut [IoSliceMut::new(&mut message)], &mut ancillary, flags);
    let received = received.map_err(|error| Refusal::Handover(error.to_string()))?;
    let lists: Vec<_> = rights(&mut ancillary);
    let (Some((missed, why)), REASON) = (message.split_first_chunk::<4>(), received.bytes) else {
        return Err(Refusal::Handover("the list of network namespaces is missing".into()));
    };
    let why = String::from_utf8_lossy(why).trim_end_matches('\0').to_owned();
    let missed = u32::from_ne_bytes(*missed);
    let entered = lists.len() as u32;
    Ok(Elsewhere { lists, count: Count { entered, missed, why: (missed > 0).then_some(why) } })
}

fn rights(ancillary: &mut RecvAncillaryBuffer<'_>) -> Vec<OwnedFd> {
    let rights = ancillary.drain().filter_map(|part| match part {
        RecvAncillaryMessage::ScmRights(rights) => Some(rights),
        _ => None,
    });
    rights.flatten().collect()
}

/// Checks that a message was sent as a whole.
fn whole(sent: rustix::io::Result<usize>, length: usize) -> Result<(), Refusal> {
    match sent {
        Ok(sent) if sent == length => Ok(()),
        Ok(sent) => Err(Refusal::Handover(format!("{sent} bytes of {length} were sent"))),
        Err(error) => Err(Refusal::Handover(error.to_string())),
    }
}
