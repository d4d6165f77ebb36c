// Ranks with different jobs do not start: differences are detected, and the rank that differs is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/job/identity.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class JobIdentities : public ::testing::Test {
 protected:
  JobIdentities() : document_(write("job.json", "{}")) {}

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = (folder_.path() / name).string();
    std::ofstream(path) << text;
    return path;
  }
  static Job job(std::int64_t parameters = 1000, int buckets = 4) {
    Experiment experiment;
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.workload.model = "synthetic";
    experiment.workload.synthetic_parameters = parameters;
    experiment.workload.synthetic_buckets = buckets;
    experiment.workload.dataset = "synthetic";
    experiment.workload.train_samples = 100;
    experiment.placement.workers = {"a", "b"};
    experiment.placement.servers = {"c"};
    experiment.stop.rounds = 1;
    platforms::Description platform;
    for (const char* name : {"a", "b", "c"}) platform.hosts.emplace_back().name = name;
    return {std::move(experiment), std::move(platform), ""};
  }

  testing::TemporaryFolder folder_;
  std::string document_;
};

TEST_F(JobIdentities, OfTheSameJobAreEqual) {
  const JobIdentity one = identity_of(job(), document_);
  EXPECT_EQ(identity_of(job(), document_), one);
  EXPECT_EQ(identity_from_text(to_text(one)), one);
  EXPECT_NO_THROW(expect_alike(job(), {one, one, one}));
}

TEST_F(JobIdentities, DetectDifferentDocuments) {
  const JobIdentity one = identity_of(job(), document_);
  write("job.json", "{ }");
  const JobIdentity other = identity_of(job(), document_);
  EXPECT_THAT(
      [&] {
        expect_alike(job(), {one, one, other});
      },
      ThrowsMessage<ConfigError>(AllOf(HasSubstr("rank 2 (on host 'c' of the platform)"),
                                       HasSubstr("the job's document"), HasSubstr("rank 0"))));
}

/// From the same document, another version of the program may derive another model.
TEST_F(JobIdentities, DetectDifferentModels) {
  const JobIdentity one = identity_of(job(), document_);
  for (const auto& other : {job(1001), job(1000, 5)})
    EXPECT_THAT(
        [&] {
          expect_alike(job(), {one, identity_of(other, document_)});
        },
        ThrowsMessage<ConfigError>(
            AllOf(HasSubstr("rank 1 (on host 'b'"), HasSubstr("the parameters of model 'synthetic'"))));
}

TEST_F(JobIdentities, RequireAnExistingDocument) {
  EXPECT_THAT([&] { identity_of(job(), "nowhere.json"); },
              ThrowsMessage<ConfigError>(HasSubstr("nowhere.json")));
}

}  // namespace
}  // namespace tandem
