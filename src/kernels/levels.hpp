// Loops that are compiled several times, for the vectors that processors have, and called by what this one has.
#pragma once

#include <atomic>

#if (defined(__x86_64__) || defined(_M_X64)) && defined(__GNUC__)
#define ONERESHAPE_LEVELS 1
#endif

#define ONERESHAPE_INLINE [[gnu::always_inline]] inline

namespace onereshape {

enum Level : int { plain, avx2, avx512 };

// The widest that this processor has.
inline Level find_level() {
#ifdef ONERESHAPE_LEVELS
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2")) return plain;
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    return wide ? avx512 : avx2;
#else
    return plain;
#endif
}

// What is used; tests use less than there is.
inline std::atomic<int> level{find_level()};

#ifdef ONERESHAPE_LEVELS

template <class Loop, class... Words>
__attribute__((target("avx2,avx512f,avx512dq,avx512vl,avx512bw"))) auto on_avx512(Words... words) {
    return Loop::run(words...);
}

template <class Loop, class... Words>
__attribute__((target("avx2"))) auto on_avx2(Words... words) {
    return Loop::run(words...);
}

template <class Loop, class... Words>
auto on_plain(Words... words) {
    return Loop::run(words...);
}

// Loop::run, which is always inlined, with the widest vectors that are used.
template <class Loop, class... Words>
auto on_best(Words... words) {
    const int now = level.load(std::memory_order_relaxed);
    if (now == avx512) return on_avx512<Loop>(words...);
    return now == avx2 ? on_avx2<Loop>(words...) : on_plain<Loop>(words...);
}

#else

template <class Loop, class... Words>
auto on_best(Words... words) {
    return Loop::run(words...);
}

#endif

}  // namespace onereshape
