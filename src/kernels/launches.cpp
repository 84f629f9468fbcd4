// Launches of CUDA kernels that are remembered: onereshape.arrays.cuda_driver says the same through ctypes, which takes
// longer for the call than the driver does for the launch.
#include <cstdint>
#include <string>

#include "launches.hpp"

namespace py = pybind11;

namespace onereshape {

namespace {

// The driver's cuLaunchKernel: a function, blocks and threads in three dims, shared memory, a stream, the arguments.
using Driver = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);

// All of a launch but two addresses and the stream.
class Launch {
  public:
    Launch(std::uintptr_t driver, std::uintptr_t function, unsigned blocks, unsigned threads, unsigned shared,
           const py::bytes& plan)
        : driver_(reinterpret_cast<Driver>(driver)), function_(reinterpret_cast<void*>(function)), blocks_(blocks),
          threads_(threads), shared_(shared), plan_(plan) {}

    // Whether the driver took it.
    bool operator()(std::uintptr_t source, std::uintptr_t destination, std::uintptr_t stream) const {
        void* arguments[] = {&source, &destination, const_cast<char*>(plan_.data())};
        return driver_(function_, blocks_, 1, 1, threads_, 1, 1, shared_, reinterpret_cast<void*>(stream), arguments,
                       nullptr) == 0;
    }

  private:
    Driver driver_;
    void* function_;
    unsigned blocks_, threads_, shared_;
    std::string plan_;
};

}  // namespace

void define_launches(py::module_& module) {
    py::class_<Launch>(module, "Launch")
        .def(py::init<std::uintptr_t, std::uintptr_t, unsigned, unsigned, unsigned, const py::bytes&>(), py::pos_only())
        .def("__call__", &Launch::operator(), py::pos_only(), py::call_guard<py::gil_scoped_release>());
}

}  // namespace onereshape
