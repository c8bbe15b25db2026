/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Values that the object shares with the program that loads it. crates/hooks/src/layout.rs has the same layouts. */
#ifndef FF_HOOKS_LAYOUT_H
#define FF_HOOKS_LAYOUT_H

#include <stdint.h>

/* Set before the object is loaded; nothing can change them afterwards. */
struct hooks_limits {
	uint64_t lease; /* nanoseconds without a sign of life of the daemon */
	uint64_t seed; /* of the hash of prefixes, so that no client chooses which of them share a line */
	uint64_t cgroup; /* whose connections are adopted; zero adopts all */
	uint32_t window; /* segments */
	uint32_t holdout; /* connections of a thousand */
	uint32_t v4_bits, v6_bits; /* lengths of the prefixes of plans; at most 32 and 64 */
	uint32_t v4_part, v6_part; /* lengths of the prefixes of parts; zero without parts */
	uint32_t lines; /* number of lines of prefixes less one; the number is a power of two */
	uint32_t wake; /* bytes in the ring buffer at which the daemon is woken */
	uint32_t ssthresh; /* whether plans for transfers may set the slow-start threshold */
	uint32_t places; /* number of places of connections less one; the number is a power of two */
	uint32_t plan_ssthresh; /* whether plans of prefixes may set the slow-start threshold */
	uint32_t idle; /* whether plans of prefixes hold after an idle time, too */
	uint32_t retreat; /* whether a loss in a planned window leaves half of what arrived before it */
	char starter[16]; /* name of the congestion control by which transfers, thresholds and plans after an idle time start */
};

/* How a connection starts under a plan; without a window there is no plan. */
struct hooks_start {
	uint16_t ssthresh; /* segments; zero leaves the stack's */
	uint16_t path; /* segments that the path holds, of all connections together; zero shares nothing */
	uint16_t window; /* segments */
	uint16_t holdout; /* connections of a thousand; and HOOKS_PACED if the window leaves at the path's rate */
};
enum { HOOKS_PACED = 0x8000 };

/* What the kernel knows of the prefixes whose keys have one hash, in one line of the processor's cache, so that a connection waits for
 * memory once: the plans of two of them, and the number of their live connections. Parts of a prefix share its number, because they
 * may share a path. Prefixes that share a line share the number, too, which makes windows smaller, never larger.
 *
 * Only the daemon writes plans, and only the programs write `live`. The plan of a further prefix is in the map `hooks_plans`. */
struct hooks_line {
	uint64_t key[2];
	struct hooks_start start[2];
	uint32_t expires[2]; /* CLOCK_BOOTTIME, units of 2^HOOKS_TICK nanoseconds, rounded down */
	uint32_t rtt_least[2], rtt_most[2]; /* of the handshake, microseconds */
	uint32_t live;
	uint32_t state; /* HOOKS_WRITING, HOOKS_FURTHER, and above them a number that each writing changes */
};
enum { HOOKS_TICK = 26 }; /* 67 ms: 32 bits last for nine years */
enum { HOOKS_WRITING = 1, HOOKS_FURTHER = 2 };

/* A plan outside of the lines. Its key is one word: the first 64 bits of an IPv6 address, or those of 0:ffff::/32 and an IPv4 address. */
struct hooks_plan {
	uint64_t expires; /* CLOCK_BOOTTIME, nanoseconds */
	uint32_t rtt_least, rtt_most; /* of the handshake, microseconds */
	struct hooks_start start;
};

/* A plan for the next transfer of one socket. Its key is the cookie of the socket. It is used once. */
struct hooks_transfer {
	uint64_t expires; /* CLOCK_BOOTTIME, nanoseconds */
	uint64_t prefix; /* key of the prefix of the peer */
	uint64_t rate; /* of pacing, bytes per second; zero leaves the stack's */
	uint32_t rtt_least, rtt_most; /* of the connection, microseconds */
	uint16_t ssthresh; /* segments; zero leaves the stack's */
	uint16_t path; /* as in struct hooks_start */
	uint16_t window; /* segments */
	uint16_t holdout; /* connections of a thousand */
};

/* The option of setsockopt, at the level of TCP, by which an application has the plan of its socket applied. No option of
 * the kernel has this number. */
enum { HOOKS_TRANSFER = 0x4646 };

/* An order of the operator for a prefix of any length. IPv4 addresses are mapped into IPv6. */
struct hooks_prefix {
	uint32_t bits;
	uint8_t address[16];
};
enum { HOOKS_OFF = 1, HOOKS_FREEZE = 2, HOOKS_FIXED = 3 };
struct hooks_override {
	uint32_t kind;
	uint32_t window; /* of HOOKS_FIXED, segments */
};

/* Words of the control map. HOOKS_PARTS: whether there ever was a plan of a part. HOOKS_PORTS, HOOKS_CGROUPS: whether plans are limited
 * to some local ports, and to some cgroups. */
enum { HOOKS_ALIVE, HOOKS_STOPPED, HOOKS_PARTS, HOOKS_PORTS, HOOKS_CGROUPS, HOOKS_WORDS };
enum { HOOKS_MOST_CGROUPS = 64 };

/* Counts: reports without room; plans that were not used because somebody else chose the first window; connections that ended after
 * another program had taken their callbacks. */
enum { HOOKS_LOST, HOOKS_OTHER_WINDOW, HOOKS_TAKEN, HOOKS_COUNTS };

enum { HOOKS_STOCK, HOOKS_HOLDOUT, HOOKS_PLANNED };
enum { HOOKS_LIVE, HOOKS_ENDED };
enum { HOOKS_LIMITED = 1, HOOKS_SHARED = 4 };

/* A connection, as its sender measured it. Times are in microseconds where nothing else is said. */
struct hooks_report {
	uint64_t at, age; /* nanoseconds */
	uint64_t bytes;
	uint64_t busy; /* ticks of the kernel */
	uint8_t peer[16];
	uint32_t stage, arm;
	uint16_t window; /* segments: the planned first window, or the one that was withheld from a connection that is held out */
	uint16_t first_window_lost; /* segments of the first window that were retransmitted */
	uint32_t flags;
	uint32_t mss, handshake_rtt, min_rtt, srtt;
	uint32_t rate_delivered, rate_interval; /* of the greatest rate: segments, and the time of their delivery */
	uint32_t cwnd, ssthresh, receive_window;
	uint32_t sent, retransmits, timeouts;
};

#endif
