// Transposition of a rectangle whose rows lie together on the source's side (reads.step == item), or in steps, and whose
// columns do on the destination's, for items of 1, 2, 4, 8 and 16 bytes.
//
// What the memory of today's machines asks for: read few rows at a time, each for a long run, and write whole lines, each
// at once; a line written in pieces, or a buffer read while its writes still wait, costs several times as much.  So a
// panel of one line's worth of source rows is first gathered into a buffer, where the narrowest vectors make items of 1
// and 2 bytes into words of 4 (four or two rows zipped into one); then a square's side of columns at a time is transposed
// in registers, and leaves as whole lines.  The last panel overlaps its neighbour or is written under a mask.
#pragma once

#include "items.hpp"

namespace onereshape {
namespace ONERESHAPE_LEVEL {

// What is too narrow for a square, item by item.
template <class T>
void tiles_narrow(char* destination, const char* source, const Rectangle& r) {
    move_items(destination, source, r, sizeof(T), [](char* to, const char* from) { store(to, load<T>(from)); });
}

// Squares of 16 bytes by 16, for what is narrower than a line: na and nb are at least one square's side.
template <class T>
void tiles_squares(char* destination, const char* source, const Rectangle& r) {
    using L = Lanes<T>;
    constexpr Index width = sizeof(T), side = L::side;
    Window rows(r.rows, r.b, r.nb), columns(r.columns, r.a, r.na);
    source += r.a * width;
    for (Index j = 0; j < r.nb; j += side) {
        j = least(j, r.nb - side);
        const Index* from = rows.at(r.b + j, side);
        for (Index i = 0; i < r.na; i += side) {
            i = least(i, r.na - side);
            typename L::Vector held[side];
            for (Index k = 0; k < side; ++k) held[k] = load<typename L::Vector>(source + from[k] + i * width);
            L::transpose(held);
            const Index* to = columns.at(r.a + i, side);
            for (Index k = 0; k < side; ++k) store(destination + to[k] + j * width, held[k]);
        }
    }
}

// Squares of half that side, in vectors half full: na and nb are at least half a square's side.
template <class T>
void tiles_half_squares(char* destination, const char* source, const Rectangle& r) {
    using L = Lanes<T>;
    using Vector = typename L::Vector;
    constexpr Index width = sizeof(T), side = L::side / 2, full = side / 2;
    Window rows(r.rows, r.b, r.nb), columns(r.columns, r.a, r.na);
    source += r.a * width;
    for (Index j = 0; j < r.nb; j += side) {
        j = least(j, r.nb - side);
        const Index* from = rows.at(r.b + j, side);
        for (Index i = 0; i < r.na; i += side) {
            i = least(i, r.na - side);
            Vector row[side], held[full];
            for (Index k = 0; k < side; ++k) {
                row[k] = Vector{};
                __builtin_memcpy(&row[k], source + from[k] + i * width, 8);
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
            const Index* to = columns.at(r.a + i, side);
            for (Index k = 0; k < side; ++k) {
                const char* column = reinterpret_cast<const char*>(&held[k / 2]) + k % 2 * 8;
                __builtin_memcpy(destination + to[k] + j * width, column, 8);
            }
        }
    }
}

// One rectangle less than a line high, or narrower than a square, by the largest squares that it holds.
template <class T>
void tiles_small(char* destination, const char* source, const Rectangle& r) {
    constexpr Index width = sizeof(T), side = 16 / width;
    if constexpr (width <= 8) {
        if (r.na >= side && r.nb >= side) return tiles_squares<T>(destination, source, r);
    }
    if constexpr (width <= 4) {
        if (r.na >= side / 2 && r.nb >= side / 2) return tiles_half_squares<T>(destination, source, r);
    }
    tiles_narrow<T>(destination, source, r);
}

#if defined(__AVX2__)
template <class T>
using WordOf = T;
#else
template <class T>
using WordOf = std::conditional_t<(sizeof(T) < 4), std::uint32_t, T>;
#endif

// Items of a row that are read at a time.  Past the cache they may be as many as show a processor that the row goes on, so
// that it reads ahead; else what is written must still be in the cache when the next panel comes.
template <class T, bool streams>
constexpr Index longest_run = wide == 16 ? 1024 : wide == 32 && streams ? least(1024, 4096 / static_cast<Index>(sizeof(T))) : 256;

// Where the rows of a panel lie: each as far from the one before, which a compiler may know, or anywhere.
struct Apart {
    const char* first;
    Index step;
    const char* operator()(Index k) const { return first + k * step; }
};

template <Index step>
struct Pitched {
    const char* first;
    const char* operator()(Index k) const { return first + k * step; }
};

struct Anywhere {
    const char* first;
    const Index* places;
    const char* operator()(Index k) const { return first + places[k]; }
};

// The columns of a square's side of a panel, `bytes` high, one after the other: put_column(k, column).
template <class Word, int bytes, class Rows, class Put, int... K>
[[gnu::always_inline]] inline void columns_of(const Rows& rows, Index row, const Put& put_column,
                                              std::integer_sequence<int, K...>) {
    using L = Lanes<Word, bytes>;
    const auto lanes = [&](Index k) __attribute__((always_inline)) {
        return load_lanes<bytes>([&](Index lane) { return rows(row + k + lane * L::side); });
    };
    typename L::Vector held[L::side] = {(typename L::Vector)lanes(K)...};
    L::transpose(held);
    (put_column(K, (typename BytesOf<bytes>::type)held[K]), ...);
}

template <class Word, int bytes, class Rows, class Put>
[[gnu::always_inline]] inline void columns_of(const Rows& rows, Index row, const Put& put_column) {
    columns_of<Word, bytes>(rows, row, put_column, std::make_integer_sequence<int, Lanes<Word, bytes>::side>());
}

// How far ahead of what is written the next lines of all columns are asked for: where there are many columns, no processor
// sees on its own that each of them goes on.  Not where they would drive each other out of the cache.
inline Index fetched_ahead(const Rectangle& r) { return r.columns.step % 1024 == 0 ? 0 : 4 * line; }

// A square's side of columns of a panel one line high becomes as many lines, but for the first ones that were written before.
template <class Word, bool streams, class Rows>
[[gnu::always_inline]] inline void write_lines(char* destination, const Index* to, const Rows& rows, Index before,
                                               [[maybe_unused]] Index ahead) {
    [[maybe_unused]] constexpr Index side = 16 / sizeof(Word), lanes = wide / 16, blocks = line / wide;
    if constexpr (blocks == 1) {
        columns_of<Word, wide>(rows, 0, [&](Index k, const Wide& column) __attribute__((always_inline)) {
            if (k < before) return;
            if constexpr (!streams) __builtin_prefetch(destination + to[k] + ahead, 1);
            put<streams>(destination + to[k], column);
        });
    } else {
        Wide held[blocks][side];
        for (Index block = 0; block < blocks; ++block) {
            columns_of<Word, wide>(rows, block * lanes * side,
                                   [&](Index k, const Wide& column) __attribute__((always_inline)) { held[block][k] = column; });
        }
        for (Index k = 0; k < side; ++k) {
            if (k < before) continue;
            // By the narrowest vectors it takes longer to ask than it brings.
            if constexpr (!streams && wide > 16) __builtin_prefetch(destination + to[k] + ahead, 1);
            for (Index block = 0; block < blocks; ++block) put<streams>(destination + to[k] + block * wide, held[block][k]);
        }
    }
}

// The columns of some panels, at least a square's side of them, column by column; rows_of(k, panel) has the rows from
// column k on.  The last columns overlap those before.
template <class Word, bool streams, class RowsOf>
[[gnu::always_inline]] inline void write_columns(char* destination, const Index* to, Index length, Index panels,
                                                 Index ahead, const RowsOf& rows_of) {
    constexpr Index side = 16 / sizeof(Word);
    for (Index k = 0, begin; (begin = k) < length; k += side) {
        k = least(k, length - side);
        for (Index panel = 0; panel < panels; ++panel) {
            write_lines<Word, streams>(destination + panel * line, to + k, rows_of(k, panel), begin - k, ahead);
        }
    }
}

// Rows of items as rows of words, `zipped` of them in one; `length` is at least 16 bytes of items.
template <class T>
inline void gather_rows(char* words, const char* source, const Index* rows, Index length) {
    constexpr Index width = sizeof(T), zipped = sizeof(WordOf<T>) / width;
    const Index bytes = length * width;
    if constexpr (zipped > 1) {
        using L = Lanes<T>;
        for (Index i = 0; i < bytes; i += 16) {
            i = least(i, bytes - 16);
            typename L::Vector r[zipped];
            for (Index k = 0; k < zipped; ++k) r[k] = load<typename L::Vector>(source + rows[k] + i);
            if constexpr (zipped == 4) {
                const auto even_low = L::zip_low(r[0], r[2]), even_high = L::zip_high(r[0], r[2]);
                const auto odd_low = L::zip_low(r[1], r[3]), odd_high = L::zip_high(r[1], r[3]);
                store(words + 4 * i, L::zip_low(even_low, odd_low));
                store(words + 4 * i + 16, L::zip_high(even_low, odd_low));
                store(words + 4 * i + 32, L::zip_low(even_high, odd_high));
                store(words + 4 * i + 48, L::zip_high(even_high, odd_high));
            } else {
                store(words + 2 * i, L::zip_low(r[0], r[1]));
                store(words + 2 * i + 16, L::zip_high(r[0], r[1]));
            }
        }
    } else {
        // By vectors, also where there is but one: a call of memcpy would take longer than all the rest.
        Index i = 0;
        for (; i + wide <= bytes; i += wide) store(words + i, load<Wide>(source + rows[0] + i));
        for (; i < bytes; i += 16) {
            i = least(i, bytes - 16);
            store(words + i, load<Bytes16>(source + rows[0] + i));
        }
    }
}

// The columns of a panel, at least a square's side of them, through the buffer.
template <class T, bool streams>
void write_panel(char* destination, const Index* to, const char* source, const Index* rows, Index length, Index ahead,
                 char* buffer) {
    using Word = WordOf<T>;
    constexpr Index word = sizeof(Word), zipped = word / sizeof(T);
    // A line more than whole lines: rows a power of two apart would fall into few sets of the cache.
    const Index pitch = (length * word + line - 1) / line * line + line;
    for (Index q = 0; q < line / word; ++q) gather_rows<T>(buffer + q * pitch, source, rows + q * zipped, length);
    write_columns<Word, streams>(destination, to, length, 1, ahead, [&](Index k, Index) __attribute__((always_inline)) {
        return Apart{buffer + k * word, pitch};
    });
}

// Whether the rows are read where they lie, not through the buffer: words, and whatever has short rows.
template <class T>
inline bool direct(const Rectangle& r) {
    constexpr Index width = sizeof(T), short_row = 2 * line;
    return width == sizeof(WordOf<T>) && r.gather == nullptr && !r.crowded && (width >= 4 || r.na * width <= short_row);
}

// Whether its lines are put together before they are written: not where rows are read through a buffer already.
template <class T>
inline bool ragged(const Rectangle& r) {
    constexpr Index width = sizeof(T), side = 16 / width;
    const bool slow = wide < line && width == 1;  // bytes of rows that lie apart
    return r.ragged && !slow && r.gather == nullptr && !r.crowded && r.na >= side && r.nb * width >= least_ragged;
}

// Rectangles of at least one square's side by one line.
template <class T, bool streams>
void tiles_panels(char* destination, const char* source, const Rectangle& r) {
    using Word = WordOf<T>;
    constexpr Index width = sizeof(T), high = line / width, side = 16 / width;
    constexpr Index word = sizeof(Word);
    constexpr Index longest = longest_run<T, streams>;
    alignas(64) char buffer[line / word * (longest * word + 2 * line)];
    Index to[longest];
    const bool straight = direct<T>(r);
    const Index ahead = fetched_ahead(r);
    // Straight from the source several panels, column by column: what one panel leaves of a line, the next fills.
    const Index at_once = wide > 16 && straight && !streams ? least(32, Window::most / high) : 1;
    Window rows(r.rows, r.b, r.nb);
    const auto move = [&](Index j, Index panels, Index first, Index length) {
        const Index* places = rows.at(r.b + j, panels * high);
        const char* from = source + (r.a + first) * width;
        char* base = destination + j * width;
        if (!straight) return write_panel<T, streams>(base, to, from, places, length, ahead, buffer);
        write_columns<T, streams>(base, to, length, panels, ahead, [&](Index k, Index panel) __attribute__((always_inline)) {
            return Anywhere{from + k * width, places + panel * high};
        });
    };
    // About as long as each other, whole lines but for the last run, which has a square's side at least.
    const Index shares = (r.na + longest - 1) / longest, share = ((r.na + shares - 1) / shares + high - 1) / high * high;
    const auto runs = [&](const auto& run) {
        for (Index begin = 0; begin < r.na;) {
            Index length = least(share, r.na - begin);
            if (length < side) begin = r.na - (length = side);
            run(begin, length);
            begin += length;
        }
    };
    if constexpr (wide == 16) {
        for (Index j = 0; j < r.nb; j += high) {
            j = least(j, r.nb - high);
            runs([&](Index first, Index length) {
                places(r.columns, r.a + first, length, to);
                move(j, 1, first, length);
            });
        }
    } else {
        runs([&](Index first, Index length) {
            places(r.columns, r.a + first, length, to);
            for (Index j = 0, panels = 1; j < r.nb; j += panels * high) {
                j = least(j, r.nb - high);
                panels = most(1, least(at_once, (r.nb - j) / high));
                move(j, panels, first, length);
            }
        });
    }
}

// Columns whose lines begin anywhere, past the cache; each is at least `least_ragged` long.  They are put together in a
// buffer, at the places that they have in the lines of the destination, and leave as whole lines; what is left of a line
// waits for the next rows.
template <class T>
void tiles_ragged(char* destination, const char* source, const Rectangle& r) {
    constexpr Index width = sizeof(T), high = line / width, side = 16 / width;
    constexpr Index tall = least_ragged / width, run = 64;
    constexpr Index pitch = least_ragged + 3 * line;  // an odd number of lines, one of them before and one after the column
    alignas(64) char buffer[run * pitch];
    Index to[run], inside[run];  // where columns begin in the destination and in the buffer
    Window rows(r.rows, r.b, r.nb);
    for (Index begin = 0; begin < r.na;) {
        Index length = least(run, r.na - begin);
        if (length < side) begin = r.na - (length = side);
        places(r.columns, r.a + begin, length, to);
        for (Index k = 0; k < length; ++k) {
            inside[k] = k * pitch + line + static_cast<Index>(reinterpret_cast<std::uintptr_t>(destination + to[k]) % line);
        }
        const char* first = source + (r.a + begin) * width;
        for (Index j = 0; j < r.nb; j += tall) {
            const Index here = least(tall, r.nb - j);
            for (Index down = 0; down < here; down += high) {
                const Index row = least(down, here - high);  // the last ones with some of those before
                const Index* from = rows.at(r.b + j + row, high);
                for (Index k = 0; k < length; k += side) {
                    k = least(k, length - side);
                    write_lines<T, false>(buffer + row * width, inside + k, Anywhere{first + k * width, from}, 0, 0);
                }
            }
            for (Index k = 0; k < length; ++k) {
                char* held = buffer + k * pitch + line;
                const Index phase = inside[k] % pitch - line, end = phase + here * width;
                char* out = destination + to[k] + j * width - phase;
                Index at = j == 0 && phase > 0 ? line : 0;
                if (at > 0) __builtin_memcpy(out + phase, held + phase, static_cast<std::size_t>(line - phase));
                for (; at + line <= end; at += line) {
                    for (Index n = 0; n < line; n += wide) stream(out + at + n, load<Wide>(held + at + n));
                }
                if (j + here == r.nb) {
                    __builtin_memcpy(out + at, held + at, static_cast<std::size_t>(end - at));
                } else {
                    for (Index n = 0; n < line; n += wide) store(held + n, load<Wide>(held + at + n));
                }
            }
        }
        begin += length;
    }
}

#if defined(__AVX512BW__)

// Panels of any height and columns of any number, the last of each under a mask.
template <class Word, int bytes, class Rows>
inline void write_some(char* destination, const Index* to, Index count, const Rows& rows, std::uint64_t mask) {
    columns_of<Word, bytes>(rows, 0, [&](Index k, const typename BytesOf<bytes>::type& column) __attribute__((always_inline)) {
        if (k >= count) return;
        if constexpr (bytes == 64) {
            _mm512_mask_storeu_epi8(destination + to[k], mask, (__m512i)column);
        } else if constexpr (bytes == 32) {
            _mm256_mask_storeu_epi8(destination + to[k], static_cast<__mmask32>(mask), (__m256i)column);
        } else {
            _mm_mask_storeu_epi8(destination + to[k], static_cast<__mmask16>(mask), (__m128i)column);
        }
    });
}

// A row's bytes, none beyond them read; up to 63 more may be written.
inline void gather_row(char* to, const char* from, Index bytes) {
    Index at = 0;
    for (; at + 64 <= bytes; at += 64) store(to + at, load<Bytes64>(from + at));
    if (at < bytes) {
        const __mmask64 rest = ~std::uint64_t{0} >> (64 - (bytes - at));
        _mm512_storeu_si512(to + at, _mm512_maskz_loadu_epi8(rest, from + at));
    }
}

// The same of items in steps.
template <class T>
inline void gather_steps(char* to, const char* from, Index count, const Rectangle& r) {
    constexpr Index width = sizeof(T), together = 64 / width;
    const Index step = r.reads.step;
    for (; count >= together; count -= together, from += together * step, to += 64) {
        __m512i found = _mm512_setzero_si512();
        for (Index k = 0; k < r.gathers; ++k) {
            const Shuffle& each = r.gather[k];
            found = _mm512_mask_permutexvar_epi8(found, each.mask, _mm512_loadu_si512(each.place),
                                                 _mm512_loadu_si512(from + each.source));
        }
        _mm512_storeu_si512(to, found);
    }
    for (Index k = 0; k < count; ++k) store(to + k * width, load<T>(from + k * step));
}

// Panels of any height and any number of columns.  `panels` of them at a time are gathered and written, column by column:
// few and long runs of the source where lines are whole; else several, as what one panel leaves of a line, the next fills.
template <class T, bool streams, Index panels, Index run>
void tiles_masked(char* destination, const char* source, const Rectangle& r) {
    constexpr Index width = sizeof(T), high = line / width, side = 16 / width, tall = panels * high;
    constexpr Index pitch = run * width + line;  // rows a power of two apart would fall into few sets of the cache
    alignas(64) char buffer[tall * pitch + 2 * line];
    Index to[run], from[tall];
    const Index ahead = fetched_ahead(r);
    for (Index j = 0; j < r.nb; j += tall) {
        const Index rows = least(tall, r.nb - j);
        places(r.rows, r.b + j, rows, from);
        for (Index begin = 0; begin < r.na; begin += run) {
            const Index length = least(run, r.na - begin);
            places(r.columns, r.a + begin, length, to);
            const char* first = source + (r.a + begin) * r.reads.step;
            if (r.gather != nullptr) {
                for (Index k = 0; k < rows; ++k) gather_steps<T>(buffer + k * pitch, first + from[k], length, r);
            } else {
                for (Index k = 0; k < rows; ++k) gather_row(buffer + k * pitch, first + from[k], length * width);
            }
            for (Index k = 0; k < length; k += side) {
                const Index count = least(side, length - k);
                for (Index down = 0; down < rows; down += high) {
                    char* base = destination + (j + down) * width;
                    const Pitched<pitch> panel{buffer + down * pitch + k * width};
                    const Index here = least(high, rows - down) * width;
                    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - here);
                    if (here == line && count == side) {
                        write_lines<T, streams>(base, to + k, panel, 0, ahead);
                    } else if (here <= 16) {
                        write_some<T, 16>(base, to + k, count, panel, mask);
                    } else if (here <= 32) {
                        write_some<T, 32>(base, to + k, count, panel, mask);
                    } else {
                        write_some<T, 64>(base, to + k, count, panel, mask);
                    }
                }
            }
        }
    }
}

template <class T>
void tiles(char* destination, const char* source, const Rectangle& r) {
    constexpr Index width = sizeof(T), high = line / width, side = 16 / width;
    if (ragged<T>(r)) return tiles_ragged<T>(destination, source, r);
    if (direct<T>(r) && r.na >= side && r.nb >= high) {
        return r.stream ? tiles_panels<T, true>(destination, source, r) : tiles_panels<T, false>(destination, source, r);
    }
    if (r.stream) return tiles_masked<T, true, 1, 256>(destination, source, r);
    tiles_masked<T, false, 4, 64>(destination, source, r);
}

#else

template <class T>
void tiles(char* destination, const char* source, const Rectangle& r) {
    constexpr Index width = sizeof(T), high = line / width, side = 16 / width;
    if (r.na < side || r.nb < high) return tiles_small<T>(destination, source, r);
    if constexpr (wide > 16) {
        if (ragged<T>(r)) return tiles_ragged<T>(destination, source, r);
    }
    r.stream ? tiles_panels<T, true>(destination, source, r) : tiles_panels<T, false>(destination, source, r);
}

#endif

#if defined(__AVX2__)

// Items of 16 and 32 bytes: a line is made of as many rows as fill it.
template <Index width, bool streams>
void tiles_long(char* destination, const char* source, const Rectangle& r) {
    constexpr Index high = line / width, tall = 256;
    Index columns[most_places], rows[tall];
    for (Index j = 0; j < r.nb; j += tall) {
        const Index here = least(tall, r.nb - j), whole = here / high * high;
        places(r.rows, r.b + j, here, rows);
        const char* from = source + r.a * width;
        for (Index i = 0; i < r.na; ++i, from += width) {
            if (i % most_places == 0) places(r.columns, r.a + i, least(most_places, r.na - i), columns);
            char* to = destination + j * width + columns[i % most_places];
            for (Index k = 0; k < whole; k += high) {
                if constexpr (width >= wide) {
                    for (Index n = 0; n < high; ++n) put<streams>(to + (k + n) * width, load<Wide>(from + rows[k + n]));
                } else if constexpr (wide == 64 && width == 32) {
                    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + rows[k]));
                    const __m256i up = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + rows[k + 1]));
                    put<streams>(to + k * width, (Wide)_mm512_inserti64x4(_mm512_zextsi256_si512(low), up, 1));
                } else {
                    for (Index block = 0; block < line / wide; ++block) {
                        const Index* lanes = rows + k + block * wide / 16;
                        const auto lane = [&](Index n) {
                            return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + lanes[n]));
                        };
                        put<streams>(to + k * width + block * wide, lanes_of(lane));
                    }
                }
            }
            for (Index k = whole; k < here; ++k) copy_item<width>(to + k * width, from + rows[k], width);
        }
    }
}

template <Index width>
void tiles_long(char* destination, const char* source, const Rectangle& r) {
    r.stream ? tiles_long<width, true>(destination, source, r) : tiles_long<width, false>(destination, source, r);
}

#endif

}  // namespace ONERESHAPE_LEVEL
}  // namespace onereshape
