// `tandem evaluate`: measures the checkpoints of a job on its test set as the job writes them, or afterwards.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "cli/commands/commands.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/output.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/job/plan/job_document.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/records/write_lock.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct EvaluateArguments {
  std::string directory;
  std::int64_t batch = evaluation_batch;
  std::optional<double> wait_s = {};
};

bool is_being_written(const std::string& directory) {
  try {
    expect_not_written(directory);
    return false;
  } catch (const ConfigError&) {
    return true;
  }
}

/// Sleeps between looks at the directory. Says once for what, and ends after the limit.
class Waiting {
 public:
  explicit Waiting(const EvaluateArguments& arguments) : arguments_(arguments), began_(Clock::now()) {}

  void wait_for(const std::string& what) {
    const auto limit = arguments_.wait_s;
    if (limit && std::chrono::duration<double>(Clock::now() - began_).count() >= *limit)
      throw ConfigError(fmt::format("{}: expected {} within {} s (--wait), found none", arguments_.directory,
                                    what, *limit));
    if (!has_said_)
      print_note(fmt::format("{} has no {} yet; waiting (Ctrl-C ends)", arguments_.directory, what));
    has_said_ = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }

 private:
  const EvaluateArguments& arguments_;
  Clock::time_point began_;
  bool has_said_ = false;
};

Job job_of(const EvaluateArguments& arguments) {
  if (!fs::is_directory(arguments.directory))
    throw ConfigError(arguments.directory + ": expected the result directory of a job, found none");
  const std::string path = arguments.directory + "/job.json";
  for (Waiting waiting(arguments); !fs::exists(path);) waiting.wait_for("job (job.json)");
  const nlohmann::json document = read_json_file(path, "a job document");
  if (document.contains("jobs"))
    throw ConfigError(fmt::format("{}: expected the directory of one job, found several: {}/jobs/NAME",
                                  arguments.directory, arguments.directory));
  try {
    Job job = job_from_document(document, arguments.directory);
    if (!job.real_math())
      throw ConfigError(arguments.directory +
                        ": expected a job with real mathematics (workload.math), found a modelled one");
    return job;
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(fmt::format("{}: not a job document: {}", path, error.what()));
  }
}

class CheckpointEvaluator {
 public:
  CheckpointEvaluator(const EvaluateArguments& arguments, const Job& job)
      : arguments_(arguments), job_(job), learner_(make_learner(job.replica_plan().learner, host_device())) {}

  /// Until the job has ended and all its checkpoints are evaluated. A job that begins again in the same
  /// directory is another one.
  nlohmann::json run() {
    std::optional<Waiting> waiting(arguments_);
    for (;;) {
      // What it writes before it ends is there then.
      const bool has_ended = !is_being_written(arguments_.directory);
      if (evaluate_next()) {
        waiting.emplace(arguments_);
        continue;
      }
      if (has_ended && evaluate_last()) return {{"batch", arguments_.batch}, {"evaluations", evaluations_}};
      waiting->wait_for(last_ ? "checkpoint after round " + std::to_string(*last_) : "checkpoint");
    }
  }

 private:
  bool evaluate_next() {
    std::vector<std::int64_t> rounds = rounds_in(arguments_.directory);
    std::ranges::sort(rounds);
    for (const std::int64_t round : rounds)
      if ((!last_ || round > *last_) && evaluate(checkpoint_path(arguments_.directory, round))) return true;
    return false;
  }
  /// The model with which the job ended. False: nothing was evaluated at all.
  bool evaluate_last() {
    const std::string path = arguments_.directory + "/model.pt";
    if (fs::exists(path) && (!last_ || load_checkpoint(path, job_.model()).step > *last_)) evaluate(path);
    return last_.has_value();
  }
  /// False: the job has removed it meanwhile.
  bool evaluate(const std::string& path) {
    std::optional<Checkpoint> checkpoint;
    try {
      checkpoint = load_checkpoint(path, job_.model());
    } catch (const ConfigError&) {
      if (fs::exists(path)) throw;
      return false;
    }
    std::ranges::copy(checkpoint->values, learner_->model().begin());
    const EvaluationResult result = evaluate_test_set();
    last_ = checkpoint->step;
    nlohmann::json& known = evaluations_.emplace_back(
        nlohmann::json{{"round", *last_}, {"accuracy", result.accuracy}, {"loss", result.loss}});
    std::string top5;
    if (!std::isnan(result.top5_accuracy)) {
      known["top5_accuracy"] = result.top5_accuracy;
      top5 = fmt::format(" (top-5 {:.4f})", result.top5_accuracy);
    }
    fmt::print("round {}: accuracy {:.4f}{}, loss {:.4f}\n", *last_, result.accuracy, top5, result.loss);
    std::fflush(stdout);
    return true;
  }

  EvaluationResult evaluate_test_set() {
    const Dataset& dataset = *job_.data().dataset();
    const std::span<const std::byte> all = dataset.records(Dataset::Part::test);
    const auto batch = static_cast<std::size_t>(arguments_.batch * dataset.info().record_bytes().count());
    EvaluationResult mean{.top5_accuracy = 0.0};
    for (auto rest = all; !rest.empty(); rest = rest.subspan(std::min(batch, rest.size()))) {
      const auto part = rest.first(std::min(batch, rest.size()));
      const EvaluationResult of_part = learner_->evaluate(part);
      const double share = static_cast<double>(part.size()) / static_cast<double>(all.size());
      mean.accuracy += share * of_part.accuracy;
      mean.loss += share * of_part.loss;
      mean.top5_accuracy += share * of_part.top5_accuracy;
    }
    return mean;
  }

  const EvaluateArguments& arguments_;
  const Job& job_;
  std::unique_ptr<Learner> learner_;
  std::optional<std::int64_t> last_;  ///< round
  nlohmann::json evaluations_ = nlohmann::json::array();
};

int evaluate(const EvaluateArguments& arguments) {
  const Job job = job_of(arguments);
  print_document(CheckpointEvaluator(arguments, job).run());
  return exit_success;
}

}  // namespace

void add_evaluate(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "evaluate", "Measure the checkpoints of a job on its test set, while it runs or afterwards");
  const auto arguments = std::make_shared<EvaluateArguments>();
  command->add_option("DIRECTORY", arguments->directory, "Results of a job with real mathematics")
      ->required();
  command->add_option("--batch", arguments->batch, "Samples that are computed at once")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, evaluation_batch));
  command
      ->add_option("--wait", arguments->wait_s,
                   "Seconds to wait for the job and for each of its checkpoints; default: without limit")
      ->check(CLI::NonNegativeNumber);
  command->footer(
      "Prints a line for each checkpoint (evaluate_every, checkpoint.policy) in the order of rounds, and one "
      "for\n"
      "the model at the end. Follows a job that runs, and ends with it. Computes on the processor; the job\n"
      "learns nothing of it. placement.evaluator evaluates as part of a job.\n\n"
      "Examples:\n"
      "  tandem evaluate results/quick/bsp\n"
      "  tandem evaluate results/quick/bsp --batch 64 --wait 60");
  command->callback([arguments, &exit_code] { exit_code = evaluate(*arguments); });
}

}  // namespace tandem::cli
