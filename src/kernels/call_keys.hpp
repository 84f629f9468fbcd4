// The key of a call: all that its answer depends on, as words of 64 bits.
//
// That is the layout of data, the target, the specification and its flag.  Types and specifications are their addresses,
// and what is remembered keeps them alive.  Nothing is known of an object that is not exactly an array of NumPy or a
// tensor of torch: such calls go the way of Python.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace onereshape {

using Word = std::int64_t;

// A reference that is given back.
class Held {
  public:
    explicit Held(PyObject* object) : object_(object) {}
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { Py_XDECREF(object_); }
    PyObject* get() const { return object_; }
    void swap(PyObject*& other) { std::swap(object_, other); }
    explicit operator bool() const { return object_ != nullptr; }

  private:
    PyObject* object_;
};

// A call that needs more words than these is not remembered.
constexpr std::size_t most = 256;
class Key {
  public:
    void add(Word word) {
        if (count_ < most) words_[count_] = word;
        ++count_;
    }
    void add(const void* address) { add(static_cast<Word>(reinterpret_cast<std::intptr_t>(address))); }
    bool fits() const { return count_ <= most; }
    std::size_t size() const { return count_ * sizeof(Word); }
    const char* data() const { return reinterpret_cast<const char*>(words_.data()); }

  private:
    std::array<Word, most> words_;
    std::size_t count_ = 0;
};

enum class Library : Word { none, numpy, torch };

bool is_array(PyObject* object);
bool is_tensor(PyObject* object);

// What the words of a call are, and whose array its data is; none where the call has no key.  The call is data and
// target, and where there are three of them the specification with its attributes.
Library read(Key& key, PyObject* const* call, Py_ssize_t count, PyObject* names, PyObject* const* values);

// What is known of others, each set once and for all.
void know_numpy();
// The specifications: their type, each name with its row, and the names of their flags.
void know_specs(const pybind11::type& spec, const pybind11::dict& names, const pybind11::str& first,
                const pybind11::str& second);
// torch's tensors; says whether they can be looked at.
bool know_torch(const pybind11::type& tensor, const pybind11::object& exchange, const pybind11::object& tracing);

// An object that is never given back.
inline PyObject* kept(pybind11::object object) { return object.release().ptr(); }

}  // namespace onereshape
