// Short dims: every vector of the output is woven from the few vectors of the source that have its bytes, by shuffles
// that were found when the plan was made.
#pragma once

#include "lanes.hpp"

namespace onereshape {
namespace ONERESHAPE_LEVEL {

#if defined(__AVX512VBMI__)
#define ONERESHAPE_WEAVES 1
using Woof = Bytes64;
constexpr double per_shuffle = 1.4;  // cycles

struct Warp {  // a shuffle in registers
    Index source;
    __mmask64 mask;
    __m512i place;
};

inline Warp warp_of(const Shuffle& shuffle) {
    return {shuffle.source, shuffle.mask, _mm512_loadu_si512(shuffle.place)};
}

inline Woof shuffled(const char* source, const Warp& warp) {
    return (Woof)_mm512_maskz_permutexvar_epi8(warp.mask, warp.place, _mm512_loadu_si512(source + warp.source));
}

inline Woof shuffled(const char* source, const Warp& warp, const Woof& before) {
    return (Woof)_mm512_mask_permutexvar_epi8((__m512i)before, warp.mask, warp.place,
                                              _mm512_loadu_si512(source + warp.source));
}

#elif defined(__SSSE3__) || defined(__aarch64__)
#define ONERESHAPE_WEAVES 1
using Woof = Bytes16;
#if defined(__aarch64__)
constexpr double per_shuffle = 1.7;
#else
constexpr double per_shuffle = 1.0;
#endif

struct Warp {
    Index source;
    Bytes16 place;
};

inline Warp warp_of(const Shuffle& shuffle) {
    return {shuffle.source, load<Bytes16>(reinterpret_cast<const char*>(shuffle.place))};
}

inline Woof shuffled(const char* source, const Warp& warp) {
    const Bytes16 found = load<Bytes16>(source + warp.source);
#if defined(__aarch64__)
    return (Bytes16)vqtbl1q_u8((uint8x16_t)found, (uint8x16_t)warp.place);
#else
    return (Bytes16)_mm_shuffle_epi8((__m128i)found, (__m128i)warp.place);
#endif
}

inline Woof shuffled(const char* source, const Warp& warp, const Woof& before) { return before | shuffled(source, warp); }
#endif

#if defined(ONERESHAPE_WEAVES)

// The same vector of `times` tiles, of a known number of shuffles.
template <int number, bool streams>
void weave_line(char* to, const char* source, const Shuffle* shuffles, const Weave& weave, Index times) {
    const Index sources = weave.source * weave.positions, destinations = weave.destination * weave.positions;
    Warp warps[number];
    for (int k = 0; k < number; ++k) warps[k] = warp_of(shuffles[k]);
    for (Index n = 0; n < times; ++n, to += destinations, source += sources) {
        Woof woven = shuffled(source, warps[0]);
        for (int k = 1; k < number; ++k) woven = shuffled(source, warps[k], woven);
        put<streams>(to, woven);
    }
}

template <bool streams>
inline void weave_any(char* to, const char* source, const Shuffle* shuffles, Index number, const Weave& weave, Index times) {
    const Index sources = weave.source * weave.positions, destinations = weave.destination * weave.positions;
    for (Index n = 0; n < times; ++n, to += destinations, source += sources) {
        Woof woven = shuffled(source, warp_of(shuffles[0]));
        for (Index k = 1; k < number; ++k) woven = shuffled(source, warp_of(shuffles[k]), woven);
        put<streams>(to, woven);
    }
}

using WeaveLine = void (*)(char* to, const char* source, const Shuffle* shuffles, const Weave& weave, Index times);

// For 1 to sizeof...(N) shuffles.
template <bool streams, int... N>
inline WeaveLine weave_line_of(Index number, std::integer_sequence<int, N...>) {
    static constexpr WeaveLine known[] = {weave_line<N + 1, streams>...};
    return number <= static_cast<Index>(sizeof...(N)) ? known[number - 1] : nullptr;
}

template <bool streams>
void weave_tiles(char* destination, const char* source, const Weave& weave, Index times) {
    for (Index n = 0; n < weave.count; ++n) {
        const Woven& each = weave.lines[n];
        char* to = destination + each.destination;
        const Shuffle* shuffles = weave.shuffles + each.first;
        const Index number = each.last - each.first;
        if (const WeaveLine line = weave_line_of<streams>(number, std::make_integer_sequence<int, most_unrolled>())) {
            line(to, source, shuffles, weave, times);
        } else {
            weave_any<streams>(to, source, shuffles, number, weave, times);
        }
    }
}

// Some tiles at a time, so that what one vector leaves of a line of the source is still near when the next needs it.
inline void weave(char* destination, const char* source, const Weave& weave, Index positions) {
    const Index bytes = weave.count * static_cast<Index>(sizeof(Woof));
    const Index tiles = positions / weave.positions, together = most(1, woven_together / bytes);
    for (Index n = 0; n < tiles; n += together) {
        const Index at = n * weave.positions, times = least(together, tiles - n);
        char* to = destination + at * weave.destination;
        const char* from = source + at * weave.source;
        weave.stream ? weave_tiles<true>(to, from, weave, times) : weave_tiles<false>(to, from, weave, times);
    }
    if (tiles * weave.positions < positions) {
        const Index at = positions - weave.positions;
        weave_tiles<false>(destination + at * weave.destination, source + at * weave.source, weave, 1);
    }
}

#endif

}  // namespace ONERESHAPE_LEVEL
}  // namespace onereshape
