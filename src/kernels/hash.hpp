// The arithmetic of the terms, modulo 2^64; onereshape.terms.hashing defines it.
#pragma once

#include <cstdint>
#include <cstring>

namespace onereshape {

using Word = std::uint64_t;

// A bijection that leaves nothing linear.
inline Word finished(Word word) {
    word ^= word >> 33;
    word *= 0xFF51AFD7ED558CCDu;
    word ^= word >> 33;
    word *= 0xC4CEB9FE1A85EC53u;
    word ^= word >> 33;
    return word;
}

// A bijection for an odd factor that costs half as much, and is enough before a sum.
inline Word stirred(Word word, Word factor) {
    word ^= word >> 32;
    word *= factor;
    word ^= word >> 32;
    return word;
}

template <class T>
inline T read(const char* address) {
    T found;
    std::memcpy(&found, address, sizeof(T));  // arrays of files need not be aligned
    return found;
}

// What an element of an array stands for.
struct Words {
    using Element = Word;
    Word operator()(Word word) const { return word; }
};

// Words as they go into a blend.
struct Blended {
    using Element = Word;
    Word key;
    Word operator()(Word word) const { return finished(word + key); }
};

template <class T>
struct Bits {
    using Element = T;
    Word unit, key;
    Word operator()(T bits) const { return finished(static_cast<Word>(bits) * unit + key); }
};

template <class T>
struct Integers {
    using Element = T;
    Word unit;
    Word operator()(T value) const { return static_cast<Word>(static_cast<std::int64_t>(value)) * unit; }
};

struct Booleans {
    using Element = std::uint8_t;
    Word key;
    Word operator()(std::uint8_t value) const { return finished(static_cast<Word>(value != 0) + key); }
};

}  // namespace onereshape
