// The shuffles that weave an output whose dims are short.
#pragma once

#include "copy.hpp"

namespace onereshape {

// A tile of `positions` along one dim and of others whole, and what it costs: about how many cycles a byte takes.
struct Weaving {
    double cost;
    std::size_t along;
    std::vector<std::size_t> whole;
    Index positions;
    std::vector<Shuffle> shuffles;
    std::vector<Woven> lines;
};

// The cheapest of less than `bound`; of an infinite cost where there is none.
Weaving best_weaving(const std::vector<Axis>& axes, Index item, const Kernels& kernels, double bound);

// The shuffles that put items of `item` bytes together, `step` bytes apart, a line's worth.
std::vector<Shuffle> gather_of(Index item, Index step);

}  // namespace onereshape
