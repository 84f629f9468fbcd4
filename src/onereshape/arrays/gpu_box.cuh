// What the kernels have in common: the plan of a copy, and how the rows of a box are read into shared memory.
#pragma once

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
// destination, units of a run; `ends` says where each ends.
struct Plan {
    u32 ends[4];
    u32 boxes, rows, runs, units;
    u32 span, chunks, row_step, chunk_step;  // bytes of a row, how many reads make one; and from a thread's read to its next
    u32 run_bytes, words, shifts;            // of a run
    u32 lanes, strip, strips, pieces, pieces_multiplier, pieces_shift;  // log2 of a warp's words along a run; how warps share it
    u32 stage, run_low, unit_low, turns, ends_of_runs;
    u32 slot, trim, cut, split;  // the bytes that reads, and writes, begin at multiples of, less 1; the steps along runs
    u32 turned, line;            // log2 of the words after which the next unit of a word comes first; see `fetched`
    // In squares: runs along the side, groups of runs, groups along the side; whether words begin anywhere among the rows.
    u32 sides, groups, along, along_multiplier, along_shift, loose;
    u32 middle, pitch, outs, outs_multiplier, outs_shift;  // where the middle begins, from run to run in it, writes of a run
    u32 hold;  // what rows lie at the same place modulo as in the source, less 1
    u32 woven, run_multiplier, run_shift;  // whether runs are woven; to divide by the bytes of one
    u32 flat, row_pitch;  // where rows are the places along many dims as one: the step of boxes along it, plus 1; see `begun`
    i64 low;
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

// Where a box begins along the dim of one step.
__device__ __forceinline__ u32 place_along(const Plan& plan, u32 which, u32 index) {
#pragma unroll 1
    for (u32 at = 0; at < which; ++at) index = divided(index, plan.steps[at].multiplier, plan.steps[at].shift);
    const Step& step = plan.steps[which];
    return min((index - divided(index, step.multiplier, step.shift) * step.count) * step.step, step.last);
}

// A box: its lowest byte in the source, where it begins in the destination, and whether others go on along runs.
struct __align__(16) Box {
    i64 from, to;
    u32 open;
};

// LINE: the rest of a line is asked for along with its first bytes.
template <bool LINE>
__device__ __forceinline__ void fetched(u8* into, const u8* from) {
#ifdef EMULATED
    emulated_fetch(into, from, GRAIN);
#else
    u32 shared = (u32)__cvta_generic_to_shared(into);
#if GRAIN == 16
    if (LINE) asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
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
template <bool LINE>
__device__ __forceinline__ void read_rows(const Plan& plan, const u64* rows, const u8* from) {
    u8* into = memory + ((u32)(u64)from & plan.hold);
    u32 row = threadIdx.x / plan.chunks, whole = plan.chunks * GRAIN, step = plan.chunk_step * GRAIN;
    u32 at = (threadIdx.x - row * plan.chunks) * GRAIN, reach = plan.span + GRAIN - 1;
#pragma unroll 2
    while (row < plan.rows) {
        u64 record = rows[row];
        const u8* begin = from + (record >> 16);
        int offset = (int)at - (int)((u32)(u64)begin & plan.slot);
        if ((u32)(offset + GRAIN - 1) < reach) fetched<LINE>(into + ((int)(record & 0xffff) + offset), begin + offset);
        row += plan.row_step;
        at += step;
        if (at >= whole) at -= whole, ++row;
    }
}

__device__ __forceinline__ void read(const Plan& plan, const u64* rows, const u8* from) {
    if (GRAIN == 16 && plan.line) read_rows<true>(plan, rows, from);
    else read_rows<false>(plan, rows, from);
}

// The box of this block, whose rows are on their way: where each lies is kept in the table `rows`.
__device__ __forceinline__ Box begun(const Plan& plan, const u8* source, Box* held, u64* rows) {
    u32 first = plan.flat ? place_along(plan, plan.flat - 1, blockIdx.x) : 0;
    for (u32 row = threadIdx.x; row < plan.rows; row += blockDim.x) {
        i64 x = 0, y = 0;
        walked(plan, plan.ends[0], plan.ends[1], first + row, x, y, ~0u);
        if (plan.flat) {
            u32 held = row * plan.row_pitch;
            y = held + ((u32)x - held & plan.hold);
        }
        rows[row] = (u64)x << 16 | (u64)y;
    }
    if (threadIdx.x + 32 >= blockDim.x) {
        Box found = {plan.low, 0, 0};
        found.open = walked(plan, 0, plan.ends[0], blockIdx.x, found.from, found.to, plan.cut);
        *held = found;
    }
    __syncthreads();
    Box box = *held;
    read(plan, rows, source + box.from);
    fence();
    return box;
}

// The bytes at the two ends of a run that are its neighbours' to write.
__device__ __forceinline__ u32 skipped_before(const Plan& plan, u32 open, const u8* begin) {
    return open & 1 ? 0u - (u32)(u64)begin & plan.trim : 0;
}
__device__ __forceinline__ u32 skipped_after(const Plan& plan, u32 open, const u8* begin) {
    return open & 2 ? (u32)(u64)begin + plan.run_bytes & plan.trim : 0;
}
