// Calls of Reshape that are answered from what is remembered, before the interpreter is asked: onereshape.arrays.calls
// says the same in Python.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <structmember.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "call_keys.hpp"
#include "call_plans.hpp"
#include "launches.hpp"

namespace py = pybind11;

namespace {

using namespace onereshape;

// How many plans are remembered together.
constexpr Py_ssize_t places = 256;

PyTypeObject *plans_type = nullptr, *door_type = nullptr;
PyObject *other_key = nullptr, *other_quick = nullptr;  // for arrays of other types, in Python

PyObject* reshape_array(PyObject* data, PyObject* output) {
    const Py_ssize_t rank = PyTuple_GET_SIZE(output);
    std::vector<py::ssize_t> dims(static_cast<std::size_t>(rank));
    for (Py_ssize_t axis = 0; axis < rank; ++axis) {
        dims[static_cast<std::size_t>(axis)] = PyLong_AsSsize_t(PyTuple_GET_ITEM(output, axis));
    }
    try {
        return py::reinterpret_borrow<py::array>(data).reshape(std::move(dims)).release().ptr();
    } catch (py::error_already_set& error) {
        error.restore();
        return nullptr;
    }
}

// torch reads dims that are arguments in half the time that it takes for a tuple of them, and here they are a tuple of
// arguments already.
PyObject* call_method(PyObject* method, PyObject* data, PyObject* output) {
    const auto* descriptor = reinterpret_cast<PyMethodDescrObject*>(method);
    const PyMethodDef* defined = descriptor->d_method;
    if (defined->ml_flags == (METH_VARARGS | METH_KEYWORDS) && PyTuple_GET_SIZE(output) > 0 &&
        PyObject_TypeCheck(data, descriptor->d_common.d_type)) {
        return reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(defined->ml_meth))(data, output,
                                                                                                        nullptr);
    }
    PyObject* both[] = {data, output};
    return PyObject_Vectorcall(method, both, 2, nullptr);
}

// By a method of data, by a function of data and the output dims, or by NumPy itself.
PyObject* perform(Library library, PyObject* data, PyObject* plan) {
    PyObject *output = PyTuple_GET_ITEM(plan, 0), *act = PyTuple_GET_ITEM(plan, 1);
    if (act == Py_None && library == Library::numpy) return reshape_array(data, output);
    if (Py_IS_TYPE(act, &PyMethodDescr_Type)) return call_method(act, data, output);
    PyObject* both[] = {data, output};
    return PyObject_Vectorcall(act, both, 2, nullptr);
}

// The same where only Python knows the array.
PyObject* other_answer(const PlansObject* plans, PyObject* const* call, Py_ssize_t count, PyObject* names,
                       PyObject* const* values) {
    const Held attributes(count == 3 ? PyDict_New() : nullptr);
    const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    if (count == 3 && !attributes) return nullptr;
    for (Py_ssize_t place = 0; place < named; ++place) {
        if (PyDict_SetItem(attributes.get(), PyTuple_GET_ITEM(names, place), values[place]) != 0) return nullptr;
    }
    PyObject* const other[] = {plans->others, call[0], call[1], count == 3 ? call[2] : nullptr, attributes.get()};
    PyObject* result = PyObject_Vectorcall(other_quick, other, count == 3 ? 5 : 3, nullptr);
    if (result == Py_None) Py_CLEAR(result);
    return result;
}

// The answer of a call that is remembered; null without an error where there is none.
PyObject* answer(const PlansObject* plans, PyObject* const* call, Py_ssize_t count, PyObject* names,
                 PyObject* const* values) {
    if (!is_array(call[0]) && !is_tensor(call[0])) return other_answer(plans, call, count, names, values);
    Key key;
    const Library library = read(key, call, count, names, values);
    if (library == Library::none || !key.fits()) return nullptr;
    const Held plan(plans->plans->find(key.data(), key.size()));
    if (!plan) return nullptr;
    PyObject* result = perform(library, call[0], plan.get());
    // No memory, or what else torch refuses: Python tries again, and says it.
    if (result == nullptr && (PyErr_ExceptionMatches(PyExc_MemoryError) ||
                              (library == Library::torch && PyErr_ExceptionMatches(PyExc_RuntimeError)))) {
        PyErr_Clear();
    }
    return result;
}

PyObject* key_of(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if ((count != 2 && count != 3) || (count == 2 && names != nullptr)) {
        PyErr_SetString(PyExc_TypeError, "key(data, target[, spec, **attributes])");
        return nullptr;
    }
    if (!is_array(arguments[0]) && !is_tensor(arguments[0])) {
        return PyObject_Vectorcall(other_key, arguments, static_cast<std::size_t>(count), names);
    }
    Key key;
    if (read(key, arguments, count, names, arguments + count) != Library::none && key.fits()) {
        return PyBytes_FromStringAndSize(key.data(), static_cast<Py_ssize_t>(key.size()));
    }
    if (PyErr_Occurred()) return nullptr;
    Py_RETURN_NONE;
}

// The base of a class whose calls are looked up here before its `__call__` is asked, which stays what others see of it.
struct DoorObject {
    PyObject_HEAD
    vectorcallfunc call;  // null for what is derived from that class
    PyObject* plans;
};

struct Door {
    std::atomic<PyTypeObject*> type{nullptr};
    vectorcallfunc call;
    PyObject* plain = nullptr;  // its `__call__`
};

PyObject* plainly(const Door& door, PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const Py_ssize_t all = count + (names == nullptr ? 0 : PyTuple_GET_SIZE(names));
    std::vector<PyObject*> call(static_cast<std::size_t>(all) + 1, self);
    std::copy(arguments, arguments + all, call.begin() + 1);
    return PyObject_Vectorcall(door.plain, call.data(), static_cast<std::size_t>(count) + 1, names);
}

// op(data), op(data, shape)
PyObject* call_operator(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* names);
// reshape(data, target, spec, **attributes)
PyObject* call_reshape(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* names);

Door operator_door{{}, call_operator}, reshape_door{{}, call_reshape};

const PlansObject* plans_of(PyObject* self) {
    return reinterpret_cast<PlansObject*>(reinterpret_cast<DoorObject*>(self)->plans);
}

PyObject* call_operator(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* names) {
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    if ((count == 1 || count == 2) && names == nullptr) {
        PyObject* const call[] = {arguments[0], count == 2 ? arguments[1] : Py_None, nullptr, nullptr};
        PyObject* result = answer(plans_of(self), call, 2, nullptr, nullptr);
        if (result != nullptr || PyErr_Occurred()) return result;
    }
    return plainly(operator_door, self, arguments, count, names);
}

PyObject* call_reshape(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* names) {
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (count == 3) {
        PyObject* result = answer(plans_of(self), arguments, 3, names, arguments + count);
        if (result != nullptr || PyErr_Occurred()) return result;
    }
    return plainly(reshape_door, self, arguments, count, names);
}

PyObject* make_door(PyTypeObject* type, PyObject*, PyObject*) {
    auto* made = reinterpret_cast<DoorObject*>(type->tp_alloc(type, 0));
    if (made == nullptr) return nullptr;
    for (const Door* door : {&operator_door, &reshape_door}) {
        if (door->type.load(std::memory_order_acquire) == type) made->call = door->call;
    }
    made->plans = PyObject_CallFunction(reinterpret_cast<PyObject*>(plans_type), "n", places);
    if (made->plans != nullptr) return reinterpret_cast<PyObject*>(made);
    Py_DECREF(made);
    return nullptr;
}

int visit_door(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(reinterpret_cast<DoorObject*>(self)->plans);
    return 0;
}

void free_door(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(reinterpret_cast<DoorObject*>(self)->plans);
    type->tp_free(self);
    Py_DECREF(type);
}

PyMemberDef door_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(DoorObject, call), READONLY, nullptr},
    {"_plans", T_OBJECT_EX, offsetof(DoorObject, plans), READONLY, "What its calls remember."},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot door_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(make_door)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_door)},
    {Py_tp_traverse, reinterpret_cast<void*>(visit_door)},
    {Py_tp_members, door_members},
    {0, nullptr},
};
PyType_Spec door_spec = {"onereshape.arrays._calls.Door", sizeof(DoorObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, door_slots};

void open(Door& door, const py::type& type) {
    auto* const found = reinterpret_cast<PyTypeObject*>(type.ptr());
    if (!PyType_IsSubtype(found, door_type) || door.plain != nullptr) throw py::type_error("no door, or one more");
    door.plain = py::object(type.attr("__call__")).release().ptr();
    Py_INCREF(found);
    found->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    door.type.store(found, std::memory_order_release);
}

PyMethodDef methods[] = {
    {"key", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(key_of)), METH_FASTCALL | METH_KEYWORDS,
     "key(data, target[, spec, **attributes]): all that an answer depends on, or None where that is not known here."},
    {nullptr, nullptr, 0, nullptr},
};

// What finds the keys of other arrays, and answers calls of them.
void know_others(const py::object& key, const py::object& quick) {
    other_key = kept(key);
    other_quick = kept(quick);
}

PyTypeObject* made(py::module_& module, const char* name, PyType_Spec& spec) {
    PyObject* type = PyType_FromSpec(&spec);
    if (type == nullptr) throw py::error_already_set();
    module.attr(name) = py::reinterpret_borrow<py::object>(type);
    return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace

PYBIND11_MODULE(_calls, module, py::mod_gil_not_used()) {
    module.doc() = "What calls remember, as onereshape.arrays.calls defines it.";
    know_numpy();
    plans_type = made(module, "Plans", plans_spec);
    door_type = made(module, "Door", door_spec);
    if (PyModule_AddFunctions(module.ptr(), methods) != 0) throw py::error_already_set();
    define_launches(module);
    module.def("know_specs", &know_specs);
    module.def("know_others", &know_others);
    module.def("know_torch", &know_torch);
    module.def("open_operator", [](const py::type& type) { open(operator_door, type); });
    module.def("open_reshape", [](const py::type& type) { open(reshape_door, type); });
}
