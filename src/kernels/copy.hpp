// A plan from the integers of onereshape.arrays.layout, and the copy that follows it.
#pragma once

#include "plan.hpp"

namespace onereshape {

// Throws std::invalid_argument for integers that are no plan.
Plan make_plan(Kind kind, Index item, const std::vector<Axis>& axes, Index source_axis, Index run, Index high);

// Copies with at most so many threads, and no more than there are so many bytes for each.
void copy(const Plan& plan, char* destination, const char* source, int threads, Index bytes_per_thread);

}  // namespace onereshape
