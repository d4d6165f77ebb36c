#include "workloads/data/dataset_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "policies/vocabulary/check.hpp"
#include "workloads/data/sample_set.hpp"

namespace tandem {
namespace {

void write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw WorldError(std::string("cannot share the data set: ") + std::strerror(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace

DatasetMemory::DatasetMemory(const Dataset& dataset)
    : file_(memfd_create("tandem-dataset", MFD_CLOEXEC)),
      path_("/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_)) {
  if (file_ < 0) throw WorldError(std::string("cannot share the data set: ") + std::strerror(errno));
  try {
    for (const auto part : {Dataset::Part::train, Dataset::Part::test})
      write_all(file_, dataset.records(part));
  } catch (const WorldError&) {
    ::close(file_);
    throw;
  }
}

DatasetMemory::~DatasetMemory() { ::close(file_); }

std::unique_ptr<DatasetMemory> share_dataset(const Dataset* dataset) {
  if (dataset == nullptr) return nullptr;
  try {
    return std::make_unique<DatasetMemory>(*dataset);
  } catch (const WorldError&) {
    return nullptr;
  }
}

std::shared_ptr<const Dataset> map_dataset(const DatasetSetting& setting, const std::string& path,
                                           const SampleSet* set) {
  const auto opened = set != nullptr ? nullptr : open_sample_set(setting);
  if (set == nullptr) set = opened.get();
  const DatasetInfo info = set != nullptr ? set->info : describe_dataset(setting);
  // Records are always loaded as a whole.
  const bool has_training = setting.loads_training || set == nullptr;
  const std::int64_t loaded = has_training ? info.train_samples : 0;
  const auto train = static_cast<std::size_t>((info.record_bytes() * loaded).count());
  const auto test = static_cast<std::size_t>((info.record_bytes() * info.test_samples).count());
  const std::size_t size = train + test;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat status {};
  const bool fits = fstat(file, &status) == 0 && static_cast<std::size_t>(status.st_size) == size;
  void* const memory = fits && size > 0 ? mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
  ::close(file);
  if (memory == MAP_FAILED) return nullptr;
  const std::shared_ptr<const void> owner(memory, [size](void* mapped) { munmap(mapped, size); });
  const std::span<const std::byte> all(static_cast<const std::byte*>(memory), size);
  return std::make_shared<Dataset>(info, all.first(train), all.subspan(train), owner);
}

}  // namespace tandem
