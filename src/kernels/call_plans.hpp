// What calls remember, by their keys.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "call_keys.hpp"

namespace onereshape {

// Where a key belongs, of so many places.  No product waits for another; the upper half of their sum depends on all words.
inline std::size_t place_of(const char* key, std::size_t size, std::size_t places) {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
    std::uint64_t sum = size, factor = odd;
    for (std::size_t at = 0; at < size; at += sizeof(Word), factor += 2 * odd) {
        std::uint64_t word;
        std::memcpy(&word, key + at, sizeof word);
        sum += word * factor;
    }
    return static_cast<std::size_t>((sum >> 32) * places >> 32);
}

// Plans by their keys, a fixed number of places: the newest of those that meet in one stays.
class Plans {
  public:
    explicit Plans(std::size_t places) : count_(places) {}
    Plans(const Plans&) = delete;
    Plans& operator=(const Plans&) = delete;
    ~Plans() {
        for (Place& place : places_) Py_XDECREF(place.plan);
    }

    // A new reference, or null without an error.
    PyObject* find(const char* key, std::size_t size) {
        const Locked locked(*this);
        if (places_.empty()) return nullptr;
        const Place& place = places_[place_of(key, size, count_)];
        if (place.key.size() != size || std::memcmp(place.key.data(), key, size) != 0) return nullptr;
        Py_XINCREF(place.plan);
        return place.plan;
    }

    void keep(const char* key, std::size_t size, PyObject* plan) {
        Held before(nullptr);  // is given back when nothing is locked
        std::string words(key, size);
        const Locked locked(*this);
        if (places_.empty()) places_ = std::vector<Place>(count_);
        Place& place = places_[place_of(key, size, count_)];
        place.key.swap(words);
        before.swap(place.plan);
        place.plan = Py_NewRef(plan);
    }

    std::size_t size() {
        const Locked locked(*this);
        std::size_t found = 0;
        for (const Place& place : places_) found += place.plan != nullptr;
        return found;
    }

  private:
    struct Place {
        std::string key;
        PyObject* plan = nullptr;
    };
#ifdef Py_GIL_DISABLED
    struct Locked {
        explicit Locked(Plans& plans) : mutex(plans.mutex_) { PyMutex_Lock(&mutex); }
        ~Locked() { PyMutex_Unlock(&mutex); }
        PyMutex& mutex;
    };
    PyMutex mutex_{};
#else
    struct Locked {
        explicit Locked(Plans&) {}
        ~Locked() {}
    };
#endif
    std::size_t count_;
    std::vector<Place> places_;
};

// The same as an object of Python, with a dict for the plans that only Python finds.
struct PlansObject {
    PyObject_HEAD
    Plans* plans;
    PyObject* others;
};

extern PyType_Spec plans_spec;

}  // namespace onereshape
