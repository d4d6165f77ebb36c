// Small traces of PyTorch's profiler for tests, and the stored ones of public projects.
#pragma once

#include <filesystem>
#include <string>

#include "tests/support/paths.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/trace/read_trace.hpp"

namespace tandem::testing {

/// A stored trace; empty where the folder of shared data is absent.
inline std::string stored_trace(const std::string& name) {
  const auto path = std::filesystem::path(source_folder()) / "../shared/data/pytorch/kineto" / name;
  return std::filesystem::exists(path) ? path.string() : "";
}

/// Events as JSON text. Times are in microseconds.
class MadeTrace {
 public:
  /// `args`: "\"stream\": 7".
  MadeTrace& span(const std::string& category, const std::string& name, const std::string& time,
                  double duration, const std::string& args = "", int thread = 1) {
    return raw(R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "pid": 9, "tid": )" +
               std::to_string(thread) + R"(, "ts": )" + time + R"(, "dur": )" + std::to_string(duration) +
               R"(, "args": {)" + args + "}}");
  }
  MadeTrace& span(const std::string& category, const std::string& name, double time, double duration,
                  const std::string& args = "", int thread = 1) {
    return span(category, name, std::to_string(time), duration, args, thread);
  }
  /// A kernel and its launch by `thread`.
  MadeTrace& kernel(const std::string& name, double launched, double time, double duration, int thread = 1,
                    const std::string& args = "\"stream\": 7") {
    const std::string link = "\"correlation\": " + std::to_string(++correlation_);
    span("cuda_runtime", "cudaLaunchKernel", launched, 1, link, thread);
    return span("kernel", name, time, duration, link + ", " + args);
  }
  /// One training step of 100 us: 20 us forward, 30 us backward of which 20 before the bucket, an all-reduce
  /// of 10 us of which 5 are exposed, 10 us optimiser. `elements`: of the all-reduce; empty: there is none.
  MadeTrace& step(int number, double at, const std::string& elements = "1000") {
    span("user_annotation", "ProfilerStep#" + std::to_string(number), at, 100);
    kernel("gemm", at + 1, at + 5, 20);
    const std::string node = "autograd::engine::evaluate_function: ";
    span("cpu_op", node + "AddmmBackward0", at + 10, 8, "\"Sequence number\": 3", 2);
    kernel("gemm_backward", at + 11, at + 25, 20, 2);
    if (!elements.empty()) sum("allreduce", elements, at + 13, at + 50, 10);
    span("cpu_op", node + "torch::autograd::AccumulateGrad", at + 20, 10, "", 2);
    kernel("add", at + 21, at + 45, 10, 2);
    span("user_annotation", "Optimizer.step#SGD.step", at + 40, 10);
    return kernel("sgd", at + 41, at + 60, 10);
  }
  /// One training step of 100 ms that the GPU binds: 20 ms forward, 30 ms backward of which 20 before the
  /// bucket of 100 kB in 16 bits, which is ready after 40 ms, 10 ms optimiser.
  MadeTrace& slow_step(int number, double at) {
    span("user_annotation", "ProfilerStep#" + std::to_string(number), at, 90'000);
    kernel("gemm", at + 10, at + 1000, 20'000);
    const std::string node = "autograd::engine::evaluate_function: ";
    span("cpu_op", node + "AddmmBackward0", at + 20, 80, "\"Sequence number\": 3", 2);
    kernel("gemm_backward", at + 30, at + 21'000, 20'000, 2);
    sum("allreduce", "50000", at + 50, at + 41'000, 10);
    span("cpu_op", node + "torch::autograd::AccumulateGrad", at + 120, 10, "", 2);
    kernel("add", at + 121, at + 41'000, 10'000, 2);
    span("user_annotation", "Optimizer.step#SGD.step", at + 140, 10);
    return kernel("sgd", at + 141, at + 51'000, 10'000);
  }
  /// A collective that the backward thread launches, with its record.
  MadeTrace& sum(const std::string& name, const std::string& elements, double launched, double time,
                 double duration, const std::string& group = "0", const std::string& more = "") {
    const std::string args = R"("Collective name": ")" + name + R"(", "dtype": "Half", "In msg nelems": )" +
                             elements + R"(, "Group size": 2, "Process Group Name": ")" + group + '"' + more;
    span("cpu_op", "record_param_comms", launched - 1, 4, args, 2);
    return kernel("ncclDevKernel_" + name, launched, time, duration, 2, "\"stream\": 20");
  }
  /// Any text between two events.
  MadeTrace& raw(const std::string& text) {
    events_ += (events_.empty() ? "\n" : ",\n") + text;
    return *this;
  }
  /// `top`: further keys before the events.
  std::string text(const std::string& top = "") const {
    return "{\"schemaVersion\": 1, " + top + "\"traceEvents\": [" + events_ +
           "\n], \"traceName\": \"/home/x\"}";
  }
  trace::Trace read(const std::string& top = "", const trace::ReadOptions& options = {}) const {
    const TemporaryFolder folder;
    return std::move(trace::read_inputs(folder.write("made.json", text(top)), options).traces.front());
  }

 private:
  std::string events_;
  int correlation_ = 0;
};

}  // namespace tandem::testing
