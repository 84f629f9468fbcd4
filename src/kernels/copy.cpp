// Which kernel a plan runs, the walk over the dims outside its rectangle, and the threads.
//
// Threads are made for one call and joined before it returns: no pool can be left without its threads by a fork, and
// nothing is shared between calls.  Each moves its own part of the outer walk, or of the rectangle where there is little
// outer walk, so that no two write the same byte.
#include "copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <thread>

#include "interleave.hpp"
#include "rows.hpp"
#include "transpose.hpp"

namespace onereshape {

namespace {

Kernel kernel_of(Kind kind, const Rectangle& r) {
    const Kernel blocks = {blocks_of(r.item), nullptr, Cut::longer};
    switch (kind) {
        case Kind::rows:
            return {rows_of(r.item), nullptr, Cut::destination};
        case Kind::blocks:
            return blocks;
        case Kind::transpose:
            switch (r.item) {
                case 1: return {nullptr, transpose<std::uint8_t>, Cut::longer};
                case 2: return {nullptr, transpose<std::uint16_t>, Cut::longer};
                case 4: return {nullptr, transpose<std::uint32_t>, Cut::longer};
                case 8: return {nullptr, transpose<std::uint64_t>, Cut::longer};
                default: return blocks;
            }
        case Kind::interleave:
            switch (r.item) {
                case 1: return {interleave_of<std::uint8_t>(r.nb), nullptr, Cut::source};
                case 2: return {interleave_of<std::uint16_t>(r.nb), nullptr, Cut::source};
                case 4: return {interleave_of<std::uint32_t>(r.nb), nullptr, Cut::source};
                case 8: return {interleave_of<std::uint64_t>(r.nb), nullptr, Cut::source};
                default: return blocks;
            }
        case Kind::deinterleave:
            switch (r.item) {
                case 1: return {deinterleave_of<std::uint8_t>(r.na), nullptr, Cut::destination};
                case 2: return {deinterleave_of<std::uint16_t>(r.na), nullptr, Cut::destination};
                case 4: return {deinterleave_of<std::uint32_t>(r.na), nullptr, Cut::destination};
                case 8: return {deinterleave_of<std::uint64_t>(r.na), nullptr, Cut::destination};
                default: return blocks;
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

Index product(Index a, Index b) {
    Index result = 0;
    check(!__builtin_mul_overflow(a, b, &result), "more bytes than can be counted");
    return result;
}

// Takes a part's walk from its first position to its last: `take` gets the addresses, how many positions it may take in
// one go along the innermost axis, and says how many it has taken.  `at` has room for the place along each axis.
template <class Take>
void walk_over(const std::vector<Axis>& outer, char* destination, const char* source, const Part& part, Index* at,
               const Take& take) noexcept {
    const std::size_t rank = outer.size();
    Index rest = part.first;
    for (std::size_t k = rank; k-- > 0; rest /= outer[k].size) {
        at[k] = rest % outer[k].size;
        source += at[k] * outer[k].source;
        destination += at[k] * outer[k].destination;
    }
    for (Index n = part.first; n < part.last;) {
        const Index most = rank == 0 ? 1 : std::min(part.last - n, outer[rank - 1].size - at[rank - 1]);
        Index forward = take(destination, source, most);
        n += forward;
        for (std::size_t k = rank; k-- > 0; forward = 1) {
            const Axis& axis = outer[k];
            source += forward * axis.source;
            destination += forward * axis.destination;
            if ((at[k] += forward) < axis.size) break;
            at[k] = 0;
            source -= axis.size * axis.source;
            destination -= axis.size * axis.destination;
        }
    }
}

// All that may fail has been done before: there is no way out but the end, so that threads are always joined.
void run_part(const Plan& plan, char* destination, const char* source, const Part& part, Index* at) noexcept {
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
    const Move move = plan.kernel.move;
    const MoveOn move_on = plan.kernel.move_on;
    if (move_on == nullptr) {
        walk_over(plan.outer, destination, source, part, at, [&](char* to, const char* from, Index) {
            move(to, from, r);
            return Index{1};
        });
    } else if (!plan.outer.empty() && plan.outer.back().source == r.na * r.item) {
        // Asked of this part's rectangle, not the plan's: one that was cut along the source leaves a gap.
        walk_over(plan.outer, destination, source, part, at, [&](char* to, const char* from, Index most) {
            move_on(to, from, r, {most, plan.outer.back().destination});
            return most;
        });
    } else {
        walk_over(plan.outer, destination, source, part, at, [&](char* to, const char* from, Index) {
            move_on(to, from, r, once);
            return Index{1};
        });
    }
}

// Where share k of `count` shares begins, for k from 0 to count: they differ by 1 at most, and none overflows.
Index share(Index length, Index count, Index k) { return length / count * k + std::min(k, length % count); }

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
        plan.nbytes = product(plan.nbytes, axis.size);
        (axis.source < 0 ? plan.low : plan.high) += product(axis.source, axis.size - 1);
    }
    const Axis& a = axes[static_cast<std::size_t>(source_axis)];
    const Axis& b = axes.back();
    const bool one = source_axis == last;
    plan.rectangle = {one ? 1 : a.size, b.size, one ? 0 : a.source, b.source, one ? 0 : a.destination, item, 0, high};
    // Whole vectors of items, and no more than the buffer of a transposition holds.
    plan.rectangle.run = std::max<Index>(16, std::min(run, longest_run) / 16 * 16);
    check_kind(kind, plan.rectangle, one);
    plan.kernel = kernel_of(kind, plan.rectangle);
    for (Index k = 0; k < last; ++k) {
        if (k != source_axis) plan.outer.push_back(axes[static_cast<std::size_t>(k)]);
    }
    // The walk goes through the source's memory, not the destination's.
    if (!one) {
        std::stable_sort(plan.outer.begin(), plan.outer.end(),
                         [](const Axis& x, const Axis& y) { return std::abs(x.source) > std::abs(y.source); });
    }
    return plan;
}

// Either the walk is cut, or all rectangles are along one axis.
std::vector<Part> parts_of(const Plan& plan, int threads, Index bytes_per_thread) {
    check(bytes_per_thread > 0, "a thread moves something");
    const Rectangle& r = plan.rectangle;
    Index count = std::max<Index>(1, std::min<Index>(threads, plan.nbytes / bytes_per_thread));
    Index walk = 1;
    for (const Axis& axis : plan.outer) walk *= axis.size;
    const bool along_source = plan.kernel.cut == Cut::longer ? r.na > r.nb : plan.kernel.cut == Cut::source;
    const Index length = along_source ? r.na : r.nb;
    const bool by_walk = walk >= 4 * count || length < 2 * count;
    if (by_walk) count = std::min(count, walk);
    // Whole lines of the destination to each, wherever the items are smaller than one; a grain or more to each part.
    const Index grain = std::max<Index>(1, std::min(length / count, line / std::min(line, r.item)));
    const Index grains = (length + grain - 1) / grain;
    std::vector<Part> parts;
    parts.reserve(static_cast<std::size_t>(count));
    for (Index n = 0; n < count; ++n) {
        if (by_walk) {
            parts.push_back({share(walk, count, n), share(walk, count, n + 1), 0, length, along_source});
        } else {
            const Index begin = share(grains, count, n) * grain, end = share(grains, count, n + 1) * grain;
            parts.push_back({0, walk, begin, std::min(end, length), along_source});
        }
    }
    return parts;
}

void copy(const Plan& plan, char* destination, const char* source, int threads, Index bytes_per_thread) {
    const std::vector<Part> parts = parts_of(plan, threads, bytes_per_thread);
    // A line between one thread's places and the next one's: each writes its own all the time.
    const std::size_t room = plan.outer.size() + line / sizeof(Index);
    std::vector<Index> at(parts.size() * room);
    const auto run = [&](std::size_t n) noexcept { run_part(plan, destination, source, parts[n], at.data() + n * room); };
    std::vector<std::thread> others;
    std::size_t next = 1;
    try {
        others.reserve(parts.size() - 1);
        for (; next < parts.size(); ++next) others.emplace_back(run, next);
    } catch (const std::exception&) {
        // No more threads to be had, or no memory for them: this one does the rest, and those that run are joined.
    }
    for (; next < parts.size(); ++next) run(next);
    run(0);
    for (std::thread& other : others) other.join();
}

}  // namespace onereshape
