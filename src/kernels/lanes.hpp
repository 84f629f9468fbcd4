// Vectors of 16, 32 or 64 bytes, in the vector extension that GCC and Clang share, and the shuffles that transpose the
// 16-byte lanes of them.
#pragma once

#include <type_traits>
#include <utility>

#include "plan.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace onereshape {
namespace ONERESHAPE_LEVEL {

constexpr Index least(Index a, Index b) { return a < b ? a : b; }
inline Index most(Index a, Index b) { return a > b ? a : b; }

// How long parts are that are all about alike, and none longer than the most.
inline Index evenly(Index count, Index longest) { return (count - 1) / ((count + longest - 1) / longest) + 1; }

inline Index at(const Run& run, Index position) {
    if (run.table == nullptr) return position * run.step;
    return run.table[position % run.period] + position / run.period * run.step;
}

// The places of `count` positions from the first on.
inline void places(const Run& run, Index first, Index count, Index* found) {
    if (run.table == nullptr) {
        for (Index k = 0; k < count; ++k) found[k] = (first + k) * run.step;
        return;
    }
    Index within = first % run.period, base = first / run.period * run.step;
    for (Index k = 0; k < count; within = 0, base += run.step) {
        const Index here = least(run.period - within, count - k);
        for (const Index* table = run.table + within, *end = table + here; table < end; ++table) found[k++] = *table + base;
    }
}

// The places of positions one after the other, some hundreds at a time: a division for each of them would take longer than
// to move what lies there.
class Window {
public:
    static constexpr Index most = 512;

    Window(const Run& run, Index first, Index count) : run(run), last(first + count), begin(first), end(first) {}

    // Those of `count` positions from `first` on, all of them before the last.
    const Index* at(Index first, Index count) {
        if (first < begin || first + count > end) {
            begin = first;
            end = first + least(most, last - first);
            places(run, begin, end - begin, found);
        }
        return found + (first - begin);
    }

private:
    const Run& run;
    const Index last;
    Index begin, end;
    Index found[most];
};

// Items may lie anywhere, so accesses go through memcpy, which compilers turn into plain loads and stores: their own, as
// the library's is one that checks and is called where systems build with _FORTIFY_SOURCE, for every vector of a buffer.
// Those of vectors are of the type itself: of a memcpy from one place to the other Arm's compilers make two of 8 bytes.
template <class T>
constexpr bool is_vector = !std::is_class_v<T> && !std::is_arithmetic_v<T>;

template <class T>
struct Unaligned {
    typedef T type __attribute__((aligned(1), may_alias));
};

template <class T>
inline T load(const char* from) {
    if constexpr (is_vector<T>) {
        return *reinterpret_cast<const typename Unaligned<T>::type*>(from);
    } else {
        T value;
        __builtin_memcpy(&value, from, sizeof value);
        return value;
    }
}

template <class T>
inline void store(char* to, const T& value) {
    if constexpr (is_vector<T>) {
        *reinterpret_cast<typename Unaligned<T>::type*>(to) = value;
    } else {
        __builtin_memcpy(to, &value, sizeof value);
    }
}

struct Pair {  // 16 bytes that need no alignment
    std::uint64_t first, second;
};

// The bytes of the vectors that whole lines are written in.
#if defined(__AVX512BW__)
constexpr int wide = 64;
#elif defined(__AVX2__)
constexpr int wide = 32;
#else
constexpr int wide = 16;
#endif

typedef std::uint8_t Bytes16 __attribute__((vector_size(16)));
typedef std::uint8_t Bytes32 __attribute__((vector_size(32)));
typedef std::uint8_t Bytes64 __attribute__((vector_size(64)));

template <int bytes>
struct BytesOf;
template <>
struct BytesOf<16> {
    using type = Bytes16;
};
#if defined(__AVX2__)
template <>
struct BytesOf<32> {
    using type = Bytes32;
};
#endif
#if defined(__AVX512BW__)
template <>
struct BytesOf<64> {
    using type = Bytes64;
};
#endif
using Wide = BytesOf<wide>::type;

// Whether the machine can be told to write past the cache.  Others do so where they see that whole lines follow each other.
#if defined(__x86_64__)
constexpr bool told_past = true;
#else
constexpr bool told_past = false;
#endif

// Past the cache, where the machine can, to an address on a vector's boundary.
inline void stream(char* to, const Bytes16& value) {
#if defined(__x86_64__)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)value);
#else
    store(to, value);
#endif
}
#if defined(__AVX2__)
inline void stream(char* to, const Bytes32& value) { _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)value); }
#endif
#if defined(__AVX512BW__)
inline void stream(char* to, const Bytes64& value) { _mm512_stream_si512(reinterpret_cast<__m512i*>(to), (__m512i)value); }
#endif

// Words that follow each other fill lines which wait for them.
inline void stream(char* to, const std::uint32_t& value) {
#if defined(__x86_64__)
    _mm_stream_si32(reinterpret_cast<int*>(to), static_cast<int>(value));
#else
    store(to, value);
#endif
}
inline void stream(char* to, const std::uint64_t& value) {
#if defined(__x86_64__)
    _mm_stream_si64(reinterpret_cast<long long*>(to), static_cast<long long>(value));
#else
    store(to, value);
#endif
}

inline void fence() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

template <bool streams, class Vector>
inline void put(char* to, const Vector& value) {
    if constexpr (streams) {
        stream(to, value);
    } else {
        store(to, value);
    }
}

// A vector of 16-byte lanes: lane(k) gives the k-th.
#if defined(__AVX2__)
template <class Lane>
inline Bytes32 lanes_of_32(const Lane& lane) {
    return (Bytes32)_mm256_inserti128_si256(_mm256_castsi128_si256(lane(0)), lane(1), 1);
}
#if defined(__AVX512BW__)
template <class Lane>
inline Bytes64 lanes_of(const Lane& lane) {
    __m512i value = _mm512_castsi128_si512(lane(0));
    value = _mm512_inserti32x4(value, lane(1), 1);
    value = _mm512_inserti32x4(value, lane(2), 2);
    return (Bytes64)_mm512_inserti32x4(value, lane(3), 3);
}
#else
template <class Lane>
inline Bytes32 lanes_of(const Lane& lane) {
    return lanes_of_32(lane);
}
#endif
#endif

// The same with lane k at  from(k).
template <int bytes, class From>
[[gnu::always_inline]] inline typename BytesOf<bytes>::type load_lanes(const From& from) {
    if constexpr (bytes == 16) {
        return load<Bytes16>(from(0));
    } else {
#if defined(__AVX2__)
        const auto lane = [&](Index k) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from(k))); };
        if constexpr (bytes == wide) {
            return lanes_of(lane);
        } else {
            return lanes_of_32(lane);
        }
#endif
    }
}

// a0 b0 a1 b1 ... of items of `width` bytes, of the first or the second half of each lane.  By name where the machine has an
// instruction for it: what compilers make of a shuffle that is only described may take several times as long.
#if defined(__x86_64__)
template <int width, bool high>
[[gnu::always_inline]] inline __m128i zipped(__m128i a, __m128i b) {
    if constexpr (width == 1) return high ? _mm_unpackhi_epi8(a, b) : _mm_unpacklo_epi8(a, b);
    if constexpr (width == 2) return high ? _mm_unpackhi_epi16(a, b) : _mm_unpacklo_epi16(a, b);
    if constexpr (width == 4) return high ? _mm_unpackhi_epi32(a, b) : _mm_unpacklo_epi32(a, b);
    if constexpr (width == 8) return high ? _mm_unpackhi_epi64(a, b) : _mm_unpacklo_epi64(a, b);
}
#endif
#if defined(__AVX2__)
template <int width, bool high>
[[gnu::always_inline]] inline __m256i zipped(__m256i a, __m256i b) {
    if constexpr (width == 1) return high ? _mm256_unpackhi_epi8(a, b) : _mm256_unpacklo_epi8(a, b);
    if constexpr (width == 2) return high ? _mm256_unpackhi_epi16(a, b) : _mm256_unpacklo_epi16(a, b);
    if constexpr (width == 4) return high ? _mm256_unpackhi_epi32(a, b) : _mm256_unpacklo_epi32(a, b);
    if constexpr (width == 8) return high ? _mm256_unpackhi_epi64(a, b) : _mm256_unpacklo_epi64(a, b);
}
#endif
#if defined(__AVX512BW__)
template <int width, bool high>
[[gnu::always_inline]] inline __m512i zipped(__m512i a, __m512i b) {
    if constexpr (width == 1) return high ? _mm512_unpackhi_epi8(a, b) : _mm512_unpacklo_epi8(a, b);
    if constexpr (width == 2) return high ? _mm512_unpackhi_epi16(a, b) : _mm512_unpacklo_epi16(a, b);
    if constexpr (width == 4) return high ? _mm512_unpackhi_epi32(a, b) : _mm512_unpacklo_epi32(a, b);
    if constexpr (width == 8) return high ? _mm512_unpackhi_epi64(a, b) : _mm512_unpacklo_epi64(a, b);
}
#endif

// The lanes of a vector of `bytes` bytes, as items of type T.
template <class T, int bytes = 16>
struct Lanes {
    static constexpr int side = 16 / static_cast<int>(sizeof(T));  // items in a lane
    static constexpr int count = bytes / static_cast<int>(sizeof(T));
    typedef T Vector __attribute__((vector_size(bytes)));

    // a0 b0 a1 b1 ... of the first halves of each lane, and of the second halves.
    [[gnu::always_inline]] static inline Vector zip_low(Vector a, Vector b) { return zip<false>(a, b, order); }
    [[gnu::always_inline]] static inline Vector zip_high(Vector a, Vector b) { return zip<true>(a, b, order); }

    // In every lane: row i of `held` becomes column i.
    [[gnu::always_inline]] static inline void transpose(Vector (&held)[side]) { rounds<1>(held, halves); }

  private:
    static constexpr auto order = std::make_integer_sequence<int, count>();
    static constexpr auto halves = std::make_integer_sequence<int, side / 2>();

    // Written out, not looped: an array whose places are all known stays in registers.
    template <int round, int... I>
    [[gnu::always_inline]] static inline void rounds(Vector (&held)[side], std::integer_sequence<int, I...> all) {
        if constexpr (round < side) {
            Vector next[side];
            ((next[2 * I] = zip_low(held[I], held[I + side / 2])), ...);
            ((next[2 * I + 1] = zip_high(held[I], held[I + side / 2])), ...);
            rounds<2 * round>(next, all);
            ((held[I] = next[I], held[I + side / 2] = next[I + side / 2]), ...);
        }
    }

    template <bool high, int... I>
    [[gnu::always_inline]] static inline Vector zip(Vector a, Vector b, [[maybe_unused]] std::integer_sequence<int, I...> all) {
#if defined(__x86_64__)
        if constexpr (bytes == 16) return (Vector)zipped<sizeof(T), high>((__m128i)a, (__m128i)b);
#if defined(__AVX2__)
        if constexpr (bytes == 32) return (Vector)zipped<sizeof(T), high>((__m256i)a, (__m256i)b);
#endif
#if defined(__AVX512BW__)
        if constexpr (bytes == 64) return (Vector)zipped<sizeof(T), high>((__m512i)a, (__m512i)b);
#endif
#else
        constexpr int from = high ? side / 2 : 0;
        return __builtin_shufflevector(a, b, (I % 2 * count + I / side * side + from + I % side / 2)...);
#endif
    }
};

}  // namespace ONERESHAPE_LEVEL
}  // namespace onereshape
