#include "call_keys.hpp"

#include <pybind11/numpy.h>

#include <atomic>
#include <cstring>

namespace py = pybind11;

namespace onereshape {

namespace {

// What DLPack 1 lays down for looking at a tensor of another library.
struct Device {
    std::int32_t kind, number;
};
struct ElementType {
    std::uint8_t code, bits;
    std::uint16_t lanes;
};
struct Tensor {
    void* data;
    Device device;
    std::int32_t rank;
    ElementType type;
    std::int64_t *dims, *strides;
    std::uint64_t offset;
};
struct Exchange {
    std::uint32_t major, minor;
    void* older;
    void *allocate, *give, *take;
    int (*look)(void* object, Tensor* out);
    void* stream;
};

struct Known {
    PyTypeObject* ndarray = nullptr;
    PyObject* specs = nullptr;           // a dict: each name with its row
    PyTypeObject* spec = nullptr;        // the type of a row
    std::array<PyObject*, 2> flags{};    // their names, interned
    const PyGetSetDef* dtype = nullptr;  // of torch's tensors, which gives their type
    PyObject* tracing = nullptr;         // torch's: whether it records what is called
    int (*look)(void*, Tensor*) = nullptr;
    std::atomic<PyTypeObject*> tensor{nullptr};  // torch's, set last
} known;

enum class Target : Word { none, list, array };

Library add_array(Key& key, PyObject* data) {
    const auto array = py::reinterpret_borrow<py::array>(data);
    const py::ssize_t rank = array.ndim();
    key.add(static_cast<Word>(Library::numpy));
    key.add(array.dtype().ptr());
    key.add(rank);
    for (py::ssize_t axis = 0; axis < rank; ++axis) {
        key.add(array.shape()[axis]);
        key.add(array.strides()[axis]);
    }
    return Library::numpy;
}

// Whether torch has one type alone that DLPack calls so; integers of a byte, and what is new, are several.
bool is_sure(const ElementType& type) {
    enum Code : std::uint8_t { integer, natural, floating, opaque, brain, complex, boolean };
    if (type.lanes != 1) return false;
    if (type.code == integer || type.code == natural) return type.bits > 8;
    return type.code == floating || type.code == brain || type.code == complex || type.code == boolean;
}

// Not while torch records calls: it must see where the numbers come from.
Library add_tensor(Key& key, PyObject* data) {
    const Held tracing(PyObject_CallNoArgs(known.tracing));
    if (tracing.get() != Py_False) return Library::none;
    Tensor tensor{};
    if (known.look(data, &tensor) != 0) {  // not strided, of a type that DLPack lacks, wrapped by a transform
        PyErr_Clear();
        return Library::none;
    }
    const Held type(is_sure(tensor.type) ? nullptr : known.dtype->get(data, known.dtype->closure));
    if (!type && !is_sure(tensor.type)) return Library::none;
    key.add(static_cast<Word>(Library::torch));
    key.add(tensor.type.code << 24 | tensor.type.bits << 16 | tensor.type.lanes);
    key.add(type.get());
    key.add(tensor.device.kind);
    key.add(tensor.rank);
    for (std::int32_t axis = 0; axis < tensor.rank; ++axis) {
        key.add(tensor.dims[axis]);
        key.add(tensor.strides[axis]);
    }
    return Library::torch;
}

Library add_data(Key& key, PyObject* data) { return is_array(data) ? add_array(key, data) : add_tensor(key, data); }

bool add_integer(Key& key, PyObject* entry) {
    if (!PyLong_CheckExact(entry)) return false;
    int overflow = 0;
    key.add(static_cast<Word>(PyLong_AsLongLongAndOverflow(entry, &overflow)));
    return overflow == 0;
}

bool add_list(Key& key, PyObject* target) {
    bool good = true;
#ifdef Py_GIL_DISABLED
    Py_BEGIN_CRITICAL_SECTION(target);
#endif
    const Py_ssize_t count = PyList_GET_SIZE(target);
    key.add(count);
    for (Py_ssize_t axis = 0; axis < count && good; ++axis) good = add_integer(key, PyList_GET_ITEM(target, axis));
#ifdef Py_GIL_DISABLED
    Py_END_CRITICAL_SECTION();
#endif
    return good;
}

bool add_tuple(Key& key, PyObject* target) {
    const Py_ssize_t count = PyTuple_GET_SIZE(target);
    key.add(count);
    for (Py_ssize_t axis = 0; axis < count; ++axis) {
        if (!add_integer(key, PyTuple_GET_ITEM(target, axis))) return false;
    }
    return true;
}

bool add_integers(Key& key, PyObject* target) {
    const auto array = py::reinterpret_borrow<py::array>(target);
    const py::dtype type = array.dtype();
    const char kind = type.kind();
    const py::ssize_t itemsize = type.itemsize();
    if (array.ndim() != 1 || (kind != 'i' && kind != 'u') || itemsize > static_cast<py::ssize_t>(sizeof(Word))) return false;
    const py::ssize_t count = array.shape()[0], stride = array.strides()[0];
    if (count > static_cast<py::ssize_t>(most)) return false;
    key.add(type.ptr());
    key.add(count);
    const char* from = static_cast<const char*>(array.data());
    for (py::ssize_t axis = 0; axis < count; ++axis) {
        Word word = 0;
        std::memcpy(&word, from + axis * stride, static_cast<std::size_t>(itemsize));
        key.add(word);
    }
    return true;
}

bool add_target(Key& key, PyObject* target) {
    if (target == Py_None) {
        key.add(static_cast<Word>(Target::none));
        return true;
    }
    if (PyList_CheckExact(target)) {
        key.add(static_cast<Word>(Target::list));
        return add_list(key, target);
    }
    if (PyTuple_CheckExact(target)) {
        key.add(static_cast<Word>(Target::list));
        return add_tuple(key, target);
    }
    if (!is_array(target)) return false;
    key.add(static_cast<Word>(Target::array));
    return add_integers(key, target);
}

bool add_spec(Key& key, PyObject* spec) {
    if (PyUnicode_CheckExact(spec)) spec = PyDict_GetItemWithError(known.specs, spec);  // rows are never taken out
    if (spec == nullptr || Py_TYPE(spec) != known.spec) return false;
    key.add(spec);
    return true;
}

// The one attribute that changes an answer, as 0, 1 or a bool; what else is given is for Python to refuse.
bool add_attributes(Key& key, PyObject* names, PyObject* const* values) {
    const Py_ssize_t count = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    if (count == 0) {
        key.add(Word{0});
        return true;
    }
    if (count != 1 || (!PyBool_Check(values[0]) && !PyLong_CheckExact(values[0]))) return false;
    int overflow = 0;
    const long number = PyLong_AsLongAndOverflow(values[0], &overflow);
    if (overflow != 0 || number < 0 || number > 1) return false;
    for (std::size_t flag = 0; flag < known.flags.size(); ++flag) {
        if (PyTuple_GET_ITEM(names, 0) != known.flags[flag]) continue;
        key.add(static_cast<Word>(2 * flag + 1) + number);
        return true;
    }
    return false;
}

}  // namespace

bool is_array(PyObject* object) { return Py_TYPE(object) == known.ndarray; }

bool is_tensor(PyObject* object) { return Py_TYPE(object) == known.tensor.load(std::memory_order_acquire); }

Library read(Key& key, PyObject* const* call, Py_ssize_t count, PyObject* names, PyObject* const* values) {
    const Library library = add_data(key, call[0]);
    if (library == Library::none || !add_target(key, call[1])) return Library::none;
    if (count == 3 && !(add_spec(key, call[2]) && add_attributes(key, names, values))) return Library::none;
    return library;
}

void know_numpy() { known.ndarray = reinterpret_cast<PyTypeObject*>(kept(py::module_::import("numpy").attr("ndarray"))); }

void know_specs(const py::type& spec, const py::dict& names, const py::str& first, const py::str& second) {
    known.spec = reinterpret_cast<PyTypeObject*>(kept(spec));
    known.specs = kept(names);
    known.flags = {kept(first), kept(second)};
    for (PyObject*& flag : known.flags) PyUnicode_InternInPlace(&flag);
}

bool know_torch(const py::type& tensor, const py::object& exchange, const py::object& tracing) {
    const auto* table = static_cast<const Exchange*>(PyCapsule_GetPointer(exchange.ptr(), "dlpack_exchange_api"));
    if (table == nullptr) throw py::error_already_set();
    const py::object dtype = tensor.attr("dtype");
    if (table->major != 1 || table->look == nullptr || !Py_IS_TYPE(dtype.ptr(), &PyGetSetDescr_Type)) return false;
    known.dtype = reinterpret_cast<PyGetSetDescrObject*>(kept(dtype))->d_getset;
    known.look = table->look;
    known.tracing = kept(tracing);
    known.tensor.store(reinterpret_cast<PyTypeObject*>(kept(tensor)), std::memory_order_release);
    return true;
}

}  // namespace onereshape
