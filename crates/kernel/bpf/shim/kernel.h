/* SPDX-License-Identifier: GPL-2.0 OR MIT
 * The fields of the kernel that the shim uses. The loader finds their places in the running kernel (CO-RE). */
#ifndef FF_KERNEL_H
#define FF_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

typedef uint8_t u8, __u8;
typedef uint16_t u16, __u16, __be16;
typedef uint32_t u32, __u32, __be32, __wsum;
typedef uint64_t u64;
typedef unsigned long long __u64;
typedef int32_t s32, __s32;
typedef long long __s64;

enum bpf_map_type { BPF_MAP_TYPE_LPM_TRIE = 11, BPF_MAP_TYPE_SK_STORAGE = 24, BPF_MAP_TYPE_RINGBUF = 27 };
enum { BPF_F_NO_PREALLOC = 1, BPF_SK_STORAGE_GET_F_CREATE = 1 };
enum { AF_INET = 2, AF_INET6 = 10 };

/* net/ipv4/tcp_input.c */
enum { FLAG_DATA_ACKED = 0x04, FLAG_DATA_SACKED = 0x20, FLAG_SND_UNA_ADVANCED = 0x400 };
/* include/net/tcp.h, include/net/sock.h, include/uapi/linux/tcp.h */
enum { TCP_INFINITE_SSTHRESH = 0x7fffffff, DUP_THRESH = 3, TCP_CONG_NON_RESTRICTED = 1 };
enum { SK_PACING_NONE = 0, SK_PACING_NEEDED = 1, SK_PACING_FQ = 2 };
enum { OPEN, DISORDER, CWR, RECOVERY, LOSS };

/* include/uapi/linux/bpf.h: the first field of a larger struct. */
enum { BPF_SOCK_OPS_TCP_CONNECT_CB = 3, BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5 };
enum { SOL_TCP = 6, TCP_CONGESTION = 13 };
struct bpf_sock_ops {
	u32 op;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
enum tcp_ca_event { CA_EVENT_TX_START };
struct in6_addr {
	union {
		u8 u6_addr8[16];
	} in6_u;
};
struct netns_ipv4 {
	u8 sysctl_tcp_slow_start_after_idle;
	int sysctl_tcp_pacing_ss_ratio, sysctl_tcp_pacing_ca_ratio;
};
struct net {
	struct netns_ipv4 ipv4;
};
typedef struct {
	struct net *net;
} possible_net_t;
struct sock_common {
	__be32 skc_daddr;
	u16 skc_family;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
};
struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate, sk_max_pacing_rate;
	u32 sk_pacing_status;
};
struct inet_connection_sock {
	u32 icsk_rto;
	u8 icsk_ca_state : 5;
};
struct minmax_sample {
	u32 t, v;
};
struct minmax {
	struct minmax_sample s[3];
};
struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 reordering, snd_una, snd_nxt, snd_wnd, mss_cache, snd_cwnd, snd_cwnd_clamp, snd_ssthresh;
	u32 prior_cwnd, prr_out, undo_marker, lsndtime;
	u32 packets_out, sacked_out, lost_out, retrans_out, max_packets_out;
	u32 srtt_us, delivered, delivered_ce, lost, total_retrans;
	u64 bytes_acked, bytes_sent, bytes_retrans, tcp_mstamp;
	struct minmax rtt_min;
	u8 is_cwnd_limited : 1;
};
struct rate_sample {
	u32 prior_delivered;
	s32 delivered;
	long interval_us, rtt_us;
	int losses;
	u32 acked_sacked, prior_in_flight;
	bool is_app_limited, is_ack_delayed;
};
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *);
	void (*set_state)(struct sock *, u8);
	void (*cwnd_event)(struct sock *, enum tcp_ca_event);
	void (*cong_control)(struct sock *, u32, int, const struct rate_sample *);
	u32 (*undo_cwnd)(struct sock *);
	char name[16];
	u32 flags;
	void (*init)(struct sock *);
	void (*release)(struct sock *);
};
#pragma clang attribute pop

#endif
