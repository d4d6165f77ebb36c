// Times training steps of twenty networks of two families by libtorch on this machine's processor, with one
// thread and with two, and writes a table for `tandem fit speed`. A step is that of a worker alone: it loads
// a batch, computes both passes, and updates the model. Tandem's own update has one thread throughout. No
// test reads the times.
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "tests/benchmarks/learner_loop.hpp"
#include "tests/benchmarks/median.hpp"
#include "workloads/data/dataset.hpp"

namespace tandem {
namespace {

struct StepsOptions {
  std::string table;
  std::vector<std::string> models = {
      "resnet-cifar:blocks=2-2-2",      "resnet-cifar:blocks=2-3-3",     "resnet-cifar:blocks=2-5-3",
      "resnet-cifar:blocks=3-8-3",      "resnet-cifar:blocks=5-5-5",     "resnet-cifar:blocks=6-6-6",
      "resnet-cifar:blocks=7-7-7",      "resnet-cifar:blocks=8-9-9",     "resnet-cifar:blocks=10-13-12",
      "resnet-cifar:blocks=11-15-12",   "resnet-cifar:blocks=14-15-15",  "resnet-cifar:blocks=16-20-16",
      "shake-shake:hidden=16",          "shake-shake:hidden=32",         "shake-shake:hidden=48",
      "shake-shake:hidden=64",          "shake-shake:hidden=80",         "shake-shake:hidden=96",
      "shake-shake:hidden=32:depth=32", "shake-shake:hidden=64:depth=32"};
  int batch = 8;
  int steps = 5;   ///< that are measured, after warm_up_steps
  int passes = 2;  ///< over all networks: minutes lie between the first and the second
};

constexpr int warm_up_steps = 2;

/// Learners use one thread; this changes what they use from here on.
void use_threads(int threads) {
  at::set_num_threads(threads);
  if (void* found = dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))
    reinterpret_cast<void (*)(int)>(found)(threads);
}

std::vector<double> step_times(const std::string& model, int threads, int steps, const Dataset& dataset) {
  LearnerSetting setting;
  setting.model = model;
  setting.dataset = dataset.info();
  LearnerLoop loop(setting, host_device());
  use_threads(threads);
  const Records batch = dataset.records(Dataset::Part::train);
  std::vector<double> times;
  for (int step = -warm_up_steps; step < steps; ++step) {
    const auto start = std::chrono::steady_clock::now();
    loop.step(batch);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (step >= 0) times.push_back(taken.count());
  }
  return times;
}

void measure(const StepsOptions& options) {
  const auto dataset = load_dataset({.name = "synthetic-colour",
                                     .directory = "",
                                     .train_samples = options.batch,
                                     .test_samples = 1,
                                     .seed = 1});
  std::ofstream table(options.table);
  table << "model,batch,precision,device,run,step_time\n";
  for (int pass = 1; pass <= options.passes; ++pass)
    for (const int threads : {1, 2})
      for (const std::string& model : options.models) {
        const auto times = step_times(model, threads, options.steps, *dataset);
        for (const double time_s : times)
          table << fmt::format("{},{},fp32,threads-{},{},{:.6g}\n", model, options.batch, threads, pass,
                               time_s);
        table.flush();
        fmt::print("pass {}, {} of libtorch, {}: {:.3g} ms\n", pass, threads == 1 ? "1 thread" : "2 threads",
                   model, 1e3 * median(times));
        std::fflush(stdout);
      }
  if (!table) throw WorldError("cannot write " + options.table);
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  tandem::StepsOptions options;
  CLI::App app("Times training steps of networks and writes a table for `tandem fit speed`");
  app.add_option("TABLE", options.table, "the file to write")->required();
  app.add_option("--models", options.models)->delimiter(',')->allow_extra_args(false);
  const CLI::Range positive(1, 1'000'000);
  app.add_option("--batch", options.batch)->check(positive)->capture_default_str();
  app.add_option("--steps", options.steps, "that are measured")->check(positive)->capture_default_str();
  app.add_option("--passes", options.passes, "over all networks")->check(positive)->capture_default_str();
  try {
    app.parse(argc, argv);
    tandem::measure(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "native_steps: {}\n", error.what());
    return 70;
  }
  return 0;
}
