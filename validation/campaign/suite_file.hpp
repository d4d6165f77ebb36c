// A suite file as written: its lists and values with their lines. Knows the keys of a suite, but not the
// meaning of experiment keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validation/campaign/study_section.hpp"

namespace tandem::validation {

/// `text`: in the form of --set.
struct SuiteValue {
  std::string text;
  std::string place;  ///< "suite.yaml:7"
};

/// The values of one key.
struct SuiteList {
  std::string key;
  std::string place;
  std::vector<SuiteValue> values;
};

struct SuiteExperiment {
  SuiteValue file;
  std::vector<SuiteList> grid;  ///< by key: the values of the suite's grid that it uses; other keys: all
};

struct SuiteDocument {
  std::string place;  ///< of the whole file
  std::vector<SuiteExperiment> experiments;
  std::vector<SuiteValue> variants;  ///< empty: all
  std::vector<SuiteList> settings;   ///< key `set`, one value each
  std::vector<SuiteList> grid;
  std::vector<SuiteList> calibration;
  std::optional<int> repetitions;
  std::optional<int> seed;
  std::optional<double> tolerance;
  bool cluster = false;
  bool witness = false;
  std::optional<SuiteValue> alone;    ///< key `alone`, if it is true
  std::optional<StudySection> study;  ///< key `study`
};

/// A key of one of several jobs.
struct KeyOfJob {
  std::string job;   ///< empty: of the experiment
  std::string path;  ///< a key of an experiment; of a job also "start"
};
/// "jobs.vision.seed" is the key "seed" of the job "vision".
KeyOfJob key_of_job(const std::string& key);

/// Whether the file is a suite rather than an experiment: it has a key `experiments` or `grid`. False for a
/// file that cannot be read: reading it as an experiment then reports the error.
bool is_suite(const std::string& path);

/// Errors: ConfigError when it cannot be read, is no YAML, or has keys or values that a suite cannot have.
SuiteDocument read_suite_file(const std::string& path);

}  // namespace tandem::validation
