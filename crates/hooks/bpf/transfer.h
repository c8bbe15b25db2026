// SPDX-License-Identifier: GPL-2.0 OR MIT
// Plans for one transfer of one socket. The application has asked the gateway for a plan, and then has it applied by an
// option of setsockopt, so that only a process that holds the socket can do so. Linux lets no program of this kind write a
// window, and sets the window back when a connection that was idle sends again. The socket therefore gets a congestion
// control that lasts until its next segment leaves, which writes the window and gives the socket its own control back.

#include <bpf/bpf_tracing.h>

/* include/uapi/asm-generic/errno.h */
enum { FAULTY = 22, BUSY = 16, DENIED = 13, NO_PLAN = 61, LATE = 62, NOT_CONNECTED = 107, HELD_OUT = 125 };
enum { NAME = 16, TCP = 6 };

/* include/uapi/linux/bpf.h */
struct bpf_sockopt {
	struct bpf_sock *sk;
	void *optval, *optval_end;
	__s32 level, optname, optlen, retval;
};
/* The first fields of a larger struct. */
struct bpf_sock {
	u32 bound_dev_if, family, type, protocol;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct tcp_sock___transfer {
	u32 snd_cwnd_stamp;
};
#pragma clang attribute pop

/* A transfer that begins with the next segment. */
struct beginning {
	u64 rate; /* bytes per second */
	u32 window, ssthresh; /* segments; without a window, the plan of the prefix is used */
	char control[NAME]; /* the socket's own congestion control */
};

struct {
	__uint(type, MAP_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct hooks_transfer);
} hooks_transfers SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct beginning);
} hooks_beginnings SEC(".maps");

extern void *bpf_rdonly_cast(const void *object, u32 type) __ksym;

/* The window of a connection's plan, segments, within the limits; zero and `why` if none may be used. */
INLINE u32 window_for(struct connection *c, struct tcp_sock *tp, u64 now, const struct hooks_transfer *plan, int *why)
{
	*why = DENIED;
	if (word(HOOKS_STOPPED) || now - word(HOOKS_ALIVE) > limits.lease || !in_scope(tp))
		return 0;
	u64 peer[2];
	read_peer((u8 *)peer, (struct sock *)tp);
	struct hooks_prefix address = { .bits = 128 };
	__builtin_memcpy(address.address, peer, 16);
	struct hooks_override *order = bpf_map_lookup_elem(&hooks_orders, &address);
	if (order && order->kind == HOOKS_OFF)
		return 0;
	*why = NO_PLAN;
	if (key_of((u8 *)peer, limits.v4_bits, limits.v6_bits) != plan->prefix)
		return 0;
	u32 rtt = tp->rtt_min.s[0].v;
	if (rtt < plan->rtt_least || rtt > plan->rtt_most)
		return 0;
	*why = HELD_OUT;
	if (c->arm == HOOKS_STOCK) {
		u32 holdout = plan->holdout & ~HOOKS_PACED;
		if (holdout < limits.holdout)
			holdout = limits.holdout;
		bool held = ((u64)bpf_get_prandom_u32() * 1000 >> 32) < holdout;
		c->arm = held ? HOOKS_HOLDOUT : HOOKS_PLANNED;
	}
	if (c->arm == HOOKS_HOLDOUT) {
		c->window = plan->window > limits.window ? limits.window : plan->window;
		return 0;
	}
	*why = 0;
	u32 window = plan->window > limits.window ? limits.window : plan->window;
	if (window < STACK_WINDOW)
		window = STACK_WINDOW;
	return count(c, (struct range){ STACK_WINDOW, window, plan->path }, rtt, now).segments;
}

/* Applies the plan of a socket; answers with zero or an error number. */
INLINE int apply(struct bpf_sockopt *option)
{
	struct bpf_sock *socket = option->sk;
	if (!socket || socket->protocol != TCP)
		return FAULTY;
	struct tcp_sock *tp = bpf_rdonly_cast(socket, bpf_core_type_id_kernel(struct tcp_sock));
	struct sock_common___hooks *common = (void *)tp;
	if (common->skc_state != ESTABLISHED && common->skc_state != CLOSE_WAIT)
		return NOT_CONNECTED;
	u64 cookie = common->skc_cookie.counter, now = bpf_ktime_get_boot_ns();
	struct hooks_transfer *found = bpf_map_lookup_elem(&hooks_transfers, &cookie);
	if (!found)
		return NO_PLAN;
	struct hooks_transfer plan = *found;
	bpf_map_delete_elem(&hooks_transfers, &cookie);
	if (now >= plan.expires)
		return LATE;
	if (tp->packets_out)
		return BUSY;
	struct connection *c = find(cookie, socket);
	if (!c)
		return NO_PLAN;
	int why;
	u32 window = window_for(c, tp, now, &plan, &why);
	if (!window)
		return why;
	char own[NAME] = {};
	if (bpf_getsockopt(socket, SOL_TCP, TCP_CONGESTION, own, sizeof(own)))
		return FAULTY;
	struct beginning *b = bpf_sk_storage_get(&hooks_beginnings, socket, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!b)
		return BUSY;
	b->rate = plan.rate;
	b->window = window;
	b->ssthresh = limits.ssthresh ? plan.ssthresh : 0;
	/* A plan in place of one that was applied and not used. */
	char starter[NAME];
	bool again = true;
	for (int i = 0; i < NAME; i++) {
		starter[i] = limits.starter[i];
		again &= own[i] == starter[i];
	}
	if (again)
		bpf_setsockopt(socket, SOL_TCP, TCP_CONGESTION, b->control, sizeof(b->control));
	else
		__builtin_memcpy(b->control, own, sizeof(own));
	if (bpf_setsockopt(socket, SOL_TCP, TCP_CONGESTION, starter, sizeof(starter))) {
		bpf_sk_storage_delete(&hooks_beginnings, socket);
		return BUSY;
	}
	/* Its losses are those of a first window. */
	c->window = window;
	c->start = tp->snd_nxt;
	c->first_window = window * tp->mss_cache;
	int callbacks = ((struct tcp_sock___hooks *)tp)->bpf_sock_ops_cb_flags | CALLBACKS;
	bpf_setsockopt(socket, SOL_TCP, TCP_BPF_SOCK_OPS_CB_FLAGS, &callbacks, sizeof(callbacks));
	return 0;
}

SEC("cgroup/setsockopt")
int hooks_option(struct bpf_sockopt *option)
{
	if (option->level != SOL_TCP || option->optname != HOOKS_TRANSFER)
		return 1;
	/* The kernel does not see the option. */
	option->optlen = -1;
	int error = apply(option);
	if (error)
		bpf_set_retval(-error);
	return !error;
}

/* Sets the slow-start threshold of a connection whose handshake has ended. No option of setsockopt does; the congestion
 * control by which transfers start writes it when the socket gets it, and the socket gets its own back at once. */
INLINE void set_threshold(struct socket_event *event, void *socket, u32 window, u32 ssthresh)
{
	char own[NAME] = {}, starter[NAME], reno[NAME] = "reno";
	if (bpf_getsockopt(event, SOL_TCP, TCP_CONGESTION, own, sizeof(own)))
		return;
	struct beginning *b = bpf_sk_storage_get(&hooks_beginnings, socket, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!b)
		return;
	b->rate = 0;
	b->window = window;
	b->ssthresh = ssthresh;
	for (int i = 0; i < NAME; i++)
		starter[i] = limits.starter[i];
	/* A control whose module is about to be removed is refused; Reno never is. */
	if (!bpf_setsockopt(event, SOL_TCP, TCP_CONGESTION, starter, sizeof(starter)) &&
	    bpf_setsockopt(event, SOL_TCP, TCP_CONGESTION, own, sizeof(own)))
		bpf_setsockopt(event, SOL_TCP, TCP_CONGESTION, reno, sizeof(reno));
	bpf_sk_storage_delete(&hooks_beginnings, socket);
}

INLINE void write(struct sock *sk, struct beginning *b)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	tp->snd_cwnd = b->window;
	/* Linux takes the window of a connection for unused that was set long ago, and sets it back half of the way to ten
	 * segments as soon as the first of them has left (RFC 2861). */
	((struct tcp_sock___transfer *)tp)->snd_cwnd_stamp = (u32)bpf_jiffies64();
	if (b->ssthresh)
		tp->snd_ssthresh = b->ssthresh;
	if (!b->rate)
		return;
	/* An application's own bound on the rate holds. */
	sk->sk_pacing_rate = b->rate < sk->sk_max_pacing_rate ? b->rate : sk->sk_max_pacing_rate;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

#include "idle.h"

SEC("struct_ops")
void BPF_PROG(hooks_start_init, struct sock *sk)
{
	struct beginning *b = bpf_sk_storage_get(&hooks_beginnings, sk, 0, 0);
	if (b && b->window)
		write(sk, b);
}

/* Called after the kernel has judged the idle time and before the first segment leaves. */
SEC("struct_ops")
void BPF_PROG(hooks_start_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event != bpf_core_enum_value(enum tcp_ca_event, CA_EVENT_TX_START))
		return;
	struct beginning *b = bpf_sk_storage_get(&hooks_beginnings, sk, 0, 0);
	if (!b)
		return;
	struct beginning begun = *b;
	bpf_sk_storage_delete(&hooks_beginnings, sk);
	if (begun.window)
		write(sk, &begun);
	else
		restart(sk);
	/* BBR then sets its own threshold and pacing rate. */
	bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, begun.control, sizeof(begun.control));
}

/* Linux does not set a window back, after an idle time, under a control that has this function. */
SEC("struct_ops")
void BPF_PROG(hooks_start_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
}

SEC("struct_ops")
u32 BPF_PROG(hooks_start_ssthresh, struct sock *sk)
{
	u32 half = ((struct tcp_sock *)sk)->snd_cwnd / 2;
	return half > 2 ? half : 2;
}

SEC("struct_ops")
u32 BPF_PROG(hooks_start_undo, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	return tp->snd_cwnd > tp->prior_cwnd ? tp->snd_cwnd : tp->prior_cwnd;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops hooks_start = {
	.init = (void *)hooks_start_init,
	.ssthresh = (void *)hooks_start_ssthresh,
	.cong_control = (void *)hooks_start_control,
	.cwnd_event = (void *)hooks_start_event,
	.undo_cwnd = (void *)hooks_start_undo,
	.name = "ff_placeholder",
};
