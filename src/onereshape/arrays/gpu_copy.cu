// A copy of any layout into C order, box by box; `gpu_boxes` says how the elements are cut into boxes.
//
// A box is a set of long runs of bytes in the source and, at once, in the destination.  A block of threads reads whole
// lines of the source into shared memory, GRAIN bytes at a time, where they lie as they lay (the same address modulo
// GRAIN, gaps between elements included); then it gathers words of the destination out of it, and writes whole lines.
// Where an element lies in shared memory is the sum of two entries of tables, one by the run of the destination and one
// by the place in that run: any dims, however short or odd, cost the same.  They are made while the reads are on their
// way.  Lanes whose words lie in the same banks of shared memory take the units of a word in turn, each from another one
// on.  There is a block for each box.  Boxes, and the parts of long runs, that would reach beyond the end begin earlier
// instead: they write some elements twice, with the same bytes, and no access needs to be masked.
//
// Where runs begin anywhere in a sector, neighbours along them overlap, and each writes whole sectors alone, but for those
// at the two ends of a dim.
//
// Single bytes whose neighbours in the source belong to neighbouring runs are moved in squares of four by four, where all
// runs begin with a word: words are read across the runs, transposed in registers, and written along them.
//
// UNIT is the bytes that are moved as one (1, 2, 4, 8, 16), GRAIN those of a read (4, 8, 16).
//
// Bounds: what is written is the sum of starts and indices below the plan's sizes.  What is read are the aligned GRAIN
// bytes that hold a byte of the source's own span; memory is given out in larger pieces, so they are readable.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define STEPS 24

#if UNIT == 1
typedef u8 Unit;
typedef u32 Word;
#define PER_WORD 4
#elif UNIT == 2
typedef u16 Unit;
typedef u32 Word;
#define PER_WORD 2
#else
#define PER_WORD 1
#if UNIT == 4
typedef u32 Unit;
#elif UNIT == 8
typedef u64 Unit;
#else
typedef uint4 Unit;
#endif
typedef Unit Word;
#endif

// The words at the end of a run that a lane gathers together.
#define TAIL (PER_WORD > 1 || UNIT == 16 ? 2 : 4)

#if PER_WORD == 1
typedef u16 Places;
#elif UNIT == 2
typedef u32 Places;
#else
typedef uint2 Places;
#endif

// One dim of a walk: `count` places, the i-th at min(i * step, last), each worth x and y.
struct Step {
    u32 count, multiplier, shift, step, last, unused;
    i64 x, y;
};

// The walks lie one after the other in `steps`, the innermost dim first: boxes, rows of the source, runs of the
// destination, units of a run; `ends` says where each ends.  Where `side` is not 0, the runs are the first of squares,
// whose other three follow `side` bytes on in the destination.
struct Plan {
    u32 ends[4];
    u32 boxes, rows, runs, units;
    u32 span, chunks, row_step, chunk_step;  // bytes of a row, how many reads make one; and from a thread's read to its next
    u32 run_bytes, words, shifts;            // of a run
    u32 lanes, strip, strips, pieces, pieces_multiplier, pieces_shift;  // log2 of a warp's words along a run; how warps share it
    u32 stage, run_low, unit_low, turns, ends_of_runs;
    u32 slot, trim, cut, split;  // the bytes that reads, and writes, begin at multiples of, less 1; the steps along runs
    u32 turned, line;            // log2 of the words after which the next unit of a word comes first; see `fetched`
    i64 low, side;
    Step steps[STEPS];
};

// Exact below 2^31.
__device__ __forceinline__ u32 divided(u32 number, u32 multiplier, u32 shift) {
    return (u32)(((u64)number * multiplier) >> shift);
}

// Returns whether there is more along runs before the place and after it, as two bits, by the step that leads there.
__device__ __forceinline__ u32 walked(const Plan& plan, u32 begin, u32 end, u32 index, i64& x, i64& y, u32 along) {
    u32 open = 0;
#pragma unroll 1
    for (u32 at = begin; at < end; ++at) {
        const Step& step = plan.steps[at];
        u32 rest = divided(index, step.multiplier, step.shift);
        u32 place = min((index - rest * step.count) * step.step, step.last);
        index = rest;
        x += (i64)place * step.x;
        y += (i64)place * step.y;
        if (at == along) open = (place > 0 ? 1 : 0) | (place < step.last ? 2 : 0);
    }
    return open;
}

// The sum of y alone, where it is below 2^32.
__device__ __forceinline__ u32 place_of(const Plan& plan, u32 begin, u32 end, u32 index, u32 y) {
#pragma unroll 1
    for (u32 at = begin; at < end; ++at) {
        const Step& step = plan.steps[at];
        u32 rest = divided(index, step.multiplier, step.shift);
        y += min((index - rest * step.count) * step.step, step.last) * (u32)step.y;
        index = rest;
    }
    return y;
}

// A box: its lowest byte in the source, where it begins in the destination, and whether others go on along runs.
struct __align__(16) Box {
    i64 from, to;
    u32 open;
};

// `line`: the rest of a line is asked for along with its first bytes.
__device__ __forceinline__ void fetched(u8* into, const u8* from, bool line) {
#ifdef EMULATED
    memcpy(into, from, GRAIN);
#else
    u32 shared = (u32)__cvta_generic_to_shared(into);
#if GRAIN == 16
    if (line) asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
    else asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
#elif GRAIN == 8
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared), "l"(from) : "memory");
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared), "l"(from) : "memory");
#endif
#endif
}

__device__ __forceinline__ void fence() {
#ifndef EMULATED
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

__device__ __forceinline__ void awaited() {
#ifndef EMULATED
    asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
}

extern __shared__ __align__(16) u8 memory[];

// All rows of a box, of which `from` is the lowest byte.
__device__ __forceinline__ void read(const Plan& plan, const u64* rows, const u8* from) {
    u32 held = (u32)(u64)from & (GRAIN - 1);
    u32 row = threadIdx.x / plan.chunks, chunk = threadIdx.x - row * plan.chunks;
#pragma unroll 2
    while (row < plan.rows) {
        u64 record = rows[row];
        const u8* begin = from + (record >> 16);
        int offset = (int)(chunk * GRAIN) - (int)((u32)(u64)begin & plan.slot);
        if (offset > -GRAIN && offset < (int)plan.span)
            fetched(memory + (held + (u32)(record & 0xffff) + offset), begin + offset, plan.line);
        row += plan.row_step;
        chunk += plan.chunk_step;
        if (chunk >= plan.chunks) chunk -= plan.chunks, ++row;
    }
}

// A run: its first word; where the lanes begin along it, counted from 32 words before; `held` in shared memory; the units
// of its first word that lie before it; whether neighbours go on before it and after it; and the words that are its own.
struct __align__(16) Run {
    u8* begin;
    u16 held;
    u8 start, ends;
    u16 low, end;
};

// The bytes at the two ends of a run that are its neighbours' to write.
__device__ __forceinline__ u32 skipped_before(const Plan& plan, u32 open, const u8* begin) {
    return open & 1 ? 0u - (u32)(u64)begin & plan.trim : 0;
}
__device__ __forceinline__ u32 skipped_after(const Plan& plan, u32 open, const u8* begin) {
    return open & 2 ? (u32)(u64)begin + plan.run_bytes & plan.trim : 0;
}

__device__ __forceinline__ Run run_of(const Plan& plan, u8* begin, u32 held, u32 open) {
    u32 before = skipped_before(plan, open, begin), after = skipped_after(plan, open, begin);
    u32 shift = PER_WORD == 1 ? 0 : (u32)(u64)begin & 3;
    u32 low = (shift + before + sizeof(Word) - 1) / sizeof(Word), end = (shift + plan.run_bytes - after) / sizeof(Word);
    begin -= shift;
    u32 start = 32 - ((u32)((u64)begin / sizeof(Word)) & plan.turns);
    if (!plan.side) start += low + 32 - start >> plan.lanes << plan.lanes;
    return {begin, (u16)held, (u8)start, (u8)(shift / UNIT << 2 | open), (u16)low, (u16)end};
}

// Where the table has a unit: the units of a word are turned, and turned back when they are gathered.
__device__ __forceinline__ u32 placed(const Plan& plan, u32 unit) {
    u32 word = unit / PER_WORD;
    return word * PER_WORD + (unit - (word >> plan.turned) & PER_WORD - 1);
}
template <bool TURNED>
__device__ __forceinline__ Word in_order(const Plan& plan, Word gathered, int word) {
#if PER_WORD > 1
    if (TURNED) return __funnelshift_l(gathered, gathered, (u32)word >> plan.turned << (UNIT == 1 ? 3 : 4));
#endif
    return gathered;
}

// The word whose units lie at the places of an entry, counted from `held`.
__device__ __forceinline__ Word gathered(Places entry, u32 held) {
#if PER_WORD == 1
    return *(const Word*)(memory + (held + entry));
#elif UNIT == 2
    u32 both = entry + held * 0x10001u;
    return *(const u16*)(memory + (both & 0xffff)) | (u32) * (const u16*)(memory + (both >> 16)) << 16;
#else
    u32 low = entry.x + held * 0x10001u, high = entry.y + held * 0x10001u;
    u32 first = memory[low & 0xffff] | (u32)memory[low >> 16] << 8;
    u32 second = memory[high & 0xffff] | (u32)memory[high >> 16] << 8;
    return first | second << 16;
#endif
}

// All runs of a box: a warp takes some runs together, as many words of each as fill it, and goes on along them.  Words
// begin at multiples of their size, and a warp's words at multiples of a line, wherever a run begins.
template <int LANES, bool TURNED>
__device__ __forceinline__ void write_words(const Plan& plan, const Run* runs, const Places* places, u32 turn) {
    const int wide = 1 << LANES;
    u32 lane = threadIdx.x & 31, warps = blockDim.x >> 5;
    int along = lane & (wide - 1), across = lane >> LANES;
    for (u32 strip = threadIdx.x >> 5; strip < plan.strips; strip += warps) {
        u32 high = divided(strip, plan.pieces_multiplier, plan.pieces_shift);
        u32 number = (high << (5 - LANES)) + across;
        if (number >= plan.runs) continue;
        Run run = runs[number];
        int first = (int)((strip - high * plan.pieces) * plan.strip) + run.start - 32;
        int word = first + along, end = min(first + (int)plan.strip, (int)run.end);
        if (word < run.low) word += wide;
        Word* out = (Word*)run.begin + word;
        const Places* entry = places + word;
        if (PER_WORD > 1) entry += (run.ends >> 2) * plan.words;
        u32 held = turn + run.held;
        for (; word + 3 * wide < end; word += 4 * wide, out += 4 * wide, entry += 4 * wide) {
            Places found[4];
            Word words[4];
#pragma unroll
            for (int at = 0; at < 4; ++at) found[at] = entry[at * wide];
#pragma unroll
            for (int at = 0; at < 4; ++at) words[at] = in_order<TURNED>(plan, gathered(found[at], held), word + at * wide);
#pragma unroll
            for (int at = 0; at < 4; ++at) out[at * wide] = words[at];
        }
#pragma unroll 1
        for (; word < end; word += TAIL * wide, out += TAIL * wide, entry += TAIL * wide) {
            Places found[TAIL];
            Word words[TAIL];
#pragma unroll
            for (int at = 0; at < TAIL; ++at) found[at] = entry[word + at * wide < end ? at * wide : 0];
#pragma unroll
            for (int at = 0; at < TAIL; ++at) words[at] = in_order<TURNED>(plan, gathered(found[at], held), word + at * wide);
#pragma unroll
            for (int at = 0; at < TAIL; ++at)
                if (word + at * wide < end) out[at * wide] = words[at];
        }
    }
}

template <bool TURNED>
__device__ __forceinline__ void write_lanes(const Plan& plan, const Run* runs, const Places* places, u32 turn) {
    if (plan.lanes == 5) write_words<5, TURNED>(plan, runs, places, turn);
    else if (plan.lanes == 4) write_words<4, TURNED>(plan, runs, places, turn);
    else write_words<3, TURNED>(plan, runs, places, turn);
}

// The units at the ends of runs that fill no word.
__device__ __forceinline__ void write_ends(const Plan& plan, const Run* runs, const Places* places, u32 turn) {
#if PER_WORD > 1
    if (!plan.ends_of_runs) return;
    for (u32 at = threadIdx.x; at < 2 * plan.runs; at += blockDim.x) {
        Run run = runs[at >> 1];
        if (run.ends >> (at & 1) & 1) continue;
        u32 held = turn + run.held;
        u8* begin = run.begin + (run.ends >> 2) * UNIT;
        u32 shift = (u32)(u64)begin & 3, head = min((4 - shift) & 3, plan.run_bytes);
        u32 first = 0, end = head;
        if (at & 1) first = head + ((plan.run_bytes - head) & ~3u), end = plan.run_bytes;
        for (; first < end; first += UNIT)
            *(Unit*)(begin + first) = *(const Unit*)(memory + (held + ((const u16*)places)[placed(plan, first / UNIT)]));
    }
#endif
}

#if UNIT == 1
// Words across runs to words along them.
__device__ __forceinline__ void transposed(u32* words) {
    u32 low = __byte_perm(words[0], words[1], 0x5140), high = __byte_perm(words[0], words[1], 0x7362);
    u32 next_low = __byte_perm(words[2], words[3], 0x5140), next_high = __byte_perm(words[2], words[3], 0x7362);
    words[0] = __byte_perm(low, next_low, 0x5410);
    words[1] = __byte_perm(low, next_low, 0x7632);
    words[2] = __byte_perm(high, next_high, 0x5410);
    words[3] = __byte_perm(high, next_high, 0x7632);
}

// The squares of four runs, from the lane's word on.  LOOSE: words of the source begin anywhere, all of a row at one
// place in a word of shared memory.  BOUND: each run has its own first word and number of words.
template <bool LOOSE, bool BOUND>
__device__ __forceinline__ void write_square(const Plan& plan, const Places* places, const u32* held, const u32* loose,
                                             u8* begin, int word, int end, const int* low, const u32* count) {
#pragma unroll 2
    for (; word < end; word += 1 << plan.lanes) {
        Places entry = places[word];
        u32 found[4] = {entry.x & 0xffff, entry.x >> 16, entry.y & 0xffff, entry.y >> 16};
#pragma unroll
        for (int row = 0; row < 4; ++row) {
            const u32* at = (const u32*)(memory + (found[row] + held[row]));
            found[row] = LOOSE ? __funnelshift_r(at[0], at[1], loose[row]) : at[0];
        }
        transposed(found);
#pragma unroll
        for (int run = 0; run < 4; ++run)
            if (!BOUND || (u32)(word - low[run]) < count[run]) *(u32*)(begin + run * plan.side + 4 * word) = in_order<true>(plan, found[run], word);
    }
}

// All runs of a box in squares; they begin and end at multiples of a word.
__device__ __forceinline__ void write_squares(const Plan& plan, const Run* runs, const Places* places, u32 turn) {
    u32 lane = threadIdx.x & 31, across = lane >> plan.lanes, warps = blockDim.x >> 5;
    int along = (int)(lane & (1 << plan.lanes) - 1);
    for (u32 strip = threadIdx.x >> 5; strip < plan.strips; strip += warps) {
        u32 high = divided(strip, plan.pieces_multiplier, plan.pieces_shift);
        u32 number = (high << (5 - plan.lanes)) + across;
        bool active = number < plan.runs;
        Run run = runs[active ? number : plan.runs - 1];
        u32 begin = turn + run.held, held[4], loose[4], count[4], any = 0;
        int low[4];
#pragma unroll
        for (int row = 0; row < 4; ++row) {
            u32 at = begin + ((const u16*)places)[row] & 3;
            held[row] = begin - at, loose[row] = at * 8, any |= at;
        }
        u8* to = run.begin;
        int first = (int)((strip - high * plan.pieces) * plan.strip) + run.start - 32;
        int end = active ? min(first + (int)plan.strip, (int)plan.words) : 0;
        if (first + along < 0) first += 1 << plan.lanes;
        if (plan.trim) {
#pragma unroll
            for (int row = 0; row < 4; ++row) {
                const u8* at = to + row * plan.side;
                low[row] = (int)(skipped_before(plan, run.ends, at) >> 2);
                count[row] = plan.words - low[row] - (skipped_after(plan, run.ends, at) >> 2);
            }
            if (__any_sync(~0u, any)) write_square<true, true>(plan, places, held, loose, to, first + along, end, low, count);
            else write_square<false, true>(plan, places, held, loose, to, first + along, end, low, count);
        } else if (__any_sync(~0u, any)) {
            write_square<true, false>(plan, places, held, loose, to, first + along, end, low, count);
        } else write_square<false, false>(plan, places, held, loose, to, first + along, end, low, count);
    }
}
#endif

extern "C" __global__ void __launch_bounds__(512, UNIT == 1 || UNIT == 16 ? 3 : 4) copy_boxes(const u8* source, u8* destination, const __grid_constant__ Plan plan) {
    Box* held_box = (Box*)(memory + plan.stage);
    Run* runs = (Run*)(held_box + 1);
    u64* rows = (u64*)(runs + plan.runs);
    Places* places = (Places*)(rows + plan.rows);
    for (u32 row = threadIdx.x; row < plan.rows; row += blockDim.x) {
        i64 x = 0, y = 0;
        walked(plan, plan.ends[0], plan.ends[1], row, x, y, ~0u);
        rows[row] = (u64)x << 16 | (u64)y;
    }
    if (threadIdx.x + 32 >= blockDim.x) {
        Box found = {plan.low, 0, 0};
        found.open = walked(plan, 0, plan.ends[0], blockIdx.x, found.from, found.to, plan.cut);
        *held_box = found;
    }
    __syncthreads();
    Box box = *held_box;
    read(plan, rows, source + box.from);
    fence();
    for (u32 run = threadIdx.x; run < plan.runs; run += blockDim.x) {
        i64 x = 0, y = plan.run_low;
        u32 more = box.open | walked(plan, plan.ends[1], plan.ends[2], run, x, y, plan.split);
        runs[run] = run_of(plan, destination + box.to + x, (u32)y, more);
    }
    for (u32 unit = threadIdx.x; unit < plan.units; unit += blockDim.x) {
        u32 y = place_of(plan, plan.ends[2], plan.ends[3], unit, plan.unit_low);
        for (u32 shift = 0; shift < plan.shifts; ++shift)
            ((u16*)places)[shift * plan.words * PER_WORD + placed(plan, shift + unit)] = (u16)y;
    }
    awaited();
    __syncthreads();
    u32 turn = (u32)(u64)(source + box.from) & (GRAIN - 1);
#if UNIT == 1
    if (plan.side) write_squares(plan, runs, places, turn);
    else
#endif
    if (PER_WORD > 1 && plan.turned < 31) write_lanes<PER_WORD != 1>(plan, runs, places, turn);
    else write_lanes<false>(plan, runs, places, turn);
    write_ends(plan, runs, places, turn);
}
