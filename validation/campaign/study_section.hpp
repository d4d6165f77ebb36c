// The key `study` of a suite: what a report of simulations alone says beyond the suite itself. Plain data.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tandem::validation {

/// A figure that somebody published, to stand beside ours.
struct PublishedFigure {
  std::string place;          ///< "study.yaml:7", of the configuration's name
  std::string configuration;  ///< whose figure ours is
  std::string figure;         ///< of study_figures()
  std::string what;           ///< what theirs is, in words
  double value = 0;
  std::string source;
};

/// A reading of curves of accuracy that others have used, later than the first evaluation at the target: of
/// every so many evaluations one, after a point `start` at time 0, with the mean of the last `mean` points,
/// points before the first being as the first.
struct CurveReading {
  int every = 1;
  int mean = 1;
  double start = 0;  ///< accuracy
};

struct StudySection {
  std::string about;       ///< what is asked, for the head of the report
  std::string baseline;    ///< algorithm of a suite's configurations; empty: "bsp" where there is one
  std::string place;       ///< of the baseline's line
  double knee = 0.5;       ///< share of a proportional gain below which more workers are not worth it
  bool operations = true;  ///< records every message, which tells communicating from waiting
  std::optional<CurveReading> reading;  ///< told beside the first evaluation at the target
  std::vector<PublishedFigure> published;
  std::vector<std::string> notes;  ///< what a reader must know to judge the figures
};

/// Names of figures that a published one can stand beside: keys of a configuration in the study's document.
inline const std::vector<std::string> study_figures = {
    "throughput",      "step_time_s",          "speed_up",     "time_to_target_s",
    "target_speed_up", "read_target_speed_up", "best_accuracy"};

}  // namespace tandem::validation
