// What calls remember, as a type of Python: made with a number of places, and told what to keep.
#include "call_plans.hpp"

#include <structmember.h>

#include <new>

namespace onereshape {

namespace {

PyObject* make_plans(PyTypeObject* type, PyObject* arguments, PyObject*) {
    Py_ssize_t places = 0;
    if (!PyArg_ParseTuple(arguments, "n", &places)) return nullptr;
    if (places < 1) {
        PyErr_SetString(PyExc_ValueError, "there is no place");
        return nullptr;
    }
    auto* made = reinterpret_cast<PlansObject*>(type->tp_alloc(type, 0));
    if (made == nullptr) return nullptr;
    made->plans = new (std::nothrow) Plans(static_cast<std::size_t>(places));
    made->others = PyDict_New();
    if (made->plans != nullptr && made->others != nullptr) return reinterpret_cast<PyObject*>(made);
    Py_DECREF(made);
    return PyErr_Occurred() ? nullptr : PyErr_NoMemory();
}

void free_plans(PyObject* self) {
    auto* mine = reinterpret_cast<PlansObject*>(self);
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    delete mine->plans;
    Py_XDECREF(mine->others);
    type->tp_free(self);
    Py_DECREF(type);
}

int visit_plans(PyObject* self, visitproc visit, void* arg) {  // plans hold numbers, types and functions: no way back
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(reinterpret_cast<PlansObject*>(self)->others);
    return 0;
}

int clear_plans(PyObject* self) {
    Py_CLEAR(reinterpret_cast<PlansObject*>(self)->others);
    return 0;
}

PyObject* keep_plan(PyObject* self, PyObject* arguments) {
    PyObject *key = nullptr, *plan = nullptr;
    if (!PyArg_ParseTuple(arguments, "SO!", &key, &PyTuple_Type, &plan)) return nullptr;
    const std::size_t size = static_cast<std::size_t>(PyBytes_GET_SIZE(key));
    if (size % sizeof(Word) != 0 || PyTuple_GET_SIZE(plan) < 2 || !PyTuple_CheckExact(PyTuple_GET_ITEM(plan, 0))) {
        PyErr_SetString(PyExc_ValueError, "a key of words, and a plan: the output dims and what makes the answer");
        return nullptr;
    }
    try {
        reinterpret_cast<PlansObject*>(self)->plans->keep(PyBytes_AS_STRING(key), size, plan);
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

Py_ssize_t count_plans(PyObject* self) {
    auto* mine = reinterpret_cast<PlansObject*>(self);
    return static_cast<Py_ssize_t>(mine->plans->size()) + PyDict_Size(mine->others);
}

PyMethodDef plans_methods[] = {
    {"keep", keep_plan, METH_VARARGS, "keep(key, plan): notes a plan by the bytes of its key."},
    {nullptr, nullptr, 0, nullptr},
};
PyMemberDef plans_members[] = {
    {"others", T_OBJECT_EX, offsetof(PlansObject, others), READONLY, "Plans that only Python finds."},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot plans_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(make_plans)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_plans)},
    {Py_tp_traverse, reinterpret_cast<void*>(visit_plans)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_plans)},
    {Py_tp_methods, plans_methods},
    {Py_tp_members, plans_members},
    {Py_sq_length, reinterpret_cast<void*>(count_plans)},
    {0, nullptr},
};
}  // namespace

PyType_Spec plans_spec = {"onereshape.arrays._calls.Plans", sizeof(PlansObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE, plans_slots};

}  // namespace onereshape
