// The measured step of a job that reads images from storage: it decodes the images that a worker decodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "policies/vocabulary/check.hpp"
#include "tests/support/fake_context.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/workloads/data/image_files.hpp"
#include "workloads/calibration/measurement.hpp"

namespace tandem::calibration {
namespace TANDEM_FILE {

constexpr int batch = 8;  // of 5 images

class ImageSteps : public ::testing::Test {
 protected:
  ImageSteps() { testing::write_image_folder(folder_); }

  ComputeTimes measure(DataSource source) {
    Experiment experiment;
    experiment.workload.math = Math::real;
    experiment.workload.model = "mlp";
    experiment.workload.dataset = "folder";
    experiment.workload.dataset_directory = folder_.path().string();
    experiment.workload.batch = batch;
    experiment.data.source = source;
    experiment.sync.algorithm = "sequential";
    experiment.sync.over = sync::Route::all_reduce;
    experiment.sync.collective = "ring";
    experiment.sync.order = WorkerOrder::rank;
    experiment.placement.workers = {"here"};
    if (source == DataSource::storage) experiment.placement.cache_nodes = {"here"};
    experiment.stop.rounds = 1;
    platforms::Host host;
    host.name = "here";
    host.device = platforms::find_device("v100");
    host.disks = {{"disk", BytesPerSecond(1e8), BytesPerSecond(1e8)}};
    platforms::Description platform;
    platform.file = "image_steps_test";
    platform.hosts = {host};
    const Job job(experiment, platform, "");
    ComputeTimes times;
    testing::FakeWorld(1, 1).run([&](Context& context) { times = measure_alone(job, context, 1); });
    return times;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(ImageSteps, DecodeAWholeBatchEvenOfFewerImages) {
  for (const DataSource source : {DataSource::memory, DataSource::storage}) {
    const auto entries = measure(source).entries;
    ASSERT_EQ(entries.front().kind, Work::Kind::decode);
    EXPECT_EQ(entries.front().samples, batch);
    EXPECT_EQ(entries.front().bytes, batch * (1 + 6 * 4));
  }
}

/// Of images from storage, the smallest and the largest ones are decoded besides the step's.
TEST_F(ImageSteps, DecodeBatchesOfSeveralSizes) {
  // All have one size. A decoder does not read what follows an image.
  const std::string larger = folder_.path("train/bee/y.png");
  std::filesystem::resize_file(larger, std::filesystem::file_size(larger) + 100);
  const auto entries = measure(DataSource::storage).entries;
  std::vector<std::int64_t> stored;
  for (const auto& entry : entries)
    if (entry.kind == Work::Kind::decode) stored.push_back(entry.stored);
  ASSERT_EQ(stored.size(), 3U);
  EXPECT_EQ(stored[2] - stored[1], 100) << "one of the 8 places has the largest image, or two";
  EXPECT_LE(stored[1], stored[0]);
  EXPECT_LE(stored[0], stored[2]);
  for (const auto& entry : measure(DataSource::memory).entries) EXPECT_EQ(entry.stored, 0);
}

/// Its header is whole, so that only decoding finds the error.
TEST_F(ImageSteps, DecodeTrainingImagesFromStorage) {
  const std::string broken = folder_.path("train/ant/b.png");
  std::filesystem::resize_file(broken, std::filesystem::file_size(broken) - 20);
  EXPECT_THAT([&] { measure(DataSource::storage); },
              ::testing::ThrowsMessage<ConfigError>(::testing::HasSubstr("train/ant/b.png'")));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::calibration
