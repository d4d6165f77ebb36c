// The key `study` of a suite: the content of a study's report that the suite itself does not determine. Plain
// data.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tandem::validation {

/// A published figure to compare with.
struct PublishedFigure {
  std::string place;          ///< "study.yaml:7", of the configuration's name
  std::string configuration;  ///< its figure is compared with the published one
  std::string figure;         ///< of study_figures()
  std::string what;           ///< description of the published figure
  double value = 0;
  std::string source;
};

/// How a publication reads the time to an accuracy from a curve. The curve has the point `start` at time 0,
/// then every `every`-th evaluation. The mean of the last `mean` points must reach the target; points before
/// the first one count as the first. This gives a later time than the first evaluation at the target.
struct CurveReading {
  int every = 1;
  int mean = 1;
  double start = 0;  ///< accuracy
};

struct StudySection {
  std::string about;     ///< the question, for the head of the report
  std::string baseline;  ///< algorithm of a suite's configurations; empty: "bsp" where there is one
  std::string place;     ///< of the baseline's line
  double knee = 0.5;     ///< share of a proportional gain below which more workers are not worth it
  /// Share of their steps that workers may wait for samples: for each configuration with cache nodes, the
  /// study finds the least data.cache_capacity that suffices for all of its jobs. None: it does not.
  std::optional<double> stall;
  bool alone = true;                    ///< of several jobs, each is also simulated alone, for its slow-down
  bool operations = true;               ///< records every message, which separates communicating from waiting
  std::optional<CurveReading> reading;  ///< in addition to the first evaluation at the target
  std::vector<PublishedFigure> published;
  std::vector<std::string> notes;  ///< what a reader must know to interpret the figures
};

/// The figures that a published one can be compared with: keys of a configuration in the study's document.
inline const std::vector<std::string> study_figures = {
    "throughput",      "step_time_s",          "speed_up",     "time_to_target_s",
    "target_speed_up", "read_target_speed_up", "best_accuracy"};

}  // namespace tandem::validation
