// Which kernel a plan runs, the walk over the dims outside its rectangle, and the threads.
//
// Threads are made for one call and joined before it returns: no pool can be left without its threads by a fork, and
// nothing is shared between calls.  Each moves its own part of the outer walk, or of the rectangle where there is little
// outer walk, so that no two write the same byte.
#include "copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "interleave.hpp"
#include "rows.hpp"
#include "transpose.hpp"

namespace onereshape {

namespace {

// The bytes per thread below which making a thread costs more than it brings.
constexpr Index bytes_per_thread = 1 << 20;

Move move_of(Kind kind, const Rectangle& r) {
    switch (kind) {
        case Kind::rows:
            return rows_of(r.item);
        case Kind::blocks:
            return blocks_of(r.item);
        case Kind::transpose:
            switch (r.item) {
                case 1: return transpose<std::uint8_t>;
                case 2: return transpose<std::uint16_t>;
                case 4: return transpose<std::uint32_t>;
                case 8: return transpose<std::uint64_t>;
                default: return blocks_of(r.item);
            }
        case Kind::interleave:
        case Kind::deinterleave: {
            const bool weave = kind == Kind::interleave;
            const Index few = weave ? r.nb : r.na;
            switch (r.item) {
                case 1: return weave ? interleave_of<std::uint8_t>(few) : deinterleave_of<std::uint8_t>(few);
                case 2: return weave ? interleave_of<std::uint16_t>(few) : deinterleave_of<std::uint16_t>(few);
                case 4: return weave ? interleave_of<std::uint32_t>(few) : deinterleave_of<std::uint32_t>(few);
                case 8: return weave ? interleave_of<std::uint64_t>(few) : deinterleave_of<std::uint64_t>(few);
                default: return blocks_of(r.item);
            }
        }
    }
    throw std::invalid_argument("no such kind of plan");
}

void check(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// What a kernel takes for granted of its rectangle.
void check_kind(Kind kind, const Rectangle& r, bool one_axis) {
    check((kind == Kind::rows) == one_axis, "rows have one axis, the others two");
    if (kind == Kind::rows || kind == Kind::blocks) return;
    check(r.sa == r.item, "the source's axis has unit stride");
    if (kind == Kind::interleave) check(2 <= r.nb && r.nb <= 4 && r.da == r.nb * r.item, "interleaved planes");
    if (kind == Kind::deinterleave) check(2 <= r.na && r.na <= 4 && r.sb == r.na * r.item, "interleaved items");
}

// The walk goes through the source's memory, not the destination's, and what follows a rectangle there is joined to it.
void order_by_source(Plan& plan, Kind kind) {
    Rectangle& r = plan.rectangle;
    std::stable_sort(plan.outer.begin(), plan.outer.end(),
                     [](const Axis& x, const Axis& y) { return std::abs(x.source) > std::abs(y.source); });
    const bool joins = kind == Kind::transpose && r.item <= 8 && r.na % (16 / r.item) == 0 && r.na >= 16 / r.item;
    if (joins && !plan.outer.empty() && plan.outer.back().source == r.na * r.item && r.nb >= 16 / r.item) {
        r.repeats = plan.outer.back().size;
        r.dr = plan.outer.back().destination;
        r.run = longest_run;
        plan.outer.pop_back();
    }
}

// One part of the work: a range of the outer walk and a range of the rectangle along one of its axes.
struct Part {
    Index first, last;
    Index begin, end;
    bool along_source;
};

void run_part(const Plan& plan, char* destination, const char* source, const Part& part) {
    Rectangle r = plan.rectangle;
    if (part.along_source) {
        source += part.begin * r.sa;
        destination += part.begin * r.da;
        r.na = part.end - part.begin;
    } else {
        source += part.begin * r.sb;
        destination += part.begin * r.item;
        r.nb = part.end - part.begin;
    }
    const std::size_t rank = plan.outer.size();
    std::vector<Index> at(rank);
    Index rest = part.first;
    for (std::size_t k = rank; k-- > 0; rest /= plan.outer[k].size) {
        at[k] = rest % plan.outer[k].size;
        source += at[k] * plan.outer[k].source;
        destination += at[k] * plan.outer[k].destination;
    }
    for (Index n = part.first; n < part.last; ++n) {
        plan.move(destination, source, r);
        for (std::size_t k = rank; k-- > 0;) {
            const Axis& axis = plan.outer[k];
            source += axis.source;
            destination += axis.destination;
            if (++at[k] < axis.size) break;
            at[k] = 0;
            source -= axis.size * axis.source;
            destination -= axis.size * axis.destination;
        }
    }
}

std::vector<Part> parts_of(const Plan& plan, Index count, Index walk) {
    const Rectangle& r = plan.rectangle;
    const bool along_source = r.na > r.nb && r.repeats == 1;  // repeats follow a whole rectangle
    const Index length = along_source ? r.na : r.nb;
    std::vector<Part> parts;
    const bool by_walk = walk >= 4 * count || length < 2 * count;
    for (Index n = 0; n < count; ++n) {
        if (by_walk) {
            parts.push_back({walk * n / count, walk * (n + 1) / count, 0, length, along_source});
        } else {
            // Whole lines of the destination to each, wherever the items are smaller than one.
            const Index grain = std::max<Index>(1, std::min(length / count, line / std::min(line, r.item)));
            const auto cut = [&](Index k) { return k == count ? length : length * k / count / grain * grain; };
            parts.push_back({0, walk, cut(n), cut(n + 1), along_source});
        }
    }
    return parts;
}

}  // namespace

Plan make_plan(Kind kind, Index item, const std::vector<Axis>& axes, Index source_axis, Index run, Index high) {
    check(item > 0 && !axes.empty(), "a plan moves something");
    const Index last = static_cast<Index>(axes.size()) - 1;
    check(run > 0 && high > 0, "a tile is not empty");
    check(0 <= source_axis && source_axis <= last, "the source's axis is one of the axes");
    Plan plan{};
    plan.nbytes = item;
    plan.high = item;
    for (Index k = last; k >= 0; --k) {
        const Axis& axis = axes[static_cast<std::size_t>(k)];
        check(axis.size > 0 && axis.destination == plan.nbytes, "the destination is in C order");
        plan.nbytes *= axis.size;
        (axis.source < 0 ? plan.low : plan.high) += axis.source * (axis.size - 1);
    }
    const Axis& a = axes[static_cast<std::size_t>(source_axis)];
    const Axis& b = axes.back();
    const bool one = source_axis == last;
    plan.rectangle = {one ? 1 : a.size, b.size, one ? 0 : a.source, b.source, one ? 0 : a.destination, item, 0, high, 1, 0};
    // Whole vectors of items, and no more than the buffer of a transposition holds.
    plan.rectangle.run = std::max<Index>(16, std::min(run, longest_run) / 16 * 16);
    check_kind(kind, plan.rectangle, one);
    plan.move = move_of(kind, plan.rectangle);
    for (Index k = 0; k < last; ++k) {
        if (k != source_axis) plan.outer.push_back(axes[static_cast<std::size_t>(k)]);
    }
    if (!one) order_by_source(plan, kind);
    return plan;
}

void copy(const Plan& plan, char* destination, const char* source, int threads) {
    Index walk = 1;
    for (const Axis& axis : plan.outer) walk *= axis.size;
    const Index count = std::max<Index>(1, std::min<Index>(threads, plan.nbytes / bytes_per_thread));
    const std::vector<Part> parts = parts_of(plan, count, walk);
    std::vector<std::thread> others;
    std::size_t next = 1;
    try {
        others.reserve(parts.size() - 1);
        for (; next < parts.size(); ++next) {
            others.emplace_back(run_part, std::cref(plan), destination, source, std::cref(parts[next]));
        }
    } catch (const std::system_error&) {
        // No more threads to be had: this one does the rest.
        for (; next < parts.size(); ++next) run_part(plan, destination, source, parts[next]);
    }
    run_part(plan, destination, source, parts[0]);
    for (std::thread& other : others) other.join();
}

}  // namespace onereshape
