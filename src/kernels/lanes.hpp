// Vectors of 16 bytes and the shuffles that transpose them, in the vector extension that GCC and Clang share.
#pragma once

#include <utility>

#include "plan.hpp"

namespace onereshape {

template <class T>
struct Lanes {
    static constexpr int count = 16 / static_cast<int>(sizeof(T));
    typedef T Vector __attribute__((vector_size(16)));
    static constexpr auto order = std::make_integer_sequence<int, count>();

    // a0 b0 a1 b1 ... of the first halves, and of the second halves.
    static inline Vector zip_low(Vector a, Vector b) { return zip_low(a, b, order); }
    static inline Vector zip_high(Vector a, Vector b) { return zip_high(a, b, order); }

    // Row i of `held` becomes column i.
    static inline void transpose(Vector (&held)[count]) {
        for (int round = 1; round < count; round *= 2) {
            Vector next[count];
            for (int i = 0; i < count / 2; ++i) {
                next[2 * i] = zip_low(held[i], held[i + count / 2]);
                next[2 * i + 1] = zip_high(held[i], held[i + count / 2]);
            }
            for (int i = 0; i < count; ++i) held[i] = next[i];
        }
    }

  private:
    template <int... I>
    static inline Vector zip_low(Vector a, Vector b, std::integer_sequence<int, I...>) {
        return __builtin_shufflevector(a, b, (I % 2 * count + I / 2)...);
    }
    template <int... I>
    static inline Vector zip_high(Vector a, Vector b, std::integer_sequence<int, I...>) {
        return __builtin_shufflevector(a, b, (I % 2 * count + count / 2 + I / 2)...);
    }
};

}  // namespace onereshape
