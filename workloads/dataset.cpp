#include "workloads/dataset.hpp"

#include <cstring>
#include <filesystem>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/idx.hpp"
#include "workloads/synthetic.hpp"

namespace tandem {
namespace {

/// One row of the catalogue: `info` with the sizes that a setting does not change, and where it comes from.
struct Source {
  DatasetInfo info;
  std::string directory;  ///< of IDX files; empty: synthetic
  std::string package;    ///< that brings them
};

/// In the order of the catalogue. Sample counts are the synthetic ones' defaults.
const std::vector<Source>& sources() {
  static const std::vector<Source> rows = {
      {{.name = "fashion-mnist",
        .channels = 1,
        .height = 28,
        .width = 28,
        .classes = 10,
        .mean = 0.2860F,
        .deviation = 0.3530F},
       "/usr/share/datasets/fashion-mnist",
       "dataset-fashion-mnist"},
      {{.name = "synthetic",
        .train_samples = 10'000,
        .test_samples = 2'000,
        .channels = 1,
        .height = 28,
        .width = 28,
        .classes = 10,
        .mean = 0.3F,
        .deviation = 0.2F},
       "",
       ""},
      {{.name = "synthetic-colour",
        .train_samples = 10'000,
        .test_samples = 2'000,
        .channels = 3,
        .height = 32,
        .width = 32,
        .classes = 10,
        .mean = 0.3F,
        .deviation = 0.2F},
       "",
       ""},
  };
  return rows;
}

/// Path of "train-images-idx3-ubyte" and the like, compressed or not.
std::string find_file(const Source& source, const std::string& directory, const std::string& name) {
  for (const char* ending : {".gz", ""})
    if (const auto path = std::filesystem::path(directory) / (name + ending); std::filesystem::exists(path))
      return path.string();
  throw ConfigError("data set '" + source.info.name + "': expected '" + name + ".gz' (or without .gz) in '" +
                    directory + "', found neither; apt-get install " + source.package +
                    " brings it, or name another directory");
}

/// Labels and images of one part, headers read and checked against each other.
struct Part {
  IdxFile labels;
  IdxFile images;
  std::int64_t samples;
};

Part open_part(const Source& source, const DatasetSetting& setting, const std::string& prefix,
               std::int64_t wanted) {
  const auto& directory = setting.directory.empty() ? source.directory : setting.directory;
  IdxFile labels(find_file(source, directory, prefix + "-labels-idx1-ubyte"), 1);
  IdxFile images(find_file(source, directory, prefix + "-images-idx3-ubyte"), 3);
  if (labels.items() != images.items())
    throw ConfigError("data set '" + source.info.name + "': expected as many labels as images, found " +
                      std::to_string(labels.items()) + " labels in '" + labels.path() + "' and " +
                      std::to_string(images.items()) + " images in '" + images.path() + "'");
  const auto& extents = images.extents();
  if (extents[1] != source.info.height || extents[2] != source.info.width)
    throw ConfigError("IDX file '" + images.path() + "': expected images of " +
                      std::to_string(source.info.height) + 'x' + std::to_string(source.info.width) +
                      ", found " + std::to_string(extents[1]) + 'x' + std::to_string(extents[2]));
  if (wanted > images.items())
    throw ConfigError("IDX file '" + images.path() + "': expected at least the " + std::to_string(wanted) +
                      " samples asked for, found " + std::to_string(images.items()));
  const std::int64_t samples = wanted > 0 ? wanted : images.items();
  return {std::move(labels), std::move(images), samples};
}

std::vector<std::byte> read_records(Part part, const DatasetInfo& info) {
  const auto labels = part.labels.read(part.samples);
  const auto images = part.images.read(part.samples);
  if (part.samples == part.images.items()) {
    part.labels.expect_end();
    part.images.expect_end();
  }
  const auto record = static_cast<std::size_t>(info.record_bytes().count());
  std::vector<std::byte> records(labels.size() * record);
  for (std::size_t sample = 0; sample < labels.size(); ++sample) {
    const auto label = std::to_integer<int>(labels[sample]);
    if (label >= info.classes)
      throw ConfigError("IDX file '" + part.labels.path() + "': expected labels below " +
                        std::to_string(info.classes) + ", found " + std::to_string(label) + " at item " +
                        std::to_string(sample));
    records[sample * record] = labels[sample];
    std::memcpy(&records[sample * record + 1], &images[sample * (record - 1)], record - 1);
  }
  return records;
}

const Source& source_of(const DatasetSetting& setting) {
  const auto& source = sources()[static_cast<std::size_t>(dataset_catalog().find(setting.name).make)];
  if (setting.train_samples < 0 || setting.test_samples < 0)
    throw ConfigError("data set '" + setting.name + "': expected zero or more samples, found " +
                      std::to_string(setting.train_samples) + " for training and " +
                      std::to_string(setting.test_samples) + " for testing");
  return source;
}

DatasetInfo describe_synthetic(const Source& source, const DatasetSetting& setting) {
  DatasetInfo info = source.info;
  if (setting.train_samples > 0) info.train_samples = setting.train_samples;
  if (setting.test_samples > 0) info.test_samples = setting.test_samples;
  return info;
}

}  // namespace

Dataset::Dataset(DatasetInfo info, std::vector<std::byte> train, std::vector<std::byte> test)
    : info_(std::move(info)), train_(std::move(train)), test_(std::move(test)) {
  const auto record = static_cast<std::size_t>(info_.record_bytes().count());
  TANDEM_CHECK(train_.size() == static_cast<std::size_t>(info_.train_samples) * record, train_.size(),
               record);
  TANDEM_CHECK(test_.size() == static_cast<std::size_t>(info_.test_samples) * record, test_.size(), record);
}

std::span<const std::byte> Dataset::record(Part part, SampleId id) const {
  const std::int64_t samples = part == Part::train ? info_.train_samples : info_.test_samples;
  TANDEM_CHECK(id >= 0 && id < samples, "id", id, "samples", samples);
  const auto bytes = static_cast<std::size_t>(info_.record_bytes().count());
  return records(part).subspan(static_cast<std::size_t>(id) * bytes, bytes);
}

std::span<const std::byte> Dataset::records(Part part) const { return part == Part::train ? train_ : test_; }

std::vector<std::uint8_t> Dataset::train_labels() const {
  std::vector<std::uint8_t> labels;
  labels.reserve(static_cast<std::size_t>(info_.train_samples));
  for (SampleId id = 0; id < info_.train_samples; ++id)
    labels.push_back(std::to_integer<std::uint8_t>(record(Part::train, id).front()));
  return labels;
}

const Catalog<int>& dataset_catalog() {
  // `make` indexes `sources`.
  static const Catalog<int> catalog(
      "data set",
      {{"fashion-mnist",
        "60,000 and 10,000 grey images of clothes, 28x28, 10 classes (IDX files)",
        "Xiao, Rasul and Vollgraf (2017)",
        {},
        0},
       {"synthetic", "any number of made grey images, 28x28, 10 classes; made from the seed", "", {}, 1},
       {"synthetic-colour",
        "any number of made colour images, 32x32, 10 classes; made from the seed",
        "",
        {},
        2}});
  return catalog;
}

DatasetInfo describe_dataset(const DatasetSetting& setting) {
  const Source& source = source_of(setting);
  if (source.directory.empty()) return describe_synthetic(source, setting);
  DatasetInfo info = source.info;
  info.train_samples = open_part(source, setting, "train", setting.train_samples).samples;
  info.test_samples = open_part(source, setting, "t10k", setting.test_samples).samples;
  return info;
}

std::shared_ptr<const Dataset> load_dataset(const DatasetSetting& setting) {
  const Source& source = source_of(setting);
  const DatasetInfo info = describe_dataset(setting);
  if (source.directory.empty())
    return std::make_shared<Dataset>(
        info, make_synthetic(info, Dataset::Part::train, info.train_samples, setting.seed),
        make_synthetic(info, Dataset::Part::test, info.test_samples, setting.seed));
  return std::make_shared<Dataset>(
      info, read_records(open_part(source, setting, "train", setting.train_samples), info),
      read_records(open_part(source, setting, "t10k", setting.test_samples), info));
}

}  // namespace tandem
