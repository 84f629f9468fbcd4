// The Python side of the terms: arrays of any strides go in, new arrays come out.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "levels.hpp"
#include "terms.hpp"

namespace py = pybind11;
using onereshape::Along;
using onereshape::Dims;
using onereshape::Index;
using onereshape::Operand;
using onereshape::Word;

namespace {

constexpr Index wide = sizeof(Word);

// Whether the elements are plain numbers of this machine.
void check(const py::array& array, const char* kinds, Index itemsize) {
    const py::dtype dtype = array.dtype();
    const std::uint16_t one = 1;
    const char own = onereshape::read<std::uint8_t>(reinterpret_cast<const char*>(&one)) == 1 ? '<' : '>';
    const char order = dtype.byteorder();
    const bool native = order == '=' || order == '|' || order == own;
    const bool kind = std::string(kinds).find(dtype.kind()) != std::string::npos;
    if (!native || !kind || (itemsize != 0 && dtype.itemsize() != itemsize)) {
        throw py::type_error("an array of another type");
    }
}

std::vector<py::array> words_of(const py::args& operands) {
    std::vector<py::array> found;
    for (const py::handle& each : operands) {
        py::array array = py::array::ensure(each);
        if (!array) throw py::type_error("an operand is no array");
        check(array, "u", wide);
        found.push_back(array);
    }
    return found;
}

// The word of each element, in C order.
template <class Load>
py::array hashed(const py::array& values, const Load& load) {
    const std::vector<Index> shape(values.shape(), values.shape() + values.ndim());
    py::array answer(py::dtype::of<Word>(), shape);
    Dims dims;
    for (py::ssize_t axis = 0; axis < values.ndim(); ++axis) {
        dims.push_back({values.shape(axis), {values.strides(axis), answer.strides(axis)}});
    }
    if (onereshape::is_empty(dims)) return answer;
    dims = onereshape::collapsed(dims);
    Along inner{1, {0, wide}};
    if (!dims.empty()) {
        inner = dims.back();
        dims.pop_back();
    }
    char* out = static_cast<char*>(answer.mutable_data());
    const char* source = static_cast<const char*>(values.data());
    {
        py::gil_scoped_release release;
        onereshape::walk(dims, 2, [&](const Index* at) {
            Word* to = reinterpret_cast<Word*>(out + at[1]);
            onereshape::hash_row(to, source + at[0], inner.size, inner.steps[0], load);
        });
    }
    return answer;
}

// Operands that are broadcast, and an answer that lies in memory as the largest of them does.
struct Elementwise {
    std::vector<py::array> arrays;
    std::vector<bool> ready;
    Dims dims;  // the steps of the answer, then those of the operands
    py::array answer;

    explicit Elementwise(const py::args& operands) : arrays(words_of(operands)), ready(arrays.size(), false) {}

    // Hashes what is broadcast once and for all.
    Elementwise& hash_small(Word key) {
        Index size = 1;
        for (const Index dim : broadcast_shape()) size *= dim;
        for (std::size_t k = 0; k < arrays.size(); ++k) {
            if (2 * arrays[k].size() > size) continue;
            arrays[k] = hashed(arrays[k], onereshape::Blended{key});
            ready[k] = true;
        }
        return *this;
    }

    std::vector<Index> broadcast_shape() const {
        py::ssize_t rank = 0;
        for (const py::array& each : arrays) rank = std::max(rank, each.ndim());
        std::vector<Index> shape(static_cast<std::size_t>(rank), 1);
        for (const py::array& each : arrays) broadcast(shape, each);
        return shape;
    }

    void lay_out() {
        const std::vector<Index> shape = broadcast_shape();
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            Along along{shape[axis], {0}};
            for (const py::array& each : arrays) along.steps.push_back(step(each, axis, shape));
            dims.push_back(along);
        }
        const std::vector<std::size_t> order = in_memory();
        std::vector<Index> strides(shape.size(), wide);
        Index next = wide;
        for (std::size_t place = order.size(); place-- > 0;) {
            strides[order[place]] = dims[order[place]].steps[0] = next;
            next *= std::max<Index>(shape[order[place]], 1);
        }
        answer = py::array(py::dtype::of<Word>(), shape, strides);
        Dims sorted;
        for (const std::size_t axis : order) sorted.push_back(dims[axis]);
        const bool empty = onereshape::is_empty(sorted);
        dims = empty ? sorted : onereshape::collapsed(sorted);
    }

    static void broadcast(std::vector<Index>& shape, const py::array& array) {
        const std::size_t start = shape.size() - static_cast<std::size_t>(array.ndim());
        for (py::ssize_t axis = 0; axis < array.ndim(); ++axis) {
            Index& dim = shape[start + static_cast<std::size_t>(axis)];
            const Index mine = array.shape(axis);
            if (mine == dim || mine == 1) continue;
            if (dim != 1) throw py::value_error("the operands could not be broadcast together");
            dim = mine;
        }
    }

    static Index step(const py::array& array, std::size_t axis, const std::vector<Index>& shape) {
        const py::ssize_t own = static_cast<py::ssize_t>(axis) + array.ndim() - static_cast<py::ssize_t>(shape.size());
        return own < 0 || array.shape(own) == 1 ? 0 : array.strides(own);
    }

    // The axes, outermost first, as they lie in the first operand of the largest size; those that it is broadcast along
    // stay between their neighbours.
    std::vector<std::size_t> in_memory() const {
        std::size_t largest = 0;
        for (std::size_t k = 1; k < arrays.size(); ++k) {
            if (arrays[k].size() > arrays[largest].size()) largest = k;
        }
        std::vector<std::size_t> order;
        for (std::size_t axis = 0; axis < dims.size(); ++axis) {
            const Index mine = std::abs(dims[axis].steps.size() > 1 ? dims[axis].steps[largest + 1] : 0);
            std::size_t place = order.size();
            for (std::size_t before = order.size(); before-- > 0 && mine != 0;) {
                const Index other = std::abs(dims[order[before]].steps[largest + 1]);
                if (other == 0 || dims[order[before]].size == 1) continue;
                if (other >= mine || dims[axis].size == 1) break;
                place = before;
            }
            order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), axis);
        }
        return order;
    }

    template <class Row>
    py::array made(const Row& row) {
        lay_out();
        if (onereshape::is_empty(dims)) return answer;
        const std::size_t count = arrays.size();
        Along inner{1, std::vector<Index>(count + 1, 0)};
        if (!dims.empty()) {
            inner = dims.back();
            dims.pop_back();
        }
        std::vector<const char*> data;
        for (const py::array& each : arrays) data.push_back(static_cast<const char*>(each.data()));
        char* out = static_cast<char*>(answer.mutable_data());
        {
            py::gil_scoped_release release;
            std::vector<Operand> operands(count);
            onereshape::walk(dims, count + 1, [&](const Index* at) {
                for (std::size_t k = 0; k < count; ++k) {
                    operands[k] = {data[k] + at[k + 1], inner.steps[k + 1], ready[k]};
                }
                row(reinterpret_cast<Word*>(out + at[0]), inner.size, operands);
            });
        }
        return answer;
    }
};

// The multipliers, of which `count` are needed.
const Word* odd_words(const py::array& odd, Index count) {
    check(odd, "u", wide);
    if (odd.ndim() != 1 || odd.shape(0) < count || (odd.size() > 1 && odd.strides(0) != wide)) {
        throw py::value_error("there are too few multipliers");
    }
    return static_cast<const Word*>(odd.data());
}

py::array mix(Word key, const py::array& odd, const py::args& operands) {
    const Word* factors = odd_words(odd, static_cast<Index>(operands.size()));
    return Elementwise(operands).made([=](Word* out, Index count, const std::vector<Operand>& row) {
        onereshape::mix_row(out, count, key, factors, row);
    });
}

py::array blend(Word key, const py::args& operands) {
    return Elementwise(operands).hash_small(key).made([=](Word* out, Index count, const std::vector<Operand>& row) {
        onereshape::blend_row(out, count, key, row);
    });
}

template <class Load>
py::array folded(const py::array& values, const std::vector<Index>& axes, const py::array& odd, Word stir,
                 const Load& load) {
    std::vector<bool> goes(static_cast<std::size_t>(values.ndim()), false);
    for (const Index axis : axes) {
        if (axis < 0 || axis >= values.ndim() || goes[static_cast<std::size_t>(axis)]) {
            throw py::value_error("no such axes");
        }
        goes[static_cast<std::size_t>(axis)] = true;
    }
    std::vector<Index> shape;
    Dims kept, gone;
    Index count = 1, size = 1;
    for (py::ssize_t axis = values.ndim(); axis-- > 0;) {
        const Index dim = values.shape(axis), stride = values.strides(axis);
        if (goes[static_cast<std::size_t>(axis)]) {
            gone.insert(gone.begin(), {dim, {stride, count}});
            count *= dim;
        } else {
            kept.insert(kept.begin(), {dim, {stride, size * wide}});
            shape.insert(shape.begin(), dim);
            size *= dim;
        }
    }
    const Word* factors = odd_words(odd, count);
    py::array answer(py::dtype::of<Word>(), shape);
    char* out = static_cast<char*>(answer.mutable_data());
    const char* source = static_cast<const char*>(values.data());
    {
        py::gil_scoped_release release;
        onereshape::fold(out, source, factors, stir, kept, gone, load);
    }
    return answer;
}

py::array fold(const py::array& words, const std::vector<Index>& axes, const py::array& odd, Word stir) {
    check(words, "u", wide);
    return folded(words, axes, odd, stir, onereshape::Words{});
}

// Calls with what stands for the elements: "bits" as they are, "integers" and "booleans" by their value.
template <class Body>
py::array by_kind(const py::array& values, const std::string& kind, Word unit, Word key, const Body& body) {
    const Index itemsize = values.itemsize();
    if (kind == "booleans") {
        check(values, "ub", 1);
        return body(onereshape::Booleans{key});
    }
    if (kind == "bits") {
        check(values, "u", 0);
        if (itemsize == 1) return body(onereshape::Bits<std::uint8_t>{unit, key});
        if (itemsize == 2) return body(onereshape::Bits<std::uint16_t>{unit, key});
        if (itemsize == 4) return body(onereshape::Bits<std::uint32_t>{unit, key});
        if (itemsize == 8) return body(onereshape::Bits<std::uint64_t>{unit, key});
    } else if (kind == "integers") {
        check(values, "iu", 0);
        if (values.dtype().kind() == 'i') {
            if (itemsize == 1) return body(onereshape::Integers<std::int8_t>{unit});
            if (itemsize == 2) return body(onereshape::Integers<std::int16_t>{unit});
            if (itemsize == 4) return body(onereshape::Integers<std::int32_t>{unit});
            if (itemsize == 8) return body(onereshape::Integers<std::int64_t>{unit});
        } else {
            if (itemsize == 1) return body(onereshape::Integers<std::uint8_t>{unit});
            if (itemsize == 2) return body(onereshape::Integers<std::uint16_t>{unit});
            if (itemsize == 4) return body(onereshape::Integers<std::uint32_t>{unit});
            if (itemsize == 8) return body(onereshape::Integers<std::uint64_t>{unit});
        }
    }
    throw py::type_error("an array of another type");
}

py::array fold_numbers(const py::array& values, const std::vector<Index>& axes, const py::array& odd, Word stir,
                       const std::string& kind, Word unit, Word key) {
    return by_kind(values, kind, unit, key,
                   [&](const auto& load) { return folded(values, axes, odd, stir, load); });
}

py::array numbers(const py::array& values, const std::string& kind, Word unit, Word key) {
    return by_kind(values, kind, unit, key, [&](const auto& load) { return hashed(values, load); });
}

py::array running(const py::array& words, Index axis, const py::array& odd, Word stir) {
    check(words, "u", wide);
    if (axis < 0 || axis >= words.ndim()) throw py::value_error("no such axis");
    const std::vector<Index> shape(words.shape(), words.shape() + words.ndim());
    const Word* factors = odd_words(odd, words.shape(axis));
    py::array answer(py::dtype::of<Word>(), shape);
    Dims dims;
    for (py::ssize_t each = 0; each < words.ndim(); ++each) {
        if (words.shape(each) == 0) return answer;
        if (each != axis) dims.push_back({words.shape(each), {words.strides(each), answer.strides(each)}});
    }
    dims = onereshape::collapsed(dims);
    char* out = static_cast<char*>(answer.mutable_data());
    const char* source = static_cast<const char*>(words.data());
    const Index step = words.strides(axis), out_step = answer.strides(axis), count = words.shape(axis);
    {
        py::gil_scoped_release release;
        onereshape::walk(dims, 2, [&](const Index* at) {
            onereshape::running_row(out + at[1], out_step, source + at[0], step, count, factors, stir);
        });
    }
    return answer;
}

py::array leaves(Index count, Word unit, Word key) {
    if (count < 0) throw py::value_error("fewer than none");
    py::array answer(py::dtype::of<Word>(), std::vector<Index>{count});
    Word* out = static_cast<Word*>(answer.mutable_data());
    {
        py::gil_scoped_release release;
        onereshape::leaves(out, count, unit, key);
    }
    return answer;
}

}  // namespace

PYBIND11_MODULE(_terms, module, py::mod_gil_not_used()) {
    module.doc() = "Hashes of terms, as onereshape.terms.hashing defines them.";
    module.def("levels", [] { return static_cast<int>(onereshape::find_level()) + 1; });
    module.def("use_level", [](int level) {
        if (level < 0 || level > onereshape::find_level()) throw py::value_error("there is no such level");
        onereshape::level = level;
    });
    module.def("mix", &mix);
    module.def("blend", &blend);
    module.def("fold", &fold);
    module.def("fold_numbers", &fold_numbers);
    module.def("numbers", &numbers);
    module.def("running", &running);
    module.def("leaves", &leaves);
}
