// A plan from the integers of onereshape.arrays.layout, and the copy that follows it.
#pragma once

#include "plan.hpp"

namespace onereshape {

// Throws std::invalid_argument for integers that are no plan.
Plan make_plan(Kind kind, Index item, const std::vector<Axis>& axes, Index source_axis, Index run, Index high);

// One part of the work: the walk's positions first to last, and of each rectangle the items begin to end along one axis.
struct Part {
    Index first, last;
    Index begin, end;
    bool along_source;
};

// How a copy is cut: into at most so many parts, and no more than there are so many bytes for each.  None is empty, and
// every item of the rectangle at every position of the walk is in exactly one.
std::vector<Part> parts_of(const Plan& plan, int threads, Index bytes_per_thread);

// Copies with at most so many threads, and no more than there are so many bytes for each.
void copy(const Plan& plan, char* destination, const char* source, int threads, Index bytes_per_thread);

}  // namespace onereshape
