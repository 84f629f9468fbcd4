// What the kernels are told: the rectangles and patterns that copy.cpp makes of a plan of onereshape.arrays.view_or_copy.
//
// Bounds, for all kernels.  A rectangle's kernel gets the addresses of item (0, 0) of both sides and moves the items
// (i, j) with 0 <= i < na and 0 <= j < nb, na and nb at least 1.  What it writes are whole items that are all inside, each
// vector of n items only where n remain, or under a mask.  What it reads are the bytes of such items, and none between
// them.  A pattern's kernel writes the bytes of its tiles; it reads vectors that begin and end inside the span of a tile,
// so also bytes between its items, but none before the first or after the last.  So no byte is written that the plan does
// not name, and none read outside Plan::low to Plan::high.
#pragma once

#include <cstddef>
#include <cstdint>

namespace onereshape {

using Index = std::ptrdiff_t;

constexpr Index line = 64;  // bytes of a line of the cache
constexpr Index long_item = 8 * line;  // bytes of an item whose whole lines are written as such, wherever it begins
constexpr Index most_long = 16;  // long items that one column is given before the next
constexpr Index least_ragged = 8 * line;  // bytes of a column of which enough lines are whole

// The bytes of the widest words that fill an item, whose bytes are a multiple of 4.
constexpr Index word_of(Index item) { return item % 16 == 0 ? 16 : item % 8 == 0 ? 8 : 4; }

// Where the positions of one or more dims lie that are walked as one: position i at
// table[i % period] + i / period * step,  or without a table at  i * step.
struct Run {
    const Index* table;
    Index period;
    Index step;
};

struct Shuffle;

// Items of `item` bytes, na along the source's dims from position a, nb along the destination's from position b.
// Item (i, j) goes from  reads(i) + rows(j)  to  columns(i) + (j - b) * item.
struct Rectangle {
    Index na, nb;
    Index a, b;
    Index item;
    Run reads, rows, columns;
    const Shuffle* gather;  // where reads are in steps: what makes a vector of items that lie together
    Index gathers;
    bool crowded;  // a line's worth of rows falls into so few sets of a first-level cache that they drive each other out
    bool stream;  // lines of the destination are written past the cache, as the plan says
    bool ragged;  // they are put together first, since they begin anywhere
};

using Move = void (*)(char* destination, const char* source, const Rectangle& rectangle);

constexpr Index widest = 64;  // bytes of the widest vector

// One load and what it gives to a vector of the output: byte k is byte place[k] of the load where bit k of `mask` is set;
// elsewhere place[k] has its highest bit set.
struct Shuffle {
    Index source;
    std::uint64_t mask;
    std::uint8_t place[widest];
};

constexpr int most_unrolled = 16;  // shuffles of a vector that are written out; more take a loop
constexpr Index woven_together = 8192;  // bytes of the output: each vector of as many tiles, then the next

// One vector of a tile's output, by the shuffles first to last.
struct Woven {
    Index destination;
    Index first, last;
};

// A tile is `positions` along one dim, and some short dims whole.  It is moved again and again along that dim.
struct Weave {
    const Shuffle* shuffles;
    const Woven* lines;
    Index count;                // of lines
    Index positions;            // in a tile
    Index source, destination;  // from one position to the next
    bool stream;
};

// Moves so many positions, no fewer than a tile has: the last tile overlaps the one before.
using MoveWeave = void (*)(char* destination, const char* source, const Weave& weave, Index positions);

// The kernels of one level: what a kind of processor can run.
struct Kernels {
    Move tiles[6];            // for items of 1, 2, 4, 8, 16, 32 bytes whose reads are a step; or null
    Move items[17];           // for items of 1 to 16 bytes; 0: any other
    Move interleave[4][3];    // for items of 1, 2, 4, 8 bytes, of 2, 3, 4 planes; or null
    Move deinterleave[4][3];  // the same
    MoveWeave weave;          // or null
    Index vector;             // bytes of a vector of `weave`
    Index wide;               // bytes of a vector of the others
    double shuffle;           // about how many cycles one of a weave takes
    bool steps;               // whether tiles have `gather`
    bool streams;             // whether there is a way past the cache
    void (*fence)();          // after what was streamed
};

const Kernels& kernels_plain();
const Kernels& kernels_avx2();
const Kernels& kernels_avx512();

}  // namespace onereshape
