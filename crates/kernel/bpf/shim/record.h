/* SPDX-License-Identifier: MIT OR Apache-2.0
 * What the object shares with the program that loads it. crates/kernel/src/record.rs has the same layouts. */
#ifndef FF_RECORD_H
#define FF_RECORD_H

#include "firstflight.h"

/* Set before the object is loaded. */
struct ff_choice {
	uint64_t startup; /* number of the start-up scheme; the number of start-up schemes if there is none */
	uint64_t last; /* number of the scheme that follows */
	uint64_t traced; /* whether every event goes to the ring buffer */
	uint64_t ssthresh; /* the first slow-start threshold of a connection, bytes; zero is the kernel's, which is infinite */
	char name[16]; /* of the congestion control, for the sockets of a cgroup */
};

enum ff_kind { FF_START, FF_ON_ACK, FF_ON_CONGESTION, FF_LOSE_WINDOW, FF_ON_SPURIOUS, FF_ON_IDLE, FF_END, FF_PANIC };

/* One event of a connection, as its schemes were told, and their answer. */
struct ff_record {
	uint32_t kind;
	uint32_t exited; /* whether start-up has ended */
	uint64_t connection; /* counted from zero */
	uint64_t acked, next; /* position of the cumulative ACK and of the next new data, bytes */
	uint64_t cwnd, ssthresh; /* registers before the event, as the kernel left them */
	struct ff_control after;
	struct ff_startup_exit exit;
	union {
		struct ff_ack ack;
		struct ff_congestion congestion;
		struct ff_entry entry;
		uint64_t now;
	};
};

/* Totals since the object was loaded. */
struct ff_totals {
	uint64_t connections, ended, exits[11], retransmitted, panics, unrecorded, unselected;
};

/* A prefix of destinations; IPv4 addresses are mapped into IPv6. */
struct ff_prefix {
	uint32_t bits;
	uint8_t address[16];
};

/* What is remembered of the path to a prefix. */
struct ff_memory {
	uint64_t cwnd, ssthresh; /* bytes; zero proposes none */
	uint64_t rtt; /* nanoseconds */
	uint64_t measured; /* CLOCK_MONOTONIC, nanoseconds */
	uint64_t samples;
};

/* Bytes of a connection's schemes. */
enum { FF_STATE_BYTES = 3072 };

#endif
