// Few planes woven into one run, and one run taken apart into few planes: a dim of 2, 3 or 4 that is innermost on one side.
// Plain loops, which compilers turn into the machine's own interleaving loads and stores where it has them.
#pragma once

#include "lanes.hpp"

namespace onereshape {
namespace ONERESHAPE_LEVEL {

// An item that may lie anywhere.
template <class T>
using Loose __attribute__((aligned(1), may_alias)) = T;

// nb planes, sb apart on the source's side, na items long: (i, j) goes to i * nb + j.
template <class T, int few>
void interleave(char* destination, const char* source, const Rectangle& r) {
    source += at(r.reads, r.a);
    Loose<T>* __restrict to = reinterpret_cast<Loose<T>*>(destination + at(r.columns, r.a));
    const Loose<T>* __restrict plane[few];
    for (int j = 0; j < few; ++j) plane[j] = reinterpret_cast<const Loose<T>*>(source + at(r.rows, j));
    const Index na = r.na;
    for (Index i = 0; i < na; ++i) {
        for (int j = 0; j < few; ++j) to[i * few + j] = plane[j][i];
    }
}

// na planes, da apart on the destination's side, nb items long: j * na + i goes to (i, j).  Larger items one plane at a
// time, two lines each, so that lines are written whole; smaller ones all planes at once, as the machine can load them.
template <class T, int few>
void deinterleave(char* destination, const char* source, const Rectangle& r) {
    const Loose<T>* __restrict from = reinterpret_cast<const Loose<T>*>(source + at(r.rows, r.b));
    Loose<T>* __restrict plane[few];
    for (int i = 0; i < few; ++i) plane[i] = reinterpret_cast<Loose<T>*>(destination + at(r.columns, i));
    constexpr Index step = 2 * line / static_cast<Index>(sizeof(T));
    const Index nb = r.nb;
    Index j = 0;
    if constexpr (few * sizeof(T) == 16) {
        // A vector for each position: squares, a line of every plane at a time.
        using L = Lanes<T>;
        constexpr Index squares = line / 16;
        for (; j + squares * few <= nb; j += squares * few) {
            typename L::Vector held[squares][few];
            for (Index n = 0; n < squares; ++n) {
                for (Index k = 0; k < few; ++k) {
                    held[n][k] = load<typename L::Vector>(reinterpret_cast<const char*>(from + (j + n * few + k) * few));
                }
                L::transpose(held[n]);
            }
            for (int i = 0; i < few; ++i) {
                for (Index n = 0; n < squares; ++n) store(reinterpret_cast<char*>(plane[i] + j + n * few), held[n][i]);
            }
        }
    } else if constexpr (sizeof(T) >= 4) {
        for (; j + step <= nb; j += step) {
            for (int i = 0; i < few; ++i) {
                Loose<T>* __restrict to = plane[i] + j;
                const Loose<T>* __restrict items = from + j * few + i;
                for (Index k = 0; k < step; ++k) to[k] = items[k * few];
            }
        }
    }
    for (; j < nb; ++j) {
        for (int i = 0; i < few; ++i) plane[i][j] = from[j * few + i];
    }
}

template <class T>
constexpr void planes(Kernels& kernels, int place) {
    kernels.interleave[place][0] = interleave<T, 2>;
    kernels.interleave[place][1] = interleave<T, 3>;
    kernels.interleave[place][2] = interleave<T, 4>;
    kernels.deinterleave[place][0] = deinterleave<T, 2>;
    kernels.deinterleave[place][1] = deinterleave<T, 3>;
    kernels.deinterleave[place][2] = deinterleave<T, 4>;
}

}  // namespace ONERESHAPE_LEVEL
}  // namespace onereshape
