//! Replays the event log of a run and checks what must hold of any network.
