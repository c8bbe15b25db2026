// SPDX-License-Identifier: GPL-2.0 OR MIT
// Plans of prefixes after an idle time, and the retreat after a loss in a planned window.
//
// No program is called when an idle connection sends again, but for a congestion control. The iteration that adopts connections
// therefore gives each one that is idle the control by which transfers start. With its next segment, that control writes the window
// of the plan, or the one to which Linux sets it back, and gives the socket its own control back.

/* The window that Linux leaves after an idle time, ticks (`tcp_cwnd_restart`, with the initial window of no route). */
INLINE u32 window_after(struct tcp_sock *tp, u32 idle, u32 rto)
{
	u32 window = tp->snd_cwnd, least = window < STACK_WINDOW ? window : STACK_WINDOW;
	s32 left = idle;
	for (int i = 0; i < 16; i++) {
		left -= rto;
		if (left <= 0 || window <= least)
			break;
		window >>= 1;
	}
	return window > least ? window : least;
}

/* The window of the plan of a connection's prefix for data after an idle time, at least the one to which Linux sets it back; zero if none
 * may be used. Checks are those of a new connection, with the least round-trip time. */
INLINE struct start start_after(struct connection *c, struct tcp_sock *tp, u64 now, u32 least, u64 *rate)
{
	struct start none = {}, start = {};
	if (word(HOOKS_STOPPED) || now - word(HOOKS_ALIVE) > limits.lease || !in_scope(tp))
		return none;
	u64 peer[2];
	read_peer((u8 *)peer, (struct sock *)tp);
	struct hooks_prefix address = { .bits = 128 };
	__builtin_memcpy(address.address, peer, 16);
	struct hooks_override *order = bpf_map_lookup_elem(&hooks_orders, &address);
	u32 kind = order ? order->kind : 0, holdout = limits.holdout;
	struct hooks_line *line = line_of(c->line);
	if (kind == HOOKS_OFF)
		return none;
	if (kind == HOOKS_FIXED) {
		start.window = order->window;
	} else {
		u64 key = key_of((u8 *)peer, limits.v4_bits, limits.v6_bits);
		struct hooks_plan plan = {};
		u32 rtt = tp->rtt_min.s[0].v;
		if (!plan_of(line, key, (u8 *)peer, now, kind == HOOKS_FREEZE, &plan) || rtt < plan.rtt_least ||
		    rtt > plan.rtt_most)
			return none;
		start.window = plan.start.window;
		start.ssthresh = limits.plan_ssthresh ? plan.start.ssthresh : 0;
		start.path = plan.start.path;
		start.paced = plan.start.holdout & HOOKS_PACED;
		if ((plan.start.holdout & ~HOOKS_PACED) > holdout)
			holdout = plan.start.holdout & ~HOOKS_PACED;
	}
	if (c->arm == HOOKS_STOCK) {
		bool held = ((u64)bpf_get_prandom_u32() * 1000 >> 32) < holdout;
		c->arm = held ? HOOKS_HOLDOUT : HOOKS_PLANNED;
	}
	if (start.window > limits.window)
		start.window = limits.window;
	if (c->arm == HOOKS_HOLDOUT) {
		c->window = start.window;
		return none;
	}
	if (start.window < least)
		start.window = least;
	struct got got = count(c, (struct range){ least, start.window, start.path }, tp->srtt_us >> 3, now);
	start.window = got.segments;
	if (start.paced)
		*rate = pace_of(start.path, got.others, got.segments, tp->mss_cache, tp->rtt_min.s[0].v);
	start.ssthresh = start.ssthresh > got.others ? start.ssthresh - got.others : start.ssthresh ? 1 : 0;
	return start;
}

/* An idle connection sends again. */
INLINE void restart(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u32 idle = (u32)bpf_jiffies64() - tp->lsndtime, rto = tp->inet_conn.icsk_rto;
	if ((s32)(idle - rto) <= 0 || !sk->__sk_common.skc_net.net->ipv4.sysctl_tcp_slow_start_after_idle)
		return;
	u32 three_quarters = (tp->snd_cwnd >> 1) + (tp->snd_cwnd >> 2), least = window_after(tp, idle, rto);
	struct beginning b = { .window = least, .ssthresh = tp->snd_ssthresh };
	if (b.ssthresh < three_quarters)
		b.ssthresh = three_quarters;
	u64 cookie = ((struct sock_common___hooks *)sk)->skc_cookie.counter;
	struct connection *c = find(cookie, sk);
	struct start start = {};
	u64 rate = 0;
	/* The segments that the stack would send at once leave at once. Linux makes a packet of what a rate gives in 2^-10 s, of two
	 * segments at least. The first one is made already, by the rate before the idle time. A connection that had a plan stays paced, so
	 * that this holds for the stack's own window, too. */
	u64 first = (sk->sk_pacing_rate >> 10) / (tp->mss_cache ? tp->mss_cache : 1);
	if (first < 2)
		first = 2;
	u64 burst = (least > first ? least - first : 1) * tp->mss_cache << 10;
	if (sk->sk_pacing_status == SK_PACING_NEEDED && sk->sk_max_pacing_rate == UNLIMITED)
		b.rate = burst;
	if (c)
		start = start_after(c, tp, bpf_ktime_get_boot_ns(), least, &rate);
	u32 rtt = tp->srtt_us >> 3;
	if (c && start.window > least && rtt) {
		b.window = start.window;
		if (start.ssthresh)
			b.ssthresh = start.ssthresh > start.window ? start.ssthresh : start.window;
		u32 callbacks = ((struct tcp_sock___hooks *)tp)->bpf_sock_ops_cb_flags;
		if (begin_pace(c, tp, rate, callbacks)) {
			b.rate = burst;
			callbacks |= ON_HEADER;
		} else {
			c->pace = 0;
			/* As Linux paces slow start. */
			b.rate = 2000000ULL * start.window * tp->mss_cache / rtt;
		}
		c->flags &= ~RETREATED;
		c->window = start.window;
		/* Called before the segment counts as sent. */
		c->start = tp->snd_nxt;
		c->first_window = start.window * tp->mss_cache;
		int wanted = callbacks | CALLBACKS;
		bpf_setsockopt(sk, SOL_TCP, TCP_BPF_SOCK_OPS_CB_FLAGS, &wanted, sizeof(wanted));
	}
	write(sk, &b);
}

/* Prepares a connection that has been idle for longer than its timeout. */
INLINE void rest(struct connection *c, struct tcp_sock *tp)
{
	if (c->arm == HOOKS_HOLDOUT || tp->packets_out || ((struct tcp_sock___hooks *)tp)->write_seq != tp->snd_nxt)
		return;
	if ((s32)((u32)bpf_jiffies64() - tp->lsndtime - tp->inet_conn.icsk_rto) <= 0)
		return;
	char own[NAME] = {}, starter[NAME];
	if (bpf_getsockopt(tp, SOL_TCP, TCP_CONGESTION, own, sizeof(own)))
		return;
	bool again = true;
	for (int i = 0; i < NAME; i++) {
		starter[i] = limits.starter[i];
		again &= own[i] == starter[i];
	}
	if (again)
		return;
	struct beginning *b = bpf_sk_storage_get(&hooks_beginnings, tp, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!b)
		return;
	b->rate = 0;
	b->window = b->ssthresh = 0;
	__builtin_memcpy(b->control, own, sizeof(own));
	if (bpf_setsockopt(tp, SOL_TCP, TCP_CONGESTION, starter, sizeof(starter)))
		bpf_sk_storage_delete(&hooks_beginnings, tp);
}

/* A segment of a planned window is lost: the threshold becomes half of what has arrived of that window, or of the stack's own
 * first window, which needs no plan (Careful Resume's Safe Retreat; PipeSize). The recovery under way leads the window there. */
INLINE void retreat(struct socket_event *event, void *socket, struct connection *c, struct tcp_sock *tp)
{
	u32 mss = tp->mss_cache;
	if (!mss || c->window <= STACK_WINDOW)
		return;
	u32 arrived = (tp->snd_una - c->start) / mss + tp->sacked_out;
	u32 half = (arrived > STACK_WINDOW ? arrived : STACK_WINDOW) / 2;
	if (half < tp->snd_ssthresh)
		set_threshold(event, socket, tp->snd_cwnd, half);
}
