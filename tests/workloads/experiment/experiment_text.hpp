// Helpers for tests that write experiment files as text, and compare what is read or the exact error message.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/job/check/experiment_file.hpp"

namespace tandem::testing {

inline const std::string minimal = "platform: lab.xml\nstop: {rounds: 5}\n";

class ExperimentFile : public ::testing::Test {
 protected:
  void SetUp() override { folder_.write("lab.xml", "<platform/>"); }

  Experiment load(const std::string& text, const Overrides& overrides = {}) {
    return load_experiment(folder_.write("lab.yaml", text), overrides);
  }
  /// The error without the folder's name.
  std::string error_of(const std::string& text, const Overrides& overrides = {}) {
    try {
      load(text, overrides);
    } catch (const ConfigError& error) {
      std::string message = error.what();
      const std::string prefix = folder_.path("");
      for (auto at = message.find(prefix); at != std::string::npos; at = message.find(prefix))
        message.erase(at, prefix.size());
      return message;
    }
    return "no error";
  }
  TemporaryFolder folder_;
};

struct Refusal {
  std::string name;
  std::string text;
  std::string message;
};
inline std::ostream& operator<<(std::ostream& out, const Refusal& refusal) { return out << refusal.name; }

class RefusedFile : public ExperimentFile, public ::testing::WithParamInterface<Refusal> {};

}  // namespace tandem::testing
