// SPDX-License-Identifier: GPL-2.0 OR MIT
// Data in flight to the prefixes of a line, so that a new connection gets what the others leave free of the path.
//
// One word for a line: four counts of segments, each of a part of time, and the newest part. A connection adds its segments in flight to
// the newest count and takes those off that it added before, when it begins, once in a round trip, and at its end. A count that is older
// than the last four parts is dropped, so that nothing stays of a connection that was not seen again, whatever became of it. A part is
// between a half and the whole of a round-trip time: a connection that sends is seen again before its count is dropped, and what is
// left of one that has nothing more to send goes within four round-trip times. No program is called when the last byte is acknowledged.

enum { COUNTS = 4, COUNT_BITS = 11, MOST_COUNT = 2047 };
/* Places of the unit and the number of the newest part in the word. The unit is 2^(LEAST_UNIT + n) nanoseconds, 1 ms at least. */
enum { UNIT_AT = 44, PART_AT = 48, LEAST_UNIT = 20 };
/* Round-trip time where none was measured, microseconds. */
enum { UNKNOWN_RTT = 100000 };
/* Time for which the unsent part of a first window counts, 2^30 nanoseconds. */
enum { RESERVED = 30 };

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} hooks_flights SEC(".maps");

/* Number of the unit for a round-trip time: between a half and the whole of it, within the bounds of a word. */
INLINE u32 unit_of(u32 rtt)
{
	u64 time = (u64)(rtt ? rtt : UNKNOWN_RTT) * 1000 >> LEAST_UNIT;
	u32 unit = 0;
	if (time > 0xffff)
		time = 0xffff;
	for (u32 step = 8; step; step /= 2) {
		if (time >> step) {
			time >>= step;
			unit += step;
		}
	}
	return unit;
}

INLINE u32 count_at(u64 word, u32 part)
{
	return word >> (part & (COUNTS - 1)) * COUNT_BITS & MOST_COUNT;
}

INLINE u64 with_count(u64 word, u32 part, u32 segments)
{
	u32 shift = (part & (COUNTS - 1)) * COUNT_BITS;
	if (segments > MOST_COUNT)
		segments = MOST_COUNT;
	return (word & ~((u64)MOST_COUNT << shift)) | (u64)segments << shift;
}

INLINE u32 sum_of(u64 word)
{
	return count_at(word, 0) + count_at(word, 1) + count_at(word, 2) + count_at(word, 3);
}

/* Functions that the verifier checks once and by themselves, not with each of their callers. */
#define APART __attribute__((noinline))

/* The word at this time: old counts are dropped. crates/hooks/src/flight.rs has the same rule. */
APART u64 hooks_word_at(u64 word, u64 now)
{
	u32 unit = word >> UNIT_AT & 15;
	u16 newest = word >> PART_AT, part = now >> (LEAST_UNIT + unit), passed = part - newest;
	u64 counts = word & ((1ULL << UNIT_AT) - 1);
	/* Another processor was later by a moment. */
	if (passed >= 0xfffe) {
		passed = 0;
		part = newest;
	}
	for (u32 i = 0; i < COUNTS; i++) {
		if (i < passed)
			counts = with_count(counts, newest + 1 + i, 0);
	}
	return counts | (u64)unit << UNIT_AT | (u64)part << PART_AT;
}

/* The word with the unit of the longest round-trip time among the counts, of which one is this. With another unit all counts are in the
 * newest part: what other connections counted before stays until it is dropped. */
APART u64 hooks_word_for(u64 word, u64 now, u32 rtt)
{
	u32 wanted = unit_of(rtt), sum = sum_of(word);
	if (sum && wanted <= (word >> UNIT_AT & 15))
		return word;
	u16 part = now >> (LEAST_UNIT + wanted);
	return with_count(0, part, sum) | (u64)wanted << UNIT_AT | (u64)part << PART_AT;
}

/* Bounds of what a connection gets: what the others leave free of the path, but from `least` to `most` segments. Without a path, `most`. */
struct range {
	u16 least, most, path;
};

/* What it gets, and what the others have in flight, segments. */
struct got {
	u32 segments, others;
};

/* What is left of a range, whose words are 16 bits each, beside what others have in flight. Less than twice the least saves no round
 * trip, and joins segments that fill the path already: it is the least. */
APART u32 hooks_free(u64 range, u32 others)
{
	u32 least = range & 0xffff, most = range >> 16 & 0xffff, path = range >> 32 & 0xffff;
	if (!path)
		return most;
	u32 free = path > others ? path - others : 0;
	if (free >= most)
		return most;
	return free < 2 * least ? least : free;
}

/* The word without what a connection counted in a part of time: `counted` has the segments, and above them the part. */
APART u64 hooks_without(u64 word, u32 counted)
{
	u32 part = counted >> 16, segments = counted & 0xffff;
	if ((u8)((word >> PART_AT) - part) >= COUNTS)
		return word;
	u32 all = count_at(word, part);
	return with_count(word, part, all > segments ? all - segments : 0);
}

/* Counts a connection of a line with what it gets of the range, in place of what it counted before. In one step, so that of connections that
 * begin at once each sees the one before. Answers with what others have in flight, the part of time, and what it gets, 32, 16 and 16 bits;
 * with part 256 if other processors wrote each time. */
APART u64 hooks_count(u32 number, u32 counted, u64 range, u32 rtt, u64 now)
{
	u32 others = 0, segments = hooks_free(range, 0);
	u64 *word = bpf_map_lookup_elem(&hooks_flights, &number);
	if (word) {
		for (int turn = 0; turn < 4; turn++) {
			u64 old = *(volatile u64 *)word, next = hooks_without(hooks_word_at(old, now), counted);
			next = hooks_word_for(next, now, rtt);
			u32 part = next >> PART_AT;
			others = sum_of(next);
			segments = hooks_free(range, others);
			next = with_count(next, part, count_at(next, part) + segments);
			if (__sync_val_compare_and_swap(word, old, next) == old)
				return (u64)others << 32 | (part & 0xff) << 16 | (segments & 0xffff);
		}
	}
	return (u64)others << 32 | 256 << 16 | (segments & 0xffff);
}

INLINE struct got count(struct connection *c, struct range range, u32 rtt, u64 now)
{
	u64 bounds = range.least | (u64)range.most << 16 | (u64)range.path << 32;
	u64 got = hooks_count(c->line, c->flight | (u32)c->part << 16, bounds, rtt, now);
	u32 segments = got & 0xffff, part = got >> 16 & 0xffff;
	c->part = part;
	/* One that could not be counted counts again after a round trip. */
	c->flight = part > 0xff ? 0 : segments < MOST_COUNT ? segments : MOST_COUNT;
	return (struct got){ .segments = segments, .others = got >> 32 };
}

/* Counts what a connection has in flight, and for a second the unsent part of its first window; answers with what the others have. */
INLINE u32 count_flight(struct connection *c, struct tcp_sock *tp)
{
	u64 now = bpf_ktime_get_boot_ns();
	u32 sent = tp->snd_nxt - c->start, segments = tp->packets_out;
	if (sent < c->first_window && (now - c->established) >> RESERVED == 0)
		segments += (c->first_window - sent) / tp->mss_cache;
	if (segments > MOST_COUNT)
		segments = MOST_COUNT;
	return count(c, (struct range){ .most = segments }, tp->srtt_us >> 3, now).others;
}
