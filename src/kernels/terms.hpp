// Loops over rows of words: mix, blend and fold.
#pragma once

#include <vector>

#include "hash.hpp"
#include "walk.hpp"

namespace onereshape {

constexpr Index piece = 1024;  // words that stay in the nearest cache

// One operand of a row.
struct Operand {
    const char* data;
    Index step;
    bool ready;  // for a blend: it is hashed already
};

void mix_row(Word* out, Index count, Word key, const Word* odd, const std::vector<Operand>& operands);
void blend_row(Word* out, Index count, Word key, const std::vector<Operand>& operands);

// out[j] for the kept dims is the sum of odd[k] * stirred(value[j, k] + stir) over the folded ones.  The steps of `kept`
// are those of the source and of the answer, in bytes; those of `gone` are the source's, in bytes, and the multipliers'.
template <class Load>
void fold(char* out, const char* source, const Word* odd, Word stir, Dims kept, Dims gone, const Load& load);

// The words of elements.
template <class Load>
void hash_row(Word* out, const char* source, Index count, Index step, const Load& load);

// out[k] is the sum of odd[i] * stirred(word[i] + stir) for all i <= k; steps in bytes.
void running_row(char* out, Index out_step, const char* source, Index step, Index count, const Word* odd, Word stir);

void leaves(Word* out, Index count, Word unit, Word key);

}  // namespace onereshape
