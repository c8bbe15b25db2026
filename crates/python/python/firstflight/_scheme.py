"""Schemes written in Python."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from ._firstflight import Ack, Congestion, Control


class Scheme(Protocol):
    """The methods of a scheme of your own.

    A class with these methods, and with the attribute ``label``, is a scheme; it need not inherit from this one. Every
    connection has an object of its own, made without arguments; of an object that you give, every connection has a copy.

    Attributes of the class:

    - ``label``: lower-case letters, digits and ``-``; needed.
    - ``role``: ``"startup"`` (begins a connection and ends; the default), ``"avoidance"`` (never ends) or ``"whole"``.
    - ``needs``: names of the signals beyond ACKs and losses, such as ``["rtt-per-ack"]``; ``signals()`` lists them.

    Optional methods: ``open(entry, control)`` before the handshake, ``enter(entry, control)`` when the scheme begins,
    ``on_sent(sent, control)`` (needs ``per-packet-send``), ``on_lost(lost, control)`` (needs ``per-packet-loss``),
    ``on_spurious()`` after a congestion episode that was none.
    """

    label: str

    def on_ack(self, ack: Ack, control: Control, /) -> str | None:
        """New data was acknowledged: the scheme writes the registers of ``control``.

        While ``ack.recovery`` is true, a start-up or avoidance scheme leaves ``control.cwnd`` alone.

        Returns ``None`` to go on, or the reason for which start-up ends: threshold, loss, mark, delay, ack-train, delivery,
        estimate, validated, paced-out, first-ack or timeout. ``"over: paced-out"`` records the end and keeps the scheme in
        force.
        """
        ...

    def on_congestion(self, event: Congestion, control: Control, /) -> str | None:
        """A loss, mark or timeout episode began.

        A start-up scheme ends with ``event.trigger``, and the next scheme reduces the window. An avoidance scheme sets
        ``control.ssthresh``, and ``control.cwnd`` to the window after recovery, and returns ``None``.
        """
        ...


SchemeLike: TypeAlias = "str | Scheme | type[Scheme]"
"""A chain of labels such as ``"hystart+++cubic"``, or a scheme of your own."""
