// SPDX-License-Identifier: GPL-2.0 OR MIT
// The gateway's programs in the kernel. One gives a new connection the start that a plan holds for its prefix, within
// bounds that are fixed when the object is loaded, and reports the connection when it ends. The other adopts connections
// that are older than the first.

#include "kernel.h"
#include "layout.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

#define INLINE static __always_inline
/* Linux's initial window (RFC 6928), segments. */
enum { STACK_WINDOW = 10 };

char LICENSE[] SEC("license") = "Dual MIT/GPL";
const volatile struct hooks_limits limits SEC(".rodata.limits");

/* include/uapi/linux/bpf.h, tcp.h, socket.h */
enum { ACTIVE_ESTABLISHED = 4, PASSIVE_ESTABLISHED = 5, RETRANSMISSION = 9, STATE = 10, ROUND_TRIP = 12, HEADER = 14 };
enum { ON_RETRANSMISSION = 2, ON_STATE = 4, ON_ROUND_TRIP = 8, ON_HEADER = 64 };
enum { CALLBACKS = ON_RETRANSMISSION | ON_STATE | ON_ROUND_TRIP };
enum { MAP_HASH = 1, MAP_ARRAY = 2, MAP_PERCPU_ARRAY = 6, MAP_LRU_HASH = 9 };
enum { MAPPABLE = 1024 };
enum { RB_NO_WAKEUP = 1, RB_FORCE_WAKEUP = 2, RB_AVAILABLE = 0 };
enum { SOL_SOCKET = 1, SO_MAX_PACING_RATE = 47, TCP_BPF_IW = 1001, TCP_BPF_SOCK_OPS_CB_FLAGS = 1008 };
enum { ESTABLISHED = 1, FIN_WAIT1 = 4, FIN_WAIT2, TIME_WAIT, CLOSED, CLOSE_WAIT, LAST_ACK, CLOSING = 11 };
#define UNLIMITED (~0UL)

/* struct bpf_sock_ops up to the fields in use. */
struct socket_event {
	u32 op, args[4], family, remote_ip4, local_ip4, remote_ip6[4], local_ip6[4], remote_port, local_port, is_fullsock;
	u32 snd_cwnd, srtt_us, callbacks, others[24];
	void *sk, *skb_data, *skb_data_end;
	u32 skb_len;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct tcp_sock___hooks {
	u32 write_seq, data_segs_out, rate_delivered, rate_interval_us, chrono_start, chrono_stat[3];
	u8 chrono_type : 2, rate_app_limited : 1;
	u8 bpf_sock_ops_cb_flags;
	u16 total_rto;
};
struct sock_common___hooks {
	u8 skc_state;
	u16 skc_num;
	struct {
		__s64 counter;
	} skc_cookie;
};
struct kernfs_node {
	u64 id;
};
struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[];
};
struct sock_cgroup_data {
	struct cgroup *cgroup;
};
struct sock___hooks {
	struct sock_cgroup_data sk_cgrp_data;
};
struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
};
struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};
#pragma clang attribute pop

enum { RETREATED = 2 }; /* among the flags of a connection: its window was taken back */
enum { FASTER = 8 }; /* unit of the number of steps, above the flags of a connection, by which its pace is above the plan's */
enum { LONGEST = 64 }; /* windows for which a pace is kept */

/* 64 bytes: one line of the cache. */
struct connection {
	u64 owner; /* cookie of the socket; zero if the place is free */
	u64 established; /* CLOCK_BOOTTIME, nanoseconds */
	u32 start; /* sequence number of its first data */
	u32 first_window; /* bytes */
	u32 handshake_rtt; /* microseconds */
	u32 line; /* of its prefix */
	u32 rate_delivered, rate_interval; /* of the greatest delivery rate; zero before the first sample */
	u32 acked; /* bytes that were acknowledged before it was established, a SYN for one */
	u16 sent, retransmits; /* before it was established */
	u16 window; /* given to it, or withheld from one that is held out */
	u16 first_window_lost; /* segments */
	u16 flight; /* segments that it counts among those in flight, */
	u8 part; /* and the part of time in which it counted them */
	u8 timeouts; /* before it was established */
	u32 pace; /* bytes per second while it is kept; zero leaves the stack's */
	u8 resent; /* lowest bits of the number of its retransmissions when its pace began */
	u8 arm : 4;
	u8 counted : 4; /* among the live connections */
	u8 flags;
	u8 windows; /* first windows that were acknowledged at the pace */
};

/* Places of connections. A connection has the place of its cookie or the one of the cookie's hash: to make and to free an
 * element of the kernel's storage of a socket took half of the time of these programs. */
struct {
	__uint(type, MAP_ARRAY);
	__uint(map_flags, MAPPABLE); /* only for its alignment: each place is one line */
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct connection);
} hooks_places SEC(".maps");
/* Connections whose two places belong to others. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct connection);
} hooks_sockets SEC(".maps");
struct {
	__uint(type, MAP_ARRAY);
	__uint(map_flags, MAPPABLE); /* the daemon writes plans through a mapping; pages hold whole lines of the cache */
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hooks_line);
} hooks_lines SEC(".maps");
/* Plans of prefixes whose line is full. */
struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct hooks_plan);
} hooks_plans SEC(".maps");
/* Plans of parts of prefixes. */
struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct hooks_plan);
} hooks_parts SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct hooks_prefix);
	__type(value, struct hooks_override);
} hooks_orders SEC(".maps");
struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, HOOKS_WORDS);
	__type(key, u32);
	__type(value, u64);
} hooks_control SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} hooks_reports SEC(".maps");
struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, HOOKS_COUNTS);
	__type(key, u32);
	__type(value, u64);
} hooks_counts SEC(".maps");

/* Local ports to which plans are limited, one bit each, while HOOKS_PORTS is set. */
struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1 << 10);
	__type(key, u32);
	__type(value, u64);
} hooks_ports SEC(".maps");
/* Cgroups to which plans are limited, by their numbers, while HOOKS_CGROUPS is set. */
struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, HOOKS_MOST_CGROUPS);
	__type(key, u64);
	__type(value, u32);
} hooks_cgroups SEC(".maps");

INLINE u64 word(u32 at)
{
	u64 *word = bpf_map_lookup_elem(&hooks_control, &at);
	return word ? *word : 0;
}

INLINE struct connection *place(u64 cookie, bool second)
{
	u32 at = (second ? cookie * 0x9e3779b97f4a7c15ULL >> 40 : cookie) & limits.places;
	return bpf_map_lookup_elem(&hooks_places, &at);
}

/* The connection of a socket; NULL if it is not known. */
INLINE struct connection *find(u64 cookie, void *socket)
{
	struct connection *c = place(cookie, false);
	if (c && c->owner == cookie)
		return c;
	c = place(cookie, true);
	if (c && c->owner == cookie)
		return c;
	return bpf_sk_storage_get(&hooks_sockets, socket, 0, 0);
}

/* Takes a free place, or the one that the socket had before it was connected anew. */
INLINE bool take(struct connection *c, u64 cookie)
{
	return c->owner == cookie || (!c->owner && !__sync_val_compare_and_swap(&c->owner, 0, cookie));
}

/* A place for a new connection; NULL if the kernel has no memory. */
INLINE struct connection *make(u64 cookie, void *socket)
{
	struct connection *c = place(cookie, false);
	if (c && take(c, cookie))
		return c;
	c = place(cookie, true);
	if (c && take(c, cookie))
		return c;
	return bpf_sk_storage_get(&hooks_sockets, socket, 0, BPF_SK_STORAGE_GET_F_CREATE);
}

/* The address of the peer, in IPv6. */
INLINE void read_peer(u8 *peer, struct sock *sk)
{
	if (sk->__sk_common.skc_family == AF_INET) {
		((u32 *)peer)[0] = ((u32 *)peer)[1] = 0;
		((u32 *)peer)[2] = bpf_htonl(0xffff);
		((u32 *)peer)[3] = sk->__sk_common.skc_daddr;
	} else {
		bpf_core_read(peer, 16, &sk->__sk_common.skc_v6_daddr);
	}
}

/* The key of the prefix with one of these lengths. */
INLINE u64 key_of(const u8 *peer, u32 v4_bits, u32 v6_bits)
{
	const u64 *halves = (const u64 *)peer;
	if (halves[0] == 0 && ((u32 *)peer)[2] == bpf_htonl(0xffff)) {
		u32 mask = v4_bits ? ~0U << (32 - v4_bits) : 0;
		return 0xffffULL << 32 | (bpf_ntohl(((u32 *)peer)[3]) & mask);
	}
	return bpf_be64_to_cpu(halves[0]) & (v6_bits ? ~0ULL << (64 - v6_bits) : 0);
}

/* The number of the line of a prefix. crates/hooks/src/lines.rs has the same rule. */
INLINE u32 number_of(u64 key)
{
	u64 mixed = (key ^ limits.seed) * 0x9e3779b97f4a7c15ULL;
	mixed = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93ULL;
	return mixed >> 32 & limits.lines;
}

INLINE struct hooks_line *line_of(u32 number)
{
	return bpf_map_lookup_elem(&hooks_lines, &number);
}

/* Copies the plan of a prefix from its line; false if there is none, or if the daemon writes into the line. Loads keep their order on
 * x86-64. On a processor that does not keep it, a plan that is written at this moment may be read in parts; each bound of the limits
 * holds for the parts as well. */
INLINE bool read_line(struct hooks_line *line, u64 key, struct hooks_plan *plan)
{
	u32 state = *(volatile u32 *)&line->state;
	barrier();
	if (state & HOOKS_WRITING)
		return false;
	if (line->key[0] == key && line->start[0].window) {
		plan->start = line->start[0];
		plan->expires = (u64)line->expires[0] << HOOKS_TICK;
		plan->rtt_least = line->rtt_least[0];
		plan->rtt_most = line->rtt_most[0];
	} else if (line->key[1] == key && line->start[1].window) {
		plan->start = line->start[1];
		plan->expires = (u64)line->expires[1] << HOOKS_TICK;
		plan->rtt_least = line->rtt_least[1];
		plan->rtt_most = line->rtt_most[1];
	} else if (state & HOOKS_FURTHER) {
		struct hooks_plan *further = bpf_map_lookup_elem(&hooks_plans, &key);
		if (!further)
			return false;
		*plan = *further;
	} else {
		return false;
	}
	barrier();
	return *(volatile u32 *)&line->state == state;
}

/* The plan in force: that of the part, or else that of the prefix, whose key and line are these. */
INLINE bool plan_of(struct hooks_line *line, u64 key, const u8 *peer, u64 now, bool frozen, struct hooks_plan *plan)
{
	if (limits.v4_part && word(HOOKS_PARTS)) {
		u64 key_of_part = key_of(peer, limits.v4_part, limits.v6_part);
		struct hooks_plan *part = bpf_map_lookup_elem(&hooks_parts, &key_of_part);
		if (part && (frozen || now < part->expires)) {
			*plan = *part;
			return true;
		}
	}
	return line && read_line(line, key, plan) && (frozen || now < plan->expires);
}

INLINE void add_one(u32 at)
{
	u64 *count = bpf_map_lookup_elem(&hooks_counts, &at);
	if (count)
		(*count)++;
}

/* Whether plans and orders hold for a connection: by its local port, and by the cgroup of its socket and those above it. */
INLINE bool in_scope(struct tcp_sock *tp)
{
	if (word(HOOKS_PORTS)) {
		u32 port = ((struct sock_common___hooks *)tp)->skc_num, at = port >> 6;
		u64 *ports = bpf_map_lookup_elem(&hooks_ports, &at);
		if (!ports || !(*ports >> (port & 63) & 1))
			return false;
	}
	if (!word(HOOKS_CGROUPS))
		return true;
	struct cgroup *cgroup = ((struct sock___hooks *)tp)->sk_cgrp_data.cgroup;
	int level = cgroup->level;
	for (int at = 0; at < 64 && at <= level; at++) {
		struct cgroup *ancestor = NULL;
		bpf_core_read(&ancestor, sizeof(ancestor), &cgroup->ancestors[at]);
		u64 number = BPF_CORE_READ(ancestor, kn, id);
		if (bpf_map_lookup_elem(&hooks_cgroups, &number))
			return true;
	}
	return false;
}

/* A start: the first window, segments; zero leaves the stack's. */
struct start {
	u32 window;
	u32 ssthresh; /* segments; zero leaves the stack's */
	u32 path; /* segments that all connections of the prefix share; zero shares nothing */
	u8 arm;
	bool paced; /* whether the first window leaves at what is free of the path in a round-trip time */
};

/* The start that is planned for a connection. */
INLINE struct start start_of(struct tcp_sock *tp, struct hooks_line *line, u64 now, u64 key, const u8 *peer)
{
	struct start stack = {}, start = { .arm = HOOKS_PLANNED };
	/* After a lost SYN the stack begins with one segment. */
	if (tp->snd_cwnd <= 1 || word(HOOKS_STOPPED))
		return stack;
	/* A sign of life from the future is none: the difference wraps. */
	if (now - word(HOOKS_ALIVE) > limits.lease || !in_scope(tp))
		return stack;
	struct hooks_prefix address = { .bits = 128 };
	__builtin_memcpy(address.address, peer, 16);
	struct hooks_override *order = bpf_map_lookup_elem(&hooks_orders, &address);
	u32 kind = order ? order->kind : 0, holdout = limits.holdout;
	if (kind == HOOKS_OFF)
		return stack;
	if (kind == HOOKS_FIXED) {
		start.window = order->window;
	} else {
		struct hooks_plan plan = {};
		if (!plan_of(line, key, peer, now, kind == HOOKS_FREEZE, &plan))
			return stack;
		u32 rtt = tp->srtt_us >> 3;
		if (!rtt || rtt < plan.rtt_least || rtt > plan.rtt_most)
			return stack;
		/* Somebody else chose the first window: a route (`initcwnd`, or a lock) or another program. */
		if (tp->snd_cwnd != STACK_WINDOW) {
			add_one(HOOKS_OTHER_WINDOW);
			return stack;
		}
		start.window = plan.start.window;
		start.ssthresh = plan.start.ssthresh;
		start.path = plan.start.path;
		start.paced = plan.start.holdout & HOOKS_PACED;
		if ((plan.start.holdout & ~HOOKS_PACED) > holdout)
			holdout = plan.start.holdout & ~HOOKS_PACED;
	}
	if (((u64)bpf_get_prandom_u32() * 1000 >> 32) < holdout)
		start.arm = HOOKS_HOLDOUT;
	if (start.window > limits.window)
		start.window = limits.window;
	return start;
}

/* Has the stack pace the connection from its first segment, without a bound on the rate. Setting and lifting a bound
 * within one callback leaves only the pacing. A bound that is there already is the application's, and paces too. */
INLINE bool pace(struct socket_event *event, struct sock *sk)
{
	if (sk->sk_pacing_status == SK_PACING_NONE && sk->sk_max_pacing_rate == UNLIMITED) {
		u32 bound = ~1U, none = ~0U;
		bpf_setsockopt(event, SOL_SOCKET, SO_MAX_PACING_RATE, &bound, sizeof(bound));
		bpf_setsockopt(event, SOL_SOCKET, SO_MAX_PACING_RATE, &none, sizeof(none));
	}
	return sk->sk_pacing_status != SK_PACING_NONE;
}

/* Whether a queue stands, by the delay at which HyStart++ leaves slow start (RFC 9406 section 4.2). */
INLINE bool queue_stands(struct tcp_sock *tp)
{
	u32 least = tp->rtt_min.s[0].v, delay = least / 8;
	delay = delay < 4000 ? 4000 : delay > 16000 ? 16000 : delay;
	return tp->srtt_us >> 3 >= least + delay;
}

/* The pace of a planned window beside what others have in flight, bytes per second; zero leaves the stack's own, which is twice the
 * window in a round-trip time. */
INLINE u64 pace_of(u32 path, u32 others, u32 window, u32 mss, u32 rtt)
{
	u32 pace = path > others ? path - others : 0;
	if (pace < window)
		pace = window;
	if (!rtt || pace >= 2 * window)
		return 0;
	return (u64)pace * mss * 1000000 / rtt;
}

/* Has a connection keep a pace from its next segment on. Without a pace of its own, a foreign program uses the headers. */
INLINE bool begin_pace(struct connection *c, struct tcp_sock *tp, u64 rate, u32 callbacks)
{
	if (!rate || rate >= ~0U || (callbacks & ON_HEADER && !c->pace))
		return false;
	c->pace = rate;
	c->windows = 0;
	c->flags &= FASTER - 1;
	c->resent = tp->total_retrans;
	return true;
}

INLINE void end_pace(struct socket_event *event, struct connection *c)
{
	c->pace = 0;
	bpf_sock_ops_cb_flags_set((void *)event, event->callbacks & ~ON_HEADER);
}

/* Lowers the rate of a connection to the pace of its plan. Linux spreads a window over half of a round-trip time, twice as fast
 * as the path takes it where the window is the path's own, and computes that rate anew after the handshake and with each ACK. The
 * program is therefore called for the header of each segment, and sets and lifts a bound on the rate, so that nothing lasts beyond
 * the next ACK. If no queue stands when the first window is acknowledged, the path takes more than the plan knows, and Linux goes
 * on at its own pace. If one stands, the pace is the path's, and Linux's window, which has doubled, would overflow the queue. The
 * pace then lasts until a loss, or for sixty-four windows. It gets faster by an eighth after three windows without a queue, which
 * is when the last step shows in the round-trip times, and each window with one takes a step back. */
INLINE void keep_pace(struct socket_event *event, struct connection *c, struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;
	u32 first = c->first_window, windows = first ? (tp->snd_una - c->start) / first : LONGEST;
	if (windows >= LONGEST || (windows && (u8)tp->total_retrans != c->resent)) {
		end_pace(event, c);
		return;
	}
	if (windows > c->windows) {
		bool stands = queue_stands(tp), confirmed = c->windows;
		c->windows = windows;
		if (!stands && !confirmed) {
			end_pace(event, c);
			return;
		}
		if (!stands && windows % 3 == 0) {
			c->pace += c->pace / 8;
			c->flags += FASTER;
		} else if (stands && c->flags >= FASTER) {
			c->pace -= c->pace / 9;
			c->flags -= FASTER;
		}
	}
	/* As many segments as the stack sends at once have no pace. Linux itself paces no new connection before the eleventh. */
	if (((struct tcp_sock___hooks *)tp)->data_segs_out >= STACK_WINDOW &&
	    tp->snd_nxt - c->start + event->skb_len < STACK_WINDOW * tp->mss_cache)
		return;
	if (sk->sk_max_pacing_rate == UNLIMITED) {
		u32 bound = c->pace, none = ~0U;
		bpf_setsockopt(event, SOL_SOCKET, SO_MAX_PACING_RATE, &bound, sizeof(bound));
		bpf_setsockopt(event, SOL_SOCKET, SO_MAX_PACING_RATE, &none, sizeof(none));
	}
}

INLINE void lose(void)
{
	add_one(HOOKS_LOST);
}

/* Keeps the greatest delivery rate, and whether the application or other connections of the prefix limited it. The newest alone says
 * nothing after a loss at the end of a transfer: it is then the rate of one retransmitted segment. Others that have less than an
 * eighth of its segments in flight are within the noise. */
INLINE void keep_rate(struct connection *c, struct tcp_sock *tp, u32 others, bool ended)
{
	struct tcp_sock___hooks *more = (struct tcp_sock___hooks *)tp;
	u64 delivered = more->rate_delivered, interval = more->rate_interval_us;
	if (!interval || (c->rate_interval && delivered * c->rate_interval <= c->rate_delivered * interval))
		return;
	c->rate_delivered = delivered;
	c->rate_interval = interval;
	/* At the end of a connection the others may have stopped since the rate was measured. */
	c->flags &= ended ? ~HOOKS_LIMITED : ~(HOOKS_LIMITED | HOOKS_SHARED);
	if (BPF_CORE_READ_BITFIELD(more, rate_app_limited))
		c->flags |= HOOKS_LIMITED;
	if (8 * (u64)others > delivered)
		c->flags |= HOOKS_SHARED;
}

#include "flight.h"

INLINE void set_threshold(struct socket_event *event, void *socket, u32 window, u32 ssthresh);
INLINE void retreat(struct socket_event *event, void *socket, struct connection *c, struct tcp_sock *tp);
INLINE void rest(struct connection *c, struct tcp_sock *tp);

INLINE void begin(struct socket_event *event, void *socket, struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;
	struct tcp_sock___hooks *more = (struct tcp_sock___hooks *)tp;
	u64 now = bpf_ktime_get_boot_ns(), cookie = bpf_get_socket_cookie(event), peer[2];
	read_peer((u8 *)peer, sk);
	u64 key = key_of((u8 *)peer, limits.v4_bits, limits.v6_bits);
	u32 number = number_of(key);
	struct hooks_line *line = line_of(number);
	/* The processor fetches the lines of the prefix and of the place while it looks for orders. An atomic operation would make it
	 * wait. */
	if (line)
		(void)*(volatile u32 *)&line->live;
	u64 *flights = bpf_map_lookup_elem(&hooks_flights, &number);
	if (flights)
		(void)*(volatile u64 *)flights;
	struct connection *c = place(cookie, false);
	if (c)
		(void)*(volatile u64 *)&c->owner;
	struct start start = start_of(tp, line, now, key, (u8 *)peer);
	c = make(cookie, socket);
	if (!c) {
		lose();
		return;
	}
	c->established = now;
	c->start = tp->snd_nxt;
	c->handshake_rtt = tp->srtt_us >> 3;
	c->line = number;
	c->rate_delivered = c->rate_interval = 0;
	c->acked = tp->bytes_acked;
	c->sent = more->data_segs_out;
	c->retransmits = tp->total_retrans;
	c->timeouts = more->total_rto;
	c->window = c->first_window_lost = c->pace = 0;
	c->flags = c->windows = c->flight = c->part = 0;
	c->arm = start.arm == HOOKS_HOLDOUT ? HOOKS_HOLDOUT : HOOKS_STOCK;
	c->counted = 1;
	if (line)
		__sync_fetch_and_add(&line->live, 1);
	bpf_sock_ops_cb_flags_set((void *)event, event->callbacks | CALLBACKS);
	u32 own = tp->snd_cwnd, first = own, most = start.window;
	/* A bound of the route on the window (`cwnd lock`). */
	if (most > tp->snd_cwnd_clamp)
		most = tp->snd_cwnd_clamp;
	if (most < own)
		most = own;
	struct got got = count(c, (struct range){ own, most, start.path }, c->handshake_rtt, now);
	u32 window = got.segments;
	/* What a connection that is held out would have got is reported: those that are compared got or would have got more than the
	 * stack's window. */
	if (start.arm == HOOKS_HOLDOUT)
		c->window = window;
	if (start.arm == HOOKS_PLANNED) {
		int wanted = window;
		if (window == own ||
		    (pace(event, sk) && !bpf_setsockopt(event, SOL_TCP, TCP_BPF_IW, &wanted, sizeof(wanted)))) {
			c->arm = HOOKS_PLANNED;
			c->window = first = window;
			u64 rate = pace_of(start.path, got.others, window, tp->mss_cache, c->handshake_rtt);
			if (start.paced && window > own && begin_pace(c, tp, rate, event->callbacks))
				bpf_sock_ops_cb_flags_set((void *)event, event->callbacks | ON_HEADER);
			u32 ssthresh = start.ssthresh > got.others ? start.ssthresh - got.others : 0;
			if (limits.plan_ssthresh && start.ssthresh)
				set_threshold(event, socket, window, ssthresh > window ? ssthresh : window);
		}
	}
	if (first != window)
		count(c, (struct range){ .most = first }, c->handshake_rtt, now);
	c->first_window = first * tp->mss_cache;
}

INLINE void report(struct connection *c, struct tcp_sock *tp, u32 stage, u32 before, u32 others)
{
	struct tcp_sock___hooks *more = (struct tcp_sock___hooks *)tp;
	keep_rate(c, tp, others, true);
	struct hooks_report *r = bpf_ringbuf_reserve(&hooks_reports, sizeof(*r), 0);
	if (!r) {
		lose();
		return;
	}
	r->at = bpf_ktime_get_boot_ns();
	r->age = r->at - c->established;
	r->bytes = tp->bytes_acked - c->acked;
	/* A FIN that was acknowledged counts as a byte. */
	bool closing = before == FIN_WAIT1 || before == FIN_WAIT2 || before == LAST_ACK || before == CLOSING ||
		       before == TIME_WAIT;
	if (closing && r->bytes && tp->snd_una == more->write_seq)
		r->bytes--;
	r->busy = (u64)more->chrono_stat[0] + more->chrono_stat[1] + more->chrono_stat[2];
	if (BPF_CORE_READ_BITFIELD(more, chrono_type))
		r->busy += (u32)bpf_jiffies64() - more->chrono_start;
	read_peer(r->peer, (struct sock *)tp);
	r->stage = stage;
	r->arm = c->arm;
	r->window = c->window;
	r->first_window_lost = c->first_window_lost;
	r->flags = c->flags & (HOOKS_LIMITED | HOOKS_SHARED);
	r->mss = tp->mss_cache;
	r->handshake_rtt = c->handshake_rtt;
	r->min_rtt = tp->rtt_min.s[0].v;
	r->srtt = tp->srtt_us >> 3;
	r->rate_delivered = c->rate_delivered;
	r->rate_interval = c->rate_interval;
	r->cwnd = tp->snd_cwnd;
	r->ssthresh = tp->snd_ssthresh;
	r->receive_window = tp->snd_wnd;
	r->sent = more->data_segs_out - c->sent;
	r->retransmits = tp->total_retrans - c->retransmits;
	r->timeouts = more->total_rto - c->timeouts;
	/* A reader that polls is not woken for each report, only when it is late. */
	bool late = bpf_ringbuf_query(&hooks_reports, RB_AVAILABLE) >= limits.wake;
	bpf_ringbuf_submit(r, late ? RB_FORCE_WAKEUP : RB_NO_WAKEUP);
}

INLINE void end(struct connection *c, struct tcp_sock *tp, u32 before)
{
	if (!c->counted)
		return;
	c->counted = 0;
	/* This program never takes them away. Without them its measurements are incomplete. */
	if (!(((struct tcp_sock___hooks *)tp)->bpf_sock_ops_cb_flags & ON_ROUND_TRIP))
		add_one(HOOKS_TAKEN);
	struct hooks_line *line = line_of(c->line);
	if (line)
		__sync_fetch_and_sub(&line->live, 1);
	u32 others = count(c, (struct range){}, tp->srtt_us >> 3, bpf_ktime_get_boot_ns()).others;
	report(c, tp, HOOKS_ENDED, before, others);
	/* Frees the place; an element of the socket's storage ends with the socket. */
	__sync_lock_test_and_set(&c->owner, 0);
}

/* Segments are retransmitted: whether they are of the first window. */
INLINE void retransmit(struct socket_event *event, void *socket, struct connection *c, struct tcp_sock *tp)
{
	u32 first = event->args[0] - c->start;
	if (first < c->first_window) {
		u32 lost = c->first_window_lost + event->args[1];
		c->first_window_lost = lost < 0xffff ? lost : 0xffff;
		/* A probe is no loss yet. */
		if (limits.retreat && c->arm == HOOKS_PLANNED && !(c->flags & RETREATED) &&
		    tp->inet_conn.icsk_ca_state >= RECOVERY) {
			c->flags |= RETREATED;
			retreat(event, socket, c, tp);
		}
	} else if (tp->snd_una - c->start >= c->first_window) {
		bpf_sock_ops_cb_flags_set((void *)event, event->callbacks & ~ON_RETRANSMISSION);
	}
}

SEC("sockops")
int hooks_socket(struct socket_event *event)
{
	u32 op = event->op;
	void *socket = event->sk;
	if (op == STATE ? event->args[1] != CLOSED :
	    op != ACTIVE_ESTABLISHED && op != PASSIVE_ESTABLISHED && op != RETRANSMISSION && op != ROUND_TRIP && op != HEADER)
		return 1;
	if (!socket)
		return 1;
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(socket);
	if (!tp)
		return 1;
	if (op == ACTIVE_ESTABLISHED || op == PASSIVE_ESTABLISHED) {
		begin(event, socket, tp);
		return 1;
	}
	struct connection *c = find(((struct sock_common___hooks *)tp)->skc_cookie.counter, socket);
	if (!c)
		return 1;
	if (op == HEADER) {
		if (c->pace)
			keep_pace(event, c, tp);
		return 1;
	}
	/* The path is full when the first segment is retransmitted. */
	if (op == ROUND_TRIP || op == RETRANSMISSION)
		keep_rate(c, tp, count_flight(c, tp), false);
	if (op == RETRANSMISSION)
		retransmit(event, socket, c, tp);
	else if (op == STATE)
		end(c, tp, event->args[0]);
	return 1;
}

/* Whether a socket belongs to the cgroup whose connections are adopted. */
INLINE bool belongs(struct tcp_sock *tp)
{
	if (!limits.cgroup)
		return true;
	struct cgroup *cgroup = ((struct sock___hooks *)tp)->sk_cgrp_data.cgroup;
	/* Most connections are of the cgroup itself. */
	if (cgroup->kn->id == limits.cgroup)
		return true;
	int level = cgroup->level;
	for (int at = 0; at < 64 && at <= level; at++) {
		struct cgroup *ancestor = NULL;
		bpf_core_read(&ancestor, sizeof(ancestor), &cgroup->ancestors[at]);
		if (BPF_CORE_READ(ancestor, kn, id) == limits.cgroup)
			return true;
	}
	return false;
}

/* Has the kernel call the program for a connection that it adopted. */
INLINE void call_back(struct tcp_sock *tp, u8 callbacks)
{
	int wanted = callbacks | CALLBACKS;
	bpf_setsockopt(tp, SOL_TCP, TCP_BPF_SOCK_OPS_CB_FLAGS, &wanted, sizeof(wanted));
}

/* Adopts a connection that is older than the hooks, and writes a byte for it. */
SEC("iter/tcp")
int hooks_adopt(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct tcp_sock *tp = common ? bpf_skc_to_tcp_sock(common) : NULL;
	if (!tp)
		return 0;
	u8 state = ((struct sock_common___hooks *)tp)->skc_state;
	if (state != ESTABLISHED && state != CLOSE_WAIT && state != FIN_WAIT1 && state != FIN_WAIT2 &&
	    state != LAST_ACK && state != CLOSING)
		return 0;
	u8 callbacks = ((struct tcp_sock___hooks *)tp)->bpf_sock_ops_cb_flags;
	u64 cookie = bpf_get_socket_cookie(tp);
	struct connection *c = find(cookie, tp);
	if (c) {
		/* A foreign program may have cleared the callbacks. */
		if (c->counted && !(callbacks & ON_STATE))
			call_back(tp, callbacks);
		if (limits.idle && c->counted && (state == ESTABLISHED || state == CLOSE_WAIT))
			rest(c, tp);
		return 0;
	}
	if (!belongs(tp))
		return 0;
	/* The kernel shows the socket again if the byte does not fit. */
	u8 one = 1;
	if (bpf_seq_write(ctx->meta->seq, &one, 1))
		return 0;
	c = make(cookie, tp);
	if (!c) {
		lose();
		return 0;
	}
	u64 peer[2];
	read_peer((u8 *)peer, (struct sock *)tp);
	u32 number = number_of(key_of((u8 *)peer, limits.v4_bits, limits.v6_bits));
	struct hooks_line *line = line_of(number);
	u32 others = line ? __sync_fetch_and_add(&line->live, 1) : 0;
	*c = (struct connection){
		.owner = cookie,
		.established = bpf_ktime_get_boot_ns(),
		.line = number,
		.counted = 1,
	};
	call_back(tp, callbacks);
	/* Nothing can be learned of a connection before data were acknowledged: one byte may be the SYN. */
	if (tp->bytes_acked > 1)
		/* What older connections have in flight is not known: of each, the stack's first window is taken. */
		report(c, tp, HOOKS_LIVE, 0, others * STACK_WINDOW);
	return 0;
}

#include "transfer.h"
