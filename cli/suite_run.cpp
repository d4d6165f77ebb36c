#include "cli/suite_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>

#include "cli/calibration_run.hpp"
#include "cli/cluster_use.hpp"
#include "cli/disturbance.hpp"
#include "cli/job_options.hpp"
#include "cli/profile_origin.hpp"
#include "cli/progress.hpp"
#include "cli/subcommand_process.hpp"
#include "cli/suite_input.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "runtime/launcher/launcher.hpp"
#include "validation/campaign/hold_out.hpp"
#include "workloads/cost/profile.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using validation::SuiteConfiguration;

/// One simulation or run to make.
struct Task {
  enum class Kind { simulation, witness, run };
  std::size_t configuration;
  Kind kind;
  int repetition;
  std::string out;
  std::vector<std::string> words;  ///< of the command, without the program
};

/// Configurations whose figures one calibration can tell.
struct Calibration {
  std::string profile;  ///< path
  std::vector<std::size_t> configurations;
  std::string failure{};
};

/// The one with the middle throughput.
Results middle_of(std::vector<Results> draws) {
  const auto middle = draws.begin() + std::ssize(draws) / 2;
  std::nth_element(draws.begin(), middle, draws.end(), [](const Results& a, const Results& b) {
    return a.summary.at("throughput").get<double>() < b.summary.at("throughput").get<double>();
  });
  return std::move(*middle);
}

class SuiteRun {
 public:
  SuiteRun(const validation::Suite& suite, const SuiteRunOptions& options)
      : suite_(suite), options_(options) {
    for (const auto& configuration : suite.configurations)
      outcomes_.push_back({.name = configuration.name,
                           .group = configuration.group,
                           .algorithm = configuration.algorithm,
                           .calibration = configuration.calibration});
    documents_.resize(outcomes_.size());
    profile_of_.resize(outcomes_.size());
  }

  SuiteResults carry_out() {
    plan_calibrations();
    bring_clusters_up();
    for (auto& calibration : calibrations_) calibrate(calibration);
    const std::vector<Task> tasks = plan();
    ProgressBar bar("validate " + suite_.name);
    for (std::size_t done = 0; done < tasks.size(); ++done) {
      bar.update(static_cast<double>(done) / static_cast<double>(tasks.size()));
      carry_out(tasks[done]);
    }
    if (made_again_ > 0)
      fmt::print(
          stderr,
          "tandem: {} runs were made twice, since other programs used more than {:.0f} % of this machine "
          "meanwhile; the less disturbed ones are kept\n",
          made_again_, disturbing_load * 100);
    for (std::size_t i = 0; i < outcomes_.size(); ++i) conclude(i, tasks);
    for (std::size_t i = 0; i < outcomes_.size(); ++i)
      if (!outcomes_[i].failure.empty())
        documents_[i] = validation::failed_configuration_document(outcomes_[i]);
    SuiteResults results{std::move(outcomes_), std::move(documents_), {}, profile_documents(), first_error_};
    for (const Task& task : tasks) results.commands.push_back(command_of(task.words));
    return results;
  }

 private:
  const SuiteConfiguration& at(std::size_t index) const { return suite_.configurations[index]; }

  // ---- Calibration ----

  /// Work is calibrated when it is real, messages always: what these depend on.
  json calibration_key(const SuiteConfiguration& configuration) const {
    const json experiment = to_json(configuration.experiment);
    json key = {{"math", experiment.at("workload").at("math")}};
    if (options_.on_cluster) key["platform"] = experiment.at("platform");
    if (key["math"] != "real") return key;
    key["workload"] = experiment.at("workload");
    return key;
  }

  void plan_calibrations() {
    std::vector<json> keys;
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      const json key = options_.profile.empty() ? calibration_key(at(i)) : json();
      const auto known = std::find(keys.begin(), keys.end(), key);
      if (known == keys.end()) {
        keys.push_back(key);
        calibrations_.push_back({{}, {i}});
      } else {
        calibrations_[static_cast<std::size_t>(known - keys.begin())].configurations.push_back(i);
      }
    }
    for (std::size_t k = 0; k < calibrations_.size(); ++k) {
      std::string path = options_.profile;
      if (path.empty())
        path = options_.out + (keys.size() == 1 ? "/profile.json" : fmt::format("/profiles/{}.json", k + 1));
      calibrations_[k].profile = fs::absolute(path).lexically_normal().string();
      for (const std::size_t i : calibrations_[k].configurations) profile_of_[i] = calibrations_[k].profile;
    }
  }

  /// One of the calibration set where there is one: its settings are what the calibration may know.
  std::size_t representative(const Calibration& calibration) const {
    for (const std::size_t i : calibration.configurations)
      if (at(i).calibration) return i;
    return calibration.configurations.front();
  }

  void calibrate(Calibration& calibration) {
    if (!options_.profile.empty() || (options_.resume && fs::exists(calibration.profile))) return;
    const auto& configuration = at(representative(calibration));
    fmt::print("calibrating {}\n", options_.on_cluster
                                       ? "the emulated cluster of " + configuration.experiment.platform
                                       : "this machine");
    fs::create_directories(fs::path(calibration.profile).parent_path());
    JobOptions job;
    job.experiment_file = configuration.experiment_file;
    job.settings = configuration.settings;
    job.variant = configuration.variant;
    try {
      const std::string cluster = options_.on_cluster ? configuration.experiment.platform : std::string();
      if (run_calibration(job, calibration.profile, cluster) != 0)
        calibration.failure = "the calibration failed";
    } catch (const std::exception& error) {
      if (!first_error_) first_error_ = std::current_exception();
      calibration.failure = std::string("the calibration failed: ") + error.what();
    }
    if (calibration.failure.empty()) return;
    fmt::print(stderr, "tandem: {}\n", calibration.failure);
    for (const std::size_t i : calibration.configurations) outcomes_[i].failure = calibration.failure;
  }

  std::vector<json> profile_documents() const {
    std::vector<json> all;
    for (const auto& calibration : calibrations_) {
      json users = json::array();
      for (const std::size_t i : calibration.configurations) users.push_back(at(i).name);
      json document = {
          {"path", calibration.profile},
          {"configurations", std::move(users)},
          {"settings_of", options_.profile.empty() ? json(at(representative(calibration)).name) : json()},
          {"failure", calibration.failure}};
      if (calibration.failure.empty() && fs::exists(calibration.profile)) {
        const Profile profile = load_profile(calibration.profile);
        document.update({{"date", profile.date},
                         {"machine", profile.machine},
                         {"software", profile.software},
                         {"command", profile.command}});
      }
      all.push_back(std::move(document));
    }
    return all;
  }

  void bring_clusters_up() {
    if (!options_.on_cluster) return;
    for (const auto& configuration : suite_.configurations) {
      auto& cluster = clusters_[configuration.experiment.platform];
      if (!cluster) cluster = std::make_unique<ClusterKeeper>(configuration.experiment.platform, true);
    }
  }

  // ---- Tasks ----

  std::string folder(std::size_t index) const { return options_.out + '/' + at(index).folder; }

  std::vector<std::string> settings(std::size_t index) const {
    auto all = at(index).settings;
    all.insert(all.end(),
               {"physics.network=profile", "physics.noise=profile", "physics.profile=" + profile_of_[index]});
    return all;
  }

  /// The only place where the words of a simulation or run are put together.
  Task make_task(std::size_t index, Task::Kind kind, int repetition = 0) const {
    const bool runs = kind == Task::Kind::run;
    std::string out = runs                          ? fmt::format("/measured-{}", repetition)
                      : kind == Task::Kind::witness ? "/smpi"
                                                    : "/simulated";
    if (kind == Task::Kind::simulation && repetition > 0) out += fmt::format("-{}", repetition);
    Task task{index, kind, repetition, folder(index) + out,
              words_for(runs ? "run" : "simulate", at(index), settings(index))};
    task.words.insert(task.words.end(),
                      {"--out", task.out, "--operations", "--decisions", "--trace", "--force"});
    if (kind == Task::Kind::witness) task.words.insert(task.words.end(), {"--fidelity", "smpi"});
    if (repetition > 0 || runs)
      task.words.insert(task.words.end(), {"--repetition", std::to_string(repetition)});
    if (runs && options_.on_cluster)
      task.words.insert(task.words.end(), {"--cluster", at(index).experiment.platform});
    return task;
  }

  /// How often a configuration is simulated, each time with the noise drawn anew. What workers meet of each
  /// other may hang on a few draws. Real mathematics takes as long as computing it, once is enough.
  static int draws_of(const SuiteConfiguration& configuration) {
    return configuration.experiment.workload.math == Experiment::Workload::Math::modelled ? 3 : 1;
  }

  std::vector<Task> plan() const {
    std::vector<Task> simulations, runs;
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      for (int draw = 0; draw < draws_of(at(i)); ++draw)
        simulations.push_back(make_task(i, Task::Kind::simulation, draw));
      if (options_.witness && at(i).experiment.data.source != DataSource::storage)
        simulations.push_back(make_task(i, Task::Kind::witness));
      for (int repetition = 0; repetition < at(i).experiment.repetitions; ++repetition)
        runs.push_back(make_task(i, Task::Kind::run, repetition));
    }
    // Shuffled, so that a drift of the machine does not favour one configuration.
    Rng::stream(suite_.seed, "order of runs").shuffle(runs);
    simulations.insert(simulations.end(), runs.begin(), runs.end());
    return simulations;
  }

  /// Whether an interrupted suite has done the task already, for the same experiment.
  bool is_done(const Task& task) const {
    if (!options_.resume || !fs::exists(task.out + "/run.json") || fs::exists(task.out + "/INCOMPLETE"))
      return false;
    JobOptions job;
    job.experiment_file = at(task.configuration).experiment_file;
    job.settings = settings(task.configuration);
    job.variant = at(task.configuration).variant;
    try {
      const Results known = read_results(task.out);
      return to_json(known.info.experiment) == to_json(load_job(job).experiment) &&
             known.info.repetition == task.repetition;
    } catch (const ConfigError&) {
      return false;
    }
  }

  void do_task(const Task& task) const {
    fs::create_directories(task.out);
    run_self({task.words, options_.out + "/log.txt"});
  }

  static double other_load_of(const Task& task) {
    return json::parse(std::ifstream(task.out + "/summary.json")).at("other_load").get<double>();
  }

  /// A run whose machine was used by others is made once more; the less disturbed one is kept.
  void do_again_if_disturbed(const Task& task) {
    const double share = other_load_of(task);
    if (share <= disturbing_load) return;
    ++made_again_;
    const std::string first = task.out + "-disturbed";
    fs::remove_all(first);
    fs::rename(task.out, first);
    try {
      do_task(task);
    } catch (const std::exception& error) {
      fmt::print(stderr, "tandem: {}: {}\n  (the disturbed run is kept)\n",
                 outcomes_[task.configuration].name, first_lines(error.what()));
      fs::remove(task.out + "/summary.json");
    }
    if (!fs::exists(task.out + "/summary.json") || other_load_of(task) > share) {
      fs::remove_all(task.out);
      fs::rename(first, task.out);
    }
    fs::remove_all(first);
  }

  void carry_out(const Task& task) {
    auto& outcome = outcomes_[task.configuration];
    if (!outcome.failure.empty() || is_done(task)) return;
    try {
      do_task(task);
      if (task.kind == Task::Kind::run) do_again_if_disturbed(task);
    } catch (const std::exception& error) {
      if (!first_error_) first_error_ = std::current_exception();
      outcome.failure = first_lines(error.what());
      fmt::print(stderr, "tandem: {}: {}\n", outcome.name, outcome.failure);
    }
  }

  // ---- Results ----

  /// Reads, compares and forgets the records of one configuration.
  void conclude(std::size_t index, const std::vector<Task>& tasks) {
    auto& outcome = outcomes_[index];
    if (!outcome.failure.empty()) return;
    try {
      validation::VariantResults results{.name = outcome.name,
                                         .simulated = {},
                                         .measured = {},
                                         .group = outcome.group,
                                         .algorithm = outcome.algorithm,
                                         .calibration = outcome.calibration};
      std::vector<Results> draws;
      for (const Task& task : tasks) {
        if (task.configuration != index) continue;
        Results read = read_results(task.out);
        if (task.kind == Task::Kind::simulation)
          draws.push_back(std::move(read));
        else if (task.kind == Task::Kind::witness)
          results.witness = std::move(read);
        else
          results.measured.push_back(std::move(read));
      }
      results.draws = static_cast<int>(draws.size());
      results.simulated = middle_of(std::move(draws));
      validation::check_hold_out(origin_of(profile_of_[index]), results.measured);
      outcome = validation::compared(results);
      documents_[index] = validation::configuration_document(results, *outcome.comparison);
      if (options_.traces)
        write_trace(folder(index) + "/trace.json", results.simulated, results.measured.front());
    } catch (const ConfigError& error) {
      if (!first_error_) first_error_ = std::current_exception();
      outcome.failure = error.what();
    }
  }

  const validation::Suite& suite_;
  const SuiteRunOptions& options_;
  std::vector<validation::Compared> outcomes_;
  std::vector<json> documents_;
  std::vector<std::string> profile_of_;  ///< of each configuration
  std::vector<Calibration> calibrations_;
  std::map<std::string, std::unique_ptr<ClusterKeeper>> clusters_;
  std::exception_ptr first_error_;
  int made_again_ = 0;  ///< runs
};

}  // namespace

void check_profile(const validation::Suite& suite, const SuiteRunOptions& options) {
  if (options.profile.empty()) return;
  std::vector<std::string> directories;
  for (const auto& configuration : suite.configurations)
    directories.push_back(options.out + '/' + configuration.folder);
  validation::check_apart(origin_of(options.profile), directories);
}

SuiteResults run_suite(const validation::Suite& suite, const SuiteRunOptions& options) {
  return SuiteRun(suite, options).carry_out();
}

}  // namespace tandem::cli
