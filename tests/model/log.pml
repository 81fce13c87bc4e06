/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The write cache's log, small: every order of steps, and a power cut between any two.
 * lib/cache/log.h names the same steps.  A place of the log has a record and the data that
 * it names; the drive has a cache of its own.  What no barrier or flush made durable is
 * lost or kept, each piece by itself.  A server that is killed loses nothing, until a cut comes.
 *
 * A record in turn whose data are not what it names is void: recovery passes over it, and
 * what follows counts.
 *
 * DESTAGE is a plan, then the drive's trims, then its writes, one by one, while clients go on.
 * A trimmed block may hold what it had, or what was there before, or nothing.
 *
 * Claimed: after each cut and each kill every block holds what was acknowledged last or something
 * newer; and what it holds then stays until it is written again.
 *
 * Each of the macros below breaks one rule; spin must then find a fault:
 *	ACK_EARLY	acknowledge before the barrier
 *	PLAN_EARLY	leave out data because newer ones are in the log, not durably yet
 *	PLAN_OLDER	write all records' data to the drive, not only the newest of each block
 *	TRIM_LATE	trim the drive after it was written
 *	TAIL_EARLY	move the tail before the drive's flush
 *	TAIL_FAR	move the tail behind records that came after the plan
 *	REUSE_EARLY	reuse places before the tail is durable
 *	REUSE_NEWER	forget where newer data of a block are, too
 *	ONE_TAIL	write each tail over the former one
 *	NO_EPOCH	start again without a new epoch
 *	NO_BEGUN	count records of a former epoch behind the place where this one began
 *	NO_CHECKSUM	count records whose data did not arrive
 *	NO_FIRST_BARRIER	start again over what a killed server left, which is not durable
 */
#ifndef PLACES
#define PLACES	3
#endif
#ifndef WRITES
#define WRITES	4
#endif
#ifndef TRIMS
#define TRIMS	1
#endif
#ifndef CUTS
#define CUTS	2
#endif
#ifndef KILLS
#define KILLS	1
#endif
#define BLOCKS	2
#define NONE	0

typedef record {
	byte sequence;		/* NONE: nothing whole is there */
	byte epoch;
	byte block;
	byte data		/* the write whose data it names; NONE: a trim */
}

typedef tail_copy {
	byte sequence;		/* of the oldest record; NONE: torn */
	byte epoch;
	byte begun		/* the first record of this epoch */
}

record cached[PLACES], durable[PLACES];
byte cached_data[PLACES], durable_data[PLACES];	/* number of the write, in the place's window */
byte cached_drive[BLOCKS], durable_drive[BLOCKS];
tail_copy cached_tail[2], durable_tail[2];

/* What the server knows. */
byte tail = 1, next = 1, barrier_at, told, epoch, begun = 1;
byte copy;			/* of the tail, that is written next */
byte planned;			/* the last record of the plan; NONE: there is no plan */
byte to_write[BLOCKS];		/* of the plan: the record whose data go to the drive, or NONE */
bool to_trim[BLOCKS];
bool flushed;			/* all of the plan is on the drive, durably */
byte moving;			/* the tail is on its way behind this record */
byte newest[BLOCKS];		/* record that has the newest data of a block, or NONE */
byte starting = 2;		/* 1: what was read is not durable, 2: there is no new epoch, 3: it is not durable; 0: served */

byte written, trims, cuts, kills;
byte issued[BLOCKS], acknowledged[BLOCKS];	/* the last write of each block */
byte trimmed[BLOCKS];		/* the writes up to this one may be gone */
byte i, b, at, held;		/* within a step; 0 between steps, so that they make no states */
#define FORGET()	i = 0; b = 0; at = 0; held = 0

#ifdef PLAN_EARLY
#define PLANNABLE	true
#else
#define PLANNABLE	(barrier_at == next - 1)
#endif
/* Writes have contents of two kinds only: a checksum cannot tell those of one kind apart. */
#define KIND(data)	((data) % 2)
#define IS_TRIM(place)	(cached[place].data == NONE)
#define AS_SENT(place)	(IS_TRIM(place) || \
			 (cached_data[place] != NONE && KIND(cached[place].data) == KIND(cached_data[place])))
/* What a reader takes the bytes for. */
#define CONTENTS(place)	(AS_SENT(place) -> cached[place].data : cached_data[place])
#ifdef NO_CHECKSUM
#define CHECKED(place)	true
#else
#define CHECKED(place)	AS_SENT(place)
#endif
#ifdef NO_BEGUN
#define OF_ITS_EPOCH(place)	(cached[place].epoch <= epoch)
#else
#define OF_ITS_EPOCH(place)	(cached[place].sequence >= begun -> \
				 cached[place].epoch == epoch : cached[place].epoch < epoch)
#endif
#define PLACE(sequence)	((sequence) % PLACES)
#define SERVES		(!starting && !moving)

inline put_record(which, number)
{
	at = PLACE(next);
	cached[at].sequence = next;				/* APPEND */
	cached[at].epoch = epoch;
	cached[at].block = which;
	cached[at].data = number;
	next++
}

inline append(which)
{
	d_step {
		written++;
		at = PLACE(next);
		cached_data[at] = written;			/* DATA */
		issued[which] = written;
		FORGET()
	}
	d_step {
		newest[which] = next;
		put_record(which, written);
#ifdef ACK_EARLY
		acknowledged[which] = written;
#endif
		FORGET()
	}
}

inline trim(which)
{
	d_step {
		trims++;
		newest[which] = NONE;
		trimmed[which] = written;
		put_record(which, NONE);
		FORGET()
	}
}

inline barrier()
{
	d_step {
		/* BARRIER */
		for (i : 0 .. PLACES - 1) {
			durable[i].sequence = cached[i].sequence;
			durable[i].epoch = cached[i].epoch;
			durable[i].block = cached[i].block;
			durable[i].data = cached[i].data;
			durable_data[i] = cached_data[i]
		}
		for (i : 0 .. 1) {
			durable_tail[i].sequence = cached_tail[i].sequence;
			durable_tail[i].epoch = cached_tail[i].epoch;
			durable_tail[i].begun = cached_tail[i].begun
		}
		FORGET()
	}
}

/* What the barrier made durable is told to the clients. */
inline ack()
{
	d_step {
		for (i : 0 .. PLACES - 1) {
			if
			:: cached[i].sequence > told && cached[i].sequence <= barrier_at && AS_SENT(i) &&
			   cached[i].data > acknowledged[cached[i].block] ->
				acknowledged[cached[i].block] = cached[i].data
			:: else
			fi
		}
		told = barrier_at;
		FORGET()
	}
}

/*
 * DESTAGE: of each block the data are written that are the newest now, if one of these records has them.  Not here: for a
 * client's flush to the drive, the code writes the newest that these records have.
 */
inline plan(upto)
{
	d_step {
		planned = upto;
		for (i : 0 .. PLACES - 1) {
			if
			:: cached[i].sequence >= tail && cached[i].sequence <= upto ->
				b = cached[i].block;
				if
				:: IS_TRIM(i) -> to_trim[b] = true
#ifdef PLAN_OLDER
				:: else -> to_write[b] = cached[i].sequence
#else
				:: !IS_TRIM(i) && newest[b] == cached[i].sequence -> to_write[b] = newest[b]
				:: else
#endif
				fi
			:: else
			fi
		}
		FORGET()
	}
}

#ifdef TRIM_LATE
#define MAY_TRIM(b)	(to_trim[b] && !to_write[0] && !to_write[1])
#define MAY_WRITE(b)	(to_write[b] != NONE)
#else
#define MAY_TRIM(b)	(to_trim[b])
#define MAY_WRITE(b)	(to_write[b] != NONE && !to_trim[0] && !to_trim[1])
#endif

/* A trim is advice. */
inline trim_drive(which)
{
	to_trim[which] = false;
	if
	:: cached_drive[which] = NONE
	:: skip
	fi
}

inline write_drive(which)
{
	d_step {
		cached_drive[which] = CONTENTS(PLACE(to_write[which]));
		to_write[which] = NONE
	}
}

inline flush()
{
	d_step {
		for (b : 0 .. BLOCKS - 1) {
			durable_drive[b] = cached_drive[b]
		}
		flushed = true;
		FORGET()
	}
}

inline forget_plan()
{
	planned = NONE;
	flushed = false;
	for (b : 0 .. BLOCKS - 1) {
		to_write[b] = NONE;
		to_trim[b] = false
	}
}

inline reuse(upto)
{
	tail = upto + 1;					/* REUSE */
	moving = NONE;
	for (b : 0 .. BLOCKS - 1) {
		if
#ifdef REUSE_NEWER
		:: (cached[PLACE(upto)].block == b) -> newest[b] = NONE
#else
		:: newest[b] < tail -> newest[b] = NONE
#endif
		:: else
		fi
	}
	forget_plan();
	FORGET()
}

inline write_tail(oldest)
{
	cached_tail[copy].sequence = oldest;			/* TAIL */
	cached_tail[copy].epoch = epoch;
	cached_tail[copy].begun = begun;
#ifndef ONE_TAIL
	copy = 1 - copy
#endif
}

inline move_tail(upto)
{
	d_step {
		write_tail(upto + 1);
#ifdef REUSE_EARLY
		reuse(upto)
#else
		moving = upto
#endif
	}
}

inline lose_piece(from, to)
{
	if
	:: to = from
	:: skip
	fi
}

#define TAIL_DIFFERS(i)	(cached_tail[i].sequence != durable_tail[i].sequence || \
			 cached_tail[i].epoch != durable_tail[i].epoch || cached_tail[i].begun != durable_tail[i].begun)
#define RECORD_DIFFERS(i) (cached[i].sequence != durable[i].sequence || cached[i].epoch != durable[i].epoch || \
			   cached[i].block != durable[i].block || cached[i].data != durable[i].data)

/* What a block holds after a start that nothing can take back is what it holds. */
inline settle()
{
	for (b : 0 .. BLOCKS - 1) {
		held = (newest[b] != NONE -> CONTENTS(PLACE(newest[b])) : cached_drive[b]);
		acknowledged[b] = held;
		issued[b] = held;
		trimmed[b] = NONE
	}
	for (i : 0 .. PLACES - 1) {
		if
		:: cached[i].sequence >= tail && cached[i].sequence < next && IS_TRIM(i) &&
		   OF_ITS_EPOCH(i) && newest[cached[i].block] == NONE ->
			/* The drive may not have trimmed it yet, or not durably. */
			b = cached[i].block;
			issued[b] = (cached_drive[b] > durable_drive[b] -> cached_drive[b] : durable_drive[b]);
			trimmed[b] = issued[b]
		:: else
		fi
	}
}

inline read_tails()
{
	at = 0;
	if
	:: cached_tail[1].sequence != NONE &&
	   (cached_tail[0].sequence == NONE || cached_tail[1].epoch > cached_tail[0].epoch ||
	    (cached_tail[1].epoch == cached_tail[0].epoch && cached_tail[1].sequence > cached_tail[0].sequence)) -> at = 1
	:: else
	fi;
	assert(cached_tail[at].sequence != NONE);
	tail = cached_tail[at].sequence;
	epoch = cached_tail[at].epoch;
	begun = cached_tail[at].begun;
#ifndef ONE_TAIL
	copy = 1 - at
#endif
}

inline read_records()
{
	next = tail;
	for (b : 0 .. BLOCKS - 1) {
		newest[b] = NONE
	}
	for (i : 0 .. PLACES - 1) {
		if
		:: next == tail + i && cached[PLACE(next)].sequence == next && OF_ITS_EPOCH(PLACE(next)) ->
			if
			:: IS_TRIM(PLACE(next)) -> newest[cached[PLACE(next)].block] = NONE
			:: !IS_TRIM(PLACE(next)) && CHECKED(PLACE(next)) -> newest[cached[PLACE(next)].block] = next
			:: else			/* void: passed over */
			fi;
			next++
		:: else
		fi
	}
}

inline recover()
{
	d_step {
		read_tails();
		read_records();
		moving = NONE;
		forget_plan();
		barrier_at = tail - 1;
		told = next - 1;
		for (b : 0 .. BLOCKS - 1) {
			held = (newest[b] != NONE -> CONTENTS(PLACE(newest[b])) : cached_drive[b]);
			assert(held >= acknowledged[b] || acknowledged[b] <= trimmed[b]);
			assert(held <= issued[b])
		}
	}
}

inline lose_power()
{
	cuts++;
	i = 0;
	do
	:: i < PLACES ->
		if
		:: RECORD_DIFFERS(i) ->
			if
			:: d_step {
				durable[i].sequence = cached[i].sequence; durable[i].epoch = cached[i].epoch;
				durable[i].block = cached[i].block; durable[i].data = cached[i].data }
			:: durable[i].sequence = NONE		/* torn: its checksum is wrong */
			:: skip
			fi
		:: else
		fi;
		lose_piece(cached_data[i], durable_data[i]);
		i++
	:: else -> break
	od;
	i = 0;
	do
	:: i < 2 ->
		if
		:: TAIL_DIFFERS(i) ->
			if
			:: d_step {
				durable_tail[i].sequence = cached_tail[i].sequence;
				durable_tail[i].epoch = cached_tail[i].epoch;
				durable_tail[i].begun = cached_tail[i].begun }
			:: durable_tail[i].sequence = NONE
			:: skip
			fi
		:: else
		fi;
		i++
	:: else -> break
	od;
	b = 0;
	do
	:: b < BLOCKS -> lose_piece(cached_drive[b], durable_drive[b]); b++
	:: else -> break
	od;
	skip;
	d_step {
		for (i : 0 .. PLACES - 1) {
			cached[i].sequence = durable[i].sequence;
			cached[i].epoch = durable[i].epoch;
			cached[i].block = durable[i].block;
			cached[i].data = durable[i].data;
			cached_data[i] = durable_data[i]
		}
		for (i : 0 .. 1) {
			cached_tail[i].sequence = durable_tail[i].sequence;
			cached_tail[i].epoch = durable_tail[i].epoch;
			cached_tail[i].begun = durable_tail[i].begun
		}
		for (b : 0 .. BLOCKS - 1) {
			cached_drive[b] = durable_drive[b]
		}
		FORGET()
	}
	recover();
	d_step {
		settle();
		starting = 2;
		FORGET()
	}
}

inline kill()
{
	kills++;
	recover();
	d_step {
#ifdef NO_FIRST_BARRIER
		starting = 2;
#else
		starting = 1;
#endif
		FORGET()
	}
}

/* A new epoch, and where it begins. */
inline write_epoch()
{
	d_step {
#ifndef NO_EPOCH
		epoch++;
		begun = next;
#endif
		write_tail(tail);
		starting = 3
	}
}

inline end_of_start()
{
	barrier();
	d_step {
		barrier_at = next - 1;
		starting = 0;
		settle();
		FORGET()
	}
}

init {
	atomic {
		cached_tail[0].sequence = 1;
		cached_tail[0].begun = 1;
		cached_tail[1].sequence = 1;
		cached_tail[1].begun = 1;
		barrier();
		copy = 1
	}
end:	do
	:: starting == 1 -> atomic { barrier(); starting = 2 }
	:: starting == 2 -> write_epoch()
	:: starting == 3 -> atomic { end_of_start() }
	:: SERVES && written < WRITES && next - tail < PLACES -> append(0)
	:: SERVES && written < WRITES && next - tail < PLACES -> append(1)
	:: SERVES && trims < TRIMS && next - tail < PLACES -> trim(0)
	:: SERVES && barrier_at < next - 1 -> atomic { barrier(); barrier_at = next - 1 }
	:: SERVES && told < barrier_at -> ack()
	:: SERVES && !planned && tail <= barrier_at && PLANNABLE -> atomic {
		if
		:: plan(tail)
		:: barrier_at > tail -> plan(barrier_at)
		fi }
	:: SERVES && planned && MAY_TRIM(0) -> atomic { trim_drive(0) }
	:: SERVES && planned && MAY_WRITE(0) -> write_drive(0)
	:: SERVES && planned && MAY_WRITE(1) -> write_drive(1)
	:: SERVES && planned && !flushed && !to_trim[0] && !to_write[0] && !to_write[1] -> flush()
#ifdef TAIL_EARLY
	:: SERVES && planned && !to_trim[0] && !to_write[0] && !to_write[1] -> move_tail(planned)
#else
#ifdef TAIL_FAR
	:: SERVES && planned && flushed -> move_tail(barrier_at)
#else
	:: SERVES && planned && flushed -> move_tail(planned)
#endif
#endif
	:: moving -> atomic { barrier(); barrier_at = next - 1; reuse(moving) }
	:: cuts < CUTS -> atomic { lose_power() }
	:: kills < KILLS -> atomic { kill() }
	od
}
