// A data set that the processes of a machine share.
#include "workloads/data/dataset_memory.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "workloads/data/synthetic.hpp"

namespace tandem {
namespace TANDEM_FILE {

const DatasetSetting setting{
    .name = "synthetic", .directory = "", .train_samples = 100, .test_samples = 20, .seed = 7};

bool are_equal(const Dataset& one, const Dataset& other) {
  const auto part_equal = [&](Dataset::Part part) {
    return std::ranges::equal(one.records(part), other.records(part));
  };
  return part_equal(Dataset::Part::train) && part_equal(Dataset::Part::test);
}

TEST(DatasetMemory, HasTheSameRecordsInAnotherProcess) {
  const auto loaded = load_dataset(setting);
  const DatasetMemory memory(*loaded);
  const pid_t child = fork();
  if (child == 0) {
    const auto mapped = map_dataset(setting, memory.path());
    _exit(mapped && are_equal(*mapped, *loaded) && mapped->train_labels() == loaded->train_labels() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(DatasetMemory, StaysMappedWithoutItsOwner) {
  std::shared_ptr<const Dataset> mapped;
  std::string path;
  {
    const auto memory = share_dataset(load_dataset(setting).get());
    ASSERT_NE(memory, nullptr);
    path = memory->path();
    mapped = map_dataset(setting, path);
  }
  ASSERT_NE(mapped, nullptr);
  EXPECT_TRUE(are_equal(*mapped, *load_dataset(setting)));
  EXPECT_EQ(map_dataset(setting, path), nullptr) << "nothing is left of it";
}

/// Records are loaded as a whole, whatever part of a data set of images would be.
TEST(DatasetMemory, HasTheTrainingRecordsThatNoSampleSetHas) {
  DatasetSetting from_storage = setting;
  from_storage.loads_training = false;
  const auto loaded = load_dataset(from_storage);
  ASSERT_TRUE(loaded->has_training());
  const DatasetMemory memory(*loaded);
  const auto mapped = map_dataset(from_storage, memory.path());
  ASSERT_NE(mapped, nullptr);
  EXPECT_TRUE(are_equal(*mapped, *loaded));
}

/// Ranks that cannot use it load the data set themselves.
TEST(DatasetMemory, OfAnotherSizeIsNotUsed) {
  const DatasetMemory memory(*load_dataset(setting));
  DatasetSetting larger = setting;
  larger.train_samples = 101;
  EXPECT_EQ(map_dataset(larger, memory.path()), nullptr);
  EXPECT_EQ(map_dataset(setting, "/proc/self/fd/none"), nullptr);
  EXPECT_EQ(share_dataset(nullptr), nullptr);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
