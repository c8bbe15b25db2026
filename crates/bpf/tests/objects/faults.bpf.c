/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Congestion controls that the kernel's verifier refuses: one writes where it may not, one never ends. */

typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))

struct tcp_sock {
	u32 snd_una;
} __attribute__((preserve_access_index));

struct tcp_congestion_ops {
	char name[16];
	u32 (*ssthresh)(void *sk);
	void (*cong_avoid)(void *sk, u32 ack, u32 acked);
	u32 (*undo_cwnd)(void *sk);
};

SEC("struct_ops/two")
u32 two(u64 *arguments)
{
	return 2;
}

SEC("struct_ops/writes")
void writes(u64 *arguments)
{
	struct tcp_sock *tp = (void *)arguments[0];

	tp->snd_una = 1;
}

SEC("struct_ops/never_ends")
void never_ends(u64 *arguments)
{
	volatile u32 count = 0;

	while (1)
		count++;
}

SEC(".struct_ops")
struct tcp_congestion_ops writing = {
	.name = "test_writes",
	.ssthresh = (void *)two,
	.cong_avoid = (void *)writes,
	.undo_cwnd = (void *)two,
};

SEC(".struct_ops")
struct tcp_congestion_ops endless = {
	.name = "test_endless",
	.ssthresh = (void *)two,
	.cong_avoid = (void *)never_ends,
	.undo_cwnd = (void *)two,
};

/* The kernel refuses this one too: it lacks callbacks. */
SEC(".struct_ops")
struct tcp_congestion_ops incomplete = {
	.name = "test_incomplete",
	.ssthresh = (void *)two,
};

char license_text[] SEC("license") = "Dual MIT/GPL";
