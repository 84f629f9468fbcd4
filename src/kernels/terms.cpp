#include "terms.hpp"

#include "levels.hpp"

namespace onereshape {

namespace {

// A loop over a row with a step that the compiler knows where the words lie side by side.
template <class Element, class Body>
ONERESHAPE_INLINE void along(const char* data, Index step, Index count, const Body& body) {
    if (step == static_cast<Index>(sizeof(Element))) {
        for (Index j = 0; j < count; ++j) body(j, read<Element>(data + j * static_cast<Index>(sizeof(Element))));
    } else {
        for (Index j = 0; j < count; ++j) body(j, read<Element>(data + j * step));
    }
}

struct Mix {
    ONERESHAPE_INLINE static void run(Word* __restrict out, Index count, Word key, const Word* odd,
                                      const Operand* operands, std::size_t number, Index from) {
        Word single = key;  // the state as long as it is the same for the whole row
        bool varies = false;
        for (std::size_t place = 0; place < number; ++place) {
            const Operand each = operands[place];
            const char* data = each.data + from * each.step;
            const Word factor = odd[place];
            if (each.step == 0) {
                const Word word = read<Word>(data);
                if (!varies) {
                    single = place == 0 ? single + word * factor : stirred(single, factor) + word;
                } else {
                    for (Index j = 0; j < count; ++j) out[j] = stirred(out[j], factor) + word;
                }
            } else if (varies) {
                along<Word>(data, each.step, count,
                            [=](Index j, Word word) { out[j] = stirred(out[j], factor) + word; });
            } else if (place == 0) {
                along<Word>(data, each.step, count, [=](Index j, Word word) { out[j] = single + word * factor; });
                varies = true;
            } else {
                const Word before = stirred(single, factor);
                along<Word>(data, each.step, count, [=](Index j, Word word) { out[j] = before + word; });
                varies = true;
            }
        }
        if (varies) {
            for (Index j = 0; j < count; ++j) out[j] = finished(out[j]);
        } else {
            std::fill(out, out + count, finished(single));
        }
    }
};

struct Blend {
    ONERESHAPE_INLINE static void run(Word* __restrict out, Index count, Word key, const Operand* operands,
                                      std::size_t number, Index from) {
        Word single = key;
        bool varies = false;
        for (std::size_t place = 0; place < number; ++place) {
            const Operand each = operands[place];
            const char* data = each.data + from * each.step;
            if (each.step == 0) {
                single += each.ready ? read<Word>(data) : finished(read<Word>(data) + key);
                continue;
            }
            if (!varies) std::fill(out, out + count, Word{0});
            varies = true;
            if (each.ready) {
                along<Word>(data, each.step, count, [=](Index j, Word word) { out[j] += word; });
            } else {
                along<Word>(data, each.step, count, [=](Index j, Word word) { out[j] += finished(word + key); });
            }
        }
        if (varies) {
            for (Index j = 0; j < count; ++j) out[j] = finished(out[j] + single);
        } else {
            std::fill(out, out + count, finished(single));
        }
    }
};

template <class Load>
struct Weighted {
    using Element = typename Load::Element;
    ONERESHAPE_INLINE static Word run(const char* source, Index step, const Word* odd, Index odd_step, Index count,
                                      Word stir, Load load) {
        Word total = 0;
        const auto add = [&](Word factor, Element each) { total += factor * stirred(load(each) + stir, stir); };
        if (odd_step == 1) {
            along<Element>(source, step, count, [&](Index j, Element each) { add(odd[j], each); });
        } else {
            along<Element>(source, step, count, [&](Index j, Element each) { add(odd[j * odd_step], each); });
        }
        return total;
    }
};

// A place along the folded dims: where it lies, and its multiplier.
struct Tap {
    Index offset;
    const Word* odd;
};

template <class Load>
struct AddWeighted {
    using Element = typename Load::Element;
    ONERESHAPE_INLINE static void run(Word* __restrict totals, const char* source, Index step, Index count,
                                      const Tap* taps, std::size_t number, Word stir, Load load) {
        for (std::size_t place = 0; place < number; ++place) {
            const Word factor = *taps[place].odd;
            along<Element>(source + taps[place].offset, step, count,
                           [=](Index j, Element each) { totals[j] += factor * stirred(load(each) + stir, stir); });
        }
    }
};

template <class Load>
struct Hash {
    using Element = typename Load::Element;
    ONERESHAPE_INLINE static void run(Word* __restrict out, const char* source, Index count, Index step, Load load) {
        along<Element>(source, step, count, [=](Index j, Element each) { out[j] = load(each); });
    }
};

struct Leaves {
    ONERESHAPE_INLINE static void run(Word* __restrict out, Index count, Word unit, Word key) {
        for (Index j = 0; j < count; ++j) out[j] = finished(static_cast<Word>(j) * unit + key);
    }
};

// The places along dims: a list of them if they are not many.
class Taps {
public:
    Taps(const Dims& dims, const Word* odd) : dims_(dims), odd_(odd) {
        Index count = 1;
        for (const Along& each : dims) count *= each.size;
        if (count <= most_) walk(dims_, 2, [&](const Index* at) { found_.push_back({at[0], odd_ + at[1]}); });
    }

    // Calls with lists of them.
    template <class Body>
    void visit(const Body& body) const {
        if (!found_.empty()) return body(found_.data(), found_.size());
        walk(dims_, 2, [&](const Index* at) {
            const Tap tap{at[0], odd_ + at[1]};
            body(&tap, 1);
        });
    }

private:
    static constexpr Index most_ = 1 << 14;
    const Dims dims_;
    const Word* const odd_;
    std::vector<Tap> found_;
};

// Each answer at a time: the folded dims lie inside.
template <class Load>
void fold_inside(char* out, const char* source, const Word* odd, Word stir, const Dims& kept, const Dims& gone,
                 const Load& load) {
    const Along inner = gone.back();
    const Taps taps(Dims(gone.begin(), gone.end() - 1), odd);
    walk(kept, 2, [&](const Index* at) {
        Word total = 0;
        taps.visit([&](const Tap* tap, std::size_t number) {
            for (const Tap* each = tap; each < tap + number; ++each) {
                total += on_best<Weighted<Load>>(source + at[0] + each->offset, inner.steps[0], each->odd,
                                                 inner.steps[1], inner.size, stir, load);
            }
        });
        std::memcpy(out + at[1], &total, sizeof total);
    });
}

// Many answers at a time: a kept dim lies inside.
template <class Load>
void fold_outside(char* out, const char* source, const Word* odd, Word stir, const Dims& kept, const Dims& gone,
                  const Load& load) {
    const Along inner = kept.back();
    const Taps taps(gone, odd);
    const Dims around(kept.begin(), kept.end() - 1);
    Word totals[piece];
    walk(around, 2, [&](const Index* at) {
        for (Index from = 0; from < inner.size; from += piece) {
            const Index count = std::min(piece, inner.size - from);
            std::fill(totals, totals + count, Word{0});
            const char* first = source + at[0] + from * inner.steps[0];
            taps.visit([&](const Tap* tap, std::size_t number) {
                on_best<AddWeighted<Load>>(static_cast<Word*>(totals), first, inner.steps[0], count, tap, number, stir,
                                           load);
            });
            char* to = out + at[1] + from * inner.steps[1];
            for (Index j = 0; j < count; ++j) std::memcpy(to + j * inner.steps[1], &totals[j], sizeof(Word));
        }
    });
}

}  // namespace

void mix_row(Word* out, Index count, Word key, const Word* odd, const std::vector<Operand>& operands) {
    for (Index from = 0; from < count; from += piece) {
        on_best<Mix>(out + from, std::min(piece, count - from), key, odd, operands.data(), operands.size(), from);
    }
}

void blend_row(Word* out, Index count, Word key, const std::vector<Operand>& operands) {
    for (Index from = 0; from < count; from += piece) {
        on_best<Blend>(out + from, std::min(piece, count - from), key, operands.data(), operands.size(), from);
    }
}

template <class Load>
void fold(char* out, const char* source, const Word* odd, Word stir, Dims kept, Dims gone, const Load& load) {
    if (is_empty(kept)) return;
    sort_by_step(kept, 0);
    sort_by_step(gone, 0);
    kept = collapsed(kept);
    if (is_empty(gone)) {
        const Word none = 0;
        walk(kept, 2, [&](const Index* at) { std::memcpy(out + at[1], &none, sizeof none); });
        return;
    }
    gone = collapsed(gone);
    if (gone.empty()) gone.push_back({1, {0, 0}});
    constexpr Index few = 8;
    const bool nearer = kept.empty() || std::abs(gone.back().steps[0]) <= std::abs(kept.back().steps[0]);
    if (kept.empty() || (nearer && gone.back().size >= few) || kept.back().size < few) {
        fold_inside(out, source, odd, stir, kept, gone, load);
    } else {
        fold_outside(out, source, odd, stir, kept, gone, load);
    }
}

template <class Load>
void hash_row(Word* out, const char* source, Index count, Index step, const Load& load) {
    on_best<Hash<Load>>(out, source, count, step, load);
}

void running_row(char* out, Index out_step, const char* source, Index step, Index count, const Word* odd, Word stir) {
    Word total = 0;
    for (Index j = 0; j < count; ++j) {
        total += odd[j] * stirred(read<Word>(source + j * step) + stir, stir);
        std::memcpy(out + j * out_step, &total, sizeof total);
    }
}

void leaves(Word* out, Index count, Word unit, Word key) { on_best<Leaves>(out, count, unit, key); }

#define ONERESHAPE_FOR(LOAD)                                                                  \
    template void fold<LOAD>(char*, const char*, const Word*, Word, Dims, Dims, const LOAD&); \
    template void hash_row<LOAD>(Word*, const char*, Index, Index, const LOAD&);
ONERESHAPE_FOR(Words)
ONERESHAPE_FOR(Blended)
ONERESHAPE_FOR(Booleans)
ONERESHAPE_FOR(Bits<std::uint8_t>)
ONERESHAPE_FOR(Bits<std::uint16_t>)
ONERESHAPE_FOR(Bits<std::uint32_t>)
ONERESHAPE_FOR(Bits<std::uint64_t>)
ONERESHAPE_FOR(Integers<std::int8_t>)
ONERESHAPE_FOR(Integers<std::int16_t>)
ONERESHAPE_FOR(Integers<std::int32_t>)
ONERESHAPE_FOR(Integers<std::int64_t>)
ONERESHAPE_FOR(Integers<std::uint8_t>)
ONERESHAPE_FOR(Integers<std::uint16_t>)
ONERESHAPE_FOR(Integers<std::uint32_t>)
ONERESHAPE_FOR(Integers<std::uint64_t>)
#undef ONERESHAPE_FOR

}  // namespace onereshape
