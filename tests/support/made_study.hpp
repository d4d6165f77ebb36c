// Documents of studies without any simulation, with figures that are easy to check by hand.
#pragma once

#include <string>

#include "validation/report/study.hpp"

namespace tandem::testing {

struct MadeConfiguration {
  std::string algorithm = "bsp";
  int workers = 8;
  double throughput = 100;
  std::int64_t samples = 1000;
  std::int64_t sent = 4000;
  std::int64_t received = 4000;
  double reached_s = 10;  ///< to accuracy 0.8; below 0: not reached; 0: no evaluations
  double local_steps = 1;
};

/// The group and name are those that a suite over placement.worker_count assigns.
inline validation::StudyResult made_configuration(const MadeConfiguration& made) {
  Summary summary{.makespan_s = 20.0,
                  .samples = made.samples,
                  .throughput = made.throughput,
                  .applied_throughput = made.throughput,
                  .rounds = std::int64_t{10},
                  .step_time = {.mean = 0.05},
                  .bytes = {made.sent, made.received},
                  .shares = TimeShares{.computing = 0.6, .data = 0.05, .exchange = 0.3, .other = 0.05},
                  .exchange_shares = ExchangeShares{.communicating = 0.2, .waiting = 0.1},
                  .local_steps = DistributionSummary{.mean = made.local_steps}};
  if (made.reached_s != 0) {
    const double last = made.reached_s > 0 ? 0.8 : 0.7;
    const double end = made.reached_s > 0 ? made.reached_s : 12.0;
    for (const auto& [part, accuracy] : {std::pair(0.25, 0.4), std::pair(0.5, 0.6), std::pair(1.0, last)})
      summary.evaluations.push_back({.samples = static_cast<std::int64_t>(part * 1000),
                                     .checkpoint_time = Seconds(part * end),
                                     .accuracy = accuracy});
    summary.time_to_target = TargetOutcome{.target = 0.8, .evaluations = 3, .reached = made.reached_s > 0};
    if (made.reached_s > 0) summary.time_to_target->checkpoint_time_s = made.reached_s;
  }
  RunInfo run;
  run.world = "simulated";
  run.experiment.sync.algorithm = made.algorithm;
  run.experiment.placement.workers.assign(static_cast<std::size_t>(made.workers), "node");
  run.experiment.platform = "/somewhere/lab.xml";
  run.experiment.target_accuracy = 0.8;
  run.command = "tandem simulate made.yaml";
  run.question = {"a made model", std::to_string(made.workers) + " workers"};
  run.warnings = {"nobody reads the disk"};
  run.physics = {{"network", "CM02"}};
  run.versions = {{"tandem", "1"}};
  const std::string group = "count=" + std::to_string(made.workers);
  return validation::study_result({.name = group + "/" + made.algorithm,
                                   .group = group,
                                   .algorithm = made.algorithm,
                                   .coordinates = {{"placement.worker_count", std::to_string(made.workers)}}},
                                  summary, run,
                                  validation::Binding{.computing = 0.6, .data = 0.1, .exchange = 0.3});
}

/// That configuration at another place of a grid.
inline validation::StudyResult placed(validation::StudyResult made,
                                      const std::vector<std::pair<std::string, std::string>>& coordinates) {
  std::string group;
  for (const auto& [key, value] : coordinates) group += (group.empty() ? "" : "/") + key + '=' + value;
  made.coordinates = coordinates;
  made.group = group;
  made.name = group + (group.empty() ? "" : "/") + made.algorithm;
  for (const auto& [key, value] : coordinates)
    if (key == "seed") made.experiment.seed = std::stoull(value);
  return made;
}

/// bsp has its knee at 16 workers, asp has none.
inline validation::Study made_study() {
  validation::StudySection section;
  section.about = "what is asked";
  section.notes = {"a note"};
  section.published = {{.place = "made.yaml:1",
                        .configuration = "count=8/asp",
                        .figure = "speed_up",
                        .what = "time to accuracy 0.8",
                        .value = 3,
                        .source = "Somebody, Table 1"},
                       {.place = "made.yaml:2",
                        .configuration = "count=32/asp",
                        .figure = "target_speed_up",
                        .what = "",
                        .value = 7,
                        .source = "Somebody, Table 1"}};
  return validation::make_study(
      {made_configuration({.algorithm = "bsp", .workers = 8, .throughput = 100}),
       made_configuration({.algorithm = "asp", .workers = 8, .throughput = 150, .reached_s = 4}),
       made_configuration({.algorithm = "bsp", .workers = 16, .throughput = 190}),
       made_configuration({.algorithm = "asp", .workers = 16, .throughput = 310, .reached_s = 3}),
       made_configuration({.algorithm = "bsp", .workers = 32, .throughput = 240}),
       made_configuration({.algorithm = "asp", .workers = 32, .throughput = 640, .reached_s = -1})},
      "made", section, {"tandem study made.yaml"});
}

}  // namespace tandem::testing
