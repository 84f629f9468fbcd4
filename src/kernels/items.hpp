// Items of any length, straight from the one side to the other.
#pragma once

#include "lanes.hpp"

namespace onereshape {
namespace ONERESHAPE_LEVEL {

// N bytes where N is known to the compiler; N == 0 stands for a length known only at run time.
template <Index N>
inline void copy_item(char* to, const char* from, Index length) {
    if constexpr (N > 0) {
        __builtin_memcpy(to, from, N);
    } else if (length > wide && length <= 4096) {
        // Whole vectors, of which the last overlaps the one before; a call of memcpy would take longer.
        Index at = 0;
        for (; at + line <= length; at += line) {
            for (Index k = 0; k < line; k += wide) store(to + at + k, load<Wide>(from + at + k));
        }
        for (; at + wide < length; at += wide) store(to + at, load<Wide>(from + at));
        store(to + length - wide, load<Wide>(from + length - wide));
    } else if (length > 16 && length <= wide) {
        for (Index at = 0; at < length - 16; at += 16) store(to + at, load<Pair>(from + at));
        store(to + length - 16, load<Pair>(from + length - 16));
    } else {
        __builtin_memcpy(to, from, static_cast<std::size_t>(length));
    }
}

// Whole lines past the cache.
inline void stream_item(char* to, const char* from, Index length) {
    for (Index at = 0; at < length; at += wide) stream(to + at, load<Wide>(from + at));
}

// A long item, whole lines of the destination at a time: a write into two lines takes as long as two.  Past the cache no
// line is written that is not whole.  Where the machine must see that lines follow each other, the next item is asked for
// meanwhile, so that they follow in time.
template <bool past>
[[gnu::noinline]] void copy_long(char* to, const char* from, Index length, [[maybe_unused]] const char* next) {
    const Index before = -static_cast<Index>(reinterpret_cast<std::uintptr_t>(to)) & (line - 1);
    const auto move_line = [&](Index at) __attribute__((always_inline)) {
        if constexpr (!told_past) __builtin_prefetch(next + at);
        Wide held[line / wide];
        for (Index k = 0; k < line / wide; ++k) held[k] = load<Wide>(from + at + k * wide);
        for (Index k = 0; k < line / wide; ++k) put<past>(to + at + k * wide, held[k]);
    };
    Index at = before;
    if constexpr (past) {
        __builtin_memcpy(to, from, static_cast<std::size_t>(before));
        for (; at + line <= length; at += line) move_line(at);
        __builtin_memcpy(to + at, from + at, static_cast<std::size_t>(length - at));
    } else {
        if (before > 0) move_line(0);
        for (; at + line <= length; at += line) move_line(at);
        if (at < length) move_line(length - line);
    }
}

constexpr Index most_places = 512;

// Items from anywhere, one after the other: four in a round, or counting takes as long as copying.
template <class Copy>
inline void copy_from(char* to, const char* from, const Index* places, Index count, Index item, const Copy& copy) {
    Index k = 0;
    for (; k + 4 <= count; k += 4, to += 4 * item) {
        copy(to, from + places[k]);
        copy(to + item, from + places[k + 1]);
        copy(to + 2 * item, from + places[k + 2]);
        copy(to + 3 * item, from + places[k + 3]);
    }
    for (; k < count; ++k, to += item) copy(to, from + places[k]);
}

// One row, in the destination's order; copy(to, from) moves an item.
template <class Copy>
inline void move_row(char* destination, const char* source, const Rectangle& r, Index item, const Copy& copy) {
    const Index nb = r.nb, step = r.rows.step;
    if (r.rows.table == nullptr) {
        source += r.b * step;
        for (Index j = 0; j < nb; ++j) copy(destination + j * item, source + j * step);
        return;
    }
    Index within = r.b % r.rows.period;
    source += r.b / r.rows.period * step;
    for (Index j = 0; j < nb; within = 0, source += step) {
        const Index here = least(r.rows.period - within, nb - j);
        copy_from(destination, source, r.rows.table + within, here, item, copy);
        destination += here * item;
        j += here;
    }
}

// Along the source, with as many rows of it at a time as a first-level cache keeps a line of each of.
template <class Copy>
[[gnu::noinline]] void move_rows(char* destination, const char* source, const Rectangle& r, Index item, const Copy& copy) {
    Index reads[most_places], columns[most_places], rows[most_places];
    const Index na = r.na, nb = r.nb, highest = item < line ? most_places : item <= 1024 ? 16 : 4;
    const Index high = evenly(nb, highest);
    for (Index first = 0; first < na; first += most_places) {
        const Index wide_here = least(most_places, na - first);
        places(r.reads, r.a + first, wide_here, reads);
        places(r.columns, r.a + first, wide_here, columns);
        for (Index j = 0; j < nb; j += high) {
            const Index here = least(high, nb - j);
            char* base = destination + j * item;
            places(r.rows, r.b + j, here, rows);
            for (Index i = 0; i < wide_here; ++i) {
                copy_from(base + columns[i], source + reads[i], rows, here, item, copy);
            }
        }
    }
}

// Only what has several rows needs room on the stack, which some systems' builds touch page by page.
template <class Copy>
inline void move_items(char* destination, const char* source, const Rectangle& r, Index item, const Copy& copy) {
    if (r.na > 1) return move_rows(destination, source, r, item, copy);
    move_row(destination + at(r.columns, r.a), source + at(r.reads, r.a), r, item, copy);
}

// Items of a known number of vectors: all are loaded, then all stored.
template <int... K>
inline void move_vectors(char* destination, const char* source, const Rectangle& r, std::integer_sequence<int, K...>) {
    constexpr Index item = sizeof...(K) * wide;
    move_items(destination, source, r, item, [](char* to, const char* from) __attribute__((always_inline)) {
        const Wide held[] = {load<Wide>(from + K * wide)...};
        (store(to + K * wide, held[K]), ...);
    });
}

// Items of more than one vector and at most two: the second overlaps the first.
template <class Vector>
inline void move_pairs(char* destination, const char* source, const Rectangle& r) {
    const Index second = r.item - static_cast<Index>(sizeof(Vector));
    move_items(destination, source, r, r.item, [=](char* to, const char* from) __attribute__((always_inline)) {
        const Vector held[] = {load<Vector>(from), load<Vector>(from + second)};
        store(to, held[0]);
        store(to + second, held[1]);
    });
}

template <Index lines>
inline void move_lines(char* destination, const char* source, const Rectangle& r) {
    move_vectors(destination, source, r, std::make_integer_sequence<int, lines * line / wide>());
}

// Items one after the other, past the cache word by word; N as in `copy_item`.
template <Index N, class Word>
void stream_words(char* destination, const char* source, const Rectangle& r) {
    const Index item = N > 0 ? N : r.item;
    move_items(destination, source, r, item, [=](char* to, const char* from) __attribute__((always_inline)) {
        for (Index at = 0; at < item; at += static_cast<Index>(sizeof(Word))) stream(to + at, load<Word>(from + at));
    });
}

template <Index N>
void stream_items(char* destination, const char* source, const Rectangle& r) {
    switch (word_of(N > 0 ? N : r.item)) {
        case 16: return stream_words<N, Bytes16>(destination, source, r);
        case 8: return stream_words<N, std::uint64_t>(destination, source, r);
        default: return stream_words<N, std::uint32_t>(destination, source, r);
    }
}

// Long items.  Where the machine must see that lines follow each other, nothing else is written between them: no table of
// places, and no register that a call needs.
template <bool past>
void move_long(char* destination, const char* source, const Rectangle& r) {
    const Index item = r.item;
    if constexpr (told_past) {
        return move_items(destination, source, r, item,
                          [=](char* to, const char* from) { copy_long<past>(to, from, item, from); });
    }
    const Index high = r.na == 1 ? r.nb : evenly(r.nb, most_long);
    for (Index j = 0; j < r.nb; j += high) {
        const Index here = least(high, r.nb - j), first = at(r.rows, r.b + j);
        const char* next = source + at(r.reads, r.a) + first;
        for (Index i = 0; i < r.na; ++i) {
            char* to = destination + j * item + at(r.columns, r.a + i);
            const char* row = source + at(r.reads, r.a + i);
            const char* after = source + at(r.reads, r.a + least(i + 1, r.na - 1)) + first;
            for (Index k = 0; k < here; ++k, to += item) {
                const char* from = next;
                next = k + 1 < here ? row + at(r.rows, r.b + j + k + 1) : after;
                copy_long<past>(to, from, item, next);
            }
        }
    }
}

template <Index N>
void items(char* destination, const char* source, const Rectangle& r) {
    if constexpr (N % 4 == 0) {
        if (r.stream && r.item < long_item && r.item % line != 0) return stream_items<N>(destination, source, r);
    }
    if constexpr (N > 0) {
        move_items(destination, source, r, N, [](char* to, const char* from) { __builtin_memcpy(to, from, N); });
    } else {
        const Index item = r.item;
        if (item >= long_item && (r.stream || item <= 4096)) {
            return r.stream ? move_long<true>(destination, source, r) : move_long<false>(destination, source, r);
        }
        if (r.stream) {
            return move_items(destination, source, r, item,
                              [=](char* to, const char* from) { stream_item(to, from, item); });
        }
        if (item <= 32) return move_pairs<Bytes16>(destination, source, r);
        if (wide == 32 && item < 64) return move_pairs<Wide>(destination, source, r);
        if (item == line) return move_lines<1>(destination, source, r);
        if (item == 2 * line) return move_lines<2>(destination, source, r);
        if (item == 4 * line) return move_lines<4>(destination, source, r);
#if defined(__AVX512BW__)
        if (item <= 4096) {  // whole vectors, and the last under a mask
            const Index whole = (item - 1) / 64 * 64;
            const __mmask64 mask = ~std::uint64_t{0} >> (64 - (item - whole));
            return move_items(destination, source, r, item, [=](char* to, const char* from) {
                for (Index at = 0; at < whole; at += 64) store(to + at, load<Bytes64>(from + at));
                _mm512_mask_storeu_epi8(to + whole, mask, _mm512_maskz_loadu_epi8(mask, from + whole));
            });
        }
#endif
        move_items(destination, source, r, item,
                   [=](char* to, const char* from) { copy_item<0>(to, from, item); });
    }
}

}  // namespace ONERESHAPE_LEVEL
}  // namespace onereshape
