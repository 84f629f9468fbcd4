// The kernels, compiled once for each level: with the instructions that CMakeLists.txt allows it, in a namespace of its own,
// so that no function of one level can be taken for that of another.
#ifndef ONERESHAPE_LEVEL
#define ONERESHAPE_LEVEL for_plain
#define ONERESHAPE_KERNELS kernels_plain
#endif

#include "interleave.hpp"
#include "items.hpp"
#include "tiles.hpp"
#include "weave.hpp"

namespace onereshape {
namespace ONERESHAPE_LEVEL {

template <std::size_t... N>
constexpr Kernels table(std::index_sequence<N...>) {
    Kernels found{};
    ((found.items[N] = items<static_cast<Index>(N)>), ...);
    found.tiles[0] = tiles<std::uint8_t>;
    found.tiles[1] = tiles<std::uint16_t>;
    found.tiles[2] = tiles<std::uint32_t>;
    found.tiles[3] = tiles<std::uint64_t>;
#if defined(__AVX2__)
    found.tiles[4] = tiles_long<16>;
    found.tiles[5] = tiles_long<32>;
#endif
#if defined(ONERESHAPE_WEAVES)
    found.weave = weave;
    found.vector = sizeof(Woof);
    found.shuffle = per_shuffle;
#endif
#if !defined(__AVX2__)
    planes<std::uint8_t>(found, 0);
    planes<std::uint16_t>(found, 1);
    planes<std::uint32_t>(found, 2);
    planes<std::uint64_t>(found, 3);
#endif
    found.wide = wide;
    found.steps = wide == 64;
    found.streams = told_past;
    found.fence = fence;
    return found;
}

constexpr Kernels all = table(std::make_index_sequence<17>());

}  // namespace ONERESHAPE_LEVEL

const Kernels& ONERESHAPE_KERNELS() { return ONERESHAPE_LEVEL::all; }

}  // namespace onereshape
