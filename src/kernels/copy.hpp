// A plan from the integers of onereshape.arrays.view_or_copy, and the copy that follows it.
#pragma once

#include <vector>

#include "plan.hpp"

namespace onereshape {

struct Axis {
    Index size;
    Index source;
    Index destination;
};

// Which dim may be cut between threads: a kernel for few planes needs all of them.
enum class Cut { longer, source, destination };

// How lines of the destination are written, if they need not stay in the cache.
enum class Written {
    parts,   // in parts, so that they must be in the cache; columns of tiles may be put together first
    whole,   // each at once, if the output begins on one
    filled,  // word by word, one after the other
    inside,  // those that lie inside an item at once, since items are long
};

struct Plan {
    std::vector<Axis> outer;  // outermost first
    const Kernels* kernels;
    Cut cut;
    Index nbytes;
    Index low;         // the first byte of the source that is read, from its item 0; never above 0
    Index high;        // one past the last
    Written written;

    Index source_shift, destination_shift;  // to the first item in the order of the walk
    Index spread;                           // the bytes of the destination over which one rectangle is strewn

    // Either a rectangle, or `move` is null and it is a weave, moved along a dim that has rectangle.nb positions.
    Move move;
    Rectangle rectangle;
    std::vector<Index> reads, rows, columns;  // its tables, empty where there is none
    std::vector<Shuffle> gather;
    Weave weave;
    std::vector<Shuffle> shuffles;
    std::vector<Woven> lines;

    double cost;  // about how many cycles a byte takes, in a cache near by
};

// One for each kind of processor; how many of them this one has.
int levels();

// By the kernels of a level, from 0.  Throws std::invalid_argument for integers that are no plan.
Plan make_plan(const std::vector<Axis>& axes, Index item, Index source_axis, int level);

// One part of the work: the walk's positions first to last, and of each rectangle the items begin to end along one dim.
struct Part {
    Index first, last;
    Index begin, end;
    bool along_source;
};

// How a copy is cut: into at most so many parts, and no more than there are so many bytes for each.  None is empty, and
// every item of the rectangle at every position of the walk is in exactly one.
std::vector<Part> parts_of(const Plan& plan, int threads, Index bytes_per_thread);

// Copies with at most so many threads, and no more than there are so many bytes for each; an output of `stream_from` bytes
// or more is written past the cache.
void copy(const Plan& plan, char* destination, const char* source, int threads, Index bytes_per_thread, Index stream_from);

}  // namespace onereshape
