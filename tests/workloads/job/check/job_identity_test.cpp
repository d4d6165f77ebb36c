// Ranks with different jobs do not start: differences are detected, and the rank that differs is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "policies/vocabulary/check.hpp"
#include "workloads/job/check/identity.hpp"
#include "workloads/job/plan/job_document.hpp"

namespace tandem {
namespace TANDEM_FILE {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class JobIdentities : public ::testing::Test {
 protected:
  static Job job(std::int64_t parameters = 1000, int buckets = 4, std::int64_t samples = 100) {
    Experiment experiment;
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.workload.model = "synthetic";
    experiment.workload.synthetic_parameters = parameters;
    experiment.workload.synthetic_buckets = buckets;
    experiment.workload.dataset = "synthetic";
    experiment.workload.train_samples = samples;
    experiment.placement.workers = {"a", "b"};
    experiment.placement.servers = {"c"};
    experiment.stop.rounds = 1;
    platforms::Description platform;
    for (const char* name : {"a", "b", "c"}) platform.hosts.emplace_back().name = name;
    return {std::move(experiment), std::move(platform), ""};
  }
};

TEST_F(JobIdentities, OfTheSameJobAreEqual) {
  const JobIdentity one = identity_of(job());
  EXPECT_EQ(identity_of(job()), one);
  EXPECT_EQ(identity_from_text(to_text(one)), one);
  EXPECT_NO_THROW(expect_alike(job(), {one, one, one}));
}

TEST_F(JobIdentities, DetectDifferentPrograms) {
  const JobIdentity one = identity_of(job());
  JobIdentity other = one;
  other.front().second += " of another version";
  EXPECT_THAT(
      [&] {
        expect_alike(job(), {one, one, other});
      },
      ThrowsMessage<ConfigError>(AllOf(HasSubstr("rank 2 (on host 'c' of the platform)"),
                                       HasSubstr("the program"), HasSubstr("rank 0"))));
}

/// From the same document, another version of the program may derive another model.
TEST_F(JobIdentities, DetectDifferentModels) {
  const JobIdentity one = identity_of(job());
  for (const auto& other : {job(1001), job(1000, 5)})
    EXPECT_THAT(
        [&] {
          expect_alike(job(), {one, identity_of(other)});
        },
        ThrowsMessage<ConfigError>(
            AllOf(HasSubstr("rank 1 (on host 'b'"), HasSubstr("the parameters of model 'synthetic'"))));
}

/// Modelled mathematics takes the sizes of a data set from its files, on the machines that have them.
TEST_F(JobIdentities, DetectDataSetsOfOtherSizes) {
  EXPECT_THAT(
      [&] {
        expect_alike(job(), {identity_of(job()), identity_of(job(1000, 4, 101))});
      },
      ThrowsMessage<ConfigError>(AllOf(HasSubstr("rank 1 (on host 'b'"),
                                       HasSubstr("the samples of data set 'synthetic'"),
                                       HasSubstr("100 and "), HasSubstr("101 and "))));
}

TEST_F(JobIdentities, DetectOtherManifests) {
  const auto of_sizes = [](double mean_bytes) {
    Experiment experiment = job().spec().experiment;
    experiment.workload.dataset = "sizes";
    experiment.workload.dataset_options["mean_bytes"] = mean_bytes;
    return Job(experiment, job().spec().platform, "");
  };
  const JobIdentity one = identity_of(of_sizes(5000));
  EXPECT_EQ(identity_of(of_sizes(5000)), one);
  EXPECT_THAT(
      [&] {
        expect_alike(of_sizes(5000), {one, identity_of(of_sizes(5001))});
      },
      ThrowsMessage<ConfigError>(
          AllOf(HasSubstr("rank 1 (on host 'b'"), HasSubstr("the manifest of data set 'sizes'"))));
}

TEST_F(JobIdentities, ADocumentKnowsItsManifest) {
  Experiment experiment = job().spec().experiment;
  experiment.workload.dataset = "sizes";
  nlohmann::json document = job_document(Job(experiment, job().spec().platform, ""));
  EXPECT_NO_THROW(job_from_document(document, ""));
  document["manifest"] = "0";
  EXPECT_THAT([&] { job_from_document(document, ""); },
              ThrowsMessage<ConfigError>(HasSubstr("data set 'sizes': expected the manifest 0")));
  EXPECT_FALSE(job_document(job()).contains("manifest"));
}

TEST_F(JobIdentities, DetectOtherTensors) {
  const auto of_tensors = [](const std::vector<std::string>& tensors) {
    Experiment experiment = job().spec().experiment;
    experiment.workload.synthetic_tensors = tensors;
    return Job(experiment, job().spec().platform, "");
  };
  const JobIdentity one = identity_of(of_tensors({"4kB", "8kB"}));
  EXPECT_EQ(identity_of(of_tensors({"4kB", "8kB"})), one);
  for (const auto& other : {of_tensors({"8kB", "4kB"}), of_tensors({"4kB", "4kB", "4kB"}), job(3000, 1)})
    EXPECT_NE(identity_of(other), one);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
