// Compares each kernel's bytes per second with a plain copy within the same GPU's memory, in alternation:
// `of_copy` is its share of the copy's bytes per second, by the GPU's clock. Also compares copies to and from
// the host with plain ones (`of_plain`), and top-k with torch.topk (`of_torch`; `of_torch_abs` for the
// magnitudes: its time over ours), for normally distributed values, for such of which half are zero, and for
// the gradient of a ResNet-18. Command-line arguments are sizes in KiB; the default sizes go up to 1 GiB and
// need a GPU with about 10 GiB.
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "runtime/gpu/cuda_check.hpp"
#include "runtime/gpu/cuda_codecs.hpp"
#include "runtime/gpu/cuda_device.hpp"
#include "tests/benchmarks/both_copies.hpp"
#include "tests/benchmarks/real_gradient.hpp"
#include "tests/benchmarks/torch_operations.hpp"

namespace tandem {
namespace {

constexpr int repeats = 10;
/// Of every benchmark: enough for a mean, and a minute for all of them. By time alone, Google's library would
/// need half an hour.
constexpr int iterations = 20;
/// Of vectors too small for a figure: that everything runs, also where CUDA is emulated.
constexpr int iterations_of_smallest = 2;
constexpr std::int64_t smallest_kibibytes = 64;
constexpr std::int64_t kibibyte = 1024;

/// Normally distributed.
std::vector<float> normal_values() {
  Rng random(1);
  std::vector<float> values(1 << 20U);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

/// Those, of which half, at random places, are zero.
std::vector<float> half_zero_values() {
  std::vector<float> values = normal_values();
  Rng random(2);
  for (float& value : values)
    if (random.below(2) == 0) value = 0.0F;
  return values;
}

/// Vectors of the same number of bytes, which repeat the values, and a message.
struct Vectors {
  Vectors(CudaDevice& device, std::int64_t bytes, const std::vector<float>& values = normal_values())
      : count(bytes / 4), message(device, static_cast<std::size_t>(bytes)), position(device, 1) {
    const std::size_t period = values.size();
    for (auto& vector : all) {
      vector = FloatArray(device, static_cast<std::size_t>(count));
      for (std::size_t at = 0; at < vector.size(); at += period)
        device.copy(vector.data() + at, values.data(), std::min(period, vector.size() - at) * sizeof(float));
    }
    device.finish();
  }
  float* operator[](std::size_t index) const { return all[index].data(); }
  std::uint16_t* halves(std::size_t index) const {
    return reinterpret_cast<std::uint16_t*>(all[index].data());
  }

  std::int64_t count;
  FloatArray all[4];
  DeviceArray<std::byte> message;
  PinnedArray<std::int64_t> position;
};

/// A kernel and the bytes per element that it has to read and write.
struct Measured {
  std::string name;
  double bytes;
  std::function<void(CudaDevice&, const Vectors&)> run;
};

std::vector<Measured> arithmetic() {
  const SgdStep sgd{1.0F, 0.01F, 0.9F, 1e-4F, false};
  const SgdStep nesterov{1.0F, 0.01F, 0.9F, 1e-4F, true};
  const AdamStep adam{1.0F, 1.0F, 1e-4F, 0.9F, 0.999F, 0.1F, 0.001F, 0.01F, 1.0F, 1e-8F};
  const MoveStep move{0.25F, 1.0F, 0.9F, 0.9F, false};
  const MoveStep move_nesterov{0.25F, 1.0F, 0.9F, 0.9F, true};
  using D = CudaDevice;
  using V = Vectors;
  // As many as ResNet-50 has buckets of 4 MiB, each with statistics, and as many as it has tensors.
  constexpr std::int64_t buckets = 25, tensors = 161;
  const auto stretches = [](const V& v) {
    std::vector<UpdateStretch> all;
    for (std::int64_t bucket = 0; bucket < buckets; ++bucket) {
      const std::int64_t begin = v.count * bucket / buckets, end = v.count * (bucket + 1) / buckets;
      all.push_back({begin, (end - begin) * 9 / 10, end - begin - (end - begin) * 9 / 10});
    }
    return all;
  };
  const auto copies = [](const V& v) {
    std::vector<FloatCopy> all;
    for (std::int64_t tensor = 0; tensor < tensors; ++tensor) {
      const std::int64_t begin = v.count * tensor / tensors, end = v.count * (tensor + 1) / tensors;
      all.push_back({v[0] + begin, v[1] + begin, end - begin});
    }
    return all;
  };
  return {
      {"fill", 4, [](D& d, const V& v) { d.fill(v[0], v.count, 1.0F); }},
      {"scale", 8, [](D& d, const V& v) { d.scale(v[0], v.count, 1.0F); }},
      {"add", 12, [](D& d, const V& v) { d.add(v[0], v[1], v.count, 1e-3F); }},
      {"add_unaligned", 12, [](D& d, const V& v) { d.add(v[0] + 1, v[1], v.count - 1, 1e-3F); }},
      {"add_terms", 16,
       [](D& d, const V& v) {
         const Term terms[] = {{v[1], 0.5F}, {v[2], 0.5F}, {v[3], 0.5F}};
         d.add_terms(v[0], /*begins=*/true, terms, v.count);
       }},
      {"multiply", 8, [](D& d, const V& v) { d.multiply(v[0], v[1], v.count, 0.5F); }},
      {"gradients", 8, [=](D& d, const V& v) { d.copy_all(copies(v)); }},
      {"add_fp16", 6,
       [](D& d, const V& v) { d.add_halves(v.halves(0), v.halves(1), v.count, HalfFormat::fp16); }},
      {"add_bf16", 6,
       [](D& d, const V& v) { d.add_halves(v.halves(0), v.halves(1), v.count, HalfFormat::bf16); }},
      {"subtract", 12, [](D& d, const V& v) { d.subtract(v[0], v[1], v[2], v.count); }},
      {"approach", 12, [](D& d, const V& v) { d.approach(v[0], v[1], v.count, 0.25F); }},
      {"find_non_finite", 4, [](D& d, const V& v) { d.find_non_finite(v[0], v.count, v.position.data()); }},
      {"sgd", 12, [=](D& d, const V& v) { d.sgd(v[0], v[1], nullptr, v.count, sgd); }},
      {"sgd_momentum", 20, [=](D& d, const V& v) { d.sgd(v[0], v[1], v[2], v.count, sgd); }},
      {"sgd_buckets", 18.8, [=](D& d, const V& v) { d.sgd_over(v[0], v[1], v[2], stretches(v), sgd); }},
      {"sgd_nesterov", 20, [=](D& d, const V& v) { d.sgd(v[0], v[1], v[2], v.count, nesterov); }},
      {"adam", 28, [=](D& d, const V& v) { d.adam(v[0], v[1], v[2], v[3], v.count, adam); }},
      {"compensate", 16, [](D& d, const V& v) { d.compensate(v[0], v[1], v[2], nullptr, v.count, {}); }},
      {"compensate_adaptive", 24,
       [](D& d, const V& v) {
         d.compensate(v[0], v[1], v[2], v[3], v.count, {0.1F, 0.9F});
       }},
      {"move_momentum", 20, [=](D& d, const V& v) { d.move(v[0], v[0], v[1], v[2], v.count, move); }},
      {"move_nesterov", 20,
       [=](D& d, const V& v) { d.move(v[0], v[0], v[1], v[2], v.count, move_nesterov); }},
      {"narrow_fp16", 6, [](D& d, const V& v) { d.narrow(v[0], v.halves(1), v.count, HalfFormat::fp16); }},
      {"narrow_bf16", 6, [](D& d, const V& v) { d.narrow(v[0], v.halves(1), v.count, HalfFormat::bf16); }},
      {"widen_fp16", 6, [](D& d, const V& v) { d.widen(v.halves(0), v[1], v.count, HalfFormat::fp16); }},
      {"widen_bf16", 6, [](D& d, const V& v) { d.widen(v.halves(0), v[1], v.count, HalfFormat::bf16); }}};
}

/// The GPU's time of one run, averaged over `repeats` runs.
Seconds time_of(CudaDevice& device, const std::function<void()>& run) {
  run();
  const DeviceMark begin = device.mark();
  for (int repeat = 0; repeat < repeats; ++repeat) run();
  const DeviceMark end = device.mark();
  device.finish();
  const Seconds all = device.between(begin, end);
  device.forget(begin);
  device.forget(end);
  return all / repeats;
}

/// Alternates with a copy of one vector to another, which reads and writes each byte once.
void measure(benchmark::State& state, CudaDevice& device, const Measured& kernel) {
  const Vectors vectors(device, state.range(0) * kibibyte);
  const auto bytes = static_cast<std::size_t>(vectors.count) * sizeof(float);
  Seconds own;
  Seconds copy;
  for (auto _ : state) {
    const Seconds once = time_of(device, [&] { kernel.run(device, vectors); });
    copy += time_of(device, [&] { device.copy(vectors[0], vectors[3], bytes); });
    own += once;
    state.SetIterationTime(once.count());
  }
  const double moved =
      kernel.bytes * static_cast<double>(vectors.count) * static_cast<double>(state.iterations());
  const double copied = 2.0 * static_cast<double>(bytes) * static_cast<double>(state.iterations());
  state.counters["bytes_per_second"] =
      benchmark::Counter(moved / own.count(), benchmark::Counter::kDefaults, benchmark::Counter::kIs1000);
  state.counters["of_copy"] = (moved / own.count()) / (copied / copy.count());
}

/// Of a matrix where a method treats it otherwise than a vector.
compression::Setting setting_of(const std::string& method, std::int64_t elements) {
  const auto& entry = compression::catalog().find(method);
  const std::int64_t rows = method == "power-sgd" ? std::max<std::int64_t>(1, elements / 4096) : 1;
  return {.stretch = {0, elements, {{0, rows, elements / rows}}},
          .options = Options::resolve(method, entry.options, {})};
}

/// Rate in bytes of the vector per second, however often the method reads each byte.
void report_rate(benchmark::State& state, const Vectors& vectors, Seconds own) {
  const double bytes = 4.0 * static_cast<double>(vectors.count) * static_cast<double>(state.iterations());
  state.counters["bytes_per_second"] =
      benchmark::Counter(bytes / own.count(), benchmark::Counter::kDefaults, benchmark::Counter::kIs1000);
}

void measure_codec(benchmark::State& state, CudaDevice& device, const std::string& method, bool decodes) {
  const Vectors vectors(device, state.range(0) * kibibyte);
  const auto codec =
      device.make_codec(compression::catalog().find(method), setting_of(method, vectors.count));
  const auto message = vectors.message.span().first(static_cast<std::size_t>(codec->message_bytes()));
  codec->encode(vectors.all[0].span(), 0, message);
  Seconds own;
  for (auto _ : state) {
    const Seconds once = time_of(device, [&] {
      decodes ? codec->decode(message, 0, vectors.all[1].span())
              : codec->encode(vectors.all[0].span(), 0, message);
    });
    own += once;
    state.SetIterationTime(once.count());
  }
  report_rate(state, vectors, own);
}

/// Alternates with torch.topk of the same tensor. With error feedback, ours also adds the stored error before
/// it selects and stores the new error after it; torch's does not.
void measure_top_k(benchmark::State& state, CudaDevice& device, const std::vector<float>& values,
                   bool feeds_back) {
  const Vectors vectors(device, state.range(0) * kibibyte, values);
  const auto codec =
      device.make_codec(compression::catalog().find("top-k"), setting_of("top-k", vectors.count));
  const auto message = vectors.message.span().first(static_cast<std::size_t>(codec->message_bytes()));
  const auto torch = make_torch_top_k(device.gpu(), device.libtorch_stream(), vectors[0], vectors.count,
                                      static_cast<std::int64_t>(message.size() / 8));
  Seconds own;
  Seconds signed_torch;
  Seconds torch_of_magnitudes;
  for (auto _ : state) {
    device.fill(vectors[1], vectors.count, 0.0F);
    const Seconds once = time_of(device, [&] {
      const auto all = vectors.all[0].span();
      if (!feeds_back) return codec->encode(all, 0, message);
      TANDEM_CHECK(codec->encode_with_memory(all, vectors.all[1].span(), 0, message), vectors.count);
    });
    if (torch) signed_torch += time_of(device, [&] { torch(false); });
    if (torch) torch_of_magnitudes += time_of(device, [&] { torch(true); });
    own += once;
    state.SetIterationTime(once.count());
  }
  report_rate(state, vectors, own);
  if (!torch) return;
  state.counters["of_torch"] = signed_torch / own;
  state.counters["of_torch_abs"] = torch_of_magnitudes / own;
}

Seconds wall_time_of(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

/// Compares with a bare cudaMemcpyAsync of the same memory on a separate stream.
void measure_host_copy(benchmark::State& state, CudaDevice& device, bool goes_out) {
  const auto bytes = static_cast<std::size_t>(state.range(0) * kibibyte);
  const DeviceArray<std::byte> own(device, bytes);
  const std::unique_ptr<std::byte, std::function<void(std::byte*)>> pinned(
      device.allocate_pinned(bytes), [&](std::byte* memory) { device.release_pinned(memory); });
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags",
             device.gpu());
  device.finish();
  Seconds ours;
  Seconds plain;
  for (auto _ : state) {
    const Seconds once = wall_time_of([&] {
      const DeviceMark end = goes_out ? device.copy_out(pinned.get(), own.data(), bytes)
                                      : device.copy_in(own.data(), pinned.get(), bytes);
      while (!device.has_reached(end)) continue;
      device.forget(end);
    });
    plain += wall_time_of([&] {
      void* const to = goes_out ? pinned.get() : own.data();
      const void* const from = goes_out ? own.data() : pinned.get();
      check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync",
                 device.gpu());
      check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize", device.gpu());
    });
    ours += once;
    state.SetIterationTime(once.count());
  }
  check_cuda(cudaStreamDestroy(stream), "cudaStreamDestroy", device.gpu());
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * static_cast<std::int64_t>(state.iterations()));
  state.counters["of_plain"] = plain / ours;
}

using Sizes = std::vector<std::int64_t>;

void register_one(const std::string& name, const Sizes& kibibytes,
                  const std::function<void(benchmark::State&)>& run) {
  for (const std::int64_t size : kibibytes)
    benchmark::RegisterBenchmark(name.c_str(), run)
        ->Iterations(size < smallest_kibibytes ? iterations_of_smallest : iterations)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond)
        ->ArgName("KiB")
        ->Arg(size);
}

void register_all(CudaDevice& device, const Sizes& sizes) {
  for (const Measured& kernel : arithmetic())
    register_one(kernel.name, sizes,
                 [&device, kernel](benchmark::State& state) { measure(state, device, kernel); });
  std::vector<std::pair<std::string, std::function<std::vector<float>()>>> patterns = {
      {"", normal_values}, {"_half_zero", half_zero_values}};
  if (const auto gradient = real_gradient()) patterns.emplace_back("_gradient", gradient);
  for (const auto& [ending, values] : patterns)
    for (const bool feeds_back : {false, true})
      register_one("top-k_encode" + ending + (feeds_back ? "_feedback" : ""), sizes,
                   [&device, values = values, feeds_back](benchmark::State& state) {
                     measure_top_k(state, device, values(), feeds_back);
                   });
  for (const std::string method : {"top-k", "random-k", "sign", "one-bit", "qsgd", "power-sgd"})
    for (const bool decodes : {false, true}) {
      if (method == "top-k" && !decodes) continue;
      register_one(method + (decodes ? "_decode" : "_encode"), sizes,
                   [&device, method, decodes](benchmark::State& state) {
                     measure_codec(state, device, method, decodes);
                   });
    }
  for (const bool goes_out : {false, true})
    register_one(goes_out ? "copy_out" : "copy_in", sizes, [&device, goes_out](benchmark::State& state) {
      measure_host_copy(state, device, goes_out);
    });
  for (const bool computes : {false, true})
    register_one(computes ? "copy_both_beside_convolution" : "copy_both", sizes,
                 [&device, computes](benchmark::State& state) {
                   measure_both_copies(state, device, static_cast<std::size_t>(state.range(0) * kibibyte),
                                       computes);
                 });
}

/// Errors: ConfigError.
Sizes parse_sizes(int argc, char** argv) {
  if (argc == 1) return {1 << 10, 16 << 10, 128 << 10, 1 << 20};
  Sizes sizes;
  for (int at = 1; at < argc; ++at) {
    sizes.push_back(std::atoll(argv[at]));
    if (sizes.back() <= 0) throw ConfigError(std::string("expected sizes in KiB, found '") + argv[at] + "'");
  }
  return sizes;
}

int run(int argc, char** argv) {
  if (const Gpus there = visible_gpus(); there.count == 0) {
    std::printf("kernels_benchmark: nothing measured, because %s\n", there.why_none.c_str());
    return 0;
  }
  CudaDevice device(0);
  std::printf("%s\n", device.name().c_str());
  benchmark::Initialize(&argc, argv);
  register_all(device, parse_sizes(argc, argv));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  try {
    return tandem::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kernels_benchmark: %s\n", error.what());
    return 2;
  }
}
