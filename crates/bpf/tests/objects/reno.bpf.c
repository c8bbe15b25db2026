/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reno (RFC 5681) as a congestion control in BPF: a few lines, which use what an object may have. The test compiles this file
 * where clang is there; the object beside it was compiled by `make bpf-test-objects`.
 */

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define KERNEL __attribute__((preserve_access_index))

struct sock {
	u64 sk_pacing_rate;
} KERNEL;

struct inet_sock {
	struct sock sk;
} KERNEL;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u64 icsk_ca_priv[13];
} KERNEL;

/* Fewer fields than the kernel's, in another order: the loader finds each by its name. */
struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_ssthresh;
	u32 snd_cwnd;
} KERNEL;

struct tcp_sock___later {
	u32 a_field_of_a_later_kernel;
} KERNEL;

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	char name[16];
};

extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) SEC(".ksyms");
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked) SEC(".ksyms");
extern u32 tcp_reno_undo_cwnd(struct sock *sk) SEC(".ksyms");

struct state {
	u32 reductions;
	u32 windows;
};

/* Data that may be written, data that is zero, and data that may not be written. */
u32 least = 2;
u64 acknowledged;
static const volatile u32 halves = 1;

static __attribute__((noinline)) u32 larger(u32 one, u32 other)
{
	return one > other ? one : other;
}

SEC("struct_ops/reno_init")
void reno_init(u64 *arguments)
{
	struct inet_connection_sock *icsk = (void *)arguments[0];
	struct state *state = (void *)icsk->icsk_ca_priv;

	state->reductions = 0;
}

SEC("struct_ops/reno_ssthresh")
u32 reno_ssthresh(u64 *arguments)
{
	struct tcp_sock *tp = (void *)arguments[0];
	struct inet_connection_sock *icsk = (void *)arguments[0];
	struct state *state = (void *)icsk->icsk_ca_priv;

	state->reductions++;
	return larger(tp->snd_cwnd >> halves, least);
}

SEC("struct_ops/reno_cong_avoid")
void reno_cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = (void *)arguments[0];
	struct tcp_sock___later *later = (void *)arguments[0];
	u32 acked = arguments[2];

	acknowledged += acked;
	if (__builtin_preserve_field_info(later->a_field_of_a_later_kernel, 2))
		acked += later->a_field_of_a_later_kernel;
	if (tp->snd_cwnd < tp->snd_ssthresh) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

SEC("struct_ops/reno_undo_cwnd")
u32 reno_undo_cwnd(u64 *arguments)
{
	return tcp_reno_undo_cwnd((void *)arguments[0]);
}

SEC(".struct_ops")
struct tcp_congestion_ops reno = {
	.ssthresh = (void *)reno_ssthresh,
	.cong_avoid = (void *)reno_cong_avoid,
	.undo_cwnd = (void *)reno_undo_cwnd,
	.init = (void *)reno_init,
	.name = "test_reno",
};

char license_text[] SEC("license") = "Dual MIT/GPL";
