// The Python side: plans, and copies between arrays or addresses.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <atomic>
#include <string>
#include <tuple>
#include <vector>

#include "copy.hpp"

namespace py = pybind11;
using onereshape::Axis;
using onereshape::Index;
using onereshape::Plan;

namespace {

// The level of new plans: the widest that this processor has; tests use less.
std::atomic<int> used{onereshape::levels() - 1};

Plan plan(Index item, const std::vector<Index>& dims, const std::vector<Index>& source,
          const std::vector<Index>& destination, Index source_axis) {
    if (source.size() != dims.size() || destination.size() != dims.size()) throw std::invalid_argument("unequal ranks");
    std::vector<Axis> axes;
    for (std::size_t k = 0; k < dims.size(); ++k) axes.push_back({dims[k], source[k], destination[k]});
    return onereshape::make_plan(axes, item, source_axis, used);
}

// What moves it: items one by one, tiles of items transposed, few planes, or a weave of shuffles.
std::string kernel(const Plan& plan) {
    if (plan.move == nullptr) return "weave";
    for (const onereshape::Move each : plan.kernels->items) {
        if (each == plan.move) return "items";
    }
    for (const onereshape::Move each : plan.kernels->tiles) {
        if (each == plan.move) return "tiles";
    }
    return "planes";
}

// The positions of the walk, and the items along both sides of a rectangle; of a weave, the positions along its dim.
std::tuple<Index, Index, Index> extents(const Plan& plan) {
    Index walk = 1;
    for (const Axis& axis : plan.outer) walk *= axis.size;
    return {walk, plan.rectangle.na, plan.rectangle.nb};
}

// How a copy is cut, for those who check it.
std::vector<std::tuple<Index, Index, Index, Index, bool>> parts(const Plan& plan, int threads, Index bytes_per_thread) {
    std::vector<std::tuple<Index, Index, Index, Index, bool>> found;
    for (const onereshape::Part& part : onereshape::parts_of(plan, threads, bytes_per_thread)) {
        found.emplace_back(part.first, part.last, part.begin, part.end, part.along_source);
    }
    return found;
}

void run(const Plan& plan, char* destination, const char* source, int threads, Index bytes_per_thread,
         Index stream_from) {
    py::gil_scoped_release release;
    onereshape::copy(plan, destination, source, threads, bytes_per_thread, stream_from);
}

// Between arrays: what the plan would touch must be exactly what the two hold.
void copy_array(const Plan& plan, const py::array& destination, const py::array& source, int threads,
                Index bytes_per_thread, Index stream_from) {
    Index low = 0, high = source.itemsize();
    for (py::ssize_t axis = 0; axis < source.ndim(); ++axis) {
        const Index reach = source.strides(axis) * (source.shape(axis) - 1);
        if (source.shape(axis) == 0) throw std::invalid_argument("the source is empty");
        (reach < 0 ? low : high) += reach;
    }
    const bool fits = destination.nbytes() == plan.nbytes && (destination.flags() & py::array::c_style) != 0;
    if (!fits || low != plan.low || high != plan.high) throw std::invalid_argument("the plan is of other arrays");
    run(plan, static_cast<char*>(const_cast<py::array&>(destination).mutable_data()), static_cast<const char*>(source.data()),
        threads, bytes_per_thread, stream_from);
}

// Between addresses, for other libraries' tensors: the caller knows that the plan is theirs.
void copy_address(const Plan& plan, std::uintptr_t destination, std::uintptr_t source, int threads,
                  Index bytes_per_thread, Index stream_from) {
    run(plan, reinterpret_cast<char*>(destination), reinterpret_cast<const char*>(source), threads, bytes_per_thread,
        stream_from);
}

// How many bytes an array begins behind the start of a cache line.
std::uintptr_t beyond_line(const py::array& array) {
    return reinterpret_cast<std::uintptr_t>(array.data()) % static_cast<std::uintptr_t>(onereshape::line);
}

}  // namespace

PYBIND11_MODULE(_copy, module, py::mod_gil_not_used()) {
    module.doc() = "Copies into C order, by the plans of onereshape.arrays.view_or_copy.";
    py::class_<Plan>(module, "Plan", py::module_local())
        .def(py::init(&plan))
        .def_readonly("nbytes", &Plan::nbytes)
        .def_readonly("cost", &Plan::cost)
        .def_readonly("spread", &Plan::spread)
        .def_property_readonly("kernel", &kernel)
        .def_property_readonly("extents", &extents)
        .def("parts", &parts);
    module.def("levels", &onereshape::levels);
    module.def("use_level", [](int level) {
        if (level < 0 || level >= onereshape::levels()) throw py::value_error("there is no such level");
        used = level;
    });
    module.def("copy_array", &copy_array);
    module.def("copy_address", &copy_address);
    module.def("beyond_line", &beyond_line);
}
