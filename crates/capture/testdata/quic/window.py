# Seconds in which flow control had no room for a full packet of stream 0, from its first data to its last: window.py FILE...
import gzip, json, re, sys

for name in sys.argv[1:]:
    text = gzip.open(name, "rt").read()
    if "\x1e" in text:
        events = [(e["time"], e["name"], e["data"]) for e in map(json.loads, text.split("\x1e")[2:])]
    else:
        events = [(e[0] / 1e3, e[2], e[3]) for e in json.loads(text)["traces"][0]["events"]]
    limits, high, sent, full, since, total, last = {}, {}, 0, 0, None, 0.0, 0.0
    for time, kind, data in events:
        kind = kind.split(":")[-1]
        if kind == "parameters_set" and "remote" in (data.get("owner"), data.get("initiator")) and "initial_max_data" in data:
            limits = {"all": data["initial_max_data"], 0: data["initial_max_stream_data_bidi_local"]}
        for frame in data.get("frames", []) if kind in ("packet_sent", "packet_received") else []:
            stream = frame.get("stream_id", frame.get("id"))
            if kind == "packet_received" and frame["frame_type"] == "max_data":
                limits["all"] = max(limits["all"], frame["maximum"])
            if kind == "packet_received" and frame["frame_type"] == "max_stream_data" and stream == 0:
                limits[0] = max(limits[0], frame["maximum"])
            if kind == "packet_sent" and frame["frame_type"] == "stream":
                length = frame.get("length", frame.get("raw", {}).get("payload_length", 0))
                new = max(0, frame["offset"] + length - high.get(stream, 0))
                high[stream], full = high.get(stream, 0) + new, max(full, length)
                if since is not None and new and stream == 0:
                    total, since = total + time - since, None
        room = min(limits.get("all", 1 << 60) - sum(high.values()), limits.get(0, 1 << 60) - high.get(0, 0))
        if since is None and room < full and high.get(0):
            since = time
    print(name, round(total / 1e3, 3))
