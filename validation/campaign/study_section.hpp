// The key `study` of a suite: the parts of a study's report that do not follow from the rest of the suite.
// Plain data.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tandem::validation {

/// A published figure to compare with.
struct PublishedFigure {
  std::string place;          ///< "study.yaml:7", the line of the configuration's name
  std::string configuration;  ///< its figure is compared with the published one
  std::string figure;         ///< of study_figures()
  std::string what;           ///< description of the published figure
  double value = 0;
  std::string source;
};

/// How a publication reads the time to an accuracy from a curve. The curve has the point `start` at time 0,
/// then every `every`-th evaluation. The mean of the last `mean` points must reach the target; before there
/// are so many points, the first one is repeated. The time is later than that of the first evaluation at the
/// target.
struct CurveReading {
  int every = 1;
  int mean = 1;
  double start = 0;  ///< accuracy
};

struct StudySection {
  std::string about;     ///< the question, for the head of the report
  std::string baseline;  ///< algorithm of a suite's configurations; empty: "bsp" where there is one
  std::string place;     ///< of the baseline's line
  std::string decides;   ///< key of study_measures by which variants are ranked; empty: by what is known
  double knee = 0.5;     ///< a gain of less than this share of a proportional one is not worth more workers
  /// Share of their steps that workers may wait for samples. For each configuration with cache nodes, the
  /// study finds the least data.cache_capacity that suffices for all of its jobs. None: no search.
  std::optional<double> stall;
  bool alone = true;                    ///< of several jobs, each is also simulated alone, for its slow-down
  bool operations = true;               ///< records every message, which separates communicating from waiting
  std::optional<CurveReading> reading;  ///< a second time to the target, in addition to the first evaluation
  std::vector<PublishedFigure> published;
  std::vector<std::string> notes;  ///< what a reader must know to interpret the figures
};

/// The figures with which a published one can be compared: keys of a configuration in the study's document.
inline const std::vector<std::string> study_figures = {
    "throughput",      "step_time_s",          "speed_up",     "time_to_target_s",
    "target_speed_up", "read_target_speed_up", "best_accuracy"};

/// The figures that can decide which variant is best (Measure in answer.hpp).
inline const std::vector<std::string> study_measures = {"time_to_target_s", "last_accuracy", "makespan_s",
                                                        "step_time_s",      "throughput",    "cost"};

}  // namespace tandem::validation
