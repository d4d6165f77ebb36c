#include "validation/campaign/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "workloads/job/ensemble.hpp"

namespace tandem::validation {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool is_modelled(const Experiment& experiment) {
  return experiment.workload.math == Experiment::Workload::Math::modelled;
}

/// One simulation where it makes an ensemble itself.
int draws_of(const Experiment& experiment) {
  return is_modelled(experiment) && replicas_of(experiment) == 0 ? 3 : 1;
}

/// What a calibration profile depends on.
json calibration_key(const Experiment& experiment, bool on_cluster) {
  const json document = to_json(experiment);
  json key = {{"math", document.at("workload").at("math")}};
  if (on_cluster) key["platform"] = document.at("platform");
  if (!is_modelled(experiment)) key["workload"] = document.at("workload");
  return key;
}

/// The one with the median throughput.
Results median_of(std::vector<Results> draws) {
  const auto middle = draws.begin() + std::ssize(draws) / 2;
  std::nth_element(draws.begin(), middle, draws.end(), [](const Results& a, const Results& b) {
    return a.summary.at("throughput").get<double>() < b.summary.at("throughput").get<double>();
  });
  return std::move(*middle);
}

class Campaign {
 public:
  Campaign(const Suite& suite, const std::vector<Task>& tasks, const Runner& runner,
           const std::vector<std::string>& failures)
      : tasks_(tasks), runner_(runner) {
    for (const auto& configuration : suite.configurations)
      results_.configurations.push_back({.name = configuration.name,
                                         .group = configuration.group,
                                         .algorithm = configuration.algorithm,
                                         .calibration = configuration.calibration});
    for (std::size_t i = 0; i < failures.size(); ++i) results_.configurations[i].failure = failures[i];
  }

  CampaignResults carry_out() {
    for (std::size_t done = 0; done < tasks_.size(); ++done) {
      runner_.progress(static_cast<double>(done) / static_cast<double>(tasks_.size()));
      guarded(tasks_[done].configuration, [&] { carry_out(tasks_[done]); });
    }
    if (results_.repeated > 0)
      runner_.message(
          fmt::format("{} runs were repeated because other programs used more than {:.0f} % of this machine; "
                      "the less disturbed "
                      "of each two is kept",
                      results_.repeated, runner_.disturbing_load * 100));
    for (std::size_t i = 0; i < results_.configurations.size(); ++i) guarded(i, [&] { conclude(i); });
    return std::move(results_);
  }

 private:
  /// Does nothing for a configuration that failed before; an error makes it fail.
  void guarded(std::size_t configuration, const std::function<void()>& work) {
    Compared& outcome = results_.configurations[configuration];
    if (!outcome.failure.empty()) return;
    try {
      work();
    } catch (const std::exception& error) {
      if (!results_.first_error) results_.first_error = std::current_exception();
      outcome.failure = first_lines(error.what());
      runner_.message(outcome.name + ": " + outcome.failure);
    }
  }

  void carry_out(const Task& task) {
    if (runner_.is_finished(task)) return;
    const double load = runner_.run(task);
    if (task.kind == Task::Kind::run && load > runner_.disturbing_load) repeat(task, load);
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
                                  results_.configurations[task.configuration].name,
                                  first_lines(error.what())));
    }
    if (!is_better) {
      fs::remove_all(task.out);
      fs::rename(first, task.out);
    }
    fs::remove_all(first);
  }

  /// Reads, compares and forgets the records of one configuration.
  void conclude(std::size_t index) {
    Compared& outcome = results_.configurations[index];
    VariantResults variant{.name = outcome.name,
                           .simulated = {},
                           .measured = {},
                           .group = outcome.group,
                           .algorithm = outcome.algorithm,
                           .calibration = outcome.calibration};
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
    TANDEM_CHECK(!draws.empty(), "configuration", outcome.name);
    variant.draws = static_cast<int>(draws.size());
    variant.simulated = median_of(std::move(draws));
    Compared found = compared(variant);
    runner_.compared(index, variant, *found.comparison);
    outcome = std::move(found);
  }

  const std::vector<Task>& tasks_;
  const Runner& runner_;
  CampaignResults results_;
};

}  // namespace

std::vector<Task> plan(const Suite& suite, const std::string& out, bool witness) {
  std::vector<Task> simulations, runs;
  for (std::size_t i = 0; i < suite.configurations.size(); ++i) {
    const auto& configuration = suite.configurations[i];
    const std::string folder = out + '/' + configuration.folder;
    for (int draw = 0; draw < draws_of(configuration.experiment); ++draw)
      simulations.push_back({i, Task::Kind::simulation, draw,
                             folder + "/simulated" + (draw == 0 ? "" : "-" + std::to_string(draw))});
    if (witness && configuration.experiment.data.source != DataSource::storage)
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
    const json key = calibration_key(configuration.experiment, on_cluster);
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
