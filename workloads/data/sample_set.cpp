#include "workloads/data/sample_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "policies/vocabulary/check.hpp"
#include "workloads/data/checked_read.hpp"
#include "workloads/data/image.hpp"
#include "workloads/data/image_folder.hpp"
#include "workloads/data/image_sets.hpp"
#include "workloads/data/modelled_sizes.hpp"
#include "workloads/data/sample_threads.hpp"
#include "workloads/data/shards.hpp"

namespace tandem {
namespace {

ImageShape shape_of(const DatasetInfo& info) { return {info.channels, info.height, info.width}; }

}  // namespace

std::vector<std::byte> read_sample(const SampleSource& source, SampleId id) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(source.size(id).count()));
  try {
    source.read(id, bytes);
  } catch (const WorldError& error) {
    throw ConfigError(error.what());
  }
  return bytes;
}

void SampleSet::decode(Dataset::Part which, SampleId id, std::span<const std::byte> stored,
                       std::span<std::byte> record) const {
  const Part& of = part(which);
  const auto index = static_cast<std::size_t>(id);
  if (const auto& checksums = of.manifest->checksums; !checksums.empty()) {
    const std::uint32_t found = checksum_of(stored);
    if (found != checksums.at(index))
      throw ConfigError(fmt::format("image '{}': expected the checksum {:08x} of its index, found {:08x}",
                                    of.source->name(id), checksums[index], found));
  }
  const std::string name = of.source->name(id);
  const ImageShape shape = shape_of(info);
  if (!scales) {
    const ImageShape found = image_shape(stored, name);
    if (found.height != shape.height || found.width != shape.width)
      throw ConfigError(
          fmt::format("image '{}': expected {} x {} pixels as '{}' has, found {} x {}; workload.image_size "
                      "brings all images to one size",
                      name, shape.height, shape.width, train.source->name(0), found.height, found.width));
  }
  const std::uint16_t label = of.manifest->labels.at(index);
  record[0] = static_cast<std::byte>(label & 0xffU);
  if (info.label_bytes() > 1) record[1] = static_cast<std::byte>(label >> 8U);
  decode_image(stored, name, shape, record.subspan(static_cast<std::size_t>(info.label_bytes())));
}

void describe_images(const DatasetSetting& setting, SampleSet& set) {
  DatasetInfo& info = set.info;
  info.name = setting.name;
  info.train_samples = set.train.manifest->samples();
  info.test_samples = set.test.manifest->samples();
  info.classes = static_cast<int>(set.classes.size());
  // The first ids are of different classes.
  constexpr std::int64_t looked_at = 8;
  for (SampleId id = 0; id < std::min(looked_at, info.train_samples); ++id) {
    const auto shape = image_shape(read_sample(*set.train.source, id), set.train.source->name(id));
    info.channels = std::max(info.channels, shape.channels);
    if (id > 0) continue;
    info.height = shape.height;
    info.width = shape.width;
  }
  set.scales = setting.image_size > 0;
  if (set.scales) info.height = info.width = setting.image_size;
}

std::shared_ptr<const SampleSet> open_sample_set(const DatasetSetting& given) {
  if (!stores_images(given.name)) return nullptr;
  const auto& entry = dataset_catalog().find(given.name);
  DatasetSetting setting = given;
  setting.options = Options::resolve(entry.name, entry.options, given.options.values());
  if (setting.name == "folder") return open_image_folder(setting);
  if (setting.name == "shards") return open_shards(setting);
  TANDEM_CHECK(setting.name == "sizes", "data set", setting.name);
  return modelled_sizes(setting);
}

std::vector<std::byte> decode_part(const SampleSet& set, Dataset::Part which) {
  const SampleSet::Part& part = set.part(which);
  const auto record = static_cast<std::size_t>(set.info.record_bytes().count());
  std::vector<std::byte> records(static_cast<std::size_t>(part.manifest->samples()) * record);
  constexpr unsigned most = 16;
  const int threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, most));
  for_each_sample(part.manifest->samples(), threads, [&](SampleId id) {
    set.decode(which, id, read_sample(*part.source, id),
               std::span(records).subspan(static_cast<std::size_t>(id) * record, record));
  });
  return records;
}

}  // namespace tandem
