#include "validation/campaign/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "validation/campaign/sweep.hpp"
#include "validation/campaign/task_times.hpp"
#include "workloads/job/plan/ensemble.hpp"

namespace tandem::validation {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool is_modelled(const Experiment& experiment) {
  return experiment.workload.math == Experiment::Workload::Math::modelled;
}

/// One simulation where it makes an ensemble itself.
int draws_of(const SuiteConfiguration& configuration) {
  const auto experiments = configuration.experiments();
  const auto modelled = [](const Experiment* experiment) { return is_modelled(*experiment); };
  const bool has_ensemble = configuration.jobs.empty() && replicas_of(configuration.experiment) > 0;
  return std::ranges::all_of(experiments, modelled) && !has_ensemble ? 3 : 1;
}

/// Everything on which a calibration profile depends.
json calibration_key(const SuiteConfiguration& configuration, bool on_cluster) {
  const auto experiments = configuration.experiments();
  const json document = to_json(*experiments.front());
  json key = {{"math", document.at("workload").at("math")}};
  if (on_cluster) key["platform"] = document.at("platform");
  if (std::ranges::all_of(experiments, [](const Experiment* one) { return is_modelled(*one); })) return key;
  for (std::size_t i = 1; i < experiments.size(); ++i)
    if (to_json(*experiments[i]).at("workload") != document.at("workload"))
      throw ConfigError(fmt::format(
          "configuration '{}': expected the same workload in all jobs, because one calibration measures real "
          "mathematics of one workload, found another in job '{}'; use --set workload.math=modelled",
          configuration.name, configuration.jobs[i].name));
  key["workload"] = document.at("workload");
  return key;
}

std::vector<double> costs_of(const Suite& suite) {
  std::vector<double> costs;
  for (const auto& configuration : suite.configurations) costs.push_back(expected_cost(configuration));
  return costs;
}

/// The one with the median throughput.
Results median_of(std::vector<Results> draws) {
  const auto middle = draws.begin() + std::ssize(draws) / 2;
  std::nth_element(draws.begin(), middle, draws.end(), [](const Results& a, const Results& b) {
    return a.summary.throughput < b.summary.throughput;
  });
  return std::move(*middle);
}

class Campaign {
 public:
  Campaign(const Suite& suite, const std::vector<Task>& tasks, const Runner& runner,
           const std::vector<std::string>& failures)
      : suite_(suite), tasks_(tasks), runner_(runner), times_(tasks, costs_of(suite)) {
    for (std::size_t i = 0; i < suite.configurations.size(); ++i) {
      first_entries_.push_back(results_.configurations.size());
      for (const auto& entry : suite.configurations[i].shown_entries())
        results_.configurations.push_back({.name = entry.name,
                                           .group = entry.group,
                                           .algorithm = entry.algorithm,
                                           .calibration = suite.configurations[i].calibration,
                                           .failure = i < failures.size() ? failures[i] : ""});
    }
    first_entries_.push_back(results_.configurations.size());
  }

  CampaignResults carry_out() {
    for (std::size_t done = 0; done < tasks_.size(); ++done) {
      runner_.progress(static_cast<double>(done) / static_cast<double>(tasks_.size()),
                       times_.left(done, [this](std::size_t i) { return has_failed(i); }));
      guarded(tasks_[done].configuration, [&] { carry_out(tasks_[done]); });
    }
    if (results_.repeated > 0)
      runner_.message(
          fmt::format("{} runs were repeated because other programs used more than {:.0f} % of this machine; "
                      "the less disturbed "
                      "of each two is kept",
                      results_.repeated, runner_.disturbing_load * 100));
    for (std::size_t i = 0; i < suite_.configurations.size(); ++i)
      guarded(i, [&] { suite_.configurations[i].jobs.empty() ? conclude(i) : conclude_jobs(i); });
    return std::move(results_);
  }

 private:
  /// Does nothing for a configuration that failed before; an error makes it fail.
  void guarded(std::size_t configuration, const std::function<void()>& work) {
    if (has_failed(configuration)) return;
    try {
      work();
    } catch (const std::exception& error) {
      if (!results_.first_error) results_.first_error = std::current_exception();
      const std::string failure = first_lines(error.what());
      for (std::size_t i = first_entries_[configuration]; i < first_entries_[configuration + 1]; ++i) {
        results_.configurations[i].failure = failure;
        results_.configurations[i].comparison.reset();
      }
      runner_.message(suite_.configurations[configuration].name + ": " + failure);
    }
  }
  /// The outcome of the configuration, or of the first of its jobs.
  Compared& outcome_of(std::size_t configuration) {
    return results_.configurations[first_entries_[configuration]];
  }
  bool has_failed(std::size_t configuration) { return !outcome_of(configuration).failure.empty(); }

  void carry_out(const Task& task) {
    if (!runner_.is_finished(task)) {
      const Seconds began = runner_.now();
      const double load = runner_.run(task);
      if (task.kind == Task::Kind::run && load > runner_.disturbing_load) repeat(task, load);
      times_.ended(task, runner_.now() - began);
    }
    if (task.kind == Task::Kind::simulation) times_.foretell(task, runner_.foretold(task));
  }

  /// `load`: of other programs during the first run.
  void repeat(const Task& task, double load) {
    ++results_.repeated;
    const std::string first = task.out + "-disturbed";
    fs::remove_all(first);
    fs::rename(task.out, first);
    bool is_better = false;
    try {
      is_better = runner_.run(task) <= load;
    } catch (const std::exception& error) {
      runner_.message(fmt::format("{}: the repeated run failed, the disturbed run is kept: {}",
                                  suite_.configurations[task.configuration].name, first_lines(error.what())));
    }
    if (!is_better) {
      fs::remove_all(task.out);
      fs::rename(first, task.out);
    }
    fs::remove_all(first);
  }

  static VariantResults empty_variant(const Compared& outcome) {
    return {.name = outcome.name,
            .simulated = {},
            .measured = {},
            .group = outcome.group,
            .algorithm = outcome.algorithm,
            .calibration = outcome.calibration};
  }

  void compare_entry(std::size_t entry, const VariantResults& variant) {
    Compared found = compared(variant);
    runner_.compared(entry, variant, *found.comparison);
    results_.configurations[entry] = std::move(found);
  }

  /// Reads, compares and forgets the records of one configuration.
  void conclude(std::size_t index) {
    VariantResults variant = empty_variant(outcome_of(index));
    std::vector<Results> draws;
    for (const Task& task : tasks_) {
      if (task.configuration != index) continue;
      Results read = runner_.read(task);
      if (task.kind == Task::Kind::simulation)
        draws.push_back(std::move(read));
      else if (task.kind == Task::Kind::witness)
        variant.witness = std::move(read);
      else
        variant.measured.push_back(std::move(read));
    }
    TANDEM_CHECK(!draws.empty(), "configuration", variant.name);
    variant.draws = static_cast<int>(draws.size());
    variant.simulated = median_of(std::move(draws));
    compare_entry(first_entries_[index], variant);
  }

  /// The same for each of several jobs: all of them are of the simulation with the median makespan. Holds the
  /// records of one job at a time.
  void conclude_jobs(std::size_t index) {
    const SuiteConfiguration& configuration = suite_.configurations[index];
    std::vector<std::pair<double, const Task*>> draws;
    std::vector<const Task*> runs;
    for (const Task& task : tasks_) {
      if (task.configuration != index) continue;
      if (task.kind == Task::Kind::run)
        runs.push_back(&task);
      else
        draws.emplace_back(runner_.read_all(task).makespan_s, &task);
    }
    TANDEM_CHECK(!draws.empty(), "configuration", configuration.name);
    const auto middle = draws.begin() + std::ssize(draws) / 2;
    std::ranges::nth_element(draws, middle);
    const Task& simulation = *middle->second;
    const auto shown = configuration.shown_entries();
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const std::size_t entry = first_entries_[index] + i;
      const std::string& job = shown[i].job;
      VariantResults variant = empty_variant(results_.configurations[entry]);
      variant.draws = static_cast<int>(draws.size());
      variant.simulated = runner_.read_job(simulation, job);
      for (const Task* run : runs) variant.measured.push_back(runner_.read_job(*run, job));
      compare_entry(entry, variant);
    }
    std::vector<JobsSummary> measured;
    for (const Task* run : runs) measured.push_back(runner_.read_all(*run));
    results_.several_jobs.push_back(compare_jobs(configuration.name, runner_.read_all(simulation), measured));
  }

  const Suite& suite_;
  const std::vector<Task>& tasks_;
  const Runner& runner_;
  TaskTimes times_;
  CampaignResults results_;
  /// The first entry of each configuration among the results; and the number of all.
  std::vector<std::size_t> first_entries_;
};

}  // namespace

std::vector<Task> plan(const Suite& suite, const std::string& out, bool witness) {
  std::vector<Task> simulations, runs;
  for (std::size_t i = 0; i < suite.configurations.size(); ++i) {
    const auto& configuration = suite.configurations[i];
    const std::string folder = out + '/' + configuration.folder;
    for (int draw = 0; draw < draws_of(configuration); ++draw)
      simulations.push_back({i, Task::Kind::simulation, draw,
                             folder + "/simulated" + (draw == 0 ? "" : "-" + std::to_string(draw))});
    if (witness && configuration.jobs.empty() && configuration.experiment.data.source != DataSource::storage)
      simulations.push_back({i, Task::Kind::witness, 0, folder + "/smpi"});
    for (int repetition = 0; repetition < configuration.experiment.repetitions; ++repetition)
      runs.push_back({i, Task::Kind::run, repetition, folder + "/measured-" + std::to_string(repetition)});
  }
  Rng::stream(suite.seed, "order of runs").shuffle(runs);
  simulations.insert(simulations.end(), runs.begin(), runs.end());
  return simulations;
}

std::vector<CalibrationGroup> plan_calibrations(const Suite& suite, bool on_cluster) {
  std::vector<json> keys;
  std::vector<CalibrationGroup> groups;
  for (std::size_t i = 0; i < suite.configurations.size(); ++i) {
    const auto& configuration = suite.configurations[i];
    const json key = calibration_key(configuration, on_cluster);
    const auto known = static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
    if (known == keys.size()) {
      keys.push_back(key);
      groups.push_back({{}, i});
    }
    CalibrationGroup& group = groups[known];
    group.configurations.push_back(i);
    if (configuration.calibration && !suite.configurations[group.representative].calibration)
      group.representative = i;
  }
  return groups;
}

CampaignResults carry_out(const Suite& suite, const std::vector<Task>& tasks, const Runner& runner,
                          const std::vector<std::string>& failures) {
  return Campaign(suite, tasks, runner, failures).carry_out();
}

std::string first_lines(const std::string& text) {
  constexpr std::size_t longest = 1500;
  return text.size() <= longest ? text : text.substr(0, longest) + " ...";
}

}  // namespace tandem::validation
