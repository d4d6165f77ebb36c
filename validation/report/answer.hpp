// The answer of a study: the question, what is compared, and which variant is best at each place of the
// grid. The terminal's text, the pages, study.csv and the key `answer` of report.json are all written from
// it. Pure.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "validation/compare/attribution.hpp"
#include "workloads/records/format.hpp"

namespace tandem::validation {

struct Study;
struct StudyConfiguration;

/// A key of the grid, except the seed, the variant and sync.*.
struct StudyAxis {
  std::string key;                  ///< "placement.worker_count"
  std::string name;                 ///< "workers"
  std::vector<std::string> values;  ///< numbers rise; words are in the order of the suite
  std::vector<double> numbers;      ///< of the values, if all are numbers of one unit; else empty

  /// "workers 8", "bucket bytes 64KiB", "cold true"; a word without the name of its axis: "quad".
  std::string named(const std::string& value) const;
};

/// A figure by which variants are compared. The first one of an answer decides which variant is best.
struct Measure {
  std::string key;          ///< of study_measures
  std::string name;         ///< "time to accuracy 0.8"
  std::string superlative;  ///< "the first to reach accuracy 0.8"
  Unit unit = Unit::count;
  bool more_is_better = true;
};

/// A measure of a cell, over its seeds.
struct Estimate {
  enum class Place { behind, equal, best };  ///< `equal`: as good as the best one
  double mean =
      std::numeric_limits<double>::quiet_NaN();  ///< NaN: not known, or a seed did not reach the target
  double deviation = std::numeric_limits<double>::quiet_NaN();  ///< of the sample; NaN: one seed
  /// Over the baseline: how many times as good; of an accuracy, the difference; of a cost, its share of the
  /// baseline's. NaN: no baseline.
  double gain = std::numeric_limits<double>::quiet_NaN();
  Place place = Place::behind;
};

/// A variant at one place of the grid.
struct AnswerCell {
  std::vector<std::string> configurations;              ///< their names, one per seed
  std::vector<Estimate> estimates;                      ///< one per measure
  std::optional<std::map<std::string, double>> shares;  ///< mean over the seeds by part; none: not known
  /// Waiting in exchanges is counted as what the last worker of the round did meanwhile (Binding).
  Bottleneck bottleneck;
};

struct AnswerRow {
  std::string variant;                           ///< or a value of Answer::down
  std::vector<std::optional<AnswerCell>> cells;  ///< one per column
  /// Along workers: throughput per worker over that of the first known cell; NaN where a cell is missing.
  /// Empty along other axes.
  std::vector<double> efficiency;
  std::optional<int> knee;  ///< of knee_of()
  std::string bottlenecks;  ///< "computing at 8 to 64 workers, exchange at 128 workers"
};

/// The variants along one axis; all other axes have one value.
struct AnswerPanel {
  std::string title;                 ///< "quad, batch 32"; empty: the only one
  std::string baseline;              ///< variant to which gains are relative; empty: none
  std::vector<std::size_t> columns;  ///< positions among the values of the axis across; {0} without one
  std::vector<AnswerRow> rows;
};

struct Answer {
  std::string question;
  std::string text;                 ///< one or two sentences
  std::vector<std::string> points;  ///< more sentences: the baseline, each panel, scaling, the bottlenecks
  std::vector<Measure> measures;
  std::optional<StudyAxis> across;
  std::optional<StudyAxis> down;  ///< with one variant only: the axis whose values are the rows
  std::vector<StudyAxis> others;  ///< axes in which panels differ
  std::vector<AnswerPanel> panels;
  double knee_share = 0;  ///< of knee_of()

  bool is_along_workers() const;
  /// The place of that measure; none: variants are not compared by it.
  std::optional<std::size_t> place_of(const std::string& measure) const;
  /// "variant", or the name of the axis down.
  std::string row_title() const;
  /// "8", "16 GB"; empty without an axis across.
  std::string column_name(std::size_t column) const;
};

/// Figures that differ by less are equal.
inline constexpr double equal_share = 0.01;

/// "1 worker", "8 workers".
std::string workers_text(const std::string& number);
/// "2.26 ± 0.04": the deviation without digits that the mean lacks. Both are numbers of one unit.
std::string with_deviation(const std::string& mean, const std::string& deviation);
/// "best", "equal" or "behind".
std::string place_text(Estimate::Place place);

/// "cache capacity" of data.cache_capacity, "sync epsilon s" of sync.options.epsilon_s.
std::string axis_name(const std::string& key);
/// The keys of the grid that vary, except those of the variant.
std::vector<std::string> grid_keys(const Study& study);
/// The value of a key of the grid; empty: it does not vary.
std::string coordinate(const StudyConfiguration& configuration, const std::string& key);

/// Two estimates are equal in three cases: they differ by less than 1 %; they differ by less than twice the
/// standard error of their differences over common seeds; the intervals of their ensembles overlap. Axes
/// whose value follows from another axis are left out, and so are configurations that failed.
Answer answer_of(const Study& study);

/// Writes text and points, for answer_of(). Pre: everything else is known.
void put_in_words(Answer& answer, const Study& study);

/// "1,240 samples/s", "3.00 ± 0.12 s", "0.8612"; "not reached" or "-" for NaN.
std::string estimate_text(const Measure& measure, const Estimate& estimate);
/// The number without its unit, and the unit: the one that suits `reference`.
std::string number_text(const Measure& measure, const Estimate& estimate, double reference);
std::string unit_text(const Measure& measure, double reference);
/// "1.50x"; of an accuracy "+0.012"; of a cost "28.7 %"; "-" for NaN.
std::string gain_text(const Measure& measure, double gain);

/// study.csv: one row per configuration, with its coordinates, figures, place and bottleneck (README.md).
std::string study_csv(const Study& study, const Answer& answer);

}  // namespace tandem::validation
