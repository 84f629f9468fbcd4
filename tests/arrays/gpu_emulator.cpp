// The GPU kernel on a CPU: each thread of a block is a fiber, which goes on until the block's next barrier.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <vector>

#define EMULATED
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n)
#define __shared__

struct uint2 { uint32_t x, y; };
struct uint4 { uint32_t x, y, z, w; };
struct Index { unsigned x; };
static Index threadIdx, blockIdx, blockDim, gridDim;
alignas(128) unsigned char memory[1 << 18];

static ucontext_t scheduler;
static std::vector<ucontext_t> fibers;
static std::vector<char> ended;
static unsigned current;

// All threads go on in turn, each until its next barrier: then all have come to it.
static void __syncthreads() {
    unsigned self = current;
    swapcontext(&fibers[self], &scheduler);
}
// Which of two ways is taken, both of them right: here each lane decides by itself.
static bool __any_sync(unsigned, uint32_t value) { return value != 0; }
static uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t by) { return ((uint64_t)high << 32 | low) >> (by & 31); }
static uint32_t __funnelshift_l(uint32_t low, uint32_t high, uint32_t by) { return ((uint64_t)high << 32 | low) << (by & 31) >> 32; }
static uint32_t __byte_perm(uint32_t low, uint32_t high, uint32_t chosen) {
    uint64_t both = (uint64_t)high << 32 | low;
    uint32_t found = 0;
    for (int byte = 0; byte < 4; ++byte) found |= (uint32_t)(both >> 8 * (chosen >> 4 * byte & 7) & 0xff) << 8 * byte;
    return found;
}
template <class T> static T min(T a, T b) { return a < b ? a : b; }

// A GPU faults where one of the two addresses is no multiple of the size.
static int misaligned;
static void emulated_fetch(void* into, const void* from, unsigned size) {
    if (((uintptr_t)into | (uintptr_t)from) % size) misaligned = 1;
    memcpy(into, from, size);
}

#include KERNEL

static const u8* given_source;
static u8* given_destination;
static const Plan* given_plan;

static void thread() {
    ENTRY(given_source, given_destination, *given_plan);
    ended[current] = 1;
    swapcontext(&fibers[current], &scheduler);
}

extern "C" int emulate(const u8* source, u8* destination, const void* plan, unsigned blocks, unsigned threads, unsigned shared) {
    static_assert(sizeof(Plan) == 208 + STEPS * sizeof(Step), "as gpu_boxes packs it");
    const unsigned stack = 1 << 16;
    std::vector<char> stacks((size_t)stack * threads);
    given_source = source, given_destination = destination, given_plan = (const Plan*)plan;
    blockDim.x = threads, gridDim.x = blocks;
    fibers.resize(threads);
    misaligned = 0;
    for (unsigned block = 0; block < blocks; ++block) {
        memset(memory, 0x5a, sizeof memory);
        ended.assign(threads, 0);
        for (unsigned at = 0; at < threads; ++at) {
            getcontext(&fibers[at]);
            fibers[at].uc_stack.ss_sp = stacks.data() + (size_t)stack * at;
            fibers[at].uc_stack.ss_size = stack;
            fibers[at].uc_link = nullptr;
            makecontext(&fibers[at], thread, 0);
        }
        for (unsigned left = threads; left;) {
            left = 0;
            for (unsigned at = 0; at < threads; ++at) {
                if (ended[at]) continue;
                current = at, threadIdx.x = at, blockIdx.x = block;
                swapcontext(&scheduler, &fibers[at]);
                left += !ended[at];
            }
        }
        for (size_t at = shared; at < sizeof memory; ++at)
            if (memory[at] != 0x5a) return 1;
    }
    return misaligned ? 2 : 0;
}
