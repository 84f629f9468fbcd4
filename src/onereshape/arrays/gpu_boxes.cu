// A copy of any layout into C order, box by box; `gpu_boxes` says how the elements are cut into boxes.
//
// A box is a set of long runs of bytes in the source and, at once, in the destination.  A block of threads reads whole
// lines of the source into shared memory, GRAIN bytes at a time, where they lie as they lay (the same address modulo
// GRAIN or more, gaps between elements included); then it gathers words of the destination out of it, and writes whole lines.
// Where an element lies in shared memory is the sum of two entries of tables, one by the run of the destination and one
// by the place in that run: any dims, however short or odd, cost the same.  They are made while the reads are on their
// way.  Lanes whose words lie in the same banks of shared memory take the units of a word in turn, each from another one
// on.  There is a block for each box.  Boxes, and the parts of long runs, that would reach beyond the end begin earlier
// instead: they write some elements twice, with the same bytes, and no access needs to be masked.
//
// Where runs begin anywhere in a sector, neighbours along them overlap, and each writes whole sectors alone, but for those
// at the two ends of a dim.
//
// Units of 1 or 2 bytes are often moved otherwise: see `gpu_squares.cu`.
//
// UNIT is the bytes that are moved as one (1, 2, 4, 8, 16), GRAIN those of a read (4, 8, 16).
//
// Bounds: what is written is the sum of starts and indices below the plan's sizes.  What is read are the aligned GRAIN
// bytes that hold a byte of the source's own span; memory is given out in larger pieces, so they are readable.

#include "gpu_box.cuh"

// A run: its first word; where the lanes begin along it, counted from 32 words before; `held` in shared memory; the units
// of its first word that lie before it; whether neighbours go on before it and after it; and the words that are its own.
struct __align__(16) Run {
    u8* begin;
    u16 held;
    u8 start, ends;
    u16 low, end;
};

__device__ __forceinline__ Run run_of(const Plan& plan, u8* begin, u32 held, u32 open) {
    u32 before = skipped_before(plan, open, begin), after = skipped_after(plan, open, begin);
    u32 shift = PER_WORD == 1 ? 0 : (u32)(u64)begin & 3;
    u32 low = (shift + before + sizeof(Word) - 1) / sizeof(Word), end = (shift + plan.run_bytes - after) / sizeof(Word);
    begin -= shift;
    u32 start = 32 - ((u32)((u64)begin / sizeof(Word)) & plan.turns);
    start += low + 32 - start >> plan.lanes << plan.lanes;
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

extern "C" __global__ void __launch_bounds__(512, UNIT == 1 || UNIT == 16 ? 3 : 4) copy_boxes(const u8* source, u8* destination, const __grid_constant__ Plan plan) {
    Box* held_box = (Box*)(memory + plan.stage);
    Run* runs = (Run*)(held_box + 1);
    u64* rows = (u64*)(runs + plan.runs);
    Places* places = (Places*)(rows + plan.rows);
    Box box = begun(plan, source, held_box, rows);
    for (u32 run = threadIdx.x; run < plan.runs; run += blockDim.x) {
        i64 x = 0, y = plan.run_low;
        u32 more = box.open | walked(plan, plan.ends[1], plan.ends[2], run, x, y, plan.split);
        runs[run] = run_of(plan, destination + box.to + x, (u32)y, more);
    }
    for (u32 unit = threadIdx.x; unit < plan.units; unit += blockDim.x) {
        u32 y = plan.flat ? (u32)rows[unit] & 0xffff : place_of(plan, plan.ends[2], plan.ends[3], unit, plan.unit_low);
        for (u32 shift = 0; shift < plan.shifts; ++shift)
            ((u16*)places)[shift * plan.words * PER_WORD + placed(plan, shift + unit)] = (u16)y;
    }
    awaited();
    __syncthreads();
    u32 turn = (u32)(u64)(source + box.from) & plan.hold;
    if (PER_WORD > 1 && plan.turned < 31) write_lanes<PER_WORD != 1>(plan, runs, places, turn);
    else write_lanes<false>(plan, runs, places, turn);
    write_ends(plan, runs, places, turn);
}
