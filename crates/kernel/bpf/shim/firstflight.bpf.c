// SPDX-License-Identifier: GPL-2.0 OR MIT
// The kernel's side of the schemes: measures as crates/sim/src/sender/linux does, tells the chain, obeys its registers.
//
// cong_control takes the whole window from the kernel, so that the schemes see every ACK, those of recoveries included.
// The kernel's own duties under cong_avoid are then here: proportional rate reduction, the end of a reduction, the restart
// after idle times, the default pacing rate. A panic of a scheme ends the callback by bpf_throw. The connection then goes
// on with the kernel's Reno.

#include "kernel.h"
#include "record.h"
#include "schemes.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#define INLINE static __always_inline

char LICENSE[] SEC("license") = "Dual MIT/GPL";
const volatile struct ff_choice ff_choice SEC(".rodata.choice");
struct ff_totals ff_totals SEC(".bss.totals");
u64 ff_zero SEC(".bss.zero"); // never written; the verifier does not know that

struct connection {
	struct ff_record record;
	union {
		struct ff_control control;
		u64 bytes[FF_STATE_BYTES / 8];
	} state;
	u64 number;
	u32 initial_window; /* segments */
	u32 prr_delivered, delivered_ce, retransmitted;
	u64 rest; /* bytes of the last ACK's growth that are left for the next phase */
	u8 congested; /* the kernel asked for a threshold and will name the cause */
	u8 spurious; /* the kernel undid a reduction, and the schemes do not know yet */
	u8 inside; /* a scheme is running, or has panicked */
	u8 failed, exited, paced;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct connection);
} ff_connections SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} ff_records SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 16);
	__type(key, struct ff_prefix);
	__type(value, struct ff_memory);
} ff_memories SEC(".maps");

extern void bpf_throw(u64 cookie) __ksym;
extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;

// Functions of crates/kernel/bpf/face.
void ff_start(void *state, const struct ff_entry *, u64 window, u64 ssthresh);
u64 ff_on_ack(void *state, struct ff_ack *, u64 acked, u64 next);
void ff_on_congestion(void *state, const struct ff_congestion *);
void ff_lose_window(void *state, u64 now);
void ff_on_spurious(void *state);
void ff_on_idle(void *state, const struct ff_entry *);
bool ff_is_standalone(const void *state);
bool ff_resumes(const void *state);
bool ff_startup_exit(const void *state, struct ff_startup_exit *);

// A panic of the schemes.
__attribute__((noreturn, always_inline)) void ff_panic(void)
{
	bpf_throw(0);
	for (;;) // not reached: the verifier asks for an end of every path
		;
}

// A step of a wide division. Not hidden: the verifier follows it once, not at each call.
u64 ff_by_word_inline(u64 upper, u64 lower, u64 divisor);
__noinline u64 ff_by_word(u64 upper, u64 lower, u64 divisor)
{
	return ff_by_word_inline(upper, lower, divisor);
}

// Each scheme is two subprograms: the calls that begin are one, so that each has a small stack.
#define SUBPROGRAM(name)                                                                                              \
	u64 ff_scheme_##name(u64 call, u64 *state, const void *event, struct ff_control *control);                    \
	__hidden __noinline u64 run_##name(u64 call, u64 *state, const void *event, struct ff_control *control)       \
	{                                                                                                             \
		return ff_scheme_##name(call, state, event, control);                                                 \
	}                                                                                                             \
	u64 ff_begin_##name(u64 call, u64 *state, const void *event, struct ff_control *control);                     \
	__hidden __noinline u64 begin_##name(u64 call, u64 *state, const void *event, struct ff_control *control)     \
	{                                                                                                             \
		return ff_begin_##name(call, state, event, control);                                                  \
	}
FF_STARTUPS(SUBPROGRAM)
FF_LASTS(SUBPROGRAM)
FF_FAULTS(SUBPROGRAM)

// The loader puts the subprograms of the chosen schemes in the place of these; libbpf then loads no other.
#define PLACE(name)                                                                                                   \
	__weak __hidden __noinline u64 name(u64 call, u64 *state, const void *event, struct ff_control *control)      \
	{                                                                                                             \
		return 0;                                                                                             \
	}
PLACE(run_startup)
PLACE(begin_startup)
PLACE(run_last)
PLACE(begin_last)

// Calls up to this one begin: face/src/place.rs.
enum { FF_CALL_ENTER = 1 };

__attribute__((always_inline)) u64 ff_call_startup(u64 call, u64 *state, const void *event, struct ff_control *control)
{
	return call <= FF_CALL_ENTER ? begin_startup(call, state, event, control)
				     : run_startup(call, state, event, control);
}

__attribute__((always_inline)) u64 ff_call_last(u64 call, u64 *state, const void *event, struct ff_control *control)
{
	return call <= FF_CALL_ENTER ? begin_last(call, state, event, control)
				     : run_last(call, state, event, control);
}

INLINE struct tcp_sock *tcp(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

INLINE u64 mss_of(struct tcp_sock *tp)
{
	u32 mss = tp->mss_cache;
	return mss ? mss : 1;
}

// tcp_packets_in_flight()
INLINE u32 in_flight(struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

INLINE u64 min_rtt(struct tcp_sock *tp)
{
	u32 us = tp->rtt_min.s[0].v;
	return us == ~0U ? 0 : (u64)us * 1000;
}

INLINE u64 srtt(struct tcp_sock *tp)
{
	return (u64)(tp->srtt_us >> 3) * 1000;
}

INLINE u64 now_of(struct tcp_sock *tp)
{
	return tp->tcp_mstamp * 1000;
}

// Segments of data among those that the kernel counts as delivered. It counts the SYN as well, and tcp_sock::bytes_sent does not.
INLINE u64 data_of(u32 delivered)
{
	return delivered ? delivered - 1 : 0;
}

INLINE u8 ca_state(struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
}

// tcp_is_cwnd_limited()
INLINE bool is_window_limited(struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

INLINE u32 segments(u64 bytes, u64 mss)
{
	u64 n = bytes / mss;
	return n > TCP_INFINITE_SSTHRESH ? TCP_INFINITE_SSTHRESH : n ? n : 1;
}

// The kernel moves the registers, too: a number of segments other than ours is the truth.
INLINE void read_window(struct connection *c, u64 cwnd, u64 mss)
{
	if (segments(c->state.control.cwnd, mss) != cwnd)
		c->state.control.cwnd = cwnd * mss;
}

INLINE void read_threshold(struct connection *c, struct tcp_sock *tp, u64 mss)
{
	u32 ssthresh = tp->snd_ssthresh;
	if (segments(c->state.control.ssthresh, mss) != ssthresh)
		c->state.control.ssthresh = ssthresh >= TCP_INFINITE_SSTHRESH ? ~0ULL : ssthresh * mss;
}

INLINE void write_threshold(struct connection *c, struct tcp_sock *tp, u64 mss)
{
	tp->snd_ssthresh = segments(c->state.control.ssthresh, mss);
}

INLINE void write_window(struct connection *c, struct tcp_sock *tp, u64 mss)
{
	u32 cwnd = segments(c->state.control.cwnd, mss), clamp = tp->snd_cwnd_clamp;
	tp->snd_cwnd = cwnd < clamp ? cwnd : clamp;
}

// The schemes' pacing rate, or tcp_update_pacing_rate(), which also sizes bursts where nothing paces.
INLINE void write_pacing(struct connection *c, struct sock *sk)
{
	struct tcp_sock *tp = tcp(sk);
	u64 rate = c->state.control.pacing / 8, most = sk->sk_max_pacing_rate;
	if (rate) {
		if (sk->sk_pacing_status == SK_PACING_NONE) {
			sk->sk_pacing_status = SK_PACING_NEEDED;
			c->paced = 1;
		}
	} else {
		struct net *net = sk->__sk_common.skc_net.net;
		u32 cwnd = tp->snd_cwnd, out = tp->packets_out, us = tp->srtt_us;
		u32 percent = cwnd < tp->snd_ssthresh / 2 ? net->ipv4.sysctl_tcp_pacing_ss_ratio
							  : net->ipv4.sysctl_tcp_pacing_ca_ratio;
		// srtt_us is eight times the smoothed RTT.
		rate = mss_of(tp) * 80000 * percent * (cwnd > out ? cwnd : out);
		if (us)
			rate /= us;
		if (c->paced && sk->sk_pacing_status == SK_PACING_NEEDED)
			sk->sk_pacing_status = SK_PACING_NONE;
		c->paced = 0;
	}
	sk->sk_pacing_rate = rate < most ? rate : most;
}

// The schemes have answered.
static __noinline int answered(struct connection *c, u32 kind)
{
	c->inside = 0;
	if (!c->exited && ff_startup_exit(&c->state, &c->record.exit)) {
		c->exited = 1;
		u32 reason = c->record.exit.reason;
		if (reason < 11)
			__sync_fetch_and_add(&ff_totals.exits[reason], 1);
	}
	if (!ff_choice.traced)
		return 0;
	c->record.kind = kind;
	c->record.exited = c->exited;
	c->record.after = c->state.control;
	if (bpf_ringbuf_output(&ff_records, &c->record, sizeof(c->record), 0))
		__sync_fetch_and_add(&ff_totals.unrecorded, 1);
	return 0;
}

// Tells the schemes an event, which is in the record, and keeps their answer. Each event is a subprogram, so that its stack
// is free before the next one. The compiler must not find out that the subprogram always returns 0: without a result its r0 may
// hold a pointer into its stack, which the verifier refuses.
#define TELL(name, kind, call)                                                                                        \
	static __noinline u64 name##_part(struct connection *c)                                                       \
	{                                                                                                             \
		u64 none = 0;                                                                                         \
		call;                                                                                                 \
		asm volatile("" : "+r"(none));                                                                        \
		return none;                                                                                          \
	}                                                                                                             \
	INLINE void name(struct connection *c)                                                                        \
	{                                                                                                             \
		c->record.cwnd = c->state.control.cwnd;                                                               \
		c->record.ssthresh = c->state.control.ssthresh;                                                       \
		c->inside = 1;                                                                                        \
		if (name##_part(c))                                                                                   \
			return;                                                                                       \
		answered(c, kind);                                                                                    \
	}

TELL(tell_start, FF_START, ff_start(&c->state, &c->record.entry, c->record.cwnd, c->record.ssthresh))
TELL(tell_ack, FF_ON_ACK, c->rest = ff_on_ack(&c->state, &c->record.ack, c->record.acked, c->record.next))
TELL(tell_congestion, FF_ON_CONGESTION, ff_on_congestion(&c->state, &c->record.congestion))
TELL(tell_further_timeout, FF_LOSE_WINDOW, ff_lose_window(&c->state, c->record.now))
TELL(tell_spurious, FF_ON_SPURIOUS, ff_on_spurious(&c->state))
TELL(tell_idle, FF_ON_IDLE, ff_on_idle(&c->state, &c->record.entry))

// What precedes every event: a panic since the last one is noticed, and an undo of the kernel is passed on.
INLINE bool is_ruled(struct connection *c, struct tcp_sock *tp)
{
	if (c->inside && !c->failed) {
		c->failed = 1;
		__sync_fetch_and_add(&ff_totals.panics, 1);
		if (ff_choice.traced) {
			c->record.kind = FF_PANIC;
			bpf_ringbuf_output(&ff_records, &c->record, sizeof(c->record), 0);
		}
	}
	if (c->failed)
		return false;
	if (c->spurious) {
		c->spurious = 0;
		tell_spurious(c);
	}
	return true;
}

// What a memory of the path proposes.
INLINE void remember(struct sock *sk, struct ff_entry *entry)
{
	struct ff_prefix key = { .bits = 128 };
	if (sk->__sk_common.skc_family == AF_INET) {
		key.address[10] = key.address[11] = 0xff;
		*(__be32 *)&key.address[12] = sk->__sk_common.skc_daddr;
	} else {
		bpf_core_read(key.address, 16, &sk->__sk_common.skc_v6_daddr);
	}
	struct ff_memory *memory = bpf_map_lookup_elem(&ff_memories, &key);
	if (!memory)
		return;
	entry->plan.cwnd = memory->cwnd;
	entry->plan.ssthresh = memory->ssthresh;
	entry->plan.rtt = memory->rtt;
	entry->plan.age = entry->now > memory->measured ? entry->now - memory->measured : 0;
	entry->plan.samples = memory->samples;
}

INLINE struct ff_entry *entry_of(struct connection *c, struct sock *sk)
{
	struct tcp_sock *tp = tcp(sk);
	c->record.entry = (struct ff_entry){};
	c->record.entry.now = bpf_ktime_get_ns();
	c->record.entry.receive_window = tp->snd_wnd;
	c->record.entry.mss = mss_of(tp);
	remember(sk, &c->record.entry);
	return &c->record.entry;
}

SEC("struct_ops")
void BPF_PROG(ff_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp(sk);
	struct connection *c = bpf_sk_storage_get(&ff_connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!c)
		return;
	u64 mss = mss_of(tp);
	c->number = __sync_fetch_and_add(&ff_totals.connections, 1);
	c->initial_window = tp->snd_cwnd;
	c->prr_delivered = 0;
	c->delivered_ce = tp->delivered_ce;
	c->retransmitted = tp->total_retrans;
	c->congested = c->spurious = c->inside = c->failed = c->exited = c->paced = 0;
	struct ff_entry *entry = entry_of(c, sk);
	entry->rtt = min_rtt(tp);
	entry->flow_size = ~0ULL;
	c->record.connection = c->number;
	c->record.acked = c->record.next = 0;
	c->state.control.cwnd = tp->snd_cwnd * mss;
	u64 ssthresh = ff_choice.ssthresh ? ff_choice.ssthresh : ~0ULL;
	c->state.control.ssthresh = tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH ? ssthresh : tp->snd_ssthresh * mss;
	tell_start(c);
	write_window(c, tp, mss);
	write_threshold(c, tp, mss);
	write_pacing(c, sk);
}

// The schemes are told the next moment, in set_state, when the cause is known. Until then, and if they panic, Reno's answer.
SEC("struct_ops")
u32 BPF_PROG(ff_ssthresh, struct sock *sk)
{
	struct connection *c = bpf_sk_storage_get(&ff_connections, sk, 0, 0);
	if (c)
		c->congested = 1;
	return tcp_reno_ssthresh(sk);
}

// tcp_end_cwnd_reduction()
INLINE bool ends_reduction(struct tcp_sock *tp, u8 from, u8 to)
{
	return to <= DISORDER && tp->snd_ssthresh < TCP_INFINITE_SSTHRESH &&
	       (from == CWR || (from == RECOVERY && tp->undo_marker));
}

SEC("struct_ops")
void BPF_PROG(ff_set_state, struct sock *sk, u8 to)
{
	struct tcp_sock *tp = tcp(sk);
	struct connection *c = bpf_sk_storage_get(&ff_connections, sk, 0, 0);
	u8 from = ca_state(tp);
	if (!c || !is_ruled(c, tp)) {
		if (ends_reduction(tp, from, to))
			tp->snd_cwnd = tp->snd_ssthresh;
		return;
	}
	u64 mss = mss_of(tp);
	bool standalone = ff_is_standalone(&c->state), congested = c->congested;
	c->congested = 0;
	if (congested) {
		// The window before the kernel shrank it.
		u32 prior = tp->prior_cwnd;
		read_window(c, prior, mss);
		struct ff_congestion *event = &c->record.congestion;
		event->now = now_of(tp);
		event->in_flight = in_flight(tp) * mss;
		event->base = (prior ? prior : 1) * mss;
		event->lost = tp->lost * mss;
		event->min_rtt = min_rtt(tp);
		event->mss = mss;
		// Not every reduction without losses answers a mark: a probe finds a loss that it has repaired itself.
		event->trigger = to == LOSS ? FF_TRIGGER_TIMEOUT
				 : to == CWR && tp->delivered_ce != c->delivered_ce ? FF_TRIGGER_MARK
										     : FF_TRIGGER_LOSS;
		c->prr_delivered = 0;
		tell_congestion(c);
		u64 ssthresh = c->state.control.ssthresh;
		if (ssthresh != ~0ULL)
			c->state.control.ssthresh = (ssthresh / mss > 2 ? ssthresh / mss : 2) * mss;
		write_threshold(c, tp, mss);
		if (to != LOSS && !standalone)
			c->state.control.cwnd = prior * mss;
	} else if (to == LOSS) {
		read_window(c, tp->snd_cwnd, mss);
		read_threshold(c, tp, mss);
		c->record.now = now_of(tp);
		tell_further_timeout(c);
	} else if (!standalone && ends_reduction(tp, from, to)) {
		tp->snd_cwnd = tp->snd_ssthresh;
	}
	if (to == LOSS)
		c->state.control.cwnd = tp->snd_cwnd * mss;
	else if (standalone)
		write_window(c, tp, mss);
	write_pacing(c, sk);
}

// tcp_cwnd_reduction(): RFC 6937.
INLINE void reduce(struct connection *c, struct tcp_sock *tp, const struct rate_sample *rs, int flag)
{
	u32 delivered = rs->acked_sacked, pipe = in_flight(tp), target = tp->snd_ssthresh, prior = tp->prior_cwnd;
	s32 count;
	if (!delivered || !prior)
		return;
	c->prr_delivered += delivered;
	if (pipe > target) {
		count = (s32)(((u64)target * c->prr_delivered + prior - 1) / prior) - (s32)tp->prr_out;
	} else {
		s32 room = target - pipe;
		count = c->prr_delivered - tp->prr_out;
		if (count < (s32)delivered)
			count = delivered;
		if (flag & FLAG_SND_UNA_ADVANCED && !rs->losses)
			count++;
		if (count > room)
			count = room;
	}
	// A fast retransmission leaves when the recovery begins.
	s32 least = tp->prr_out ? 0 : 1;
	tp->snd_cwnd = pipe + (count > least ? count : least);
}

SEC("struct_ops")
void BPF_PROG(ff_cong_control, struct sock *sk, u32 number, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp(sk);
	struct connection *c = bpf_sk_storage_get(&ff_connections, sk, 0, 0);
	u8 state = ca_state(tp);
	bool reducing = state == CWR || state == RECOVERY;
	bool progress = flag & FLAG_DATA_ACKED || (tp->reordering > DUP_THRESH && flag & FLAG_DATA_SACKED);
	u32 delivered = rs->acked_sacked;
	if (!c)
		return;
	u32 retransmitted = tp->total_retrans;
	if (retransmitted != c->retransmitted) {
		__sync_fetch_and_add(&ff_totals.retransmitted, retransmitted - c->retransmitted);
		c->retransmitted = retransmitted;
	}
	if (!is_ruled(c, tp)) {
		if (reducing)
			reduce(c, tp, rs, flag);
		else if (progress)
			tcp_reno_cong_avoid(sk, number, delivered);
		return;
	}
	u64 mss = mss_of(tp);
	bool standalone = ff_is_standalone(&c->state);
	read_window(c, tp->snd_cwnd, mss);
	read_threshold(c, tp, mss);
	if (delivered || standalone) {
		bool limited = is_window_limited(tp);
		u32 growth = limited && progress && !reducing ? delivered : 0;
		struct ff_ack *a = &c->record.ack;
		*a = (struct ff_ack){};
		a->now = now_of(tp);
		a->rtt = rs->rtt_us > 0 ? (u64)rs->rtt_us * 1000 : 0;
		a->min_rtt = min_rtt(tp);
		a->srtt = srtt(tp);
		a->acked = delivered * mss;
		a->delivered = data_of(tp->delivered) * mss;
		a->sent = tp->bytes_sent;
		a->lost = tp->lost * mss;
		a->retransmitted = tp->bytes_retrans;
		a->in_flight = rs->prior_in_flight * mss;
		a->pipe = in_flight(tp) * mss;
		a->ce = (tp->delivered_ce - c->delivered_ce) * mss;
		a->mss = mss;
		if (rs->delivered > 0 && rs->interval_us > 0) {
			a->rate = (u64)rs->delivered * mss * 8000000 / rs->interval_us;
			a->prior_delivered = data_of(rs->prior_delivered) * mss;
		}
		bool rules = reducing || (standalone && state == LOSS);
		a->flags = (rules ? FF_ACK_RECOVERY : 0) | (limited ? 0 : FF_ACK_APP_LIMITED) |
			   (rs->is_app_limited ? FF_ACK_RATE_LIMITED : 0) |
			   (rs->is_ack_delayed ? FF_ACK_MAYBE_DELAYED : 0);
		c->record.acked = tp->bytes_acked;
		c->record.next = tp->bytes_acked + (u32)(tp->snd_nxt - tp->snd_una);
		a->growth = growth * mss;
		c->rest = 0;
		tell_ack(c);
		// Slow start ends exactly at the threshold; the rest of the ACK grows the window by the rules of avoidance.
		u64 rest = c->rest;
		if (rest) {
			a->acked = a->rtt = 0;
			a->growth = rest;
			tell_ack(c);
		}
	}
	c->delivered_ce = tp->delivered_ce;
	write_threshold(c, tp, mss);
	if (reducing && !standalone)
		reduce(c, tp, rs, flag);
	else
		write_window(c, tp, mss);
	write_pacing(c, sk);
}

// tcp_cwnd_restart(): half the window for each timeout that passed, not below the initial one.
INLINE void shrink_after_idle(struct connection *c, struct tcp_sock *tp, u32 idle, u64 mss)
{
	u32 cwnd = tp->snd_cwnd, rto = tp->inet_conn.icsk_rto, restart = c->initial_window;
	u32 current = (cwnd >> 1) + (cwnd >> 2), ssthresh = tp->snd_ssthresh;
	if (restart > cwnd)
		restart = cwnd;
	tp->snd_ssthresh = ssthresh > current ? ssthresh : current;
	u32 halvings = rto ? (idle - 1) / rto : 0;
	cwnd = halvings < 32 ? cwnd >> halvings : 0;
	tp->snd_cwnd = cwnd > restart ? cwnd : restart;
}

SEC("struct_ops")
void BPF_PROG(ff_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp(sk);
	if (event != CA_EVENT_TX_START || !tp->bytes_sent)
		return;
	struct connection *c = bpf_sk_storage_get(&ff_connections, sk, 0, 0);
	if (!c || !is_ruled(c, tp))
		return;
	u64 mss = mss_of(tp), window;
	u32 idle = (u32)bpf_jiffies64() - tp->lsndtime;
	bool standalone = ff_is_standalone(&c->state);
	read_window(c, tp->snd_cwnd, mss);
	window = c->state.control.cwnd;
	if (!standalone) {
		struct net *net = sk->__sk_common.skc_net.net;
		if (!net->ipv4.sysctl_tcp_slow_start_after_idle || idle <= tp->inet_conn.icsk_rto)
			return;
		// A scheme for idle times falls back on the restart window.
		if (!ff_resumes(&c->state))
			shrink_after_idle(c, tp, idle, mss);
		else if (tp->snd_cwnd > c->initial_window)
			tp->snd_cwnd = c->initial_window;
		read_window(c, tp->snd_cwnd, mss);
	}
	read_threshold(c, tp, mss);
	struct ff_entry *entry = entry_of(c, sk);
	entry->rtt = srtt(tp);
	entry->window = window;
	entry->why = FF_WHY_IDLE;
	tell_idle(c);
	write_window(c, tp, mss);
	write_threshold(c, tp, mss);
	write_pacing(c, sk);
}

// The schemes are told with the next event: a panic here would return the window.
SEC("struct_ops")
u32 BPF_PROG(ff_undo_cwnd, struct sock *sk)
{
	struct tcp_sock *tp = tcp(sk);
	struct connection *c = bpf_sk_storage_get(&ff_connections, sk, 0, 0);
	u32 cwnd = tp->snd_cwnd, prior = tp->prior_cwnd;
	if (c)
		c->spurious = 1;
	return cwnd > prior ? cwnd : prior;
}

SEC("struct_ops")
void BPF_PROG(ff_release, struct sock *sk)
{
	struct connection *c = bpf_sk_storage_get(&ff_connections, sk, 0, 0);
	if (!c)
		return;
	__sync_fetch_and_add(&ff_totals.ended, 1);
	if (ff_choice.traced) {
		c->record.kind = FF_END;
		bpf_ringbuf_output(&ff_records, &c->record, sizeof(c->record), 0);
	}
}

// Selects the schemes for the sockets of a cgroup, as each connection begins.
SEC("sockops")
int ff_select(struct bpf_sock_ops *ops)
{
	if (ops->op == BPF_SOCK_OPS_TCP_CONNECT_CB || ops->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB) {
		char name[16];
		for (int i = 0; i < 16; i++)
			name[i] = ff_choice.name[i];
		if (bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, name, sizeof(name)))
			__sync_fetch_and_add(&ff_totals.unselected, 1);
	}
	return 1;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops ff_control_ops = {
	.init = (void *)ff_init,
	.release = (void *)ff_release,
	.ssthresh = (void *)ff_ssthresh,
	.set_state = (void *)ff_set_state,
	.cong_control = (void *)ff_cong_control,
	.cwnd_event = (void *)ff_cwnd_event,
	.undo_cwnd = (void *)ff_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "ff_placeholder",
};
