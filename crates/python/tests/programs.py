"""Beginnings of the Python programs that tests run as processes of their own."""

OWN_SCHEME = """
import firstflight as ff

class Own:
    label = "own"
    def on_ack(self, ack, control):
        return ff.slow_start(ack, control)
    def on_congestion(self, event, control):
        return event.trigger
"""
