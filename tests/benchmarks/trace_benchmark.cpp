// How fast a trace of PyTorch's profiler is read, compared with nlohmann-json's parser whose events go
// nowhere. The text is a made one of many training steps, or that of a file, unpacked: trace_benchmark
// [FILE]. The parser reads it from memory, Tandem from a file in the page cache.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "policies/vocabulary/stream_text.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/trace/read_trace.hpp"

namespace {

using namespace tandem;

std::string span_text(const std::string& category, const std::string& name, int thread,
                      const std::string& time, const std::string& args) {
  return "\n  {\n    \"ph\": \"X\", \"cat\": \"" + category + "\", \"name\": \"" + name +
         "\", \"pid\": 2910249, \"tid\": " + std::to_string(thread) + ",\n    \"ts\": " + time +
         ", \"dur\": 15.633,\n    \"args\": {\n      " + args + "\n    }\n  }";
}

/// A launch, its kernel with what Kineto writes about it, and as many operators and flows as a real trace has
/// for each kernel.
std::string event_text(int number) {
  const std::string id = std::to_string(number), time = std::to_string(4458676524648LL + number) + ".125";
  const std::string link = "\"External id\": " + id + ", \"correlation\": " + id;
  std::string made =
      span_text("cuda_runtime", "cudaLaunchKernel", 2919752, time, link + ", \"cbid\": 211") + ',' +
      span_text("kernel", "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor>", 7,
                time,
                link +
                    R"(, "queued": 0, "device": 0, "context": 1, "stream": 7, "registers per thread": 16,
      "shared memory": 0, "blocks per SM": 0.009259, "warps per SM": 0.037037, "grid": [1, 1, 1],
      "block": [128, 1, 1], "est. achieved occupancy %": 0)");
  for (const char* phase : {"s", "f", "f"})
    made += R"(,
  {
    "ph": ")" +
            std::string(phase) + R"(", "id": )" + id + R"(, "pid": 2910249, "tid": 2919752, "ts": )" + time +
            R"(, "cat": "ac2g", "name": "ac2g"
  })";
  for (const char* name : {"aten::conv2d", "aten::empty", "aten::detach", "aten::add_"})
    made += ',' + span_text("cpu_op", name, 2919752, time,
                            "\"External id\": " + id + ", \"Record function id\": 1941, \"Ev Idx\": " + id);
  return made;
}

std::string made_text() {
  constexpr int kernels = 20'000;
  std::string made = "{\"schemaVersion\": 1, \"traceEvents\": [";
  for (int number = 0; number < kernels; ++number) made += (number == 0 ? "" : ",") + event_text(number);
  return made + "]}";
}

/// Of `file`, which the first call names; empty: a made one.
const std::string& text(const std::string& file = "") {
  static const std::string all = [&] {
    if (file.empty()) return made_text();
    std::ifstream stream(file, std::ios::binary);
    return rest_of(stream);
  }();
  return all;
}

/// Takes every token and does nothing with it.
struct NoHandler {
  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(std::int64_t) { return true; }
  bool number_unsigned(std::uint64_t) { return true; }
  bool number_float(double, const std::string&) { return true; }
  bool string(std::string&) { return true; }
  bool binary(nlohmann::json::binary_t&) { return true; }
  bool start_object(std::size_t) { return true; }
  bool key(std::string&) { return true; }
  bool end_object() { return true; }
  bool start_array(std::size_t) { return true; }
  bool end_array() { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) { return false; }
};

void parse_only(benchmark::State& state) {
  for (auto _ : state) {
    NoHandler handler;
    benchmark::DoNotOptimize(nlohmann::json::sax_parse(text(), &handler));
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text().size()));
}
BENCHMARK(parse_only);

void read_trace(benchmark::State& state) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.write("trace.json", text());
  for (auto _ : state) benchmark::DoNotOptimize(trace::read_inputs(path, {}));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text().size()));
}
BENCHMARK(read_trace);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (text(argc > 1 ? argv[1] : "").empty()) {
    std::cerr << "trace_benchmark: expected a trace, found an empty or missing file " << argv[1] << '\n';
    return 2;
  }
  benchmark::RunSpecifiedBenchmarks();
}
