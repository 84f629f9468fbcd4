#include "weaving.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace onereshape {

namespace {

constexpr Index largest_tile = 4096;   // bytes
constexpr Index longest_run = 1024;    // bytes of the dims inside the one that a tile moves along
constexpr std::size_t most_shuffles = 160;
constexpr Index page = 4096;           // bytes
constexpr Index first_level = 32 << 10, second_level = 1 << 20;  // bytes of caches
constexpr double per_looped = 2.7;  // times what one takes that is written out
constexpr double per_vector = 1.0, per_start = 20.0, per_line_start = 10.0, per_shuffle_start = 1.5;

// How many positions make a run of the output that whole vectors fill best.
Index positions_for(Index run, Index size, Index vector, Index tile) {
    Index best = 0;
    double least_waste = 2.0;
    for (Index count = (vector + run - 1) / run; count <= size && count * run * tile <= largest_tile; ++count) {
        const Index bytes = count * run, whole = (bytes + vector - 1) / vector * vector;
        const double waste = static_cast<double>(whole) / static_cast<double>(bytes);
        if (best == 0 || waste < least_waste - 0.02) {
            best = count;
            least_waste = waste;
        }
        if (whole == bytes) break;
    }
    return best;
}

// The shuffles for one vector: again and again the first byte that is still missing, and all that a load of it brings.
void shuffles_for(const Index* offsets, Index vector, Index low, Index high, std::vector<Shuffle>& shuffles) {
    const std::uint64_t all = vector == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << vector) - 1;
    for (std::uint64_t missing = all; missing != 0;) {
        Index first = std::numeric_limits<Index>::max();
        for (Index k = 0; k < vector; ++k) {
            if ((missing >> k & 1) != 0) first = std::min(first, offsets[k]);
        }
        Shuffle shuffle{};
        shuffle.source = std::max(low, std::min(first, high - vector));
        for (Index k = 0; k < vector; ++k) {
            const Index place = offsets[k] - shuffle.source;
            const bool here = (missing >> k & 1) != 0 && 0 <= place && place < vector;
            shuffle.place[k] = here ? static_cast<std::uint8_t>(place) : 0x80;
            if (here) shuffle.mask |= std::uint64_t{1} << k;
        }
        missing &= ~shuffle.mask;
        shuffles.push_back(shuffle);
    }
}

struct Offset {
    Index source, destination;
};

// The offsets of all items of these dims, outermost first.
std::vector<Offset> offsets_of(const std::vector<Axis>& axes) {
    std::vector<Offset> found = {{0, 0}};
    for (const Axis& axis : axes) {
        std::vector<Offset> next;
        next.reserve(found.size() * static_cast<std::size_t>(axis.size));
        for (const Offset& each : found) {
            for (Index k = 0; k < axis.size; ++k) {
                next.push_back({each.source + k * axis.source, each.destination + k * axis.destination});
            }
        }
        found.swap(next);
    }
    return found;
}

// The weaving of one tile: runs of the output over `inner`, for each of the dims `outer`.
Weaving weaving_of(const std::vector<Axis>& outer, const std::vector<Axis>& inner, Index item, const Kernels& kernels, double bound,
                   Index span) {
    const Index vector = kernels.vector;
    Weaving found{};
    found.cost = std::numeric_limits<double>::infinity();
    Index low = 0, high = item;
    for (const std::vector<Axis>* axes : {&outer, &inner}) {
        for (const Axis& axis : *axes) (axis.source < 0 ? low : high) += axis.source * (axis.size - 1);
    }
    if (high - low < vector) return found;
    std::vector<Index> run;
    for (const Offset& each : offsets_of(inner)) {
        for (Index k = 0; k < item; ++k) run.push_back(each.source + k);
    }
    const std::vector<Offset> starts = offsets_of(outer);
    const Index length = static_cast<Index>(run.size());
    const double bytes = static_cast<double>(length) * static_cast<double>(starts.size());
    std::vector<Index> here(static_cast<std::size_t>(vector)), touched;
    double work = 0;
    for (const Offset& start : starts) {
        for (Index at = 0; at < length; at += vector) {
            at = std::min(at, length - vector);
            for (Index k = 0; k < vector; ++k) here[static_cast<std::size_t>(k)] = run[static_cast<std::size_t>(at + k)] + start.source;
            const std::size_t before = found.shuffles.size();
            shuffles_for(here.data(), vector, low, high, found.shuffles);
            const std::size_t number = found.shuffles.size() - before;
            work += kernels.shuffle * static_cast<double>(number) * (number > most_unrolled ? per_looped : 1.0);
            const double so_far = static_cast<double>(vector) * static_cast<double>(found.lines.size() + 1);
            if (found.shuffles.size() > most_shuffles || work / so_far > 1.5 * bound) return found;
            found.lines.push_back({start.destination + at, static_cast<Index>(before), static_cast<Index>(found.shuffles.size())});
        }
    }
    for (const Shuffle& shuffle : found.shuffles) {
        touched.push_back((shuffle.source - low) / line);
        touched.push_back((shuffle.source - low + vector - 1) / line);
    }
    std::sort(touched.begin(), touched.end());
    // What a tile leaves of its lines of the source is read again, unless the next tiles along the dim take it.
    const double lines = static_cast<double>(std::unique(touched.begin(), touched.end()) - touched.begin());
    const double moved = static_cast<double>(std::abs(inner.front().source) * inner.front().size) / line;
    const double again = std::max(0.0, lines * std::min(1.0, moved) - bytes / line);
    const double per_line = span <= first_level ? 0.3 : span <= second_level ? 2.5 : 10.0;
    found.cost = (work + per_vector * static_cast<double>(found.lines.size()) + per_line * again) / bytes;
    return found;
}

}  // namespace

std::vector<Shuffle> gather_of(Index item, Index step) {
    Index offsets[line];
    for (Index k = 0; k < line; ++k) offsets[k] = k / item * step + k % item;
    std::vector<Shuffle> found;
    shuffles_for(offsets, line, 0, offsets[line - 1] + 1, found);
    return found;
}

Weaving best_weaving(const std::vector<Axis>& axes, Index item, const Kernels& kernels, double bound) {
    const Index vector = kernels.vector;
    Index span = item;
    for (const Axis& axis : axes) span += std::abs(axis.source) * (axis.size - 1);
    Weaving best{};
    best.cost = std::numeric_limits<double>::infinity();
    for (std::size_t along = axes.size(); along-- > 0;) {
        const Axis& axis = axes[along];
        if (axis.destination > longest_run) break;
        // The dims outside it that are nearest in the source, none to two of them; far ones would only be more rows at once.
        std::vector<std::size_t> near;
        for (std::size_t k = 0; k < along; ++k) {
            if (std::abs(axes[k].source) < page) near.push_back(k);
        }
        std::stable_sort(near.begin(), near.end(), [&](std::size_t x, std::size_t y) {
            return std::abs(axes[x].source) < std::abs(axes[y].source);
        });
        std::vector<Axis> outer;
        std::vector<std::size_t> whole;
        Index tile = 1;
        for (std::size_t count = 0; count <= std::min<std::size_t>(2, near.size()); ++count) {
            if (count > 0) {
                const Axis& other = axes[near[count - 1]];
                if (other.size > largest_tile / vector / tile) break;
                tile *= other.size;
                outer.push_back(other);
                whole.push_back(near[count - 1]);
            }
            const Index positions = positions_for(axis.destination, axis.size, vector, tile);
            if (positions == 0) break;
            std::vector<Axis> inner(axes.begin() + static_cast<std::ptrdiff_t>(along), axes.end());
            inner.front().size = positions;
            Weaving found = weaving_of(outer, inner, item, kernels, std::min(bound, best.cost), span);
            // The last tile overlaps the one before.
            const double tiles = static_cast<double>((axis.size + positions - 1) / positions);
            found.cost *= tiles * static_cast<double>(positions) / static_cast<double>(axis.size);
            // Every vector starts anew for some tiles at a time.
            const double bytes = static_cast<double>(positions * axis.destination * tile);
            const double together = std::max(1.0, std::min(tiles, static_cast<double>(woven_together) / bytes));
            found.cost += (per_start / tiles + (per_line_start * static_cast<double>(found.lines.size()) +
                                                per_shuffle_start * static_cast<double>(found.shuffles.size())) / together) /
                          bytes;
            if (found.cost < best.cost) {
                best = std::move(found);
                best.along = along;
                best.whole = whole;
                for (std::size_t k = along + 1; k < axes.size(); ++k) best.whole.push_back(k);
                best.positions = positions;
            }
        }
    }
    return best;
}

}  // namespace onereshape
