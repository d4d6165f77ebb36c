// Writes suite files to a temporary folder, loads them, and checks error messages.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temporary_folder.hpp"
#include "validation/campaign/suite.hpp"

namespace tandem::testing {

inline const std::string source = testing::source_folder();

class SuiteFile : public ::testing::Test {
 protected:
  /// `head`: the first lines of every file.
  explicit SuiteFile(std::string name, std::string head = "")
      : name_(std::move(name)), head_(std::move(head)) {}

  validation::Suite load(const std::string& text, const std::vector<std::string>& settings = {}) {
    return validation::load_suite(folder_.write(name_, head_ + text), settings);
  }
  void refuses(const std::string& text, const std::string& place, const std::string& why) {
    EXPECT_THAT([&] { load(text); }, ::testing::ThrowsMessage<ConfigError>(::testing::AllOf(
                                         ::testing::HasSubstr(place), ::testing::HasSubstr(why))))
        << text;
  }
  TemporaryFolder folder_;

 private:
  std::string name_;
  std::string head_;
};

}  // namespace tandem::testing
