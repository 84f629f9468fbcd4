// Walks over the elements of several arrays that have the same dims and any strides.
//
// Bounds: an offset is the sum of index * stride over the dims, with 0 <= index < size for each, so that every address
// is one of an element of its array.  Empty arrays are not walked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace onereshape {

using Index = std::ptrdiff_t;

// One dim, and what a step along it adds to each array's address.
struct Along {
    Index size;
    std::vector<Index> steps;
};

using Dims = std::vector<Along>;

inline bool is_empty(const Dims& dims) {
    return std::any_of(dims.begin(), dims.end(), [](const Along& each) { return each.size == 0; });
}

// Without dims of 1, and with dims made one where every array goes on from one to the next.
inline Dims collapsed(const Dims& dims) {
    Dims found;
    for (const Along& each : dims) {
        if (each.size == 1) continue;
        bool goes_on = !found.empty();
        for (std::size_t k = 0; goes_on && k < each.steps.size(); ++k) {
            goes_on = found.back().steps[k] == each.steps[k] * each.size;
        }
        if (goes_on) {
            found.back().size *= each.size;
            found.back().steps = each.steps;
        } else {
            found.push_back(each);
        }
    }
    return found;
}

// The largest steps of one array outside.
inline void sort_by_step(Dims& dims, std::size_t array) {
    std::stable_sort(dims.begin(), dims.end(), [array](const Along& one, const Along& two) {
        return std::abs(one.steps[array]) > std::abs(two.steps[array]);
    });
}

// Calls body(offsets) for each index; the last dim moves fastest.
template <class Body>
void walk(const Dims& dims, std::size_t arrays, const Body& body) {
    if (is_empty(dims)) return;
    std::vector<Index> at(dims.size(), 0), offsets(arrays, 0);
    const Index* here = offsets.data();
    while (true) {
        body(here);
        std::size_t dim = dims.size();
        while (dim > 0) {
            --dim;
            const Along& each = dims[dim];
            if (++at[dim] < each.size) {
                for (std::size_t k = 0; k < arrays; ++k) offsets[k] += each.steps[k];
                break;
            }
            at[dim] = 0;
            for (std::size_t k = 0; k < arrays; ++k) offsets[k] -= each.steps[k] * (each.size - 1);
            if (dim == 0) return;
        }
        if (dims.empty()) return;
    }
}

}  // namespace onereshape
