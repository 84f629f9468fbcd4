// Transposition of a rectangle whose rows are unit-stride on the source's side (sa == item) and whose columns are on the
// destination's, for items of 1, 2, 4, 8 and 16 bytes.
//
// What the memory of today's machines asks for: read few rows at a time, each for a long run, and write whole lines, each
// at once; a line written in pieces, or a buffer read while its writes still wait, costs several times as much.  So a
// panel of one line's worth of source rows is first gathered into a buffer, where items of 1 and 2 bytes become words of
// 4 (four or two rows zipped into one); then four columns of it at a time are transposed in registers, and leave as four
// whole lines.  The last panel and the last columns overlap their neighbours instead of being cut.
#pragma once

#include <algorithm>

#include "lanes.hpp"

namespace onereshape {

// What is too narrow for a panel, item by item.
template <class T>
void transpose_narrow(char* destination, const char* source, Index na, Index nb, Index sb, Index da) {
    constexpr Index width = sizeof(T);
    for (Index i = 0; i < na; ++i) {
        for (Index j = 0; j < nb; ++j) store(destination + i * da + j * width, load<T>(source + i * width + j * sb));
    }
}

// Squares of 16 bytes by 16, for what is narrower than a line: na and nb are at least one square's side.
template <class T>
void transpose_squares(char* destination, const char* source, Index na, Index nb, Index sb, Index da) {
    using L = Lanes<T>;
    constexpr Index width = sizeof(T), side = L::count;
    for (Index j = 0; j < nb; j += side) {
        j = std::min(j, nb - side);
        for (Index i = 0; i < na; i += side) {
            i = std::min(i, na - side);
            typename L::Vector held[L::count];
            for (Index k = 0; k < side; ++k) held[k] = load<typename L::Vector>(source + (j + k) * sb + i * width);
            L::transpose(held);
            for (Index k = 0; k < side; ++k) store(destination + (i + k) * da + j * width, held[k]);
        }
    }
}

// Squares of half that side, in vectors half full: na and nb are at least half a square's side.
template <class T>
void transpose_half_squares(char* destination, const char* source, Index na, Index nb, Index sb, Index da) {
    using L = Lanes<T>;
    using Vector = typename L::Vector;
    constexpr Index width = sizeof(T), side = L::count / 2, full = side / 2;
    for (Index j = 0; j < nb; j += side) {
        j = std::min(j, nb - side);
        for (Index i = 0; i < na; i += side) {
            i = std::min(i, na - side);
            Vector row[side], held[full];
            for (Index k = 0; k < side; ++k) {
                row[k] = Vector{};
                std::memcpy(&row[k], source + (j + k) * sb + i * width, 8);
            }
            for (Index k = 0; k < full; ++k) held[k] = L::zip_low(row[k], row[k + full]);
            for (Index round = 1; round < full; round *= 2) {
                Vector next[full];
                for (Index k = 0; k < full / 2; ++k) {
                    next[2 * k] = L::zip_low(held[k], held[k + full / 2]);
                    next[2 * k + 1] = L::zip_high(held[k], held[k + full / 2]);
                }
                for (Index k = 0; k < full; ++k) held[k] = next[k];
            }
            // Each vector holds two columns.
            for (Index k = 0; k < side; ++k) {
                const char* column = reinterpret_cast<const char*>(&held[k / 2]) + k % 2 * 8;
                std::memcpy(destination + (i + k) * da + j * width, column, 8);
            }
        }
    }
}

// Columns of a panel of words, one line high: four words (two, if they have 8 bytes) of each row become as many lines.
template <class Word>
inline void write_lines(char* destination, Index da, const char* panel, Index row) {
    using L = Lanes<Word>;
    constexpr Index side = L::count;
    typename L::Vector held[4][L::count];
    for (Index block = 0; block < 4; ++block) {
        for (Index k = 0; k < side; ++k) held[block][k] = load<typename L::Vector>(panel + (block * side + k) * row);
        L::transpose(held[block]);
    }
    for (Index k = 0; k < side; ++k) {
        for (Index block = 0; block < 4; ++block) store(destination + k * da + block * 16, held[block][k]);
    }
}

// Four rows of bytes as one row of words; `length` is a multiple of 16.
inline void zip_rows(char* words, const char* source, Index sb, Index length, std::uint8_t) {
    using L = Lanes<std::uint8_t>;
    for (Index i = 0; i < length; i += 16) {
        L::Vector r[4];
        for (Index k = 0; k < 4; ++k) r[k] = load<L::Vector>(source + k * sb + i);
        const L::Vector even_low = L::zip_low(r[0], r[2]), even_high = L::zip_high(r[0], r[2]);
        const L::Vector odd_low = L::zip_low(r[1], r[3]), odd_high = L::zip_high(r[1], r[3]);
        store(words + 4 * i, L::zip_low(even_low, odd_low));
        store(words + 4 * i + 16, L::zip_high(even_low, odd_low));
        store(words + 4 * i + 32, L::zip_low(even_high, odd_high));
        store(words + 4 * i + 48, L::zip_high(even_high, odd_high));
    }
}

// Two rows of 2-byte items as one row of words; `length` is a multiple of 8.
inline void zip_rows(char* words, const char* source, Index sb, Index length, std::uint16_t) {
    using L = Lanes<std::uint16_t>;
    for (Index i = 0; i < length; i += 8) {
        const L::Vector first = load<L::Vector>(source + 2 * i), second = load<L::Vector>(source + sb + 2 * i);
        store(words + 4 * i, L::zip_low(first, second));
        store(words + 4 * i + 16, L::zip_high(first, second));
    }
}

inline void zip_rows(char* words, const char* source, Index, Index length, std::uint32_t) {
    std::memcpy(words, source, static_cast<std::size_t>(4 * length));
}

// The longest run that is gathered from each row, in items, and the buffer that then holds a panel of words.
constexpr Index longest_run = 1024;
constexpr Index buffer_bytes = line / 4 * (longest_run * 4 + line);

// A panel one line high (its nb items are 64 bytes) through the buffer; na is a multiple of 16 bytes of items.  Runs of
// the source go on over the repeats of the panel.
template <class T>
void transpose_panel(char* destination, const char* source, Index na, const Rectangle& r, const Repeats& repeats,
                     char* buffer) {
    using Word = std::uint32_t;
    constexpr Index width = sizeof(T), word = sizeof(Word), zipped = word / width, step = 16 / word;
    const Index whole = na * repeats.count, run = repeats.count > 1 ? longest_run : r.run;
    Index i = 0;
    for (Index begin = 0; begin < whole; begin += run) {
        const Index length = std::min(run, whole - begin);
        // A line more than whole lines: rows a power of two apart would fall into few sets of the cache.
        const Index row = (length * word + line - 1) / line * line + line;
        const char* from = source + begin * width;
        for (Index j = 0; j < line / word; ++j) zip_rows(buffer + j * row, from + j * zipped * r.sb, r.sb, length, T{});
        for (Index k = 0; k < length; k += step, i += step) {
            if (i == na) {
                i = 0;
                destination += repeats.apart;
            }
            write_lines<Word>(destination + i * r.da, r.da, buffer + k * word, row);
        }
    }
}

// The same straight from the source, where few rows make a line: nothing would be gained by going on.
template <class T>
void transpose_panel_direct(char* destination, const char* source, Index na, const Rectangle& r) {
    constexpr Index width = sizeof(T), step = 16 / width;
    for (Index i = 0; i < na; i += step) write_lines<T>(destination + i * r.da, r.da, source + i * width, r.sb);
}

// Whether the rows come straight from the source: those of 8 bytes, and of 4 unless 16 of them, this far apart, fall into
// so few sets of a first-level cache that they drive each other out.
template <class T>
inline bool direct(Index sb) {
    return sizeof(T) == 8 || (sizeof(T) == 4 && sb % 4096 != 0);
}

// Rectangles of at least one square's side by one line: panel after panel, each over all repeats.  More than one repeat
// only if na is a multiple of that side, as the last columns of any other overlap those before, and not direct.
template <class T>
void transpose_panels(char* destination, const char* source, const Rectangle& r, const Repeats& repeats) {
    constexpr Index width = sizeof(T), high = line / width, side = 16 / width;
    alignas(64) char buffer[width == 8 ? 1 : buffer_bytes];
    const bool straight = direct<T>(r.sb);
    const auto panel = [&](char* to, const char* from, Index na, const Repeats& times) {
        if constexpr (width >= 4) {
            if (straight) return transpose_panel_direct<T>(to, from, na, r);
        }
        if constexpr (width <= 4) transpose_panel<T>(to, from, na, r, times, buffer);
    };
    const Index whole = r.na / side * side, last = r.na - side;
    for (Index j = 0; j < r.nb; j += high) {
        j = std::min(j, r.nb - high);
        char* to = destination + j * width;
        const char* from = source + j * r.sb;
        panel(to, from, whole, repeats);
        if (whole < r.na) panel(to + last * r.da, from + last * width, side, once);
    }
}

// One rectangle of any other extents, by the largest squares that it holds.
template <class T>
void transpose_small(char* destination, const char* source, Index na, Index nb, Index sb, Index da) {
    constexpr Index width = sizeof(T), side = 16 / width;
    if (na >= side && nb >= side) return transpose_squares<T>(destination, source, na, nb, sb, da);
    if constexpr (width <= 4) {
        if (na >= side / 2 && nb >= side / 2) {
            return transpose_half_squares<T>(destination, source, na, nb, sb, da);
        }
    }
    transpose_narrow<T>(destination, source, na, nb, sb, da);
}

// The only place that tells how repeats are moved: all at once by panels that can, one by one by everything else.
template <class T>
void transpose(char* destination, const char* source, const Rectangle& r, const Repeats& repeats) {
    constexpr Index width = sizeof(T), high = line / width, side = 16 / width;
    const bool panels = r.na >= side && r.nb >= high;
    if (panels && r.na % side == 0 && !direct<T>(r.sb)) return transpose_panels<T>(destination, source, r, repeats);
    for (Index n = 0; n < repeats.count; ++n, destination += repeats.apart, source += r.na * width) {
        if (panels) {
            transpose_panels<T>(destination, source, r, once);
        } else {
            transpose_small<T>(destination, source, r.na, r.nb, r.sb, r.da);
        }
    }
}

}  // namespace onereshape
