// Under which name a profile has the times of decoding, and what is said where it lacks them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.hpp"
#include "workloads/job/check/job_description.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {
namespace TANDEM_FILE {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class DecodingProfile : public ::testing::Test {
 protected:
  DecodingProfile() {
    platform_.file = "one.xml";
    auto& host = platform_.hosts.emplace_back();
    host.name = "a";
    host.disks = {{"disk", BytesPerSecond(1e8), BytesPerSecond(1e8)}};
    experiment_.workload.model = "resnet18";
    experiment_.workload.dataset = "sizes";
    experiment_.workload.train_samples = 100;
    experiment_.workload.test_samples = 10;
    experiment_.sync.over = sync::Route::all_reduce;
    experiment_.placement.workers = {"a"};
    experiment_.placement.cache_nodes = {"a"};
    experiment_.data.source = DataSource::storage;
    experiment_.data.decode_threads = 4;
    experiment_.stop.rounds = 1;
    profile_.paths = {{.from = "a", .to = "a", .messages = {}, .segments = {{0, 1e-4, 1e-8}}}};
  }
  void measure_decoding(const std::string& name) {
    profile_.compute.push_back({.model = name,
                                .kind = Work::Kind::decode,
                                .bucket = -1,
                                .samples = 8,
                                .bytes = 800,
                                .median_s = 1e-3,
                                .spread = 0.0,
                                .raw_s = {1e-3},
                                .stored = 8000});
  }
  Job job() {
    experiment_.run.devices = DeviceSpeed::native;
    experiment_.physics.profile = folder_.path().string() + "/profile.json";
    save_profile(experiment_.physics.profile, profile_);
    return {experiment_, platform_, ""};
  }
  static std::string name_of_decoding(const Job& job) {
    return job.devices().cost_model(0).subject(Work::Kind::decode);
  }
  testing::TemporaryFolder folder_;
  platforms::Description platform_;
  Experiment experiment_;
  Profile profile_;
};

TEST_F(DecodingProfile, HasThreadsInItsNamesWhereImagesAreDecoded) {
  EXPECT_EQ(name_of_decoding(job()), "resnet18 (4 decoding threads)");
  experiment_.data.source = DataSource::memory;
  experiment_.placement.cache_nodes.clear();
  EXPECT_EQ(name_of_decoding(job()), "resnet18") << "decoded when the job is prepared";
}

TEST_F(DecodingProfile, HasNoThreadsInItsNamesForRecords) {
  experiment_.workload.dataset = "synthetic-imagenet";
  EXPECT_EQ(name_of_decoding(job()), "resnet18");
}

TEST_F(DecodingProfile, SaysWhereOnlyOtherThreadsWereMeasured) {
  const auto warning = HasSubstr("data.decode_threads");
  EXPECT_THAT(warnings_of(job()), Not(Contains(warning))) << "nothing was measured";
  measure_decoding("lenet");
  EXPECT_THAT(warnings_of(job()), Not(Contains(warning))) << "another model";
  measure_decoding("resnet18");
  measure_decoding("resnet18 (8 decoding threads)");
  EXPECT_THAT(warnings_of(job()), Contains(AllOf(HasSubstr("with data.decode_threads 1, 8, but not with 4"),
                                                 HasSubstr("calibrate again"))));
  measure_decoding("resnet18 (4 decoding threads)");
  EXPECT_THAT(warnings_of(job()), Not(Contains(warning)));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
