// A folder in which tests write the files of a small data set, to load it or to check error messages.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/data/dataset.hpp"

namespace tandem::testing {

/// Tests corrupt single files in it.
class DatasetFolder : public ::testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  DatasetSetting setting_of(const std::string& name, std::int64_t train, std::int64_t test) const {
    return {.name = name,
            .directory = folder_.path().string(),
            .train_samples = train,
            .test_samples = test,
            .seed = 0};
  }
  /// Expects that loading throws a ConfigError that contains each of `parts`.
  void expect_error(const std::vector<std::string>& parts, const DatasetSetting& what) const {
    try {
      load_dataset(what);
      ADD_FAILURE() << "no error";
    } catch (const ConfigError& error) {
      for (const auto& part : parts)
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
            << part << " not in: " << error.what();
    }
  }

  TemporaryFolder folder_;
};

}  // namespace tandem::testing
