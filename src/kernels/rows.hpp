// Rows and blocks: items of any length, straight from the one side to the other.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "plan.hpp"

namespace onereshape {

// N bytes where N is known to the compiler; N == 0 stands for a length known only at run time.
template <Index N>
inline void copy_item(char* to, const char* from, Index length) {
    if constexpr (N > 0) {
        std::memcpy(to, from, N);
    } else if (length > 16 && length <= 64) {
        // Pieces of 16 bytes, of which the last overlaps the one before; a call of memcpy would take longer.
        for (Index at = 0; at < length - 16; at += 16) store(to + at, load<Pair>(from + at));
        store(to + length - 16, load<Pair>(from + length - 16));
    } else if (length > 64 && length <= 1024) {
        // Lines, each written at once.
        for (Index at = 0; at < length - 64; at += 64) copy_item<64>(to + at, from + at, 64);
        copy_item<64>(to + length - 64, from + length - 64, 64);
    } else {
        std::memcpy(to, from, static_cast<std::size_t>(length));
    }
}

// One row of items, in order (na is 1).
template <Index N>
void rows(char* destination, const char* source, const Rectangle& r) {
    const Index item = N > 0 ? N : r.item, nb = r.nb, sb = r.sb;
    for (Index j = 0; j < nb; ++j) copy_item<N>(destination + j * item, source + j * sb, item);
}

// Along the source's axis, with as many rows of it at a time as fill a line of the destination.
template <Index N>
void blocks(char* destination, const char* source, const Rectangle& r) {
    // Copies of all numbers: a store of bytes might change the rectangle, for all that the compiler knows.
    const Index item = N > 0 ? N : r.item, na = r.na, nb = r.nb, sa = r.sa, sb = r.sb, da = r.da;
    // Of the smallest items four lines' worth, or a line would be finished before the next row of it is near.
    const Index high = N > 0 && N <= 16 ? 4 * line / item : r.high;
    Index j = 0;
    for (; j + high <= nb; j += high) {
        const char* from = source + j * sb;
        char* to = destination + j * item;
        for (Index i = 0; i < na; ++i, from += sa, to += da) {
            for (Index k = 0; k < high; ++k) copy_item<N>(to + k * item, from + k * sb, item);
        }
    }
    for (Index i = 0; i < na; ++i) {
        for (Index k = j; k < nb; ++k) copy_item<N>(destination + i * da + k * item, source + i * sa + k * sb, item);
    }
}

// The lengths that are worth a kernel of their own: all up to 16, and what patches and heads often have.
template <template <Index> class Kernel, Index... N>
Move sized(Index item, std::integer_sequence<Index, N...>) {
    static constexpr std::array<Move, sizeof...(N)> table = {Kernel<N>::move...};
    if (item < static_cast<Index>(table.size())) return table[static_cast<std::size_t>(item)];
    if (item == 32) return Kernel<32>::move;
    if (item == 64) return Kernel<64>::move;
    if (item == 128) return Kernel<128>::move;
    if (item == 256) return Kernel<256>::move;
    return Kernel<0>::move;
}

template <Index N>
struct Rows {
    static void move(char* d, const char* s, const Rectangle& r) { rows<N>(d, s, r); }
};
template <Index N>
struct Blocks {
    static void move(char* d, const char* s, const Rectangle& r) { blocks<N>(d, s, r); }
};

inline Move rows_of(Index item) { return sized<Rows>(item, std::make_integer_sequence<Index, 17>()); }
inline Move blocks_of(Index item) { return sized<Blocks>(item, std::make_integer_sequence<Index, 17>()); }

}  // namespace onereshape
