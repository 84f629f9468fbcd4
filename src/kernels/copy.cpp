// The walk over the dims outside a plan's rectangle, and the threads.
//
// Threads are made for one call and joined before it returns: no pool can be left without its threads by a fork, and
// nothing is shared between calls.  Each moves its own part of the outer walk, or of the rectangle where there is little
// outer walk, so that no two write the same byte.
#include "copy.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <thread>

namespace onereshape {

namespace {

// Takes a part's walk from its first position to its last.  `at` has room for the place along each axis.
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
    for (Index n = part.first; n < part.last; ++n) {
        take(destination, source);
        for (std::size_t k = rank; k-- > 0;) {
            const Axis& axis = outer[k];
            source += axis.source;
            destination += axis.destination;
            if (++at[k] < axis.size) break;
            at[k] = 0;
            source -= axis.size * axis.source;
            destination -= axis.size * axis.destination;
        }
    }
}

Run with(Run run, const std::vector<Index>& table) {
    run.table = table.empty() ? nullptr : table.data();
    return run;
}

// All that may fail has been done before: there is no way out but the end, so that threads are always joined.
void run_part(const Plan& plan, char* destination, const char* source, const Part& part, Index* at, bool stream,
              bool ragged) noexcept {
    const Index count = part.end - part.begin;
    const auto begins_on = [](const char* address, Index bytes) {
        return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(bytes) == 0;
    };
    source += plan.source_shift;
    destination += plan.destination_shift;
    if (plan.move == nullptr) {
        Weave weave = plan.weave;
        weave.shuffles = plan.shuffles.data();
        weave.lines = plan.lines.data();
        weave.count = static_cast<Index>(plan.lines.size());
        source += part.begin * weave.source;
        destination += part.begin * weave.destination;
        weave.stream = stream && plan.written == Written::whole && begins_on(destination, line);
        const MoveWeave move = plan.kernels->weave;
        walk_over(plan.outer, destination, source, part, at,
                  [&](char* to, const char* from) { move(to, from, weave, count); });
        if (weave.stream) plan.kernels->fence();
        return;
    }
    Rectangle r = plan.rectangle;
    r.a = part.along_source ? part.begin : 0;
    r.b = part.along_source ? 0 : part.begin;
    (part.along_source ? r.na : r.nb) = count;
    r.reads = with(r.reads, plan.reads);
    r.rows = with(r.rows, plan.rows);
    r.columns = with(r.columns, plan.columns);
    r.gather = plan.gather.empty() ? nullptr : plan.gather.data();
    r.gathers = static_cast<Index>(plan.gather.size());
    destination += r.b * r.item;
    const bool whole = plan.written == Written::whole && begins_on(destination, line) && r.nb * r.item % line == 0;
    const bool filled = plan.written == Written::filled && begins_on(destination, word_of(r.item));
    r.stream = stream && (whole || filled || plan.written == Written::inside);
    r.ragged = ragged && !r.stream;
    const Move move = plan.move;
    walk_over(plan.outer, destination, source, part, at, [&](char* to, const char* from) { move(to, from, r); });
    if (r.stream || r.ragged) plan.kernels->fence();
}

// Where share k of `count` shares begins, for k from 0 to count: they differ by 1 at most, and none overflows.
Index share(Index length, Index count, Index k) { return length / count * k + std::min(k, length % count); }

}  // namespace

// Either the walk is cut, or all rectangles are along one axis.
std::vector<Part> parts_of(const Plan& plan, int threads, Index bytes_per_thread) {
    if (bytes_per_thread <= 0) throw std::invalid_argument("a thread moves something");
    const Rectangle& r = plan.rectangle;
    Index count = std::max<Index>(1, std::min<Index>(threads, plan.nbytes / bytes_per_thread));
    Index walk = 1;
    for (const Axis& axis : plan.outer) walk *= axis.size;
    const bool along_source = plan.cut == Cut::longer ? r.na > r.nb : plan.cut == Cut::source;
    const Index length = along_source ? r.na : r.nb;
    // A weave moves whole tiles, and has one at least in each part; the last has what is over.  Of a rectangle whole lines
    // of the destination go to each, wherever the items are smaller than one.
    const bool woven = plan.move == nullptr;
    const Index least = woven ? plan.weave.positions : 1;
    const bool by_walk = walk >= 4 * count || length < 2 * count * least;
    if (by_walk) count = std::min(count, walk);
    const Index lines = std::max<Index>(1, std::min(length / count, line / std::min(line, r.item)));
    const Index grain = woven ? least : lines;
    const Index grains = woven ? std::max<Index>(1, length / grain) : (length + grain - 1) / grain;
    std::vector<Part> parts;
    parts.reserve(static_cast<std::size_t>(count));
    for (Index n = 0; n < count; ++n) {
        if (by_walk) {
            parts.push_back({share(walk, count, n), share(walk, count, n + 1), 0, length, along_source});
        } else {
            const Index begin = share(grains, count, n) * grain, end = share(grains, count, n + 1) * grain;
            parts.push_back({0, walk, begin, n + 1 == count ? length : end, along_source});
        }
    }
    return parts;
}

void copy(const Plan& plan, char* destination, const char* source, int threads, Index bytes_per_thread, Index stream_from) {
    const std::vector<Part> parts = parts_of(plan, threads, bytes_per_thread);
    // A line between one thread's places and the next one's: each writes its own all the time.
    const std::size_t room = plan.outer.size() + line / sizeof(Index);
    std::vector<Index> at(parts.size() * room);
    const bool stream = plan.kernels->streams && plan.nbytes >= stream_from;
    // To put lines together takes time, which memory gives back where several threads wait for it, or there is much of it.
    const bool ragged = stream && plan.nbytes / 4 >= stream_from / static_cast<Index>(parts.size());
    const auto run = [&](std::size_t n) noexcept {
        run_part(plan, destination, source, parts[n], at.data() + n * room, stream, ragged);
    };
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
