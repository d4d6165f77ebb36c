// Time that exchanging gradients adds to a step of ranks that share one GPU: whole jobs of workers without
// any exchange, with a ring all-reduce of buckets that overlaps backward, and with the same all-reduce after
// backward. Started without mpirun, the program runs itself under mpirun with 2 and 4 ranks. Jobs for which
// the GPU has too little memory are skipped. Without a GPU it prints a message and measures nothing.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "runtime/gpu/gpu.hpp"
#include "runtime/mpi/cuda_aware.hpp"
#include "runtime/mpi/mpi_context.hpp"
#include "runtime/mpi/wire.hpp"
#include "tests/benchmarks/median.hpp"
#include "tests/benchmarks/rank_benchmark.hpp"
#include "workloads/job/check/memory_estimate.hpp"
#include "workloads/job/check/run_description.hpp"
#include "workloads/records/chrome_trace.hpp"
#include "workloads/records/journal_bytes.hpp"
#include "workloads/records/recording_context.hpp"
#include "workloads/records/result_directory.hpp"
#include "workloads/roles/run_role.hpp"

namespace tandem {
namespace {

/// The command-line flags, `--name=value`; lists are separated by commas.
using Flags = std::map<std::string, std::string>;

const Flags& default_flags() {
  static const Flags flags = {
      {"ranks", "2,4"},       {"models", "resnet18,resnet50"}, {"image", "224"},      {"batch", "256"},
      {"bucket_kib", "4096"}, {"precisions", "fp32,bf16"},     {"steps", "15"},       {"turns", "2"},
      {"trace", ""},          {"deterministic", "false"},      {"messages", "staged"}};
  return flags;
}

/// Errors: ConfigError if it is not a positive number.
int positive(const Flags& flags, const std::string& name) {
  const int value = std::atoi(flags.at(name).c_str());
  if (value > 0) return value;
  throw ConfigError(fmt::format("--{}: expected a positive number, found '{}'", name, flags.at(name)));
}

/// Errors: ConfigError.
Flags parse_flags(int argc, char** argv) {
  Flags flags = default_flags();
  for (int at = 1; at < argc; ++at) {
    const std::string word = argv[at];
    const auto equals = word.find('=');
    const bool is_flag = word.starts_with("--") && equals != std::string::npos;
    const auto found = is_flag ? flags.find(word.substr(2, equals - 2)) : flags.end();
    if (found != flags.end()) {
      found->second = word.substr(equals + 1);
      continue;
    }
    std::string usage = "expected";
    for (const auto& [name, value] : default_flags()) usage += fmt::format(" --{}={}", name, value);
    throw ConfigError(fmt::format("{} (--trace=PREFIX writes timelines), found '{}'", usage, word));
  }
  if (!parse_choice<DeviceMessages>(flags.at("messages")))
    throw ConfigError(
        fmt::format("--messages: expected staged, direct or peer, found '{}'", flags.at("messages")));
  for (const char* name : {"image", "batch", "bucket_kib", "steps", "turns"}) positive(flags, name);
  return flags;
}

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

enum class Exchange { none, during_backward, after_backward };
constexpr int warm_up_steps = 4;

/// Every worker is on a host that has the machine's first GPU. Without an exchange, the workers run local SGD
/// whose only average comes after the last step, which is not counted.
Job make_job(const Flags& flags, const std::string& model, Precision precision, Exchange exchange,
             int ranks) {
  const std::int64_t steps = warm_up_steps + positive(flags, "steps") + 1;
  Experiment experiment;
  experiment.name = "gpu_exchange";
  auto& workload = experiment.workload;
  workload.math = Experiment::Workload::Math::real;
  workload.model = model;
  workload.dataset = "synthetic-colour";
  workload.batch = positive(flags, "batch");
  workload.train_samples = std::int64_t{2} * ranks * workload.batch;
  workload.test_samples = 1;
  workload.image_size = positive(flags, "image");
  workload.bucket_bytes = Bytes(std::int64_t{positive(flags, "bucket_kib")} << 10);
  workload.precision = precision;
  workload.deterministic = flags.at("deterministic") == "true";
  auto& sync = experiment.sync;
  sync.over = sync::Route::all_reduce;
  sync.collective = "ring";
  sync.order = WorkerOrder::rank;
  sync.overlap = exchange == Exchange::after_backward ? OverlapMode::none : OverlapMode::backward;
  if (exchange == Exchange::none) {
    sync.algorithm = "local-sgd";
    sync.options = {{"h", OptionValue(steps)}};
  }
  experiment.placement.workers.assign(static_cast<std::size_t>(ranks), "gpu");
  experiment.optimizer.learning_rate = 1e-3;
  experiment.optimizer.momentum = 0.9;
  experiment.stop.rounds = exchange == Exchange::none ? 1 : steps;
  experiment.run.devices = DeviceSpeed::native;
  experiment.run.device_messages = parse_choice<DeviceMessages>(flags.at("messages")).value();
  platforms::Host host;
  host.name = "gpu";
  host.device = platforms::find_device("h200");
  host.speed = host.device.speed;
  host.gpu = 0;
  platforms::Description platform;
  platform.file = experiment.name;
  platform.hosts = {host};
  return {experiment, platform, ""};
}

/// Runs the job and gathers the records of all ranks at rank 0. Collective.
Journal run_job(const Job& job, ComputeDevice& device, bool operations) {
  const DeviceMessages messages = job.spec().experiment.run.device_messages;
  MpiSetting setting{.device = &device,
                     .direct_messages = messages_are_direct(messages, mpi_reads_device_memory())};
  if (messages == DeviceMessages::peer)
    setting.peer_messages = std::make_shared<PeerMessages>(MPI_COMM_WORLD, &device);
  MpiContext context(MPI_COMM_WORLD, std::move(setting));
  Journal journal;
  if (operations) {
    context.watch_copies([&](const MpiContext::DeviceCopy& copy) {
      journal.operations.push_back(
          record_of_copy(context.rank(), copy.out, copy.bytes, copy.start, copy.end));
    });
    RecordingContext recording(context, journal.operations);
    run_role(job, recording, journal);
    context.watch_copies({});
  } else {
    run_role(job, context, journal);
  }
  context.meet();
  Journal merged;
  for (const auto& bytes : gather_bytes(MPI_COMM_WORLD, to_bytes(journal)))
    merged.append(journal_from_bytes(bytes));
  return merged;
}

/// Durations of steps in milliseconds, over all ranks and turns.
struct Steps {
  std::vector<double> whole;
  std::vector<double> backward;
  std::vector<double> waiting;  ///< for the exchange, after all computation of the step

  void add(const Journal& journal, std::int64_t last_step) {
    for (const StepRecord& step : journal.steps) {
      if (step.step < warm_up_steps || step.step >= last_step) continue;
      whole.push_back(1e3 * step.duration().count());
      backward.push_back(1e3 * step.phases[static_cast<std::size_t>(Phase::backward)].count());
      waiting.push_back(1e3 * step.phases[static_cast<std::size_t>(Phase::exchange)].count());
    }
  }
};

/// The part of an exchange that no overlap can hide, given that the exchange takes `exchange_ms` alone: what
/// is left after backward, and at least the last bucket's part, which can only begin then.
double unhideable(const ModelDescription& model, double exchange_ms, double backward_ms) {
  const double last = static_cast<double>(model.buckets.back().exchanged());
  double all = 0.0;
  for (const auto& bucket : model.buckets) all += static_cast<double>(bucket.exchanged());
  return std::max({0.0, exchange_ms - backward_ms, exchange_ms * last / all});
}

std::string title_of(const Job& job) {
  const auto& workload = job.spec().experiment.workload;
  return fmt::format("{} ranks on one GPU, {} of side {}, {}, batch {} each, {} buckets, messages {}",
                     job.roster().assignments().size(), workload.model, workload.image_size,
                     to_text(workload.precision), workload.batch, job.model().buckets.size(),
                     to_text(job.spec().experiment.run.device_messages));
}

/// Of all ranks, on their GPU: with CUDA's context and the libraries' kernels and workspaces of each.
Bytes needed_memory(const Job& job) {
  constexpr Bytes of_libraries{std::int64_t{1} << 30};
  Bytes needed{0};
  for (Rank rank = 0; rank < job.roster().size(); ++rank) {
    const RankMemory memory = estimate_memory(job, rank);
    needed += memory.total() - memory.data + of_libraries;
  }
  return needed;
}

void print(const Job& job, const Steps& alone, const Steps& during, const Steps& after) {
  const double alone_ms = median(alone.whole);
  const double during_ms = median(during.whole);
  const double exchange_ms = std::max(0.0, median(after.whole) - alone_ms);
  const double bound_ms = alone_ms + unhideable(job.model(), exchange_ms, median(alone.backward));
  fmt::print("{}\n", title_of(job));
  fmt::print("  step_compute_alone    {:9.3f} ms (backward {:.3f})\n", alone_ms, median(alone.backward));
  fmt::print("  step_with_exchange    {:9.3f} ms (waiting for the exchange {:.3f})\n", during_ms,
             median(during.waiting));
  fmt::print("  with / alone          {:9.3f}\n", during_ms / alone_ms);
  fmt::print("  exchange, not hidden  {:9.3f} ms; of {:.3f} ms that it adds behind backward\n",
             during_ms - alone_ms, exchange_ms);
  fmt::print("  cannot be hidden      {:9.3f} ms; with / (alone + that) {:.3f}\n", bound_ms - alone_ms,
             during_ms / bound_ms);
  std::fflush(stdout);
}

void write_timeline(const std::string& path, const Job& job, const Journal& journal) {
  std::ofstream file(path);
  file << chrome_trace(describe_run(job, "measured"), journal).dump();
  if (!file.flush()) throw WorldError("cannot write " + path);
  fmt::print("  timeline: {}\n", path);
}

/// Alternates the three variants, so that other load on the machine affects all of them equally.
void measure(const Flags& flags, const std::string& model, Precision precision, ComputeDevice& device,
             int ranks, bool is_first) {
  std::vector<Job> jobs;
  for (const Exchange exchange : {Exchange::none, Exchange::during_backward, Exchange::after_backward})
    jobs.push_back(make_job(flags, model, precision, exchange, ranks));
  // All jobs have the same parts; that with an exchange has the most. All ranks come to the same decision.
  const Bytes needed = needed_memory(jobs[1]);
  if (const Bytes there = gpu_memory(0); needed > there) {
    if (is_first)
      fmt::print("{}: skipped, they need about {} and the GPU has {}\n", title_of(jobs[1]), readable(needed),
                 readable(there));
    return;
  }
  std::vector<Steps> steps(jobs.size());
  const int last_step = warm_up_steps + positive(flags, "steps");
  const int turns = positive(flags, "turns");
  for (int turn = 0; turn < turns; ++turn)
    for (std::size_t way = 0; way < jobs.size(); ++way)
      steps[way].add(run_job(jobs[way], device, false), last_step);
  if (is_first) print(jobs[0], steps[0], steps[1], steps[2]);
  if (flags.at("trace").empty()) return;
  const Journal journal = run_job(jobs[1], device, true);
  if (is_first)
    write_timeline(fmt::format("{}-{}-{}-{}_ranks.json", flags.at("trace"),
                               std::filesystem::path(model).stem().string(), to_text(precision), ranks),
                   jobs[1], journal);
}

/// Prints a message if there is no GPU.
bool has_gpu(bool is_first) {
  const Gpus there = visible_gpus();
  if (there.count > 0) return true;
  if (is_first) fmt::print("gpu_exchange: {}, nothing measured\n", there.why_none);
  return false;
}

void run_rank(const Flags& flags) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (!has_gpu(rank == 0)) return;
  prepare_learner();
  const auto device = make_gpu(0);
  for (const auto& model : words_of(flags.at("models")))
    for (const auto& precision : words_of(flags.at("precisions")))
      measure(flags, model, parse_choice<Precision>(precision).value(), *device, ranks, rank == 0);
}

/// Empty without a GPU.
std::vector<int> numbers_of_ranks(const Flags& flags) {
  std::vector<int> numbers;
  if (!has_gpu(true)) return numbers;
  for (const auto& ranks : words_of(flags.at("ranks"))) numbers.push_back(std::atoi(ranks.c_str()));
  return numbers;
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  const auto flags = [=] { return tandem::parse_flags(argc, argv); };
  return tandem::rank_benchmark(
      argc, argv, [&] { return tandem::numbers_of_ranks(flags()); }, [&] { tandem::run_rank(flags()); });
}
