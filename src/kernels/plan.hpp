// The plan of a copy, as onereshape.arrays.layout makes it, and what the kernels share.
//
// Bounds, for all kernels: a kernel gets the addresses of item (0, 0) of both sides and moves the items (i, j) with
// 0 <= i < na and 0 <= j < nb, each of `item` bytes, from  source + i * sa + j * sb  to  destination + i * da + j * item
// (and so for each repeat of the rectangle).
// Every wider access is made of whole items that are all inside that rectangle: a vector of n items along an axis is read
// or written only where n items remain on it.  So no byte is touched that the plan does not name, and Plan::low and
// Plan::high bound what it names on the source's side, [0, nbytes) on the destination's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace onereshape {

using Index = std::ptrdiff_t;

enum class Kind { rows, transpose, interleave, deinterleave, blocks };

struct Axis {
    Index size;
    Index source;
    Index destination;
};

// One rectangle of items: na along the source's axis, nb along the destination's.  Where the source goes on without a gap
// into another axis, `repeats` rectangles, na * sa apart there and `dr` apart in the destination, are moved in one go.
struct Rectangle {
    Index na;
    Index nb;
    Index sa;
    Index sb;
    Index da;
    Index item;
    Index run;   // the items along the source that are gathered before any is written
    Index high;  // the items that make a line of the destination
    Index repeats;
    Index dr;
};

using Move = void (*)(char* destination, const char* source, const Rectangle& rectangle);

struct Plan {
    std::vector<Axis> outer;  // outermost first
    Rectangle rectangle;
    Move move;
    Index nbytes;
    Index low;   // the first byte of the source that is read, from its item 0; never above 0
    Index high;  // one past the last
};

constexpr Index line = 64;

// Items may lie anywhere, so all accesses go through memcpy, which compilers turn into plain loads and stores.
template <class T>
inline T load(const char* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class T>
inline void store(char* to, const T& value) {
    std::memcpy(to, &value, sizeof value);
}

struct Pair {  // 16 bytes that need no alignment
    std::uint64_t first, second;
};

}  // namespace onereshape
