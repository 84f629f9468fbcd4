// Which kernel a plan runs, and over which of its dims: an estimate of each, and the least of them.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "levels.hpp"
#include "weaving.hpp"

namespace onereshape {

namespace {

constexpr Index most_steps = 4;             // items from one to the next that shuffles still put together
constexpr Index nearby = Index{1} << 20;    // bytes that a second-level cache holds
constexpr Index long_enough = 1024;         // bytes of a run that gains nothing by being longer
constexpr Index longest_item = 64 * 1024;   // bytes from which on the order of items does not matter
constexpr Index many = 256;                 // items of a run that gains nothing by having more
constexpr Index beside = 4 * line;          // bytes within which what is read next is on its way already
constexpr Index least_table = 64;           // entries of a table, so that its end does not come all the time
constexpr Index large = 8 * nearby;         // bytes of an output of which nothing stays in the cache
constexpr double fetched = 0.15;            // cycles for a byte that must be in the cache before it is written there
constexpr Index page = 4096, ways = 8;      // bytes after which a first-level cache's sets come again, and lines in a set
constexpr std::size_t none = static_cast<std::size_t>(-1);

void check(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

Index product(Index a, Index b) {
    Index result = 0;
    check(!__builtin_mul_overflow(a, b, &result), "more bytes than can be counted");
    return result;
}

int log2_of(Index item) {
    int found = 0;
    while (item > 1) {
        item /= 2;
        ++found;
    }
    return found;
}

bool is_word(Index item) { return item <= 32 && (item & (item - 1)) == 0; }

// The dims that are walked as one on each side, innermost first.
struct Joined {
    std::vector<std::size_t> a, b;
    Index na = 1, nb = 1;
};

// Both sides take further dims, the shorter one first: the destination's the next outer one, the source's the next in its
// memory; that one without a gap where there is a `step` from item to item.  The source's side of long items takes `more`,
// while the destination's is moved as a whole.
Joined joined(const std::vector<Axis>& axes, Index item, std::size_t source_axis, Index step, bool more) {
    Joined found;
    std::vector<bool> taken(axes.size(), false);
    const auto take = [&](std::vector<std::size_t>& side, Index& count, std::size_t axis) {
        taken[axis] = true;
        side.push_back(axis);
        count *= axes[axis].size;
    };
    const std::size_t last = axes.size() - 1;
    take(found.b, found.nb, last);
    if (source_axis != last) take(found.a, found.na, source_axis);
    const auto fits = [&](Index count, std::size_t axis) {
        return axis != none && !taken[axis] && count * item < long_enough;
    };
    while (true) {
        const std::size_t outside = found.b.back() > 0 ? found.b.back() - 1 : none;
        std::size_t beyond = none;
        if (!found.a.empty()) {
            for (std::size_t k = 0; k < axes.size(); ++k) {
                if (taken[k] || (step != 0 && std::abs(axes[k].source) != found.na * step)) continue;
                if (beyond == none || std::abs(axes[k].source) < std::abs(axes[beyond].source)) beyond = k;
            }
        }
        const bool longer = more && item >= long_item && found.nb <= most_long && found.na < many;
        const bool for_b = fits(found.nb, outside);
        const bool for_a = fits(found.na, beyond) || (longer && beyond != none);
        if (for_b && (!for_a || found.nb <= found.na)) {
            take(found.b, found.nb, outside);
        } else if (for_a) {
            take(found.a, found.na, beyond);
        } else {
            return found;
        }
    }
}

// The destination's side takes dims until its runs are long, and the source's side those whose items lie near each other.
Joined long_runs(const std::vector<Axis>& axes) {
    Joined found;
    std::size_t first = axes.size();
    while (first > 0 && found.nb < many) {
        found.b.push_back(--first);
        found.nb *= axes[first].size;
    }
    for (std::size_t k = 0; k < first; ++k) {
        if (std::abs(axes[k].source) < beside) found.a.push_back(k);
    }
    std::stable_sort(found.a.begin(), found.a.end(), [&](std::size_t x, std::size_t y) {
        return std::abs(axes[x].source) < std::abs(axes[y].source);
    });
    for (const std::size_t k : found.a) found.na *= axes[k].size;
    return found;
}

// The positions of joined dims: a table of all but the outermost, which is a step; of some positions of that too, where the
// others are few.
Run run_of(const std::vector<Axis>& axes, const std::vector<std::size_t>& dims, Index Axis::*stride, std::vector<Index>& table) {
    if (dims.empty()) return {nullptr, 1, 0};
    if (dims.size() > 1) table.push_back(0);
    for (std::size_t n = 0; n + 1 < dims.size(); ++n) {
        const Axis& axis = axes[dims[n]];
        const std::size_t before = table.size();
        for (Index k = 1; k < axis.size; ++k) {
            for (std::size_t m = 0; m < before; ++m) table.push_back(table[m] + k * (axis.*stride));
        }
    }
    const Index step = axes[dims.back()].*stride, few = static_cast<Index>(table.size());
    if (few == 0) return {nullptr, 1, step};
    const Index times = std::max<Index>(1, std::min(axes[dims.back()].size, least_table / few));
    for (Index k = few; k < times * few; ++k) table.push_back(table[static_cast<std::size_t>(k - few)] + step);
    return {nullptr, times * few, times * step};
}

// Whether more rows of a line's worth of them begin in one set of a first-level cache than it holds.
bool is_crowded(const std::vector<Axis>& axes, const std::vector<std::size_t>& dims, Index item) {
    Index rows = 1, together = 1;
    for (std::size_t n = 0; n < dims.size() && rows * item < line; ++n) {
        const Index count = std::min(axes[dims[n]].size, (line / item + rows - 1) / rows);
        rows *= count;
        if (axes[dims[n]].source % page == 0) together *= count;
    }
    return together > ways;
}

double filled(Index count, Index of) { return static_cast<double>(count) / static_cast<double>((count + of - 1) / of * of); }

// About how many cycles a byte takes, near by.
double cost_of_items(const Joined& over, Index item, Index wide) {
    constexpr Index together = 512;  // places that are found at a time
    const auto blocks = [](Index count) { return static_cast<double>((count + together - 1) / together); };
    const double each = (wide < 64 ? 0.6 : 0.0) + static_cast<double>((item + wide - 1) / wide);
    const double na = static_cast<double>(over.na), nb = static_cast<double>(over.nb);
    const double starts = over.na == 1 ? 0.0 : 10 * na * blocks(over.nb) + 1.5 * nb * blocks(over.na) + 3 * na;
    return (each * na * nb + 25 + starts) / (na * nb * static_cast<double>(item));
}

// By the narrowest vectors, for items of 1, 2, 4 and 8 bytes: a byte of a panel, of a square and of half a square's side.
constexpr double per_panel[] = {0.43, 0.36, 0.19, 0.14}, per_square[] = {0.5, 0.4, 0.33, 0.29}, per_half[] = {0.9, 1.1, 1.1};

double cost_of_narrow_tiles(const Joined& over, Index item) {
    const Index side = 16 / item, bytes = over.nb * item;
    const int place = log2_of(item);
    const auto padded = [&](Index a, Index b) { return 1 / (filled(over.na, a) * filled(over.nb, b)); };
    const double runs = static_cast<double>((over.na + 1023) / 1024), all = static_cast<double>(over.na * bytes);
    const double starts = (40 + 2 * static_cast<double>(over.nb) * runs) / all;
    if (over.na >= side && bytes >= line) return per_panel[place] * padded(side, line / item) + starts;
    if (over.na >= side && over.nb >= side) return per_square[place] * padded(side, side) + starts;
    if (side > 2 && over.na >= side / 2 && over.nb >= side / 2) return per_half[place] * padded(side / 2, side / 2) + starts;
    return cost_of_items(over, item, 16);
}

double cost_of_tiles(const Joined& over, Index item, Index wide) {
    if (wide == 16) return cost_of_narrow_tiles(over, item);
    const Index side = item < 16 ? 16 / item : 1, bytes = over.nb * item;
    const double rounds = log2_of(side), all = static_cast<double>(over.na * bytes);
    const double starts = 40 + 3 * static_cast<double>(over.nb) * static_cast<double>((over.na + 255) / 256);
    if (item >= 16) return 0.9 * cost_of_items(over, item, wide);
    if (wide < 64 && (over.na < side || bytes < line)) {
        if (over.na < side / 2 || over.nb < side / 2 || side <= 2) return cost_of_items(over, item, wide);
        const bool half = over.na < side || over.nb < side;
        const Index edge = half ? side / 2 : side;
        // Columns that do not follow each other are written here and there.
        return (half ? 8.0 * (rounds + 1.5) : over.a.size() > 1 ? 10.0 : 5.0) / 16 / (filled(over.na, edge) * filled(over.nb, edge)) + starts / all;
    }
    const Index high = bytes > 32 ? 64 : bytes > 16 ? 32 : 16;
    const Index vector = std::min(high, wide);
    const double group = 0.6 * static_cast<double>(vector) / 16 + rounds + 1;
    // Writes that lie in two lines each, where columns are so short that none of their lines can be asked for before.
    const double split = wide >= line && bytes < 8 * line && bytes % line != 0 ? 0.07 : 0.0;
    return (group / static_cast<double>(vector) + 0.03 + split) / (filled(over.na, side) * filled(bytes, high)) + starts / all;
}

// Items in steps are gathered by whole vectors, and what is left of a row one by one.
double cost_of_steps(const Joined& over, Index item) {
    const Index left = over.na % (line / item);
    return 0.08 + 2.0 * static_cast<double>(left) / static_cast<double>(over.na * item);
}

bool has(const std::vector<std::size_t>& dims, std::size_t dim) {
    return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

Written written_by_items(const Joined& over, Index item) {
    if (item >= long_item) return Written::inside;
    if (item % line == 0) return Written::whole;
    return over.na == 1 && item % 4 == 0 && over.nb * item >= least_ragged ? Written::filled : Written::parts;
}

// `step` from item to item along the source's dims, or 0 where that differs.
void take_rectangle(Plan& plan, std::vector<Axis> axes, Index item, const Joined& over, Index step, Move move) {
    // Dims that the source has backwards are walked from their end, on both sides; not those of the destination's runs.
    for (std::size_t k = 0; k < axes.size(); ++k) {
        Axis& axis = axes[k];
        if (axis.source >= 0 || has(over.b, k)) continue;
        plan.source_shift += (axis.size - 1) * axis.source;
        plan.destination_shift += (axis.size - 1) * axis.destination;
        axis.source = -axis.source;
        axis.destination = -axis.destination;
    }
    plan.move = move;
    plan.rectangle.na = over.na;
    plan.rectangle.nb = over.nb;
    plan.rectangle.item = item;
    plan.rectangle.rows = run_of(axes, over.b, &Axis::source, plan.rows);
    plan.rectangle.columns = run_of(axes, over.a, &Axis::destination, plan.columns);
    plan.rectangle.reads = {nullptr, 1, step};
    if (step == 0) plan.rectangle.reads = run_of(axes, over.a, &Axis::source, plan.reads);
    plan.rectangle.crowded = is_crowded(axes, over.b, item);
    bool whole = over.nb * item % line == 0;
    for (std::size_t k = 0; k < axes.size(); ++k) {
        if (has(over.b, k)) continue;
        if (has(over.a, k)) {
            plan.spread += (axes[k].size - 1) * std::abs(axes[k].destination);
        } else {
            plan.outer.push_back(axes[k]);
        }
        whole = whole && axes[k].destination % line == 0;
    }
    const bool items = move == plan.kernels->items[item <= 16 ? item : 0];
    plan.written = items ? written_by_items(over, item) : whole ? Written::whole : Written::parts;
    if (step > item && move == plan.kernels->tiles[log2_of(item)]) plan.gather = gather_of(item, step);
}

Written written_by_weaving(const Kernels& kernels, const std::vector<Axis>& axes, const Weaving& found) {
    bool whole = kernels.vector == line && axes[found.along].destination * found.positions % line == 0;
    for (const Woven& each : found.lines) whole = whole && each.destination % line == 0;
    for (std::size_t k = 0; k < axes.size(); ++k) {
        whole = whole && (k == found.along || has(found.whole, k) || axes[k].destination % line == 0);
    }
    return whole ? Written::whole : Written::parts;
}

void take_weaving(Plan& plan, const std::vector<Axis>& axes, Index item, Weaving&& found) {
    const Axis& along = axes[found.along];
    plan.rectangle.na = 1;
    plan.rectangle.nb = along.size;
    plan.rectangle.item = item;
    plan.move = nullptr;
    plan.written = written_by_weaving(*plan.kernels, axes, found);
    for (std::size_t k = 0; k < axes.size(); ++k) {
        if (k != found.along && !has(found.whole, k)) plan.outer.push_back(axes[k]);
    }
    plan.weave = {nullptr, nullptr, 0, found.positions, along.source, along.destination, false};
    plan.shuffles = std::move(found.shuffles);
    plan.lines = std::move(found.lines);
    plan.cut = Cut::destination;
}

// A kernel for few planes, where the level has one, and which of the two dims may be cut.
struct Few {
    Move move;
    Cut cut;
    double cost;
};

Few planes(const Kernels& kernels, const std::vector<Axis>& axes, Index item, std::size_t source_axis) {
    const Few without = {nullptr, Cut::longer, std::numeric_limits<double>::infinity()};
    if (item > 8 || !is_word(item) || source_axis + 1 == axes.size() || axes[source_axis].source != item) return without;
    const Axis &a = axes[source_axis], &b = axes.back();
    const auto& together = kernels.interleave[log2_of(item)];
    const auto& apart = kernels.deinterleave[log2_of(item)];
    Few found = without;
    Index count = 0;
    if (2 <= b.size && b.size <= 4 && a.destination == b.size * item) {
        count = b.size;
        found = {together[count - 2], Cut::source, 0.07};
    } else if (2 <= a.size && a.size <= 4 && b.source == a.size * item) {
        count = a.size;
        found = {apart[count - 2], Cut::destination, 0.1};
    }
    if (found.move == nullptr) return without;
    // Three by three they are moved one by one, where there are no shuffles of bytes.
    if (count == 3 && kernels.weave == nullptr) found.cost = 1.4 / static_cast<double>(item);
    found.cost += 30 / static_cast<double>(a.size * b.size * item);
    return found;
}

const Kernels& kernels_of(int level) {
#ifdef ONERESHAPE_WIDE_KERNELS
    if (level == avx512) return kernels_avx512();
    if (level == avx2) return kernels_avx2();
#endif
    check(level == plain, "there is no such level");
    return kernels_plain();
}

}  // namespace

int levels() {
#ifdef ONERESHAPE_WIDE_KERNELS
    const int found = find_level();
    if (found == avx512 && !__builtin_cpu_supports("avx512vbmi")) return avx2 + 1;
    return found + 1;
#else
    return 1;
#endif
}

Plan make_plan(const std::vector<Axis>& axes, Index item, Index source_axis, int level) {
    check(item > 0 && !axes.empty(), "a plan moves something");
    check(0 <= level && level < levels(), "there is no such level");
    const Index last = static_cast<Index>(axes.size()) - 1;
    check(0 <= source_axis && source_axis <= last, "the source's axis is one of the axes");
    Plan plan{};
    plan.kernels = &kernels_of(level);
    plan.nbytes = item;
    plan.high = item;
    for (Index k = last; k >= 0; --k) {
        const Axis& axis = axes[static_cast<std::size_t>(k)];
        check(axis.size > 0 && axis.destination == plan.nbytes, "the destination is in C order");
        plan.nbytes = product(plan.nbytes, axis.size);
        (axis.source < 0 ? plan.low : plan.high) += product(axis.source, axis.size - 1);
    }
    const Kernels& kernels = *plan.kernels;
    const std::size_t end = axes.size() - 1;
    std::size_t fast = static_cast<std::size_t>(source_axis);
    // How far apart the items lie along the source's dim, where a kernel transposes such.
    const bool word = is_word(item) && kernels.tiles[log2_of(item)] != nullptr;
    const Index apart = std::abs(axes[fast].source);
    const bool near = apart == item || (kernels.steps && item <= 4 && apart % item == 0 && apart <= most_steps * item);
    const Index step = fast != end && word && apart > 0 && near ? apart : 0;
    // What is near as a whole is read in any order.
    if (step == 0 && plan.high - plan.low <= nearby) fast = end;
    const Joined over = joined(axes, item, fast, step, !kernels.streams);
    // What is written in parts of lines takes longer where there is another way.
    const bool costly = kernels.streams && plan.nbytes >= large;
    const auto items_take = [&](const Joined& joined_so) {
        const bool parts = costly && written_by_items(joined_so, item) == Written::parts;
        return cost_of_items(joined_so, item, kernels.wide) + (parts ? fetched : 0.0);
    };
    Joined one_by_one = step == 0 ? over : joined(axes, item, fast, 0, !kernels.streams), in_runs = long_runs(axes);
    double by_items = items_take(one_by_one);
    // Whole lines are read in the source's order: several rows of them at a time are on their way before they are asked for.
    if (const double by_runs = items_take(in_runs); item < line && by_runs < by_items) {
        by_items = by_runs;
        one_by_one = std::move(in_runs);
    }
    const double stepped = step > item ? cost_of_steps(over, item) : 0.0;
    const bool short_parts = costly && over.nb * item < least_ragged && over.nb * item % line != 0;
    const double by_tiles =
        step == 0 ? by_items : cost_of_tiles(over, item, kernels.wide) + stepped + (short_parts ? fetched : 0.0);
    const bool tiled = step != 0 && by_tiles <= by_items;
    const Few few = planes(kernels, axes, item, fast);
    plan.cost = std::min({by_tiles, by_items, few.cost});
    Weaving weaving{};
    weaving.cost = std::numeric_limits<double>::infinity();
    if (kernels.weave != nullptr && item <= 32) weaving = best_weaving(axes, item, kernels, plan.cost);
    if (costly && weaving.cost < plan.cost && written_by_weaving(kernels, axes, weaving) == Written::parts) weaving.cost += fetched;
    if (weaving.cost < plan.cost) {
        plan.cost = weaving.cost;
        take_weaving(plan, axes, item, std::move(weaving));
    } else if (few.cost <= plan.cost) {
        Joined both;
        both.a = {fast};
        both.b = {end};
        both.na = axes[fast].size;
        both.nb = axes[end].size;
        take_rectangle(plan, axes, item, both, item, few.move);
        plan.cut = few.cut;
    } else if (tiled) {
        take_rectangle(plan, axes, item, over, step, kernels.tiles[log2_of(item)]);
    } else {
        take_rectangle(plan, axes, item, one_by_one, 0, kernels.items[item <= 16 ? item : 0]);
        plan.cut = fast == end ? Cut::destination : Cut::longer;
    }
    // The walk goes through the source's memory, not the destination's; that of long items as it comes.
    if (source_axis != last || item < longest_item) {
        std::stable_sort(plan.outer.begin(), plan.outer.end(),
                         [](const Axis& x, const Axis& y) { return std::abs(x.source) > std::abs(y.source); });
    }
    return plan;
}

}  // namespace onereshape
