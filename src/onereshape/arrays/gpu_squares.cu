// A copy of units of 1 or 2 bytes into C order, box by box, where neighbours in the source belong to neighbouring runs.
//
// Rows of the source are read into shared memory as in `gpu_boxes.cu`.  There a lane takes a square of units: a word
// across neighbouring runs from each of 4 (or 2) places along them, transposed in registers to a word along each run.
// These are kept in a second part of shared memory, run by run, and a run begins there at the same place in 16 bytes as
// in the destination, but for the place in a word.  So whole words are moved within shared memory wherever rows and runs
// begin, and the destination is written 16 bytes at a time.
//
// Where runs are woven, those of the side are short and follow each other in the destination.  Then all of them together
// are one run that is written, and 16 bytes of it may be of two.

#include "gpu_box.cuh"

// A run: where it begins in the destination; where its first unit is `held` among the rows, and where its words are kept
// in the `middle`; and the bytes of it that are its own to write.
struct __align__(16) Run {
    u8* begin;
    u16 held, middle, low, end;
};

// The word whose units begin there, anywhere in a word of shared memory if LOOSE.
template <bool LOOSE>
__device__ __forceinline__ u32 word_at(u32 at) {
    const u32* words = (const u32*)(memory + (LOOSE ? at & ~3u : at));
    return LOOSE ? __funnelshift_r(words[0], words[1], at << 3) : words[0];
}

// Words across runs to words along them.
__device__ __forceinline__ void transposed(u32* words) {
#if UNIT == 1
    u32 low = __byte_perm(words[0], words[1], 0x5140), high = __byte_perm(words[0], words[1], 0x7362);
    u32 next_low = __byte_perm(words[2], words[3], 0x5140), next_high = __byte_perm(words[2], words[3], 0x7362);
    words[0] = __byte_perm(low, next_low, 0x5410);
    words[1] = __byte_perm(low, next_low, 0x7632);
    words[2] = __byte_perm(high, next_high, 0x5410);
    words[3] = __byte_perm(high, next_high, 0x7632);
#else
    u32 low = __byte_perm(words[0], words[1], 0x5410);
    words[1] = __byte_perm(words[0], words[1], 0x7632);
    words[0] = low;
#endif
}

// All squares of a box: a warp takes some groups of runs together, as many words along them as fill it, and goes on.
template <bool LOOSE>
__device__ __forceinline__ void turned_over(const Plan& plan, const Run* runs, const Places* places, u8* middle, u32 turn) {
    u32 lane = threadIdx.x & 31, warps = blockDim.x >> 5, wide = 1 << plan.lanes;
    for (u32 strip = threadIdx.x >> 5; strip < plan.strips; strip += warps) {
        u32 high = divided(strip, plan.pieces_multiplier, plan.pieces_shift);
        u32 group = (high << (5 - plan.lanes)) + (lane >> plan.lanes);
        if (group >= plan.groups) continue;
        u32 beyond = divided(group, plan.along_multiplier, plan.along_shift);
        u32 first = min((group - beyond * plan.along) * PER_WORD, plan.sides - PER_WORD), all = first + beyond * plan.sides;
        u32 held = turn + (plan.woven ? runs[beyond].held + first * UNIT : runs[all].held);
        u32 word = (strip - high * plan.pieces) * plan.strip, end = min(word + plan.strip, plan.words);
        u32* out[PER_WORD];
#pragma unroll
        for (int run = 0; run < PER_WORD; ++run)
            out[run] = (u32*)(middle + (plan.woven ? (all + run) * plan.pitch : runs[all + run].middle));
#pragma unroll 2
        for (word += lane & wide - 1; word < end; word += wide) {
            Places entry = places[word];
#if UNIT == 1
            u32 found[4] = {entry.x & 0xffff, entry.x >> 16, entry.y & 0xffff, entry.y >> 16};
#else
            u32 found[2] = {entry & 0xffff, entry >> 16};
#endif
#pragma unroll
            for (int row = 0; row < PER_WORD; ++row) found[row] = word_at<LOOSE>(found[row] + held);
            transposed(found);
#pragma unroll
            for (int run = 0; run < PER_WORD; ++run) out[run][word] = found[run];
        }
    }
}

// Each run but for the parts of 16 bytes at its ends.
__device__ __forceinline__ void write_middle(const Plan& plan, const Run* runs, const u8* middle) {
#pragma unroll 2
    for (u32 at = threadIdx.x; at < plan.runs * plan.outs; at += blockDim.x) {
        u32 number = divided(at, plan.outs_multiplier, plan.outs_shift);
        Run run = runs[number];
        u32 begin = (u32)(u64)run.begin & 15, out = (at - number * plan.outs) * 16;
        int offset = (int)out - (int)begin;
        if (offset < (int)run.low || offset + 16 > (int)run.end) continue;
        const u32* from = (const u32*)(middle + (run.middle - (begin & 12) + out));
        uint4 words = *(const uint4*)from;
        if (begin & 3) {
            u32 before = from[-1], by = (begin & 3) * 8;
            words.w = __funnelshift_l(words.z, words.w, by);
            words.z = __funnelshift_l(words.y, words.z, by);
            words.y = __funnelshift_l(words.x, words.y, by);
            words.x = __funnelshift_l(before, words.x, by);
        }
        *(uint4*)(run.begin + offset) = words;
    }
}

// The parts of 16 bytes at the ends of runs, a word for each lane.
__device__ __forceinline__ void write_ends(const Plan& plan, const Run* runs, const u8* middle) {
    for (u32 at = threadIdx.x; at < 8 * plan.runs; at += blockDim.x) {
        Run run = runs[at >> 3];
        u32 begin = (u32)(u64)run.begin & 15, low = run.low + begin, end = run.end + begin;
        u32 place = at & 4 ? end : low;
        if (!(place & 15) || (at & 4 && low & 15 && low >> 4 == end >> 4)) continue;
        int offset = (int)((place & ~15u) + (at & 3) * 4) - (int)begin;
        const u32* from = (const u32*)(middle + ((int)run.middle + offset + (int)(begin & 3)));
        u32 word = begin & 3 ? __funnelshift_l(from[-1], from[0], (begin & 3) * 8) : from[0];
        if (offset >= (int)run.low && offset + 4 <= (int)run.end) *(u32*)(run.begin + offset) = word;
        else
            for (int unit = 0; unit < 4; unit += UNIT, word >>= 8 * UNIT)
                if (offset + unit >= (int)run.low && offset + unit < (int)run.end) *(Unit*)(run.begin + offset + unit) = (Unit)word;
    }
}

// 16 bytes from anywhere.
__device__ __forceinline__ uint4 bytes_at(const u8* middle, u32 at) {
    const u32* words = (const u32*)(middle + (at & ~3u));
    u32 by = at << 3, second = words[1], third = words[2], fourth = words[3];
    return {__funnelshift_r(words[0], second, by), __funnelshift_r(second, third, by), __funnelshift_r(third, fourth, by),
            __funnelshift_r(fourth, words[4], by)};
}

// The first `count` bytes of one word, then those of another.
__device__ __forceinline__ u32 joined(u32 word, u32 next, int count) {
    u32 mask = count >= 4 ? ~0u : count <= 0 ? 0 : (1u << 8 * count) - 1;
    return word & mask | next & ~mask;
}

// All runs of the side, which follow each other in the destination: 16 bytes are of one of them, or of two.
__device__ __forceinline__ void write_woven(const Plan& plan, const Run* runs, const u8* middle) {
    const u32 run_bytes = plan.units * UNIT;
#pragma unroll 2
    for (u32 at = threadIdx.x; at < plan.runs * plan.outs; at += blockDim.x) {
        u32 number = divided(at, plan.outs_multiplier, plan.outs_shift);
        Run run = runs[number];
        int offset = (int)((at - number * plan.outs) * 16) - (int)((u32)(u64)run.begin & 15);
        if (offset < 0 || offset + 16 > (int)run.end) continue;
        u32 row = divided(offset, plan.run_multiplier, plan.run_shift), within = offset - row * run_bytes;
        u32 from = run.middle + row * plan.pitch + within;
        int left = (int)(run_bytes - within);
        uint4 words = bytes_at(middle, from);
        if (left < 16) {
            uint4 next = bytes_at(middle, from + plan.pitch - run_bytes);
            words = {joined(words.x, next.x, left), joined(words.y, next.y, left - 4), joined(words.z, next.z, left - 8),
                     joined(words.w, next.w, left - 12)};
        }
        *(uint4*)(run.begin + offset) = words;
    }
    for (u32 at = threadIdx.x; at < 32 * plan.runs; at += blockDim.x) {
        Run run = runs[at >> 5];
        u32 begin = (u32)(u64)run.begin & 15, place = at & 16 ? run.end + begin : begin;
        int offset = (int)((place & ~15u) + (at & 15) * UNIT) - (int)begin;
        if (!(place & 15) || (at & 15) * UNIT > 15 || offset < 0 || offset >= (int)run.end) continue;
        u32 row = divided(offset, plan.run_multiplier, plan.run_shift);
        u32 from = run.middle + row * plan.pitch + (offset - row * run_bytes);
        *(Unit*)(run.begin + offset) = *(const Unit*)(middle + from);
    }
}

extern "C" __global__ void __launch_bounds__(512, 3) copy_squares(const u8* source, u8* destination, const __grid_constant__ Plan plan) {
    Box* held_box = (Box*)(memory + plan.stage);
    Run* runs = (Run*)(held_box + 1);
    u64* rows = (u64*)(runs + plan.runs);
    u16* places = (u16*)(rows + plan.rows);
    u8* middle = memory + plan.middle;
    Box box = begun(plan, source, held_box, rows);
    for (u32 run = threadIdx.x; run < plan.runs; run += blockDim.x) {
        i64 x = 0, y = plan.run_low;
        u32 open = box.open | walked(plan, plan.ends[1], plan.ends[2], run, x, y, plan.split);
        u8* begin = destination + box.to + x;
        u32 kept = run * plan.pitch * (plan.woven ? plan.sides : 1), low = skipped_before(plan, open, begin), after = skipped_after(plan, open, begin);
        if (!plan.woven) kept += (u32)(u64)begin - kept & 12;
        runs[run] = {begin, (u16)y, (u16)kept, (u16)low, (u16)(plan.run_bytes - after)};
    }
    for (u32 unit = threadIdx.x; unit < plan.words * PER_WORD; unit += blockDim.x)
        places[unit] = (u16)place_of(plan, plan.ends[2], plan.ends[3], min(unit, plan.units - 1), plan.unit_low);
    awaited();
    __syncthreads();
    u32 turn = (u32)(u64)(source + box.from) & plan.hold;
    if (plan.loose || turn & 3) turned_over<true>(plan, runs, (const Places*)places, middle, turn);
    else turned_over<false>(plan, runs, (const Places*)places, middle, turn);
    __syncthreads();
    if (plan.woven) {
        write_woven(plan, runs, middle);
    } else {
        write_middle(plan, runs, middle);
        bool ends = plan.ends_of_runs || (u32)(u64)destination & 15;
        if (ends && (plan.trim < 15 || box.open < 3)) write_ends(plan, runs, middle);
    }
}
