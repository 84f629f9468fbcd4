// The plan of a copy, as onereshape.arrays.layout makes it, and what the kernels share.
//
// Bounds, for all kernels: a kernel gets the addresses of item (0, 0) of both sides and moves the items (i, j) with
// 0 <= i < na and 0 <= j < nb, each of `item` bytes, from  source + i * sa + j * sb  to  destination + i * da + j * item;
// na and nb are at least 1.  A kernel that goes on (MoveOn) does so for each of its rectangles.
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

// One rectangle of items: na along the source's axis, nb along the destination's.
struct Rectangle {
    Index na;
    Index nb;
    Index sa;
    Index sb;
    Index da;
    Index item;
    Index run;   // the items along the source that are gathered before any is written
    Index high;  // the items that make a line of the destination
};

// Moves one rectangle.
using Move = void (*)(char* destination, const char* source, const Rectangle& rectangle);

// How often a rectangle is moved: na * sa apart in the source, which goes on there without a gap, `apart` bytes in the
// destination.
struct Repeats {
    Index count;
    Index apart;
};

// Moves all repeats of a rectangle.
using MoveOn = void (*)(char* destination, const char* source, const Rectangle& rectangle, const Repeats& repeats);

// Which axis of the rectangle may be cut between threads: a kernel for few planes needs all of them.
enum class Cut { longer, source, destination };

// What moves a rectangle: one of the two.  A kernel that cannot go on has no way to be told to.
struct Kernel {
    Move move;
    MoveOn move_on;
    Cut cut;
};

struct Plan {
    std::vector<Axis> outer;  // outermost first
    Rectangle rectangle;
    Kernel kernel;
    Index nbytes;
    Index low;   // the first byte of the source that is read, from its item 0; never above 0
    Index high;  // one past the last
};

constexpr Index line = 64;
constexpr Repeats once = {1, 0};

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
